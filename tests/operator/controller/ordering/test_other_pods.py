"""Pods of no task are listed as little as they need to be, and none is kept whole."""

from __future__ import annotations

import asyncio
import json
import tracemalloc
from collections.abc import Mapping
from typing import Any
from unittest.mock import AsyncMock

import pytest

from plimsoll_operator.controller.ordering.other_pods import SEEN_FOR_S, OtherPods
from plimsoll_operator.kube.api_server import ApiServer
from plimsoll_operator.kube.errors import Unreachable
from plimsoll_operator.names import labels
from plimsoll_operator.ordering.pending import pending_of
from plimsoll_operator.ordering.room import taker_of
from tests.builders.pods import a_pod

PODS, PAGES = 50, 20


def in_zone(zone: str) -> dict[str, Any]:
    """An affinity that requires a zone."""
    expression = {"key": "zone", "operator": "In", "values": [zone]}
    required = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


class Listing(ApiServer):
    """Answers pages of large pods, each after some time."""

    def __init__(self, clock: list[float], takes_s: float = 0.0, answers: int = PAGES) -> None:
        self.clock, self.takes_s, self.answers = clock, takes_s, answers
        self.fails: Unreachable | None = None
        self.held: asyncio.Event | None = None

    async def get(self, path: str, query: Mapping[str, str] | None = None) -> dict[str, Any]:
        assert path in ("", "/api/v1/pods")
        self.clock[0] += self.takes_s
        if self.held is not None:
            await self.held.wait()
        if self.fails is not None:
            raise self.fails
        page = int((query or {}).get("continue") or 0)
        pod = a_pod().unlabelled().with_cpu("1").with_spec(nodeName="node-1", priority=7)
        built = pod.annotated({labels.HELD: "{}", "large": "x" * 5000}).built()
        built["metadata"]["managedFields"] = [{f"f:{n}": {} for n in range(300)}]
        built["status"] = {"phase": "Running", "conditions": [{f"c{n}": n} for n in range(100)]}
        more = str(page + 1) if page + 1 < self.answers else ""
        text = json.dumps({"items": [built] * PODS, "metadata": {"continue": more}})
        found: dict[str, Any] = json.loads(text)
        return found


async def test_no_pod_is_kept_whole() -> None:
    clock = [0.0]
    others = OtherPods(Listing(clock), lambda: clock[0])
    tracemalloc.start()
    try:
        page = await Listing(clock).get("")
        _, page_bytes = tracemalloc.get_traced_memory()
        del page
        tracemalloc.reset_peak()
        found = await others.list()
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(found) == PODS * PAGES
    assert peak_bytes < 2.0 * page_bytes
    assert not any("status" in pod or "managedFields" in pod["metadata"] for pod in found)


async def test_what_is_kept_says_what_room_they_take(monkeypatch: pytest.MonkeyPatch) -> None:
    init = {"name": "first", "resources": {"requests": {"cpu": "1500m"}}}
    side = {"name": "side", "restartPolicy": "Always", "resources": {"limits": {"cpu": "250m"}}}
    pod = a_pod().unlabelled().with_cpu("1").with_spec(priority=7, restartPolicy="Always")
    bound = pod.with_spec(
        nodeName="node-1", initContainers=[init, side], overhead={"cpu": "100m"}
    ).built()
    owner = {"kind": "ReplicaSet", "name": "web", "uid": "uid-web", "controller": True}
    full = {"type": "PodScheduled", "status": "False", "message": "0/2: 2 Insufficient cpu."}
    waiting = pod.with_spec(nodeSelector={"zone": "a"}, affinity=in_zone("b")).built()
    waiting["metadata"].update(creationTimestamp="2026-11-23T12:00:00Z", ownerReferences=[owner])
    waiting["status"] = {"conditions": [full]}
    ended = {**bound, "status": {"phase": "Failed"}}
    clock = [0.0]
    listing = Listing(clock)
    page = {"items": [bound, waiting, ended]}
    monkeypatch.setattr(listing, "get", AsyncMock(return_value=page))
    listed = await OtherPods(listing, lambda: clock[0]).list()
    assert [taker_of(each) for each in listed] == [taker_of(bound), None]
    assert [pending_of(each) for each in listed] == [None, pending_of(waiting)]
    assert taker_of(bound) is not None
    assert pending_of(waiting) is not None


@pytest.mark.parametrize(
    ("takes_s", "pause_s"),
    [
        pytest.param(0.1, 10.0, id="quick lists"),
        pytest.param(1.0, 20.0, id="a twentieth of the time"),
        pytest.param(5.0, 30.0, id="no older than half a minute"),
        pytest.param(25.0, 50.0, id="half of the time at most"),
    ],
)
async def test_room_that_such_pods_give_back_is_seen_soon(takes_s: float, pause_s: float) -> None:
    clock = [0.0]
    others = OtherPods(Listing(clock, takes_s, answers=1), lambda: clock[0])
    await others.list()
    clock[0] = pause_s - 0.5
    assert not others.are_due()
    clock[0] = pause_s
    assert others.are_due()
    assert others.are_known()
    clock[0] = SEEN_FOR_S + 0.5
    assert not others.are_known()


async def test_who_stops_in_the_middle_of_a_list_may_begin_again() -> None:
    """As after an error in a look, which begins the whole order again."""
    clock = [0.0]
    listing = Listing(clock, answers=2)
    others = OtherPods(listing, lambda: clock[0])
    listing.held = asyncio.Event()
    assert await others.news(0.0) is None, "the list goes on"
    others.stop()
    await asyncio.sleep(0)
    listing.held.set()
    assert len(await others.news(1.0) or []) == 2 * PODS


async def a_list_that_failed(clock: list[float]) -> OtherPods:
    """A list that fails after its call was left."""
    listing = Listing(clock, answers=1)
    others = OtherPods(listing, lambda: clock[0])
    listing.held, listing.fails = asyncio.Event(), Unreachable("no answer")
    assert await others.news(0.0) is None
    listing.held.set()
    await asyncio.sleep(0.01)
    listing.fails = None
    return others


async def test_a_list_that_failed_while_nobody_waited_is_made_again() -> None:
    clock = [0.0]
    others = await a_list_that_failed(clock)
    clock[0] = 3600.0
    assert len(await others.news(1.0) or []) == PODS


async def test_a_list_that_failed_lately_is_told() -> None:
    clock = [0.0]
    others = await a_list_that_failed(clock)
    clock[0] = SEEN_FOR_S / 2
    with pytest.raises(Unreachable):
        await others.news(1.0)
