"""What a campaign does next, step by step, and after a kill of its controller at any step."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from plimsoll_predictor.campaigns.ending import Ending
from plimsoll_predictor.campaigns.planning import (
    AGENTS_SILENT_S,
    ENDED_KEPT_S,
    TOLD_AFTER_S,
    TRIED_AFTER_S,
)
from plimsoll_predictor.campaigns.rules import Budget, Order
from plimsoll_predictor.campaigns.runs import RunState
from plimsoll_predictor.campaigns.seen import OBSERVED_WITHIN_S, SeenJob
from plimsoll_predictor.core.record import Cause, Outcome
from plimsoll_predictor.core.units import MIB
from tests.predictor.campaigns.lives import RULES, Life, by_scenario, registered, rows, states


def test_scenarios_run_in_their_order_and_no_more_at_once_than_asked() -> None:
    life = Life.of(RULES, registered(rows(5)), by_scenario)
    steps = life.until_ended()
    assert steps.ending is Ending.ALL_RUN
    assert list(life.made) == [(0, 1), (1, 1), (2, 1), (3, 1), (4, 1)]
    assert life.most_at_once == 2
    assert set(states(life).values()) == {RunState.LEARNED}
    assert [run.peak_bytes for run in life.stored.values()] == [
        (100 + place) * MIB for place in range(5)
    ]


def test_a_killed_scenario_runs_again_with_twice_as_much_before_others() -> None:
    life = Life.of(
        replace(RULES, parallelism=1),
        registered(rows(3)),
        lambda run: (600 if run.scenario == 0 else 100) * MIB,
    )
    life.until_ended()
    assert list(life.made) == [(0, 1), (0, 2), (0, 3), (1, 1), (2, 1)]
    assert [life.stored[0, n].memory_bytes // MIB for n in (1, 2, 3)] == [256, 512, 1024]
    assert states(life)[0, 3] is RunState.LEARNED


def test_a_scenario_that_no_lift_carries_is_given_up_with_a_sentence() -> None:
    life = Life.of(replace(RULES, max_lifts=1), registered(rows(1)), lambda _: 10**12)
    steps = life.until_ended()
    assert (steps.ending, list(life.made)) == (Ending.ALL_RUN, [(0, 1), (0, 2)])
    assert life.stored[0, 2].note == "killed at 512Mi, after 1 lift; raise spec.memory"


def test_an_error_of_the_program_is_no_size_and_is_not_repeated() -> None:
    life = Life.of(RULES, registered(rows(1)), by_scenario)
    life.look()
    life.end(life.made[0, 1], Outcome.FAILED, None, cause=Cause.OWN_MISTAKE)
    steps = life.look()
    assert steps.ended
    assert states(life) == {(0, 1): RunState.FAILED}
    assert "says nothing of its size" in life.stored[0, 1].note


def test_a_program_that_says_that_its_memory_is_full_gets_more() -> None:
    life = Life.of(RULES, registered(rows(1)), by_scenario)
    life.look()
    life.end(life.made[0, 1], Outcome.FAILED, None, cause=Cause.PYTHON)
    life.look()
    assert life.stored[0, 2].memory_bytes == 2 * life.stored[0, 1].memory_bytes


@pytest.mark.parametrize("outcome", [Outcome.EVICTED, Outcome.DELETED])
def test_what_the_node_ended_runs_again_with_the_same_memory_a_few_times(outcome: Outcome) -> None:
    life = Life.of(RULES, registered(rows(1)), by_scenario)
    while not life.look().ended:
        run = max(life.made)
        life.end(life.made[run], outcome, None)
    assert len(life.made) == 4
    assert {run.memory_bytes for run in life.stored.values()} == {256 * MIB}


@pytest.mark.parametrize(
    ("job", "outcome", "cause"),
    [
        pytest.param(SeenJob(failed=True), Outcome.FAILED, Cause.DEADLINE, id="its pod's deadline"),
        pytest.param(SeenJob(too_long=True), Outcome.DELETED, Cause.DELETED, id="its Job's"),
    ],
)
def test_what_takes_longer_than_people_allow_is_not_repeated(
    job: SeenJob, outcome: Outcome, cause: Cause
) -> None:
    life = Life.of(RULES, registered(rows(1)), by_scenario)
    life.look()
    life.jobs[0, 1] = job
    life.end(life.made[0, 1], outcome, None, cause)
    assert life.look().ended
    assert states(life) == {(0, 1): RunState.FAILED}
    words = "it took longer than its activeDeadlineSeconds; that says nothing of its size"
    assert life.stored[0, 1].note == words


def test_an_end_ends_one_attempt_only() -> None:
    life = Life.of(RULES, registered(rows(1)), lambda _: 400 * MIB)
    life.look()
    life.finish()
    for _ in range(5):
        life.look()
    assert states(life) == {(0, 1): RunState.KILLED, (0, 2): RunState.STARTING}


def test_a_template_that_never_starts_ends_the_campaign_in_bounded_time() -> None:
    life = Life.of(RULES, registered(rows(50)), by_scenario)
    life.look()
    life.jobs = dict.fromkeys(life.jobs, SeenJob(stuck_why="ErrImagePull: no such image"))
    assert not life.look().ended
    life.now_s += RULES.start_within_s
    steps = life.look()
    assert (steps.ended, steps.ending) == (True, Ending.NEVER_STARTS)
    assert len(life.made) == 2
    assert [run.key for run in steps.delete] == [(0, 1), (1, 1)]
    assert life.stored[0, 1].note == "nothing started within 600 s: ErrImagePull: no such image"


def test_one_that_is_stuck_does_not_end_a_campaign_of_which_others_run() -> None:
    life = Life.of(RULES, registered(rows(4)), by_scenario)
    life.look()
    run = life.made[1, 1]
    life.jobs[1, 1] = SeenJob(started=True, succeeded=True, finished_s=life.now_s)
    life.end(run, Outcome.SUCCEEDED, 100 * MIB)
    life.now_s += RULES.start_within_s
    assert life.look().ending is None
    assert states(life)[0, 1] is RunState.STUCK
    assert len(life.made) == 4


def test_without_an_agent_none_begins_and_after_a_while_one_at_a_time() -> None:
    life = Life.of(RULES, registered(rows(6)), by_scenario)
    life.silent_s = AGENTS_SILENT_S + 1
    assert not life.look().create
    life.silent_s = TRIED_AFTER_S + 1
    assert len(life.look().create) == 1
    life.look()
    assert len(life.made) == 1
    life.silent_s = AGENTS_SILENT_S
    life.look()
    assert len(life.made) == RULES.parallelism


@pytest.mark.parametrize(
    ("budget", "most"),
    [
        pytest.param(Budget(runs=3), 3, id="runs"),
        pytest.param(Budget(gb_hours=256 * MIB / 1e9 / 60 * 3.5), 4, id="memory-time"),
        pytest.param(Budget(hours=2.5 / 3600), 6, id="wall time"),
    ],
)
def test_a_budget_that_ends_in_the_middle_lets_finish_what_runs(budget: Budget, most: int) -> None:
    life = Life.of(replace(RULES, budget=budget), registered(rows(9)), by_scenario)
    steps = life.until_ended()
    assert steps.ending is Ending.BUDGET_SPENT
    assert 0 < len(life.made) <= most
    left = [run.state for run in life.stored.values()]
    assert left.count(RunState.LEARNED) == len(life.made)
    assert left.count(RunState.REGISTERED) == 9 - len(life.made)


def test_a_stopped_campaign_deletes_what_runs_and_keeps_what_is_learned() -> None:
    life = Life.of(RULES, registered(rows(5)), by_scenario)
    life.look()
    life.finish()
    life.look()
    life.rules = replace(RULES, stopped=True)
    steps = life.look()
    assert (steps.ended, steps.ending) == (True, Ending.STOPPED)
    assert [run.key for run in steps.delete] == [(2, 1), (3, 1)]
    assert [states(life)[place, 1] for place in (0, 4)] == [
        RunState.LEARNED,
        RunState.REGISTERED,
    ]


def test_a_success_that_nobody_measured_is_waited_for_and_not_repeated() -> None:
    life = Life.of(RULES, registered(rows(1)), by_scenario)
    life.look()
    life.jobs[0, 1] = SeenJob(started=True, succeeded=True, finished_s=life.now_s)
    life.end(life.made[0, 1], Outcome.SUCCEEDED, None)
    assert not life.look().ended
    assert states(life) == {(0, 1): RunState.EXECUTED}
    life.now_s += OBSERVED_WITHIN_S
    assert life.look().ended
    assert states(life) == {(0, 1): RunState.UNMEASURED}


def test_what_ended_while_no_controller_was_there_is_waited_for_from_its_return_on() -> None:
    life = Life.of(RULES, registered(rows(3)), by_scenario)
    life.rules = replace(RULES, parallelism=3)
    life.look()
    life.look()
    for place, succeeded in enumerate((True, False)):
        life.jobs[place, 1] = SeenJob(
            started=True, succeeded=succeeded, failed=not succeeded, finished_s=life.now_s
        )
    life.end(life.made[2, 1], Outcome.SUCCEEDED, None)
    life.now_s += 4 * OBSERVED_WITHIN_S
    life.looked_s = 0.0
    life.look()
    assert all(run.state.is_open for run in life.stored.values())
    for place in range(3):
        life.ends[place] = []
        life.end(life.made[place, 1], Outcome.SUCCEEDED, 50 * MIB)
    assert life.look().ended
    assert set(states(life).values()) == {RunState.LEARNED}


def test_a_job_whose_end_is_known_goes_after_a_while_and_others_are_left() -> None:
    life = Life.of(RULES, registered(rows(4)), by_scenario)
    life.look()
    life.finish()
    life.ends.pop(1)
    life.looked_s = 0.0
    life.now_s += ENDED_KEPT_S - 10
    assert not life.look().delete
    life.now_s += 10
    assert [run.key for run in life.look().delete] == [(0, 1)]


def test_a_job_that_could_not_be_made_for_long_has_its_time_to_start_and_costs_nothing() -> None:
    rules = replace(RULES, parallelism=1, budget=Budget(gb_hours=256 * MIB / 1e9 / 10))
    life = Life.of(rules, registered(rows(2)), by_scenario)
    life.look(1)
    life.now_s += 3 * RULES.start_within_s
    assert life.look().ending is None
    life.look()
    assert states(life)[0, 1] is RunState.STARTING


def test_a_run_that_lacks_the_room_of_another_waits_for_it() -> None:
    life = Life.of(RULES, registered(rows(2)), by_scenario)
    life.look()
    life.jobs[0, 1] = SeenJob(started=True)
    life.jobs[1, 1] = SeenJob(stuck_why="it has no pod", lacks_room=True)
    for _ in range(3):
        life.now_s += RULES.start_within_s
        life.look()
    assert states(life) == {(0, 1): RunState.RUNNING, (1, 1): RunState.STARTING}
    assert life.stored[1, 1].note == "it has no pod"
    life.jobs[1, 1] = SeenJob(stuck_why="ErrImagePull")
    life.look()
    assert states(life)[1, 1] is RunState.STUCK


def test_what_kept_a_run_from_its_start_is_not_told_once_it_started() -> None:
    life = Life.of(RULES, registered(rows(2)), by_scenario)
    life.look()
    life.jobs = dict.fromkeys(life.jobs, SeenJob(stuck_why="it has no pod", lacks_room=True))
    life.look()
    assert {run.note for run in life.stored.values()} == {""}
    life.now_s += TOLD_AFTER_S
    life.look()
    assert {run.note for run in life.stored.values()} == {"it has no pod"}
    life.jobs[0, 1] = SeenJob(started=True)
    life.end(life.made[1, 1], Outcome.SUCCEEDED, 50 * MIB)
    life.look()
    assert {run.note for run in life.stored.values()} == {""}


def test_what_is_stuck_where_others_started_is_tried_again_a_few_times() -> None:
    life = Life.of(replace(RULES, parallelism=1), registered(rows(2)), by_scenario)
    life.look()
    life.finish()
    for _ in range(30):
        life.now_s += RULES.start_within_s
        if life.look().ended:
            break
    assert [key for key in life.made if key[0] == 1] == [(1, 1), (1, 2), (1, 3), (1, 4)]
    assert states(life)[1, 4] is RunState.STUCK


def test_the_end_of_a_stuck_pod_does_not_end_the_attempt_that_follows() -> None:
    life = Life.of(replace(RULES, parallelism=1), registered(rows(2)), by_scenario)
    life.look()
    life.finish()
    life.look()
    life.now_s += RULES.start_within_s
    assert [run.key for run in life.look().delete] == [(1, 1)]
    assert states(life)[1, 1] is RunState.STUCK
    del life.jobs[1, 1]
    life.end(life.made[1, 1], Outcome.DELETED, None)
    life.look()
    assert (states(life)[1, 2], max(life.stored)) == (RunState.STARTING, (1, 2))
    life.finish()
    life.look()
    assert states(life)[1, 2] is RunState.LEARNED


def whose_job_was_deleted() -> Life:
    """A life of one run, whose Job somebody deleted long ago; its end was not observed."""
    life = Life.of(RULES, registered(rows(1)), by_scenario)
    life.look()
    life.look()
    del life.jobs[0, 1]
    life.look()
    life.now_s += OBSERVED_WITHIN_S
    life.look()
    return life


def test_a_deleted_pod_that_takes_long_to_end_does_not_end_the_attempt_that_follows() -> None:
    life = whose_job_was_deleted()
    life.end(life.made[0, 1], Outcome.DELETED, None)
    life.look()
    assert states(life) == {(0, 1): RunState.INTERRUPTED, (0, 2): RunState.STARTING}


def test_a_peak_that_comes_late_is_learned() -> None:
    life = Life.of(RULES, registered(rows(1)), by_scenario)
    life.look()
    life.end(life.made[0, 1], Outcome.SUCCEEDED, None)
    life.look()
    life.ends[0] = [replace(life.ends[0][0], peak_bytes=77 * MIB)]
    assert life.look().ended
    assert life.stored[0, 1].peak_bytes == 77 * MIB


def test_a_job_that_somebody_deleted_runs_again() -> None:
    life = whose_job_was_deleted()
    assert list(life.made) == [(0, 1), (0, 2)]


@pytest.mark.parametrize("order", list(Order))
@pytest.mark.parametrize("seed", range(8))
def test_a_controller_that_is_killed_at_any_step_loses_and_repeats_nothing(
    seed: int, order: Order
) -> None:
    random = Random(seed)
    rules = replace(RULES, parallelism=random.randint(1, 4), order=order)
    life = Life.of(rules, registered(rows(12)), lambda run: (100 + 40 * run.scenario) * MIB)
    for _ in range(600):
        killed_after = random.randint(0, 3) if random.random() < 0.6 else None
        if life.look(killed_after).ended and killed_after is None:
            break
        life.finish(random)
    assert dict(life.successes) == dict.fromkeys(range(12), 1)
    latest = {run.scenario: run for run in life.stored.values()}
    assert {run.state for run in latest.values()} == {RunState.LEARNED}
    assert life.most_at_once <= rules.parallelism


def test_a_run_whose_pod_ended_before_its_job_says_so_goes_on() -> None:
    life = Life.of(RULES, registered(rows(1)), by_scenario)
    life.look()
    life.jobs[0, 1] = SeenJob(started=True)
    life.look()
    life.jobs[0, 1] = SeenJob()
    life.now_s += 2 * RULES.start_within_s
    steps = life.look()
    assert (states(life), steps.delete) == ({(0, 1): RunState.RUNNING}, ())
    life.finish()
    assert life.until_ended().ending is Ending.ALL_RUN
    assert states(life) == {(0, 1): RunState.LEARNED}
