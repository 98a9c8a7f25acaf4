"""Every pod of the scenarios, watched: what each got, and how its containers ended."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kubernetes_asyncio import client

from plimsoll_operator.names import labels
from plimsoll_operator.names.quantity import parse_bytes

MARK: Final = "harm-run"
"""Label of all pods of the scenarios: which run of which scenario they belong to."""
MAIN: Final = "main"
"""Name of the container that does the work."""
OOM_KILLED: Final = "OOMKilled"


@dataclass(slots=True)
class Seen:
    """A pod as it was seen last.

    gone: it was deleted. ends: of the main container's instances. noted: the names of all
    annotations that were ever on it.
    """

    pod: Mapping[str, Any]
    gone: bool = False
    ends: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    noted: set[str] = field(default_factory=set)

    @property
    def name(self) -> str:
        return str(self.pod["metadata"]["name"])

    @property
    def uid(self) -> str:
        return str(self.pod["metadata"]["uid"])

    @property
    def phase(self) -> str:
        return str(self.pod["status"].get("phase", ""))

    @property
    def annotations(self) -> Mapping[str, str]:
        found: Mapping[str, str] = self.pod["metadata"].get("annotations") or {}
        return found

    @property
    def started(self) -> bool:
        """Whether its main container ever ran."""
        return bool(self.ends) or any("running" in each["state"] for each in self._statuses())

    @property
    def succeeded(self) -> bool:
        """Whether an instance of its main container did its work to the end."""
        return any(end["exitCode"] == 0 for end in self.ends.values())

    @property
    def decision(self) -> Mapping[str, Any]:
        """Plimsoll's decision on it; empty if there is none."""
        found: Mapping[str, Any] = json.loads(self.annotations.get(labels.DECISION, "{}"))
        return found

    @property
    def given_bytes(self) -> int | None:
        """The memory request it ran with; None if none."""
        (main,) = (each for each in self.pod["spec"]["containers"] if each["name"] == MAIN)
        amount = (main.get("resources", {}).get("requests") or {}).get("memory")
        return parse_bytes(amount) if amount is not None else None

    def kills(self, by_itself: tuple[int, ...] = ()) -> int:
        """How many instances ended for lack of memory. by_itself: exit codes that say so."""
        return sum(
            end.get("reason") == OOM_KILLED or end["exitCode"] in by_itself
            for end in self.ends.values()
        )

    def look(self, pod: Mapping[str, Any]) -> None:
        """Take note of the pod as it is now."""
        self.pod = pod
        self.noted |= self.annotations.keys()
        for status in self._statuses():
            for state in (status["state"], status.get("lastState") or {}):
                if (ended := state.get("terminated")) is not None:
                    self.ends[f"{ended.get('containerID')}"] = ended

    def _statuses(self) -> Iterator[Mapping[str, Any]]:
        for status in self.pod["status"].get("containerStatuses") or []:
            if status["name"] == MAIN:
                yield status


@dataclass(slots=True)
class Watched:
    """All pods with the mark, by UID; deleted ones stay."""

    core: client.CoreV1Api
    pods: dict[str, Seen] = field(default_factory=dict)

    def of(self, run: str) -> list[Seen]:
        """One run's pods, oldest first."""
        mine = [e for e in self.pods.values() if e.pod["metadata"]["labels"].get(MARK) == run]
        return sorted(mine, key=lambda seen: str(seen.pod["metadata"]["creationTimestamp"]))

    async def follow(self) -> None:
        """Watch for ever; what was missed between two watches is listed."""
        while True:
            listed = await self.core.list_pod_for_all_namespaces(
                label_selector=MARK, _preload_content=False
            )
            found = await listed.json()
            for pod in found["items"]:
                self._note(pod)
            with contextlib.suppress(asyncio.TimeoutError):
                await self._watch(found["metadata"]["resourceVersion"])

    async def _watch(self, since: str) -> None:
        stream = await self.core.list_pod_for_all_namespaces(
            label_selector=MARK,
            resource_version=since,
            watch=True,
            timeout_seconds=240,
            _preload_content=False,
        )
        async for line in stream.content:
            event = json.loads(line)
            if event["type"] == "ERROR":
                return
            self._note(event["object"], gone=event["type"] == "DELETED")

    def _note(self, pod: Mapping[str, Any], *, gone: bool = False) -> None:
        seen = self.pods.setdefault(pod["metadata"]["uid"], Seen(pod))
        seen.look(pod)
        seen.gone = seen.gone or gone


@contextlib.asynccontextmanager
async def watched(core: client.CoreV1Api) -> AsyncIterator[Watched]:
    """Watch the scenarios' pods while the block runs."""
    found = Watched(core)
    following = asyncio.create_task(found.follow())
    try:
        yield found
    finally:
        following.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await following
