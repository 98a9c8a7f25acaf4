"""Attempts that ended without a kill are used up, too: their maker has counted them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.units import MIB
from tests.builders.controller.ledgers import (
    Inside,
    a_train,
    an_inside,
    decided,
    ended,
    killed,
    made,
)
from tests.builders.pods import JOB_UID, APod

RUN = f"job:{JOB_UID}"
AT = "2026-01-01T00:00:30Z"


def of_the_job(name: str = "train-1", *, attempt: int = 1, mode: Mode = Mode.ENFORCE) -> APod:
    """It got half of the 256Mi that its author wrote."""
    pod = decided(a_train(name), attempt=attempt, mode=mode, was_bytes=256 * MIB)
    return made(pod.owned_by_job(), AT)


def disrupted(pod: APod, reason: str = "PreemptionByScheduler") -> APod:
    condition = {"type": "DisruptionTarget", "status": "True", "reason": reason}
    return ended(pod, "Error", 143).with_status(phase="Failed", conditions=[condition])


def on_a_full_gpu(pod: APod) -> APod:
    built = ended(pod, "Error", 1).built()
    [status] = built["status"]["containerStatuses"]
    status["state"]["terminated"]["message"] = "torch.cuda.OutOfMemoryError: CUDA out of memory."
    return APod(built)


def lift(inside: Inside) -> tuple[bool, int] | None:
    stored = inside.known.lifts.get(RUN)
    return None if stored is None else (stored.as_written, stored.attempt)


@pytest.mark.slow
@pytest.mark.parametrize(
    "end",
    [
        pytest.param(disrupted(of_the_job()), id="preempted"),
        pytest.param(disrupted(of_the_job(), "DeletionByTaintManager"), id="evicted"),
        pytest.param(on_a_full_gpu(of_the_job()), id="a GPU's memory"),
    ],
)
async def test_a_jobs_next_attempt_is_not_lowered_after_one_that_it_counted(
    tmp_path: Path, end: APod
) -> None:
    """After six evictions a backoffLimit of 6 has no attempt left for a size that is too small."""
    async with an_inside(tmp_path) as inside:
        await inside.see(end)
        assert lift(inside) == (True, 2)
    async with an_inside(tmp_path) as inside:
        assert lift(inside) == (True, 2)
        await inside.see(end)
        assert lift(inside) == (True, 2), "seen again, it is the same"


@pytest.mark.slow
async def test_the_run_is_as_any_other_once_it_got_through(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(disrupted(of_the_job()))
        after = made(of_the_job("train-2", attempt=2), "2026-01-01T00:01:10Z")
        await inside.see(ended(after, at="2026-01-01T00:02:00Z"))
        assert lift(inside) is None


@pytest.mark.slow
async def test_an_attempt_lifted_over_what_was_written_keeps_its_lift(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        written = decided(a_train()).owned_by_job()
        await inside.see(killed(written))
        (before,) = inside.known.lifts.values()
        await inside.see(disrupted(decided(a_train("train-2"), attempt=2).owned_by_job()))
        assert inside.known.lifts == {RUN: before}


def failed(pod: APod) -> APod:
    return ended(pod, "Error", 1)


@pytest.mark.slow
@pytest.mark.parametrize("end", [disrupted, on_a_full_gpu, failed, killed])
@pytest.mark.parametrize(
    ("said", "mode"),
    [
        pytest.param({"mode": "recommend"}, Mode.RECOMMEND, id="recommend"),
        pytest.param({"paused": True}, Mode.ENFORCE, id="paused"),
        pytest.param({}, Mode.RECOMMEND, id="enforced since it was made"),
    ],
)
async def test_an_attempt_that_was_used_up_while_nothing_was_enforced_counts_later(
    tmp_path: Path, said: dict[str, Any], mode: Mode, end: Callable[[APod], APod]
) -> None:
    """Otherwise the last pods of a flaky Job would be lowered as if they were its first."""
    as_written = made(decided(a_train(), mode=mode).owned_by_job(), AT)
    for _ in range(2):  # seen again, it is the same
        async with an_inside(tmp_path, said=said) as inside:
            await inside.see(end(as_written))
            assert lift(inside) == (True, 2)
    async with an_inside(tmp_path) as inside:
        assert lift(inside) == (True, 2)
        (noted,) = inside.known.lifts.values()
        assert noted.after_bytes == 0, "no lower size was too small"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pod", "said"),
    [
        pytest.param(of_the_job(), {"mode": "off"}, id="switched off: nothing is recorded"),
        pytest.param(decided(a_train(), was_bytes=256 * MIB), {}, id="bare: nobody counts"),
        pytest.param(
            decided(a_train(), mode=Mode.RECOMMEND),
            {"mode": "recommend"},
            id="bare, and nothing is enforced",
        ),
        pytest.param(
            decided(a_train(), mode=Mode.RECOMMEND).owned_by_job(attempts=1),
            {"mode": "recommend"},
            id="no attempt is left",
        ),
    ],
)
async def test_nothing_is_noted_where_no_size_may_use_up_an_attempt(
    tmp_path: Path, pod: APod, said: dict[str, Any]
) -> None:
    async with an_inside(tmp_path, said=said) as inside:
        await inside.see(disrupted(pod))
        assert inside.known.lifts == {}


@pytest.mark.slow
async def test_many_evictions_are_no_burst_of_runs_that_need_more(tmp_path: Path) -> None:
    """A lost node says nothing about a size."""
    async with an_inside(tmp_path) as inside:
        for number in range(8):
            pod = of_the_job(f"train-{number}").annotated(
                {"batch.kubernetes.io/job-completion-index": str(number)}
            )
            await inside.see(disrupted(pod))
        assert {each.after_bytes for each in inside.known.lifts.values()} == {0}
