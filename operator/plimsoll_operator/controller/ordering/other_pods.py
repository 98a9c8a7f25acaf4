"""Lists the pods of no task: they take room on nodes, and are not watched."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from plimsoll_operator.kube.api_server import CORE, PAGE, ApiServer, path_of
from plimsoll_operator.names import labels

LIST_EVERY_S: Final = 10.0
SHARE: Final = 0.05
"""Lists take at most this share of the time: in a large cluster, they are made less often."""
SEEN_FOR_S: Final = 45.0
"""An older list says nothing about now."""
_NOT_OVER: Final = "status.phase!=Succeeded,status.phase!=Failed"


@dataclass(slots=True)
class OtherPods:
    """Lists them while a pod or Job waits for room. now_s: on a clock that cannot jump."""

    api: ApiServer
    now_s: Callable[[], float]
    _listed_s: float | None = field(default=None, init=False)
    _took_s: float = field(default=0.0, init=False)

    def are_known(self) -> bool:
        """Say whether the last list is still about right."""
        if self._listed_s is None:
            return False
        return self.now_s() - self._listed_s <= max(SEEN_FOR_S, 2 * self._pause_s())

    def are_due(self) -> bool:
        """Say whether it is time to list them again."""
        return self._listed_s is None or self.now_s() - self._listed_s >= self._pause_s()

    async def list(self) -> list[dict[str, Any]]:
        """Return all such pods that are not over. Raises ApiError."""
        began_s, pods, more = self.now_s(), list[dict[str, Any]](), ""
        query = {
            "labelSelector": f"!{labels.TASK}",
            "fieldSelector": _NOT_OVER,
            "limit": str(PAGE),
        }
        while True:
            page = await self.api.get(
                path_of(CORE, "pods"), {**query, **({"continue": more} if more else {})}
            )
            pods += page.get("items") or []
            more = (page.get("metadata") or {}).get("continue") or ""
            if not more:
                self._listed_s, self._took_s = began_s, self.now_s() - began_s
                return pods
            await asyncio.sleep(0)

    def _pause_s(self) -> float:
        return max(LIST_EVERY_S, self._took_s / SHARE)
