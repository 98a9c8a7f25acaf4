"""Kills of pods whose raise came too late: by which limit they count."""

from __future__ import annotations

from pathlib import Path

import pytest

from plimsoll_operator.names.labels import DECISION, RESCUED
from plimsoll_predictor.core.record import Cause, Observation, Outcome
from plimsoll_predictor.core.units import MIB
from tests.builders.agent.alarms import LIMIT, an_alarm
from tests.builders.controller.ledgers import a_final, decided, killed
from tests.builders.controller.rescues import Scene, a_scene, of_container, running
from tests.builders.pods import APod

ALLOCATED = {"resources": {"limits": {"memory": "165Mi"}}}


async def killed_at(scene: Scene, *, annotated: bool = True, **status: object) -> Observation:
    """Let the kernel kill a pod of 128Mi after a raise to 165Mi that its kubelet has set aside.

    A kubelet shows what it has set aside for a container that does not run.
    """
    await scene.alarmed(an_alarm())
    dead = killed(APod(scene.server.pods["train-1"])).built()
    dead["status"]["containerStatuses"][0].update(ALLOCATED | status)
    if not annotated:
        del dead["metadata"]["annotations"][RESCUED]
    await scene.inside.see(APod(dead))
    assert DECISION in dead["metadata"]["annotations"]
    (found,) = scene.inside.store.observations.of_task(scene.inside.known.task)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("annotated", [True, False])
async def test_a_kill_before_the_raise_was_enforced_is_one_at_the_old_limit(
    tmp_path: Path, annotated: bool
) -> None:
    async with a_scene(tmp_path) as scene:
        scene.sees(running())
        await scene.inside.report(of_container(128))
        found = await killed_at(scene, annotated=annotated)
        assert found.outcome is Outcome.OOM_KILLED
        assert found.need is not None
        assert found.need.size_bytes == LIMIT


@pytest.mark.slow
async def test_without_a_reading_the_raise_counts_as_too_late(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        scene.sees(running())
        assert (await killed_at(scene)).allocation_bytes == LIMIT


@pytest.mark.slow
async def test_a_late_judged_kill_before_the_raise_is_no_shortage_of_its_node(
    tmp_path: Path,
) -> None:
    async with a_scene(tmp_path) as scene:
        scene.sees(running())
        # A peak that is far from the raised limit, but at the old one.
        await scene.inside.report(of_container(128), a_final(need_bytes=128 * MIB))
        found = await killed_at(scene)
        assert (found.cause, found.allocation_bytes) == (Cause.OWN_LIMIT, LIMIT)


@pytest.mark.slow
@pytest.mark.parametrize("seen_mib", [128, 165])
async def test_a_kill_after_the_raise_was_enforced_is_one_at_the_new_limit(
    tmp_path: Path, seen_mib: int
) -> None:
    """The last reading of the limit may be older than the raise; the peak is not."""
    async with a_scene(tmp_path) as scene:
        scene.sees(running())
        await scene.inside.report(of_container(seen_mib), a_final(need_bytes=165 * MIB))
        found = await killed_at(scene)
        assert (found.cause, found.allocation_bytes) == (Cause.OWN_LIMIT, 165 * MIB)


@pytest.mark.slow
async def test_a_lowered_bare_pod_whose_raise_came_too_late_is_run_again_as_written(
    tmp_path: Path,
) -> None:
    """Not given up as leaking at the policy's maximum: it never had what its author wrote."""
    async with a_scene(tmp_path, max="165Mi") as scene:
        scene.sees(decided(running(), was_bytes=165 * MIB))
        await scene.inside.report(of_container(128))
        found = await killed_at(scene)
        assert found.is_lowered
        (intent,) = scene.inside.store.retries.waiting()
        assert intent.pod == "train-1"
