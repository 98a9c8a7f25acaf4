"""What observations teach, run by run."""

from __future__ import annotations

import pytest

from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.training.runs import (
    CENSORED_FACTOR,
    SHORTEST_RUNTIME_S,
    UNKNOWN_RUNTIME_S,
    RunRows,
    runs_of,
)
from tests.builders.training.trainings import an_attempt, killed


def test_the_need_of_the_attempt_that_succeeded_supersedes_its_runs_kills() -> None:
    attempts = [
        killed(1, 200 * MIB),
        killed(1, 400 * MIB),
        an_attempt(1, attempt=3, peak_bytes=390 * MIB),
    ]
    (run,) = runs_of(attempts, latest=10)
    assert run.need_bytes == 390 * MIB
    assert not run.censored


def test_a_run_that_was_only_killed_counts_as_half_as_much_again_as_it_exceeded() -> None:
    (run,) = runs_of([killed(1, 400 * MIB), killed(1, 200 * MIB)], latest=10)
    assert run.exceeds_bytes == 400 * MIB
    assert run.need_bytes == CENSORED_FACTOR * 400 * MIB


GIVEN_UP = [4 * GIB, 8 * GIB, 16 * GIB, 32 * GIB]


@pytest.mark.parametrize(
    ("written", "need_bytes"),
    [
        pytest.param({}, 8 * GIB, id="twice the request"),
        pytest.param({"written_limit_bytes": 12 * GIB}, 24 * GIB, id="or the limit as written"),
        pytest.param({"request_bytes": 2 * GIB}, 6 * GIB, id="or what sufficed for another run"),
        pytest.param({"request_bytes": None}, CENSORED_FACTOR * 32 * GIB, id="if there is one"),
    ],
)
def test_a_run_that_was_given_up_counts_as_far_as_a_first_size_believes_kills(
    written: dict[str, int | None], need_bytes: float
) -> None:
    leak = [killed(1, size_bytes, **written) for size_bytes in GIVEN_UP]
    ordinary = an_attempt(2, peak_bytes=3 * GIB)
    (run, other) = runs_of([*leak, ordinary], latest=10)
    assert run.exceeds_bytes == 32 * GIB
    assert run.need_bytes == need_bytes
    assert other.need_bytes == 3 * GIB


@pytest.mark.parametrize(
    "attempt",
    [
        pytest.param(an_attempt(outcome=Outcome.FAILED), id="it failed by itself"),
        pytest.param(an_attempt(outcome=Outcome.EVICTED), id="its node was in trouble"),
        pytest.param(an_attempt(outcome=Outcome.DELETED), id="it was taken away"),
        pytest.param(an_attempt(peak_bytes=None), id="nobody measured it"),
        pytest.param(an_attempt(peak_bytes=0), id="its peak is zero"),
        pytest.param(
            an_attempt(outcome=Outcome.OOM_KILLED, allocation_bytes=None),
            id="it was killed without a limit of its own",
        ),
    ],
)
def test_an_attempt_that_tells_no_need_teaches_nothing(attempt: Observation) -> None:
    assert runs_of([attempt], latest=10) == []


def test_runs_come_in_time_order_and_only_the_latest_are_kept() -> None:
    attempts = [an_attempt(index) for index in (5, 1, 4, 2, 3)]
    assert [run.key for run in runs_of(attempts, latest=3)] == ["run-3", "run-4", "run-5"]


def test_a_run_without_any_time_counts_as_oldest() -> None:
    timeless = an_attempt(9, submitted_s=None, started_s=float("nan"), finished_s=None)
    assert [run.key for run in runs_of([an_attempt(1), timeless], latest=9)] == ["run-9", "run-1"]


@pytest.mark.parametrize(
    "times",
    [
        pytest.param({"started_s": None}, id="never started"),
        pytest.param({"finished_s": float("nan")}, id="no number"),
        pytest.param({"finished_s": 1e308}, id="beyond any clock"),
        pytest.param({"finished_s": 0.0}, id="a clock that jumped back"),
    ],
)
def test_an_unknown_runtime_is_the_median_of_the_known_ones(times: dict[str, float | None]) -> None:
    attempts = [an_attempt(1, **times), an_attempt(2), an_attempt(3)]
    assert RunRows.of(runs_of(attempts, latest=9)).runtimes_s.tolist() == [30, 30, 30]
    alone = RunRows.of(runs_of(attempts[:1], latest=9))
    assert alone.runtimes_s.tolist() == [UNKNOWN_RUNTIME_S]


def test_a_runtime_of_zero_whole_seconds_still_counts() -> None:
    attempt = an_attempt(1, started_s=1.0, finished_s=1.0)
    assert RunRows.of(runs_of([attempt], latest=9)).runtimes_s.tolist() == [SHORTEST_RUNTIME_S]


def test_the_reference_is_the_median_request_else_the_largest_need_with_headroom() -> None:
    asked = [an_attempt(index, request_bytes=index * GIB) for index in (1, 2, 9)]
    assert RunRows.of(runs_of(asked, latest=9)).reference_bytes(1.1) == 2 * GIB
    unasked = [an_attempt(1, request_bytes=None), an_attempt(2, request_bytes=0)]
    rows = RunRows.of(runs_of(unasked, latest=9))
    assert rows.requests_bytes is None
    assert rows.reference_bytes(1.5) == 450 * MIB
