"""Lists the pods of no task: they take room on nodes, and are not watched.

There may be many, and each may be large. So of each page only the parts are kept that a
``RoomBook`` reads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from plimsoll_operator.kube.api_server import CORE, PAGE, ApiServer, path_of
from plimsoll_operator.kube.client import ANSWER_WITHIN_S
from plimsoll_operator.names import labels
from plimsoll_operator.pods.spec import (
    Pod,
    annotations_of,
    conditions_in,
    mapping,
    metadata_of,
    sequence,
    spec_of,
)
from plimsoll_operator.pods.status import NOT_FINAL, SCHEDULED, has_final_phase

LIST_EVERY_S: Final = 10.0
SHARE: Final = 0.05
"""Lists take at most this share of the time: in a large cluster, they are made less often."""
LONGEST_PAUSE_S: Final = 30.0
"""But they are made at least so often, unless they then took more than half of the time: whoever
waits for room that such pods gave back waits for the next list."""
SEEN_FOR_S: Final = 60.0
"""An older list says nothing about now."""
_KEPT_META: Final = ("creationTimestamp", "deletionTimestamp", "ownerReferences")
_KEPT_SPEC: Final = (
    *("nodeName", "priority", "schedulingGates", "restartPolicy"),
    *("nodeSelector", "affinity", "resources", "overhead"),
)
_KEPT_CONTAINER: Final = ("restartPolicy", "resources")


@dataclass(slots=True)
class OtherPods:
    """Lists them while a pod or Job waits for room. now_s: on a clock that cannot jump."""

    api: ApiServer
    now_s: Callable[[], float]
    _listed_s: float | None = field(default=None, init=False)
    _took_s: float = field(default=0.0, init=False)
    _coming: asyncio.Task[list[Pod]] | None = field(default=None, init=False)
    """A list that was begun, and that nobody has read yet."""
    _asked_s: float = field(default=0.0, init=False)

    def are_known(self) -> bool:
        """Say whether the last list is still about right."""
        if self._listed_s is None:
            return False
        return self.now_s() - self._listed_s <= SEEN_FOR_S

    def are_due(self) -> bool:
        """Say whether it is time to list them again."""
        return self._listed_s is None or self.now_s() - self._listed_s >= self._pause_s()

    def are_awaited(self) -> bool:
        """Say whether nothing is known, but a list that was begun lately may soon say it."""
        if self.are_known() or self._coming is None:
            return False
        return self.now_s() - self._asked_s < ANSWER_WITHIN_S

    async def news(self, within_s: float) -> Sequence[Pod] | None:
        """Return a new list; None if it is not time for one, or it takes longer than ``within_s``.

        A list that takes longer goes on, and a later call returns it. Raises ApiError.
        """
        if self._coming is not None and self._is_old(self._coming):
            self._coming = None
        if self._coming is None:
            if not self.are_due():
                return None
            self._asked_s = self.now_s()
            self._coming = asyncio.create_task(self.list())
        elif self.are_known():
            within_s = 0.0
        done, _ = await asyncio.wait([self._coming], timeout=within_s)
        if not done:
            return None
        coming, self._coming = self._coming, None
        return coming.result()

    def stop(self) -> None:
        """Stop listing."""
        if self._coming is not None:
            self._coming.cancel()
            self._coming = None

    def _is_old(self, coming: asyncio.Task[list[Pod]]) -> bool:
        """Say whether a list ended so long ago that it is time for the next one."""
        if not coming.done():
            return False
        if coming.exception() is not None:
            # Nobody waited meanwhile: what failed then says nothing of now.
            return self.now_s() - self._asked_s > SEEN_FOR_S
        return self.are_due()

    async def list(self) -> list[Pod]:
        """Return what matters of all such pods that are not over. Raises ApiError."""
        began_s, pods, more = self.now_s(), list[Pod](), ""
        while True:
            page, more = await self._page(more)
            pods += page
            if not more:
                self._listed_s, self._took_s = began_s, self.now_s() - began_s
                return pods
            await asyncio.sleep(0)

    async def _page(self, more: str) -> tuple[Sequence[Pod], str]:
        """Return one page, and how to ask for the next; "" if there is none."""
        query = {
            "labelSelector": f"!{labels.TASK}",
            "fieldSelector": NOT_FINAL,
            "limit": str(PAGE),
            **({"continue": more} if more else {}),
        }
        page = await self.api.get(path_of(CORE, "pods"), query)
        pods = [_kept(pod) for pod in page.get("items") or [] if not has_final_phase(pod)]
        return pods, (page.get("metadata") or {}).get("continue") or ""

    def _pause_s(self) -> float:
        seldom_s = min(LONGEST_PAUSE_S, self._took_s / SHARE)
        return max(LIST_EVERY_S, seldom_s, 2 * self._took_s)


def _kept(pod: Pod) -> Pod:
    meta, spec = metadata_of(pod), spec_of(pod)
    kept: dict[str, Any] = {
        "metadata": _parts(meta, _KEPT_META),
        "spec": _parts(spec, _KEPT_SPEC),
    }
    if (note := annotations_of(pod).get(labels.HELD)) is not None:
        kept["metadata"]["annotations"] = {labels.HELD: note}
    for containers in ("containers", "initContainers"):
        found = [_parts(mapping(each), _KEPT_CONTAINER) for each in sequence(spec.get(containers))]
        if found:
            kept["spec"][containers] = found
    if not spec.get("nodeName"):  # the scheduler's words say why it has no node
        said = [each for each in conditions_in(pod) if each.get("type") == SCHEDULED]
        kept["status"] = {"conditions": said}
    return kept


def _parts(whole: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: whole[name] for name in names if name in whole}
