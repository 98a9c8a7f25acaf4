"""What follows from a run's end: by which clock it is late, what may still be known, what stays."""

from __future__ import annotations

from dataclasses import replace

import pytest

from plimsoll_predictor.campaigns.ending import FAILS_AFTER, Ending
from plimsoll_predictor.campaigns.planning import GOES_ON_S, MOST_INTERRUPTIONS
from plimsoll_predictor.campaigns.runs import CampaignRun, RunState
from plimsoll_predictor.campaigns.seen import OBSERVED_WITHIN_S, SeenJob
from plimsoll_predictor.core.record import Cause, Outcome
from plimsoll_predictor.core.units import MIB
from tests.predictor.campaigns.lives import RULES, Life, by_scenario, registered, rows, states

STARTS_ERROR = 128
"""The exit code of a container whose program cannot be executed."""


def beginning(count: int, parallelism: int = 1) -> Life:
    """A life of which as many run as may."""
    life = Life.of(replace(RULES, parallelism=parallelism), registered(rows(count)), by_scenario)
    life.look()
    return life


def is_measured_and_goes_on(life: Life, run: CampaignRun) -> None:
    life.jobs[run.key] = SeenJob(pod_uid="pod", started=True, goes_on=True)
    life.end(run, Outcome.SUCCEEDED, 100 * MIB)


def test_a_pod_that_goes_on_after_its_run_keeps_its_place_until_its_job_is_deleted() -> None:
    life = beginning(2)
    is_measured_and_goes_on(life, life.made[0, 1])
    steps = life.look()
    assert states(life)[0, 1] is RunState.LEARNED
    assert (list(life.made), steps.delete) == ([(0, 1)], ())
    life.now_s += GOES_ON_S
    assert [run.key for run in life.look().delete] == [(0, 1)]
    assert list(life.made) == [(0, 1), (1, 1)]


def test_a_campaign_ends_once_no_pod_goes_on() -> None:
    life = beginning(1)
    is_measured_and_goes_on(life, life.made[0, 1])
    assert (life.look().ending, life.look().ended) == (Ending.ALL_RUN, False)
    life.jobs[0, 1] = SeenJob(started=True, succeeded=True, finished_s=life.now_s)
    steps = life.look()
    assert (steps.ended, steps.delete) == (True, ())


def test_a_pod_that_goes_on_after_its_run_goes_at_once_with_a_stopped_campaign() -> None:
    life = beginning(2)
    is_measured_and_goes_on(life, life.made[0, 1])
    life.look()
    life.rules = replace(life.rules, stopped=True)
    steps = life.look()
    assert (steps.ended, [run.key for run in steps.delete]) == (True, [(0, 1)])


def test_a_run_whose_peak_is_waited_for_while_its_pod_goes_on_keeps_its_place() -> None:
    life = beginning(2)
    is_measured_and_goes_on(life, life.made[0, 1])
    life.ends[0] = [replace(life.ends[0][0], peak_bytes=None)]
    life.look()
    assert (states(life)[0, 1], list(life.made)) == (RunState.EXECUTED, [(0, 1)])


def never_starts(life: Life, run: CampaignRun, exit_code: int | None = None) -> None:
    """Its pod fails before its container ran."""
    life.end(run, Outcome.FAILED, None, Cause.NEVER_STARTED)
    unknown = replace(life.ends[run.scenario][-1], runtime_s=None, exit_code=exit_code)
    life.ends[run.scenario][-1] = unknown


def test_a_pod_that_its_node_refuses_runs_again_and_is_no_failure_of_its_program() -> None:
    life = beginning(9, parallelism=FAILS_AFTER)
    for run in list(life.made.values()):
        never_starts(life, run)
    steps = life.look()
    assert steps.ending is None
    assert [(run.scenario, run.attempt) for run in steps.create] == [
        (place, 2) for place in range(FAILS_AFTER)
    ]
    assert states(life)[0, 1] is RunState.INTERRUPTED
    for place in range(FAILS_AFTER):
        life.end(life.made[place, 2], Outcome.SUCCEEDED, 100 * MIB)
    life.look()
    assert states(life)[0, 2] is RunState.LEARNED


