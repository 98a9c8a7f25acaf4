"""What a run gets after a node refused its pod, which had more than was written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from plimsoll_predictor.core.decision import Ask, Bounds, Reason
from plimsoll_predictor.core.record import Cause, Outcome
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.deciding.memory import decide
from plimsoll_predictor.deciding.restoring_written import exactly_written
from plimsoll_predictor.knowledge.knowledge import Knowledge, Lift
from tests.builders.experts.serving import AKnownTask
from tests.builders.stores import TRAIN, an_attempt, open_store

REFUSED = replace(
    an_attempt().built,
    outcome=Outcome.FAILED,
    cause=Cause.NEVER_STARTED,
    request_bytes=4 * GIB,
    request_memory_ran_bytes=5 * GIB,
    allocation_bytes=5 * GIB,
    written_limit_bytes=4 * GIB,
)
EXACTLY = Lift(4 * GIB, attempt=2, after_bytes=0, as_written=True, exactly=True)


@pytest.mark.parametrize(
    ("there", "lift"),
    [
        pytest.param(None, EXACTLY, id="its first attempt"),
        pytest.param(EXACTLY, EXACTLY, id="a second pod of the run"),
        pytest.param(
            Lift(4 * GIB, 3, GIB, as_written=True),
            replace(EXACTLY, attempt=3, after_bytes=GIB),
            id="after a failure by itself",
        ),
        pytest.param(
            Lift(5 * GIB, 2, 2 * GIB), replace(EXACTLY, after_bytes=2 * GIB), id="killed below"
        ),
        pytest.param(Lift(5 * GIB, 2, 4 * GIB), None, id="killed at what was written"),
    ],
)
def test_its_next_attempts_have_exactly_what_was_written_unless_it_was_killed_at_that(
    there: Lift | None, lift: Lift | None
) -> None:
    assert exactly_written(REFUSED, there) == lift


def test_a_run_is_not_killed_at_what_was_written_where_no_limit_was() -> None:
    there = Lift(9 * GIB, 2, 8 * GIB)
    assert exactly_written(replace(REFUSED, written_limit_bytes=0), there) is not None


def needy(lift: Lift) -> Knowledge:
    """A task whose runs need nearly all that is written, so that room over it would be given."""
    task = AKnownTask().after(9).needing(2000).under(min_bytes=3 * GIB)
    return replace(task.built, lifts={"r": lift})


@pytest.mark.parametrize("request_bytes", [2 * GIB, None])
def test_such_an_attempt_is_raised_no_more(request_bytes: int | None) -> None:
    ask = Ask(features={}, request_bytes=request_bytes, run="r")
    exact = replace(EXACTLY, allocation_bytes=request_bytes or 0)
    decision = decide(ask, needy(exact), Bounds(floor_bytes=3 * GIB))
    assert (decision.allocation_bytes, decision.attempt) == (request_bytes, 2)
    assert decision.reason is Reason.KEPT
    assert "refused" in decision.why
    before = decide(ask, needy(replace(exact, exactly=False)), Bounds())
    assert (before.allocation_bytes or 0) > 2 * GIB - MIB


@pytest.mark.parametrize("killed_s", [None, 1_767_225_600.0])
def test_it_is_read_back_and_an_older_reader_takes_it_for_no_less_than_written(
    killed_s: float | None,
) -> None:
    lift = replace(EXACTLY, killed_s=killed_s)
    [told] = needy(lift).to_dict()["lifts"].values()
    older = Lift(*told)
    assert older.as_written
    assert not older.tells_need
    known = Knowledge.from_dict(needy(lift).to_dict())
    assert known.lifts == {"r": lift}
    assert known.lifts["r"].killed_s == killed_s


@pytest.mark.parametrize("exactly", [True, False])
def test_it_outlives_a_restart(tmp_path: Path, exactly: bool) -> None:
    lift = replace(EXACTLY, exactly=exactly)
    store = open_store(tmp_path)
    store.lifts.put(TRAIN, "r", lift)
    assert store.lifts.of_task(TRAIN) == {"r": lift}
    store.close()
