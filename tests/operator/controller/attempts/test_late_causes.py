"""SIGKILL without the word OOMKilled: the last reading, which comes later, shows the cause."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.attempts.peaks import PeakReport
from plimsoll_operator.controller.attempts.late_peaks import UNEXPLAINED_KEPT
from plimsoll_predictor.core.documents import to_document
from plimsoll_predictor.core.record import Cause, Observation, Outcome
from plimsoll_predictor.core.units import MIB
from tests.builders.controller.ledgers import (
    TRAIN,
    Inside,
    a_final,
    a_train,
    an_inside,
    decided,
    ended,
)
from tests.builders.pods import APod

NEAR = a_final(need_bytes=127 * MIB)
FAR = a_final(need_bytes=60 * MIB)


def sigkilled(**how: Any) -> APod:
    """A pod with a limit of 128Mi."""
    return ended(decided(a_train()), "Error", 137, **how)


def observed(inside: Inside) -> Observation:
    (observation,) = inside.store.observations.of_task(TRAIN)
    return observation


async def amended(inside: Inside, report: PeakReport) -> None:
    """Let the report come, and process it."""
    await inside.report(report)
    await inside.controller.late_peaks.amend(report.pod_uid)


@pytest.mark.slow
async def test_a_reading_near_the_limit_that_came_first_makes_it_a_kill(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.report(NEAR)
        await inside.see(sigkilled())
        assert (observed(inside).outcome, observed(inside).cause) == (
            Outcome.OOM_KILLED,
            Cause.NEAR_LIMIT,
        )
        assert len(inside.known.lifts) == len(inside.store.retries.waiting()) == 1


@pytest.mark.slow
async def test_a_reading_near_the_limit_that_comes_late_makes_it_a_kill(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(sigkilled())
        assert (observed(inside).outcome, observed(inside).cause) == (Outcome.FAILED, Cause.KILLED)
        assert inside.known.lifts == {}
        for _ in range(2):
            await amended(inside, NEAR)
            await inside.see(sigkilled())
        assert (observed(inside).outcome, observed(inside).cause) == (
            Outcome.OOM_KILLED,
            Cause.NEAR_LIMIT,
        )
        assert len(inside.known.lifts) == len(inside.store.retries.waiting()) == 1
        assert inside.store.totals.of(TRAIN).oom_kills == 1
        assert inside.store.totals.of(TRAIN).failed == 0
        assert inside.known.max_need_bytes == 128 * MIB
        registry = inside.controller.metrics.registry
        assert registry.get_sample_value("plimsoll_oom_kills_total", {"at": "request"}) == 1


@pytest.mark.slow
async def test_a_reading_far_from_the_limit_leaves_it_a_failure(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(sigkilled())
        await amended(inside, FAR)
        assert (observed(inside).outcome, observed(inside).cause) == (Outcome.FAILED, Cause.KILLED)
        assert observed(inside).peak_bytes == 60 * MIB
        assert inside.known.lifts == {}


@pytest.mark.slow
async def test_the_pods_own_reading_may_follow_its_containers(tmp_path: Path) -> None:
    """The container's cgroup is removed at once, before the spike that killed it was read."""
    async with an_inside(tmp_path) as inside:
        await inside.see(sigkilled())
        await amended(inside, replace(FAR, container_id="main"))
        assert observed(inside).cause is Cause.KILLED
        await amended(inside, NEAR)
        assert observed(inside).cause is Cause.NEAR_LIMIT
        assert len(inside.known.lifts) == 1


@pytest.mark.slow
async def test_pods_are_not_kept_without_bound_for_readings_that_may_come(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        late = inside.controller.late_peaks
        for number in range(UNEXPLAINED_KEPT + 5):
            name = f"train-{number}"
            await inside.see(ended(decided(a_train(name)), "Error", 137))
        assert late.unexplained == UNEXPLAINED_KEPT
        await amended(inside, replace(FAR, pod_uid=f"uid-{name}"))
        assert late.unexplained == UNEXPLAINED_KEPT - 1


@pytest.mark.slow
async def test_a_reading_that_came_while_nobody_was_there_makes_it_a_kill(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(sigkilled())
        inside.store.peaks.put([to_document(NEAR)])
    async with an_inside(tmp_path) as inside:
        await inside.see(sigkilled())
        assert observed(inside).cause is Cause.NEAR_LIMIT
        assert len(inside.known.lifts) == len(inside.store.retries.waiting()) == 1


@pytest.mark.slow
async def test_a_lift_lost_in_a_crash_is_made_when_the_pod_is_seen_again(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.report(NEAR)
        await inside.see(sigkilled())
        for task, runs in inside.store.lifts.waiting().items():
            for run in runs:
                inside.store.lifts.close(task, run)
    async with an_inside(tmp_path) as inside:
        await inside.see(sigkilled())
        assert len(inside.known.lifts) == 1


@pytest.mark.slow
async def test_it_is_retried_once_its_other_containers_have_ended(tmp_path: Path) -> None:
    """The late reading comes before the pod's end; the pod's next event continues from there."""
    async with an_inside(tmp_path) as inside:
        await inside.see(sigkilled(phase="Running"))
        await amended(inside, NEAR)
        assert inside.store.retries.waiting() == []
        await inside.see(sigkilled())
        assert len(inside.store.retries.waiting()) == 1


@pytest.mark.slow
async def test_it_is_retried_if_the_late_reading_comes_after_the_pods_last_event(
    tmp_path: Path,
) -> None:
    """The first event comes before the pod's end, and no event comes after the reading."""
    async with an_inside(tmp_path) as inside:
        await inside.see(sigkilled(phase="Running"))
        await inside.see(sigkilled())
        assert inside.store.retries.waiting() == []
        await amended(inside, NEAR)
        assert len(inside.store.retries.waiting()) == 1


@pytest.mark.slow
async def test_the_amending_loop_looks_again_by_itself(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        amending = asyncio.create_task(inside.controller.late_peaks.run())
        await inside.see(sigkilled())
        await inside.report(NEAR)
        async with asyncio.timeout(30):
            while observed(inside).cause is not Cause.NEAR_LIMIT:
                await asyncio.sleep(0.01)
        amending.cancel()
