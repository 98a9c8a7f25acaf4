"""Which pods are held for rescue and lending, and how many, whatever strangers write on them."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pytest

from plimsoll_operator.controller.lending.running_pods import RunningPods
from plimsoll_operator.controller.rescue import rescuable_pods
from plimsoll_operator.controller.rescue.rescuable_pods import Pending, Rescuable, RescuablePods
from plimsoll_operator.names.labels import LENT, RESCUED
from plimsoll_predictor.core.units import MIB
from tests.builders.agent.alarms import an_alarm
from tests.builders.controller import lenders, rescues
from tests.builders.controller.rescues import running
from tests.builders.pods import APod

NOTE = {"uid": "uid-train-1", "container": "main", "request": "64Mi", "limit": "64Mi", "raises": 1}
LOAN = {"uid": "uid-train-1", "container": "main", "request": "128Mi"}


def rescuable(scene: rescues.Scene, max_bytes: int = 2**26) -> RescuablePods:
    controller = scene.inside.controller
    return RescuablePods(
        book=controller.book,
        bounds=controller.bounds,
        nodes=controller.watch.ledger.nodes,
        peaks=scene.peaks,
        heard=scene.heard,
        max_bytes=max_bytes,
    )


def lending(scene: lenders.Scene, max_bytes: int = 2**26) -> RunningPods:
    controller = scene.inside.controller
    return RunningPods(
        book=controller.book,
        bounds=controller.bounds,
        peaks=scene.peaks,
        nodes=controller.watch.ledger.nodes,
        heard=scene.lending.heard,
        max_bytes=max_bytes,
    )


@pytest.mark.parametrize(
    ("pod", "held"),
    [
        pytest.param(running(), 0, id="without an annotation"),
        pytest.param(running().annotated({RESCUED: "junk"}), 0, id="junk"),
        pytest.param(
            running("train-2").annotated({RESCUED: json.dumps(NOTE)}), 0, id="another pod's"
        ),
        pytest.param(running().annotated({RESCUED: json.dumps(NOTE)}), 1, id="its own"),
    ],
)
async def test_where_a_policy_says_never_only_rescued_pods_are_held(
    tmp_path: Path, pod: APod, held: int
) -> None:
    async with rescues.a_scene(tmp_path, rescue="never") as scene:
        pods = rescuable(scene)
        pods.see(pod.built(), gone=False)
        assert len(pods) == held


@pytest.mark.parametrize(
    ("pod", "held"),
    [
        pytest.param(running().annotated({LENT: "junk"}), 0, id="junk"),
        pytest.param(running().annotated({LENT: json.dumps(LOAN)}), 1, id="its own"),
    ],
)
async def test_where_a_policy_says_never_only_lenders_are_held(
    tmp_path: Path, pod: APod, held: int
) -> None:
    async with lenders.a_scene(tmp_path, lending="never") as scene:
        pods = lending(scene)
        pods.see(pod.built(), gone=False)
        assert len(pods) == held


async def test_a_pod_without_a_node_is_not_held(tmp_path: Path) -> None:
    async with rescues.a_scene(tmp_path) as scene:
        pods = rescuable(scene)
        pods.see(running().with_spec(nodeName=None).built(), gone=False)
        assert len(pods) == 0


@pytest.mark.slow
async def test_a_namespace_that_fills_the_room_loses_its_own_pods(tmp_path: Path) -> None:
    (folder := tmp_path / "other").mkdir()
    async with rescues.a_scene(tmp_path) as scene, lenders.a_scene(folder) as other:
        for inside in (scene.inside, other.inside):
            for namespace in ("shop", "mall"):
                spec = {"mode": "enforce", "rescue": "auto", "lending": "auto"}
                inside.controller.book.policies.set_namespace_spec(namespace, spec)
        for pods in (rescuable(scene, 100_000), lending(other, 100_000)):
            pods.see(running("here").built(), gone=False)
            for number in range(100):
                pods.see(running(f"there-{number}").in_namespace("mall").built(), gone=False)
            assert pods.get("uid-here") is not None
            assert 1 < len(pods) < 20
            pods.see(running("here").built(), gone=True)
            assert pods.get("uid-here") is None


@pytest.mark.slow
async def test_a_lender_stays_when_the_room_is_full_until_it_has_all_again(tmp_path: Path) -> None:
    async with lenders.a_scene(tmp_path) as scene:
        pods = lending(scene, 7_000)  # less than any pod takes
        lender = lenders.running().annotated({LENT: json.dumps({**LOAN, "request": "1Gi"})})
        pods.see(lender.asking("332Mi").built(), gone=False)
        for number in range(20):
            pods.see(lenders.running(f"other-{number}").built(), gone=False)
        assert [each.uid for each in pods] == ["uid-train-1"]
        # It grows and asks for all again, and its node grants that.
        pods.see(lender.asking("1Gi").built(), gone=False)
        assert pods.get("uid-train-1") is not None
        pods.see(lenders.running().built(), gone=False)
        assert len(pods) == 0


@pytest.mark.slow
async def test_a_pod_that_begins_to_lend_in_a_full_room_takes_all_back(tmp_path: Path) -> None:
    (folder := tmp_path / "other").mkdir()
    async with lenders.a_scene(tmp_path) as first, lenders.a_scene(folder) as scene:
        pods = lending(first)
        pods.see(lenders.running().built(), gone=False)
        one_bytes = pods.held_bytes
        scene.lending = scene.another(max_bytes=one_bytes)
        await scene.lends()
        scene.lending.see(scene.server.pods["train-1"], gone=False)
        scene.lending.see(lenders.running("train-2").built(), gone=False)
        assert scene.lending.lends("uid-train-1")
        scene.uses(265)
        await scene.later(1)
        assert scene.request() == lenders.ASKED


@pytest.mark.slow
async def test_a_raised_pod_stays_when_the_room_is_full(tmp_path: Path) -> None:
    async with rescues.a_scene(tmp_path) as scene:
        pods = rescuable(scene)
        pods.see(running().built(), gone=False)
        scene.rescues = scene.another(max_bytes=pods.held_bytes)
        scene.sees(running())
        scene.server.silent = True
        await scene.alarmed(an_alarm())
        for number in range(20):
            scene.sees(running(f"other-{number}").in_namespace("mall"))
            scene.sees(running(f"other-{number}"))
        scene.sees(APod(scene.server.pods["train-1"]))
        assert scene.rescues.raised("uid-train-1")


@pytest.mark.slow
async def test_pods_that_claim_to_be_raised_take_three_times_the_room_at_most(
    tmp_path: Path,
) -> None:
    async with rescues.a_scene(tmp_path) as scene:
        pods = rescuable(scene, 40_000)
        for number in range(100):
            note = json.dumps({**NOTE, "uid": f"uid-t-{number}"})
            pods.see(running(f"t-{number}").annotated({RESCUED: note}).built(), gone=False)
        assert 80_000 < pods.held_bytes <= 120_000


@pytest.mark.slow
async def test_raised_pods_are_held_beyond_the_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rescuable_pods, "MOST_PODS", 1)
    async with rescues.a_scene(tmp_path) as scene:
        pods = rescuable(scene)
        for number in range(3):
            pods.see(running(f"other-{number}").built(), gone=False)
        pods.see(running().annotated({RESCUED: json.dumps(NOTE)}).built(), gone=False)
        assert {each.uid for each in pods} == {"uid-other-0", "uid-train-1"}


@pytest.mark.slow
async def test_the_room_of_a_node_is_told_without_a_look_at_the_pods_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with rescues.a_scene(tmp_path) as scene:
        pods, looked = rescuable(scene), list[str]()
        for number in range(50):
            pods.see(running(f"far-{number}", "node-2").built(), gone=False)
        note = {RESCUED: json.dumps({**NOTE, "uid": "uid-near"})}
        pods.see(running("near").annotated(note).built(), gone=False)
        own = pods.see(running().built(), gone=False)
        assert own is not None
        added = vars(Rescuable)["added_bytes"].fget

        def counted(pod: Rescuable) -> int:
            looked.append(pod.uid)
            return int(added(pod))

        monkeypatch.setattr(Rescuable, "added_bytes", property(counted))
        assert pods.room(own, 0).on_node_bytes == 64 * MIB
        assert set(looked) == {"uid-near", "uid-train-1"}
        pods.see(running("near", "node-1").annotated(note).built(), gone=True)
        assert pods.room(own, 0).on_node_bytes == 0


SHOWN = {"pod", "watched", "container", "first", "raises", "noted"}
"""What the watch shows of a pod that may be rescued."""


async def test_a_pod_that_is_seen_again_keeps_all_that_its_watch_does_not_show(
    tmp_path: Path,
) -> None:
    async with rescues.a_scene(tmp_path) as scene:
        pods = rescuable(scene)
        first = pods.see(running().built(), gone=False)
        assert first is not None
        before = Pending(
            before=first.container, limit_bytes=MIB, used_bytes=1, asked_s=1.0, words=""
        )
        known: dict[str, object] = {
            each.name: before if each.name == "pending" else object()
            for each in fields(Rescuable)
            if each.name not in SHOWN
        }
        for name, value in known.items():
            setattr(first, name, value)
        again = pods.see(running().annotated({"a": "b"}).built(), gone=False)
        assert again is not None
        assert "a" in again.pod["metadata"]["annotations"]
        assert {name: getattr(again, name) for name in known} == known
