"""What went while no watch looked is forgotten."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from plimsoll_operator.controller.tasks.missed_deletions import (
    NODES,
    PODS,
    POLICIES,
    PROFILES,
    LastSeen,
    MissedDeletions,
)
from plimsoll_operator.kube.api_server import MOST_OBJECTS
from plimsoll_operator.kube.errors import ApiError, Unreachable
from plimsoll_operator.names import labels
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.record import Outcome
from plimsoll_predictor.core.task import TaskId
from tests.builders.controller.ledgers import (
    TRAIN,
    Inside,
    a_train,
    an_inside,
    decided,
    ended,
    made,
)
from tests.builders.nodes import a_node
from tests.builders.pods import RUNNING

Object = Mapping[str, Any]


@dataclass
class Cluster:
    """What the API server lists, by list, and what the controller was told to be gone."""

    lists: dict[str, list[Object]]
    error: ApiError | None = None
    last_seen: LastSeen = field(default_factory=LastSeen)
    gone: list[Object] = field(default_factory=list)

    def __post_init__(self) -> None:
        for path, documents in self.lists.items():
            for document in documents:
                self.last_seen.see(path, document, gone=False)
        self.missed = MissedDeletions(
            cast(Any, self), self.last_seen, dict.fromkeys(self.lists, self._see_gone)
        )

    async def _see_gone(self, document: Object) -> None:
        self.gone.append(document)

    async def names(self, path: str, query: Any) -> dict[str, str]:
        assert query == ({"labelSelector": labels.TASK} if path == PODS else None)
        if self.error is not None:
            raise self.error
        return {
            meta["uid"]: f"{meta.get('namespace')}/{meta['name']}"
            for meta in (document["metadata"] for document in self.lists[path])
        }


def named(name: str, uid: str = "", **more: object) -> Object:
    meta = {"namespace": "shop", "name": name, "uid": uid or f"uid-{name}"}
    return {"metadata": {**meta, "managedFields": [{"manager": "kubelet"}]}, **more}


async def test_a_pod_that_two_lists_lack_is_gone_as_it_was_seen_last() -> None:
    cluster = Cluster({PODS: [named("a"), named("b")]})
    cluster.last_seen.see(PODS, named("b", status={"phase": "Running"}), gone=False)
    cluster.lists[PODS].pop()
    await cluster.missed.look(PODS)
    assert cluster.gone == [], "the watch may bring it just now"
    await cluster.missed.look(PODS)
    meta = {"namespace": "shop", "name": "b", "uid": "uid-b"}
    assert cluster.gone == [{"metadata": meta, "status": {"phase": "Running"}}]
    for _ in range(2):
        await cluster.missed.look(PODS)
    assert len(cluster.gone) == 1


async def test_what_the_watch_told_after_all_is_not_told_again() -> None:
    cluster = Cluster({PODS: [named("a"), named("b")]})
    del cluster.lists[PODS][1]
    await cluster.missed.look(PODS)
    cluster.last_seen.see(PODS, named("b"), gone=True)
    await cluster.missed.look(PODS)
    assert cluster.gone == []


async def test_an_object_that_is_too_large_is_known_by_its_name_and_node() -> None:
    texts = {f"{place}": hashlib.sha256(b"%d" % place).hexdigest() for place in range(5000)}
    large = named(
        "b", spec={"nodeName": "n1", "containers": [{"env": texts}]}, status={"a": "\ud800"}
    )
    cluster = Cluster({PODS: [named("a"), large]})
    cluster.lists[PODS].pop()
    for _ in range(2):
        await cluster.missed.look(PODS)
    meta = {"namespace": "shop", "name": "b", "uid": "uid-b"}
    assert cluster.gone == [{"metadata": meta, "spec": {"nodeName": "n1"}}]


async def test_of_a_profile_its_status_is_not_kept() -> None:
    last_seen = LastSeen()
    last_seen.see(PROFILES, named("a", spec={"task": "b"}, status={"about": ["much"]}), gone=False)
    found = last_seen.forget(PROFILES, "uid-a")
    meta = {"namespace": "shop", "name": "a", "uid": "uid-a"}
    assert found == {"metadata": meta, "spec": {"task": "b"}}


async def test_odd_texts_are_kept_as_they_are() -> None:
    last_seen = LastSeen()
    odd = named("\ud800", "uid", status={"message": "\udc00\0"})
    last_seen.see(PODS, odd, gone=False)
    found = last_seen.forget(PODS, "uid")
    assert found is not None
    assert found["status"] == {"message": "\udc00\0"}


async def test_pods_that_are_over_are_not_kept() -> None:
    cluster = Cluster({PODS: [named("a"), named("b")]})
    for phase, name in (("Succeeded", "a"), ("Failed", "b")):
        cluster.last_seen.see(PODS, named(name, status={"phase": phase}), gone=False)
    assert cluster.last_seen.uids(PODS) == set()


async def test_a_node_that_comes_back_stays() -> None:
    nodes = [{"metadata": {**a_node(name=name)["metadata"], "uid": name}} for name in ("n1", "n2")]
    cluster = Cluster({NODES: list(nodes)})
    for there in (nodes[:1], nodes, nodes[:1]):
        cluster.lists[NODES] = list(there)
        await cluster.missed.look(NODES)
    assert cluster.gone == []
    await cluster.missed.look(NODES)
    assert [each["metadata"]["name"] for each in cluster.gone] == ["n2"]


async def test_a_policy_that_was_made_again_is_not_gone_but_a_pod_is() -> None:
    """Policies go by their names; a pod is another pod."""
    cluster = Cluster({POLICIES: [named("default")], PODS: [named("set-0")]})
    for path, name in ((POLICIES, "default"), (PODS, "set-0")):
        cluster.lists[path] = [named(name, "another")]
        cluster.last_seen.see(path, cluster.lists[path][0], gone=False)
        for _ in range(2):
            await cluster.missed.look(path)
        assert cluster.last_seen.uids(path) == {"another"}
    assert [each["metadata"]["uid"] for each in cluster.gone] == ["uid-set-0"]


async def test_a_list_that_fails_takes_nothing() -> None:
    cluster = Cluster({PODS: [named("a"), named("b")]})
    cluster.error = Unreachable("away")
    for _ in range(3):
        await cluster.missed.look(PODS)
    assert cluster.gone == []


async def test_what_is_gone_from_a_list_of_more_than_twenty_thousand_is_found() -> None:
    cluster = Cluster({PODS: [named(f"{number}") for number in range(MOST_OBJECTS + 1)]})
    cluster.last_seen.see(PODS, named("ghost"), gone=False)
    for _ in range(2):
        await cluster.missed.look(PODS)
    assert [each["metadata"]["name"] for each in cluster.gone] == ["ghost"]


async def look_twice_at_nothing(inside: Inside) -> None:
    """Look at an API server that has nothing any more."""
    watch = inside.controller.watch
    empty = Cluster({path: [] for path in watch.see_gone()})
    missed = MissedDeletions(cast(Any, empty), watch.last_seen, watch.see_gone())
    for _ in range(2):
        for path in watch.see_gone():
            await missed.look(path)


@pytest.mark.slow
async def test_a_pod_that_went_unseen_takes_no_room_and_runs_no_more(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        started = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
        running = (
            decided(a_train())
            .with_spec(nodeName="n1")
            .with_status(
                phase="Running",
                containerStatuses=[{"name": "main", "restartCount": 0, "state": started}],
            )
        )
        await inside.see(running)
        await inside.see(ended(decided(a_train("train-2"))))
        watch, uid = inside.controller.watch, running.built()["metadata"]["uid"]
        assert watch.releases.room.has_bound(uid)
        assert inside.controller.encounters.residents() == {"n1": {str(TRAIN): 1}}
        await look_twice_at_nothing(inside)
        assert not watch.releases.room.has_bound(uid)
        assert inside.controller.encounters.residents() == {}
        found = sorted(each.outcome for each in inside.store.observations.of_task(TRAIN))
        assert found == sorted([Outcome.DELETED, Outcome.SUCCEEDED])


@pytest.mark.slow
@pytest.mark.parametrize("restarts", [0, 2])
async def test_a_large_pod_that_went_unseen_runs_no_more(tmp_path: Path, restarts: int) -> None:
    """Only its name and its node are known then, so its end is not observed."""
    arguments = [hashlib.sha256(b"%d" % place).hexdigest() for place in range(1000)]
    running = (
        decided(made(a_train(), "2026-01-01T00:00:00Z"))
        .running_with(*arguments)
        .with_spec(nodeName="n1")
        .with_status(phase="Running", containerStatuses=[RUNNING | {"restartCount": restarts}])
    )
    async with an_inside(tmp_path) as inside:
        controller = inside.controller
        placement = controller.watch.ledger.placement
        await inside.see(running)
        await controller.runtimes.fold()
        assert len(controller.runtimes.all_under_way()) == 1
        assert controller.encounters.residents() == {"n1": {str(TRAIN): 1}}
        assert len(placement) == len(controller.live_needs) == len(controller.loads._running) == 1
        await look_twice_at_nothing(inside)
        await controller.runtimes.fold()
        assert controller.runtimes.all_under_way() == {}
        assert controller.encounters.residents() == {}
        assert len(placement) == len(controller.live_needs) == len(controller.loads._running) == 0
        assert inside.store.observations.of_task(TRAIN) == []


@pytest.mark.slow
async def test_policies_bounds_and_profiles_that_went_unseen_hold_no_more(tmp_path: Path) -> None:
    async with an_inside(tmp_path, mode=Mode.RECOMMEND) as inside:
        watch, policies = inside.controller.watch, inside.controller.book.policies
        await watch.see_policy(named("default", spec={"mode": "enforce"}), gone=False)
        await watch.see_profile(named("fit", spec={"mode": "enforce"}), gone=False)
        limits = [{"type": "Container", "max": {"memory": "1Gi"}}]
        await watch.see_bounds(named("most", spec={"limits": limits}), gone=False)
        await watch.see_bounds(named("room", spec={"hard": {"limits.memory": "8Gi"}}), gone=False)
        assert policies.has_own(TaskId("shop", "fit"))
        before = inside.controller.bounds.of_namespace("shop")
        await look_twice_at_nothing(inside)
        assert not policies.has_own(TaskId("shop", "fit"))
        assert policies.of_task(TRAIN).policy.mode is Mode.RECOMMEND
        assert inside.controller.bounds.of_namespace("shop") != before
