"""The cost of a task's kills and rescues."""

from __future__ import annotations

from dataclasses import replace

import pytest

from plimsoll_operator.views.kill_costs import (
    NO_COSTS,
    KillCosts,
    kill_costs_of,
)
from plimsoll_operator.wording.kill_cost_words import words_for_kill_costs
from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GB
from plimsoll_predictor.store import DecisionRecord
from plimsoll_predictor.store.attempts.decisions import DECISIONS_KEPT, RESCUED, rescue_of

TRAIN = TaskId("shop", "train")
HOUR_S = 3600.0


def an_attempt(outcome: Outcome = Outcome.SUCCEEDED, need_gb: float = 3.0) -> Observation:
    """An attempt that ran for an hour, in the end with 4 GB."""
    return Observation(
        attempt_uid="a",
        task=TRAIN,
        run="a",
        outcome=outcome,
        started_s=0.0,
        finished_s=HOUR_S,
        allocation_bytes=4 * GB,
        peak_bytes=int(need_gb * GB),
    )


def a_raise(reason: str = RESCUED, uid: str = rescue_of("a")) -> DecisionRecord:
    """A raise from 2 GB to 4, after half an hour."""
    return DecisionRecord(
        task=TRAIN,
        attempt_uid=uid,
        at_s=HOUR_S / 2,
        words="",
        allocation_bytes=4 * GB,
        request_bytes=2 * GB,
        reason=reason,
    )


@pytest.mark.parametrize(
    ("attempt", "raised", "costs"),
    [
        pytest.param(
            an_attempt(Outcome.OOM_KILLED),
            [],
            KillCosts(kills=1, lost_s=HOUR_S, lost_gb_h=4.0),
            id="a kill loses all that it ran",
        ),
        pytest.param(
            replace(an_attempt(Outcome.OOM_KILLED), request_memory_ran_bytes=GB),
            [],
            KillCosts(kills=1, lost_s=HOUR_S, lost_gb_h=1.0),
            id="a kill loses what was requested, and no more of its limit",
        ),
        pytest.param(
            an_attempt(),
            [a_raise()],
            KillCosts(rescues=1, kept_s=HOUR_S / 2, added_gb_h=1.0),
            id="a rescue keeps what it had run",
        ),
        pytest.param(
            an_attempt(need_gb=1.9),
            [a_raise()],
            KillCosts(in_vain=1, added_gb_h=1.0),
            id="what needed no more was raised in vain",
        ),
        pytest.param(
            an_attempt(Outcome.OOM_KILLED),
            [a_raise()],
            KillCosts(kills=1, lost_s=HOUR_S, lost_gb_h=4.0, in_vain=1),
            id="what was killed all the same was raised in vain",
        ),
        pytest.param(an_attempt(), [], NO_COSTS, id="a run that succeeded costs nothing"),
        pytest.param(
            an_attempt(), [a_raise("learned", "a")], NO_COSTS, id="its own decision is no raise"
        ),
        pytest.param(
            an_attempt(), [a_raise(uid=rescue_of("b"))], NO_COSTS, id="another attempt was raised"
        ),
        pytest.param(
            an_attempt(Outcome.FAILED),
            [a_raise()],
            KillCosts(added_gb_h=1.0),
            id="what failed by itself held what it was given all the same",
        ),
    ],
)
def test_costs(attempt: Observation, raised: list[DecisionRecord], costs: KillCosts) -> None:
    assert kill_costs_of([attempt], raised) == replace(costs, attempts=1)


def test_what_only_a_failed_attempt_held_is_told() -> None:
    costs = kill_costs_of([an_attempt(Outcome.FAILED)], [a_raise()])
    assert words_for_kill_costs(costs) == "over the latest attempt: raises added 1 GB·h"
    assert words_for_kill_costs(NO_COSTS) == ""


def test_kills_and_rescues_are_counted_over_the_same_attempts() -> None:
    """The store keeps fewer decisions than attempts, and older raises are not known any more."""
    attempts, decisions = [], []
    for number in range(300):
        uid, start_s = f"a{number}", number * HOUR_S
        is_rescued = number % 3 == 0
        outcome = Outcome.SUCCEEDED if is_rescued else Outcome.OOM_KILLED
        ended_s = start_s + HOUR_S
        attempt = replace(an_attempt(outcome), started_s=start_s, finished_s=ended_s)
        attempts.append(replace(attempt, attempt_uid=uid))
        decisions.append(replace(a_raise("learned", uid), at_s=start_s - 1))
        if is_rescued:
            decisions.append(replace(a_raise(uid=rescue_of(uid)), at_s=start_s + 600))
    decisions.sort(key=lambda each: -each.at_s)
    costs = kill_costs_of(attempts, decisions[:DECISIONS_KEPT])
    assert (costs.attempts, costs.rescues, costs.kills) == (75, 25, 50)
    assert words_for_kill_costs(costs).startswith("over the latest 75 attempts: 50 kills lost")
    few = kill_costs_of(attempts[:30], decisions[-40:])
    assert (few.attempts, few.rescues, few.kills) == (30, 10, 20), "none is missing"


def test_costs_add_up() -> None:
    kill = KillCosts(kills=1, lost_s=2.0, lost_gb_h=3.0)
    assert kill + kill + NO_COSTS == KillCosts(kills=2, lost_s=4.0, lost_gb_h=6.0)
