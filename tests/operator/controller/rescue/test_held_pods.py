"""Which pods are held for rescue and lending, and how many, whatever strangers write on them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from plimsoll_operator.controller.lending.running_pods import RunningPods
from plimsoll_operator.controller.rescue.rescuable_pods import RescuablePods
from plimsoll_operator.names.labels import LENT, RESCUED
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
