"""An agent's watch and the controller's answers together, on a node that grants at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from plimsoll_operator.attempts.alarms import Alarms
from plimsoll_predictor.core.units import MIB
from tests.builders.agent.nearing_nodes import Node
from tests.builders.controller.ledgers import a_final
from tests.builders.controller.rescues import Scene, a_scene, running

UID = "uid-train-1"
LOOKS = 10
"""A second."""


def in_steps(steps: Sequence[tuple[float, float]]) -> Callable[[float], float]:
    """Return the MiB held at any second. steps: from which second on, how many."""
    begins = [begin_s for begin_s, _ in steps]
    return lambda at_s: steps[bisect_right(begins, at_s) - 1][1]


async def limits_of(
    scene: Scene, node: Node, held_mib: Callable[[float], float], seconds: int
) -> list[int]:
    """Let the pod live, and return its limits in MiB, one after another."""
    scene.sees(running())
    scene.now_s, limits, held = node.now_s, [scene.limit() // MIB], (0.0, 0)
    for look in range(seconds * LOOKS):
        now = held_mib(look / LOOKS), scene.limit() // MIB
        assert now[0] < now[1], f"it is killed after {look / LOOKS} s"
        if now != held:
            held = now
            node.holds(UID, now[0], limit=now[1])
        if look % LOOKS:
            alarms = node.look()
        else:
            node.now_s -= 1 - 1 / LOOKS  # the tick takes the place of a look
            alarms = node.tick()
            need_bytes = int(now[0] * MIB)
            scene.peaks.add([replace(a_final(need_bytes=need_bytes), final=False)])
            scene.heard.hear("node-1")
            scene.rescues.look()
        scene.now_s = node.now_s
        if alarms:
            said = Alarms(node="node-1", pods_used_bytes=1024 * MIB, alarms=tuple(alarms))
            node.near.raised(await scene.rescues.hear(said), node.now_s)
        await scene.idle()
        if limits[-1] != scene.limit() // MIB:
            limits.append(scene.limit() // MIB)
    return limits


@pytest.mark.slow
async def test_a_pod_that_rises_in_steps_always_has_room_for_the_next(tmp_path: Path) -> None:
    """Neither is it raised and lowered while it rests."""
    stairs = in_steps([(0, 30), (5, 60), (10, 100), (55, 140)])
    async with a_scene(tmp_path) as scene:
        limits = await limits_of(scene, Node(tmp_path), stairs, 60)
        assert limits == [128, 188, 150, 228]
        assert scene.result("asked") == 2
        assert scene.answered("early") < 5


@pytest.mark.slow
async def test_a_pod_that_rises_slowly_to_the_known_need_is_raised_once(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        scene.needs_mib = (200,) * 5
        ramp = await limits_of(scene, Node(tmp_path), lambda at_s: min(100 + at_s, 190), 100)
        assert ramp == [128, 212]
