"""What follows from a kill for its run's lift, and in which order that is asked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from plimsoll_operator.attempts.lift_step import (
    Follows,
    GetsWritten,
    Held,
    Kill,
    Leaks,
    Stands,
    Step,
    UsedUp,
    lift_step,
    may_be_spared,
)
from plimsoll_operator.attempts.watched_pod import WatchedPod, read_pod
from plimsoll_operator.names import labels
from plimsoll_operator.pods.engines.row import Executions
from plimsoll_predictor.core.decision import Bounds
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.record import Outcome
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.knowledge.knowledge import Knowledge, Lift
from tests.builders.controller.ledgers import NOW_S, TRAIN, a_train, decided
from tests.builders.stores import an_attempt

RUN = "run-1"
FULL = Bounds(cap_bytes=130 * MIB, written_bytes=128 * MIB)
"""Bounds that leave no room for a useful step above 128 MiB."""
RAISED = Lift(allocation_bytes=256 * MIB, attempt=2, after_bytes=128 * MIB, killed_s=NOW_S)


def known(lift: Lift | None = None, max_lifts: int = 3) -> Knowledge:
    """What is known of the task. lift: the run's."""
    lifts = {} if lift is None else {RUN: lift}
    return Knowledge(task=TRAIN, policy=Policy(max_lifts=max_lifts), lifts=lifts)


def watched(attempt: int = 1, attempts: int = 10) -> WatchedPod:
    """A pod of a Job that makes that many attempts."""
    pod = decided(a_train().owned_by_job(), attempt=attempt)
    found = read_pod(pod.annotated({labels.JOB_ATTEMPTS: str(attempts)}).built(), lambda _: known())
    assert found is not None
    return found


def a_kill(attempt: int = 1, size_mib: int = 128, later_s: float = 0.0) -> Kill:
    """A kill of an attempt whose author wrote 128 MiB. later_s: how long after that of RAISED."""
    killed = an_attempt().of(TRAIN).in_run(RUN).asking(128 * MIB).given(size_mib * MIB)
    observation = replace(
        killed.ending(Outcome.OOM_KILLED).built, attempt=attempt, written_limit_bytes=128 * MIB
    )
    return Kill(observation=observation, watched=watched(attempt), killed_s=NOW_S + later_s)


def step(
    kill: Kill, knowledge: Knowledge | None = None, bounds: Bounds = FULL, *, spared: bool = False
) -> Step:
    return lift_step(kill, knowledge or known(), bounds, spared=spared)


def test_a_first_kill_is_followed_by_more_memory_since_that_kill() -> None:
    follows = step(a_kill(), bounds=Bounds())
    assert isinstance(follows, Follows)
    assert (follows.lift.attempt, follows.lift.killed_s) == (2, NOW_S)
    assert follows.lift.allocation_bytes > 128 * MIB


def test_a_lift_that_covers_the_kill_stands() -> None:
    assert step(a_kill(), known(RAISED)) == Stands(RAISED, due_again=False)


def test_a_lift_that_covers_a_newer_kill_is_due_again_since_then() -> None:
    stands = step(a_kill(later_s=1.0), known(replace(RAISED, answered=True)))
    assert stands == Stands(RAISED, due_again=True)
    assert isinstance(stands, Stands)
    assert stands.lift.killed_s == NOW_S + 1.0


@pytest.mark.parametrize(
    "kill",
    [
        pytest.param(a_kill(attempt=2), id="the lifted attempt was killed itself"),
        pytest.param(a_kill(size_mib=256), id="a sibling had as much"),
    ],
)
def test_a_lift_that_does_not_cover_the_kill_is_replaced(kill: Kill) -> None:
    assert isinstance(step(kill, known(RAISED), Bounds()), Follows)


def test_a_lift_to_what_was_written_covers_lowered_attempts_alone() -> None:
    written = Lift(allocation_bytes=128 * MIB, attempt=2, after_bytes=64 * MIB, as_written=True)
    assert isinstance(step(a_kill(size_mib=64), known(written)), Stands)
    assert isinstance(step(a_kill(), known(written), Bounds()), Follows)


def test_a_held_size_covers_the_kill_that_it_was_made_for_and_no_later_one() -> None:
    held = replace(RAISED, allocation_bytes=128 * MIB)
    assert step(a_kill(), known(held)) == Stands(held, due_again=False)
    assert isinstance(step(a_kill(later_s=1.0), known(held), Bounds()), Follows)


def test_a_run_that_needs_less_next_has_the_same_memory_before_anything_else_is_asked() -> None:
    held = step(a_kill(), spared=True)
    assert held == Held(Lift(allocation_bytes=128 * MIB, attempt=2, after_bytes=128 * MIB))
    assert isinstance(held, Held)
    assert held.lift.killed_s == NOW_S


@pytest.mark.parametrize(
    ("kill", "knowledge", "spared"),
    [
        pytest.param(a_kill(), known(), True, id="a first attempt"),
        pytest.param(a_kill(attempt=2), known(), False, id="a later one"),
        pytest.param(a_kill(), known(RAISED), False, id="its run is lifted"),
        pytest.param(a_kill(), known(max_lifts=1), False, id="no lift would be left"),
        pytest.param(
            replace(a_kill(), watched=watched(attempts=2)),
            known(),
            False,
            id="no attempt would be left",
        ),
    ],
)
def test_only_a_first_attempt_that_can_still_be_lifted_may_be_spared(
    kill: Kill, knowledge: Knowledge, spared: bool
) -> None:
    assert may_be_spared(kill, knowledge) is spared


def test_a_run_that_had_all_that_was_written_leaks_where_no_step_is_left() -> None:
    leaks = step(a_kill())
    assert isinstance(leaks, Leaks)
    assert leaks.words.startswith("killed at")


def test_a_lowered_run_gets_what_was_written_where_no_step_is_left() -> None:
    assert step(a_kill(size_mib=64), bounds=replace(FULL, cap_bytes=65 * MIB)) == GetsWritten()


@pytest.mark.parametrize(
    ("size_mib", "follows"),
    [
        pytest.param(128, UsedUp(), id="no less than was written"),
        pytest.param(64, GetsWritten(), id="lowered"),
    ],
)
def test_attempts_of_siblings_may_have_used_up_the_lifts(size_mib: int, follows: Step) -> None:
    kill = a_kill(attempt=4, size_mib=size_mib)
    at_once = replace(kill, watched=replace(kill.watched, executions=Executions.AT_ONCE))
    assert step(at_once) == follows


@pytest.mark.parametrize(
    ("attempt", "max_lifts"),
    [
        pytest.param(4, 3, id="no sibling has its key"),
        pytest.param(1, 0, id="lifting is switched off"),
    ],
)
def test_otherwise_a_run_without_lifts_leaks(attempt: int, max_lifts: int) -> None:
    assert isinstance(step(a_kill(attempt=attempt), known(max_lifts=max_lifts)), Leaks)


def test_attempts_that_nodes_refused_use_up_no_lift() -> None:
    kill = replace(a_kill(attempt=4), refused=1)
    assert isinstance(step(kill, bounds=Bounds()), Follows)
