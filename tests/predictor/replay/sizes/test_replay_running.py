"""What a replay shows about attempts in flight, by the assumed growth of their memory."""

from __future__ import annotations

import math

import pytest

from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.replay.growth import GROWTHS, LATE, LINEAR, Growth
from plimsoll_predictor.replay.sizes.figures import ReplayedRow
from plimsoll_predictor.replay.sizes.policies import (
    ALL,
    LIVE,
    LIVE_LATE,
    PLIMSOLL,
    POLICIES,
    policies_named,
)
from plimsoll_predictor.replay.sizes.product import ProductSizer
from plimsoll_predictor.replay.sizes.rows import TraceRow
from plimsoll_predictor.replay.sizes.running import RunningAttempts
from plimsoll_predictor.replay.sizes.sizer import Knobs, RunningAttempt

RUNTIME_S = 100.0
REQUEST_MIB = 1024


def a_row(line: int, need_mib: int) -> TraceRow:
    return TraceRow(
        line=line,
        run=str(line),
        task="burst",
        item=None,
        submit_s=0.0,
        start_s=0.0,
        complete_s=RUNTIME_S,
        runtime_s=RUNTIME_S,
        cpus=None,
        preset_bytes=REQUEST_MIB * MIB,
        input_bytes=None,
        features={},
        peak_bytes=need_mib * MIB,
    )


def seen(growth: Growth | None, now_s: float, given_mib: int = 400) -> RunningAttempt:
    """A run that needs 200 MiB."""
    running = RunningAttempts(growth)
    run = ReplayedRow(row=a_row(1, 200), cold=True)
    run.last_bytes = given_mib * MIB
    running.start(run, 0.0)
    (found,) = running.of("burst", now_s)
    return found


@pytest.mark.parametrize(
    ("growth", "given_mib", "now_s", "reached_mib", "climbs"),
    [
        pytest.param(LINEAR, 400, 25.0, 100, True, id="it grows"),
        pytest.param(LINEAR, 400, 50.0, 200, False, id="it has all"),
        pytest.param(LINEAR, 400, 0.0, 0, False, id="it starts"),
        pytest.param(LINEAR, 100, 24.0, 96, True, id="it grows to its limit"),
        pytest.param(LINEAR, 100, 30.0, 100, False, id="at its limit it is not seen to grow"),
        pytest.param(LATE, 400, 50.0, 0, False, id="it has not begun to grow"),
        pytest.param(LATE, 400, 97.5, 100, True, id="it grows late"),
        pytest.param(None, 400, 25.0, 0, False, id="nobody measures"),
    ],
)
def test_a_running_attempt_shows_what_it_has_reached_and_whether_it_climbs(
    growth: Growth | None, given_mib: int, now_s: float, reached_mib: int, *, climbs: bool
) -> None:
    found = seen(growth, now_s, given_mib)
    assert found.reached_bytes == pytest.approx(reached_mib * MIB, rel=1e-9)
    assert found.climbs is climbs


def after_a_burst(growth: Growth | None, showing_mib: int, *, climbs: bool) -> tuple[int, int]:
    """Four large runs are killed at once, after three small ones ended; retries show that much.

    Return the size of these, and the size of another run.
    """
    sizer = ProductSizer(Knobs(growth=growth))
    for line, need_mib in enumerate((20, 24, 28)):
        row = a_row(line, need_mib)
        sizer.decide(row.asked, 0.0)
        sizer.completed(row, REQUEST_MIB * MIB, 0.0)
    large = [a_row(10 + number, 300) for number in range(4)]
    first = {row.line: sizer.decide(row.asked, 0.0) for row in large}
    lifts = []
    for row in large:
        sizer.failed(row.asked, first[row.line], 1, 0.0)
        lifts.append(sizer.lift(row.asked, first[row.line], 1, 0.0))
    assert len(set(lifts)) == 1
    sizer.see_running(
        "burst",
        [
            RunningAttempt(
                line=row.line, started_s=0.0, reached_bytes=showing_mib * MIB, climbs=climbs
            )
            for row in large
        ],
    )
    return lifts[0], sizer.decide(a_row(20, 300).asked, 0.0)


@pytest.mark.parametrize(
    ("growth", "showing_mib", "climbs", "next_step"),
    [
        pytest.param(None, 0, False, False, id="nobody measures"),
        pytest.param(LINEAR, 60, True, True, id="they climb"),
        pytest.param(LINEAR, 60, False, False, id="they stay where they are"),
        pytest.param(LATE, 0, False, True, id="they have not reached what killed their runs"),
    ],
)
def test_a_newcomer_gets_no_size_in_which_killed_runs_climb_again(
    growth: Growth | None, showing_mib: int, *, climbs: bool, next_step: bool
) -> None:
    lifted_bytes, given_bytes = after_a_burst(growth, showing_mib, climbs=climbs)
    wanted_bytes = math.sqrt(lifted_bytes * REQUEST_MIB * MIB) if next_step else lifted_bytes
    assert given_bytes == pytest.approx(wanted_bytes, rel=0.02)


def test_both_growths_can_be_replayed_by_name() -> None:
    assert list(GROWTHS) == [LINEAR, LATE]
    found = [each.make(Knobs()) for each in (PLIMSOLL, LIVE, LIVE_LATE)]
    assert [getattr(each, "growth", "?") for each in found] == [None, LINEAR, LATE]
    assert policies_named((LIVE_LATE.name, PLIMSOLL.name)) == (PLIMSOLL, LIVE_LATE)
    assert policies_named((ALL,)) == tuple(POLICIES.values())
    assert LIVE_LATE not in policies_named((ALL,))
    assert LIVE_LATE in policies_named((ALL, LIVE_LATE.name))
