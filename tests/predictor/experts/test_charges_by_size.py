"""A task's experts are judged by what they cost all its runs, of which the large ones cost most."""

from __future__ import annotations

import json
import math

import pytest

from plimsoll_predictor.experts.charging import EndedRun
from plimsoll_predictor.experts.panel import PANEL
from plimsoll_predictor.experts.past import Past
from plimsoll_predictor.experts.pool import LONGEST
from plimsoll_predictor.experts.standing import Ended, Standing
from plimsoll_predictor.experts.task_standings import TaskStandings
from plimsoll_predictor.knowledge.expert_names import NEAR_MAX, SAFE

GB = 10**9
TASK = "shop/train"
SMALL = EndedRun(0.4 * GB, 60.0)
LARGE = EndedRun(8.0 * GB, 36_000.0)


def learn(fleet: TaskStandings, run: EndedRun, **times: float) -> None:
    """Learn a run for which experts bid so many times its need."""
    bids = {name: times.get(name.replace("-", "_"), 3.0) * run.need_bytes for name in PANEL}
    fleet.learn(TASK, Ended(run=run, features={}, bids=bids, overhead_s=None))


def a_past(*runs: EndedRun) -> Past:
    past = Past()
    for run in runs:
        past.add(run, {})
    return past


@pytest.mark.parametrize(
    ("on_large", "on_small", "champion"),
    [
        pytest.param(1.02, 1.6, NEAR_MAX, id="good for the large runs"),
        pytest.param(1.6, 1.02, SAFE, id="good for the small runs"),
    ],
)
def test_who_is_good_for_a_few_large_runs_serves_though_most_runs_are_small(
    on_large: float, on_small: float, champion: str
) -> None:
    fleet = TaskStandings()
    for run in range(100):
        if run % 5:
            learn(fleet, SMALL, near_max=on_small, expected_cost=on_large)
        else:
            learn(fleet, LARGE, near_max=on_large, expected_cost=on_small)
    assert fleet.standing(TASK).champion == champion


def test_other_tasks_hear_what_a_run_cost_in_its_own_size() -> None:
    alike, mixed = TaskStandings(), TaskStandings()
    for run in range(10):
        learn(alike, SMALL)
        learn(mixed, LARGE if run % 2 else SMALL)
    assert mixed.pool.mean_charges(10) == pytest.approx(alike.pool.mean_charges(10), rel=0.05)


@pytest.mark.parametrize("runtime_s", [LONGEST * 60.0, 86_400.0, 30 * 86_400.0])
def test_a_run_that_hung_weighs_no_more_than_its_runtime_counts(runtime_s: float) -> None:
    past = a_past(*[EndedRun(GB, 60.0)] * 300)
    assert past.weight_of(EndedRun(GB, 60.0)) == pytest.approx(1.0)
    assert past.weight_of(EndedRun(GB, runtime_s)) == pytest.approx(math.sqrt(LONGEST), rel=0.1)


def test_a_run_without_a_runtime_and_one_that_needs_next_to_nothing_count_little() -> None:
    past = a_past(*[EndedRun(GB, 60.0)] * 20)
    assert 0 < past.weight_of(EndedRun(GB, 0.0)) < 0.2
    assert 0 < past.weight_of(EndedRun(1.0, 60.0)) < 1e-4


def test_a_standing_that_was_kept_is_charged_like_the_one_it_was() -> None:
    fleet, again = TaskStandings(), TaskStandings()
    for run in range(40):
        learn(fleet, LARGE if run % 7 == 0 else SMALL)
    again.put(TASK, Standing.from_dict(json.loads(json.dumps(fleet.standing(TASK).to_dict()))))
    for each in (fleet, again):
        learn(each, LARGE, near_max=1.1)
    assert again.standing(TASK).charges.tolist() == fleet.standing(TASK).charges.tolist()
