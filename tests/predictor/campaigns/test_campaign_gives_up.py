"""When a campaign gives up: nothing starts, everything fails, or nobody measures its runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from plimsoll_predictor.campaigns.ending import FAILS_AFTER, NOT_MEASURED_AFTER, Ending
from plimsoll_predictor.campaigns.planning import Steps
from plimsoll_predictor.campaigns.runs import RunState
from plimsoll_predictor.campaigns.seen import OBSERVED_WITHIN_S, SeenJob
from plimsoll_predictor.core.record import Outcome
from plimsoll_predictor.core.units import MIB
from tests.predictor.campaigns.lives import RULES, Life, by_scenario, registered, rows, states

SCENARIOS = 50


def a_life(parallelism: int = 1) -> Life:
    return Life.of(
        replace(RULES, parallelism=parallelism), registered(rows(SCENARIOS)), by_scenario
    )


def the_newest_ends(life: Life, outcome: Outcome, peak_bytes: int | None = None) -> Steps:
    """Begin what may begin, and let the newest run end."""
    life.look()
    life.end(life.made[max(life.made)], outcome, peak_bytes)
    return life.look()


def all_end(life: Life, outcome: Outcome) -> Steps:
    """Let one run after another end so, measured by nobody, until the campaign is over."""
    for _ in range(2 * SCENARIOS):
        steps = life.look()
        if steps.ended:
            return steps
        for run in life.made.values():
            if life.stored[run.key].state.is_under_way:
                life.end(run, outcome, None)
        if outcome is Outcome.SUCCEEDED:
            life.look()
            life.now_s += OBSERVED_WITHIN_S
    raise AssertionError("it does not end")


@pytest.mark.parametrize(
    ("before", "jobs"),
    [
        pytest.param((), 0, id="at once"),
        pytest.param((Outcome.EVICTED,), 1, id="after one that its node ended"),
        pytest.param((Outcome.OOM_KILLED,), 1, id="after one that was killed for memory"),
    ],
)
def test_a_program_that_always_fails_ends_the_campaign(
    before: tuple[Outcome, ...], jobs: int
) -> None:
    life = a_life()
    for outcome in before:
        the_newest_ends(life, outcome)
    steps = all_end(life, Outcome.FAILED)
    assert (steps.ending, len(life.made)) == (Ending.PROGRAM_FAILS, FAILS_AFTER + jobs)


@pytest.mark.parametrize(
    ("before", "jobs"),
    [
        pytest.param((), 0, id="at once"),
        pytest.param((Outcome.EVICTED,), 1, id="after one that its node ended"),
        pytest.param((Outcome.OOM_KILLED,), 1, id="after one that was killed for memory"),
        pytest.param((Outcome.FAILED,), 1, id="after one whose program failed"),
    ],
)
def test_runs_that_nobody_measures_end_the_campaign(before: tuple[Outcome, ...], jobs: int) -> None:
    life = a_life()
    for outcome in before:
        the_newest_ends(life, outcome)
    steps = all_end(life, Outcome.SUCCEEDED)
    # One more began while the last one's peak was waited for.
    most = NOT_MEASURED_AFTER + jobs + 1
    assert (steps.ending, len(life.made)) == (Ending.NOT_MEASURED, most)


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.SUCCEEDED])
def test_one_run_that_was_learned_from_keeps_the_campaign_going(outcome: Outcome) -> None:
    life = a_life()
    the_newest_ends(life, Outcome.SUCCEEDED, 100 * MIB)
    steps = all_end(life, outcome)
    assert (steps.ending, len(life.made)) == (Ending.ALL_RUN, SCENARIOS)


def test_one_success_whose_peak_is_waited_for_shows_that_the_program_works() -> None:
    life = a_life()
    the_newest_ends(life, Outcome.SUCCEEDED)
    for _ in range(FAILS_AFTER):
        steps = the_newest_ends(life, Outcome.FAILED)
    assert states(life)[0, 1] is RunState.EXECUTED
    assert steps.ending is None


def test_one_run_that_runs_shows_that_the_template_starts() -> None:
    life = a_life(parallelism=3)
    life.look()
    life.jobs = dict.fromkeys(life.jobs, SeenJob(stuck_why="ErrImagePull: no such image"))
    life.jobs[0, 1] = SeenJob(started=True)
    life.look()
    life.now_s += RULES.start_within_s
    steps = life.look()
    assert [states(life)[place, 1] for place in range(3)] == [
        RunState.RUNNING,
        RunState.STUCK,
        RunState.STUCK,
    ]
    assert (steps.ending, {(1, 2), (2, 2)} <= set(life.made)) == (None, True)


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.SUCCEEDED])
def test_one_that_is_kept_back_gives_up_only_once_it_goes_on(outcome: Outcome) -> None:
    life = a_life(parallelism=FAILS_AFTER)
    life.look()
    allowed, life.rules = life.rules, life.rules.while_kept_back()
    for run in life.made.values():
        life.end(run, outcome, None)
    life.look()
    life.now_s += OBSERVED_WITHIN_S
    assert life.look().ending is None
    life.rules = allowed
    why = Ending.PROGRAM_FAILS if outcome is Outcome.FAILED else Ending.NOT_MEASURED
    assert life.look().ending is why


def test_one_that_is_kept_back_ends_once_every_scenario_is_run() -> None:
    life = Life.of(RULES, registered(rows(2)), by_scenario)
    life.look()
    life.rules = life.rules.while_kept_back()
    life.finish()
    steps = life.look()
    assert (steps.ending, steps.ended) == (Ending.ALL_RUN, True)


def test_a_run_that_does_not_start_while_it_is_kept_back_is_deleted_and_runs_again() -> None:
    life = a_life(parallelism=2)
    life.look()
    allowed, life.rules = life.rules, life.rules.while_kept_back()
    life.now_s += RULES.start_within_s
    steps = life.look()
    assert [run.key for run in steps.delete] == [(0, 1), (1, 1)]
    life.jobs.clear()
    life.rules = allowed
    assert [run.key for run in life.look().create] == [(0, 2), (1, 2)]
    life.now_s += RULES.start_within_s
    assert life.look().ending is Ending.NEVER_STARTS
