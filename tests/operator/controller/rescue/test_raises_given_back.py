"""What a raised pod gives back, and when it keeps what it has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.controller.rescue.lowering import AGAIN_S, FLAT_PAST_S, FLAT_S
from plimsoll_operator.controller.rescue.task_needs import TaskNeeds
from plimsoll_operator.kube.errors import Unknown, Unreachable
from plimsoll_operator.pods.resizes import IN_PROGRESS
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.rescue.deciding import MOST_RAISES
from tests.builders.agent.alarms import LIMIT, an_alarm
from tests.builders.controller.ledgers import a_final
from tests.builders.controller.rescues import AUTO, Scene, a_scene, running
from tests.builders.pods import RUNNING, APod


async def raised(scene: Scene) -> None:
    """Let a pod be raised from 128 to 210 MiB."""
    scene.sees(running())
    await scene.alarmed(replace(an_alarm(), growth_bytes_s=20.0 * MIB))
    assert scene.limit() == 210 * MIB


async def looked(scene: Scene, seconds: float, *, heard: bool = True, need_mib: int = 60) -> None:
    """Let the agent report that need, unless it is silent, and look after that time."""
    if heard:
        scene.peaks.add([replace(a_final(need_bytes=need_mib * MIB), final=False)])
    scene.rescues.look()
    scene.now_s += seconds
    if heard:
        scene.heard.hear("node-1")
    scene.rescues.look()
    await scene.idle()


async def test_what_its_agent_does_not_report_may_grow(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        await raised(scene)
        await looked(scene, 1.0)
        for _ in range(10):
            await looked(scene, FLAT_S, heard=False)
        assert scene.limit() == 210 * MIB
        await looked(scene, FLAT_S)
        assert scene.limit() == LIMIT


@pytest.mark.parametrize("spec", [{"mode": "off"}, {"rescue": "never"}, {"paused": True}], ids=str)
async def test_nothing_is_given_back_against_a_policy(tmp_path: Path, spec: dict[str, Any]) -> None:
    async with a_scene(tmp_path) as scene:
        await raised(scene)
        policies = scene.inside.controller.book.policies
        policies.set_namespace_spec("shop", {**AUTO, **spec})
        await looked(scene, FLAT_S)
        assert scene.limit() == 210 * MIB
        policies.set_namespace_spec("shop", AUTO)
        await looked(scene, FLAT_S)
        assert scene.limit() == LIMIT


@pytest.mark.parametrize("error", [Unreachable("429"), Unknown("401")])
async def test_a_call_that_fails_is_tried_again_later(tmp_path: Path, error: Exception) -> None:
    async with a_scene(tmp_path) as scene:
        await raised(scene)
        scene.server.refuses = [error]
        await looked(scene, FLAT_S)
        await looked(scene, FLAT_S)
        assert (scene.limit(), len(scene.server.raises)) == (210 * MIB, 2)
        await looked(scene, AGAIN_S)
        assert scene.limit() == LIMIT


async def test_a_node_that_does_not_lower_a_limit_is_asked_to_raise_it_all_the_same(
    tmp_path: Path,
) -> None:
    """The kubelet lowers no limit below what is used, page cache included; the old one stays."""
    async with a_scene(tmp_path) as scene:
        await raised(scene)
        await looked(scene, FLAT_S)
        assert scene.limit() == LIMIT
        kept = scene.server.pods["train-1"]
        failed = {
            "type": IN_PROGRESS,
            "status": "True",
            "reason": "Error",
            "message": "the limit is below the usage",
        }
        status = {**RUNNING, "resources": {"limits": {"memory": "210Mi"}}}
        scene.server.stays = [failed]
        kept["status"].update(conditions=[failed], containerStatuses=[status])
        scene.sees(APod(kept))
        scene.server.silent = True
        slow = replace(an_alarm(limit=210 * MIB), used_bytes=209 * MIB, growth_bytes_s=1.0 * MIB)
        await scene.alarmed(slow)
        assert scene.limit() == 252 * MIB, "a fifth more than the node enforces"
        assert scene.result("error") == 0


@pytest.mark.slow
async def test_a_second_raise_is_kept_as_long_as_the_first(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        await raised(scene)
        await looked(scene, FLAT_S)
        assert scene.limit() == LIMIT
        await looked(scene, 2 * FLAT_S)
        await raised(scene)
        await looked(scene, FLAT_S - 1)
        assert scene.limit() == 210 * MIB
        await looked(scene, 1.0)
        assert scene.limit() == LIMIT


@pytest.mark.slow
async def test_memory_that_comes_and_goes_does_not_use_up_all_raises(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        scene.sees(running())
        for _ in range(MOST_RAISES):
            nears = replace(an_alarm(), growth_bytes_s=20.0 * MIB, limit_bytes=scene.limit())
            await scene.alarmed(nears)
            await looked(scene, FLAT_S)
            await looked(scene, FLAT_S)
        assert scene.result("asked") < MOST_RAISES / 2


@pytest.mark.slow
async def test_a_pod_that_grows_slowly_gives_nothing_back_until_it_rests(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        await raised(scene)
        for need_mib in range(60, 100, 2):
            await looked(scene, 2.0, need_mib=need_mib)
            assert scene.limit() == 210 * MIB
        await looked(scene, FLAT_S, need_mib=98)
        assert scene.limit() == 210 * MIB, "for a quarter of the time for which it rose"
        await looked(scene, FLAT_S, need_mib=98)
        assert scene.limit() == LIMIT


@pytest.mark.slow
async def test_what_its_task_is_known_to_need_is_given_back_after_a_long_rest(
    tmp_path: Path,
) -> None:
    async with a_scene(tmp_path) as scene:
        scene.needs_mib = (300,) * 5
        scene.sees(running())
        await scene.alarmed(an_alarm())
        assert scene.limit() == 318 * MIB
        await looked(scene, FLAT_PAST_S - 1)
        assert scene.limit() == 318 * MIB
        await looked(scene, 1.0)
        assert scene.limit() == LIMIT


@pytest.mark.slow
async def test_a_new_controller_knows_not_why_a_pod_was_raised_and_waits_for_a_long_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_scene(tmp_path) as scene:
        await raised(scene)
        monkeypatch.setattr(TaskNeeds, "latest", lambda *_: None)
        await looked(scene, FLAT_PAST_S - 1)
        assert scene.limit() == 210 * MIB
        await looked(scene, 1.0)
        assert scene.limit() == LIMIT