def test_a_template_whose_pods_are_always_refused_ends_the_campaign_in_bounded_time() -> None:
    life = beginning(50, parallelism=2)
    for _ in range(50):
        for key in [key for key, state in states(life).items() if state is RunState.CREATING]:
            never_starts(life, life.made[key])
        steps = life.look()
        if steps.ended:
            break
    assert steps.ending is Ending.NEVER_STARTS
    most = MOST_INTERRUPTIONS + 1
    assert states(life)[0, most] is RunState.STUCK
    assert list(life.made) == [(place, n) for n in range(1, most + 1) for place in (0, 1)]


def test_a_program_that_cannot_be_executed_is_no_matter_of_its_node() -> None:
    life = beginning(9, parallelism=FAILS_AFTER)
    for run in list(life.made.values()):
        never_starts(life, run, exit_code=STARTS_ERROR)
    assert life.look().ending is Ending.PROGRAM_FAILS
    assert states(life)[0, 1] is RunState.FAILED


@pytest.mark.parametrize("ahead_s", [-200.0, 0.0, 3600.0])
def test_a_peak_is_waited_for_as_long_whatever_a_nodes_clock_says(ahead_s: float) -> None:
    life = beginning(1)
    life.end(life.made[0, 1], Outcome.SUCCEEDED, None, ahead_s=ahead_s)
    life.look()
    life.now_s += OBSERVED_WITHIN_S - 2
    life.look()
    assert states(life) == {(0, 1): RunState.EXECUTED}
    life.now_s += 1
    life.look()
    assert states(life) == {(0, 1): RunState.UNMEASURED}


def test_a_clock_that_is_ahead_delays_no_campaign_whose_controller_has_just_come() -> None:
    life = beginning(1)
    life.looked_s = 0.0
    life.end(life.made[0, 1], Outcome.SUCCEEDED, None, ahead_s=3600.0)
    life.look()
    life.looked_s = OBSERVED_WITHIN_S
    life.now_s += OBSERVED_WITHIN_S
    life.look()
    assert states(life) == {(0, 1): RunState.UNMEASURED}


def test_nodes_that_go_away_again_and_again_are_no_fault_of_the_template() -> None:
    life = beginning(3, parallelism=3)
    for _ in range(MOST_INTERRUPTIONS + 1):
        for key in [key for key, state in states(life).items() if state is RunState.CREATING]:
            life.end(life.made[key], Outcome.EVICTED, None, Cause.NODE_LOST)
        steps = life.look()
    assert (steps.ended, steps.ending) == (True, Ending.ALL_RUN)


@pytest.mark.parametrize("succeeded", [True, False])
def test_an_end_is_waited_for_as_long_whatever_the_clusters_clock_says(succeeded: bool) -> None:
    life = beginning(1)
    behind_s = life.now_s - 200.0
    life.jobs[0, 1] = SeenJob(succeeded=succeeded, failed=not succeeded, finished_s=behind_s)
    life.look()
    assert life.stored[0, 1].state.is_open
    life.end(life.made[0, 1], Outcome.SUCCEEDED, 77 * MIB, ahead_s=-200.0)
    assert life.look().ended
    assert states(life) == {(0, 1): RunState.LEARNED}


def test_a_sigkill_near_the_limit_that_is_known_late_is_lifted() -> None:
    life = beginning(1)
    life.end(life.made[0, 1], Outcome.FAILED, None, Cause.KILLED)
    assert not life.look().ended
    assert states(life) == {(0, 1): RunState.RUNNING}
    (end,) = life.ends[0]
    life.ends[0] = [replace(end, outcome=Outcome.OOM_KILLED, cause=Cause.NEAR_LIMIT)]
    life.look()
    assert states(life) == {(0, 1): RunState.KILLED, (0, 2): RunState.CREATING}
    assert life.stored[0, 2].memory_bytes == 2 * life.stored[0, 1].memory_bytes


def test_a_sigkill_that_nothing_explains_is_a_failure_after_a_while() -> None:
    life = beginning(1)
    life.end(life.made[0, 1], Outcome.FAILED, None, Cause.KILLED)
    life.look()
    life.now_s += OBSERVED_WITHIN_S
    assert life.look().ended
    assert states(life) == {(0, 1): RunState.FAILED}
