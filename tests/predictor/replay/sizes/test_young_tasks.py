"""Many tasks with few runs each: how many attempts fail, and how much is spare."""

from __future__ import annotations

import random

from plimsoll_predictor.core.units import GIB, gb_hours
from plimsoll_predictor.experts.charging import EndedRun
from plimsoll_predictor.experts.standing import Ended
from plimsoll_predictor.experts.task_standings import TaskStandings
from plimsoll_predictor.knowledge.expert_names import REQUEST
from plimsoll_predictor.replay.sizes.engine import replay
from plimsoll_predictor.replay.sizes.figures import ReplayedRow
from plimsoll_predictor.replay.sizes.policies import POLICIES
from plimsoll_predictor.replay.sizes.rows import TraceRow
from plimsoll_predictor.replay.sizes.sizer import Knobs
from tests.builders.replays import a_run

HOUR_S = 3600.0
Needs = tuple[int, int | None]
"""What a run needs, and what it asks for."""


def failed(runs: list[ReplayedRow]) -> int:
    return sum(each.failed_attempts for each in runs)


def spare(runs: list[ReplayedRow]) -> float:
    """Their waste over what they needed."""
    needed = sum(gb_hours(each.row.peak_bytes, each.row.runtime_s) for each in runs)
    return sum(each.waste_gb_h for each in runs) / needed


def played(tasks: list[list[Needs]], policy: str = "plimsoll") -> list[ReplayedRow]:
    """Tasks one after another, with runs of an hour."""
    rows = list[TraceRow]()
    for number, runs in enumerate(tasks):
        for need_bytes, asked_bytes in runs:
            at_s = 2 * HOUR_S * len(rows)
            run = a_run(len(rows) + 2).of(f"t{number}").needing(need_bytes).asking(asked_bytes)
            rows.append(run.at(at_s, at_s, at_s + HOUR_S).row)
    return replay(rows, POLICIES[policy].make(Knobs())).rows


def nearly_alike(draw: random.Random, runs: int) -> list[Needs]:
    level = draw.lognormvariate(0, 1) * GIB / 2
    return [(int(level * draw.lognormvariate(0, 0.02)), int(4 * level)) for _ in range(runs)]


def test_few_runs_that_are_nearly_alike_are_hardly_ever_given_too_little() -> None:
    draw = random.Random(1)
    tasks = [nearly_alike(draw, 3) for _ in range(100)]
    assert failed(played(tasks)) <= failed(played(tasks, "max-seen-1.1")) + 1


def asking_by_input(draw: random.Random, runs: int) -> list[Needs]:
    """Each run asks for up to twice what it needs, as its author wrote a formula."""
    asked = [int(draw.lognormvariate(0, 1.2) * GIB) for _ in range(runs)]
    return [(int(bytes_ * draw.uniform(0.5, 0.9)), bytes_) for bytes_ in asked]


def test_runs_whose_requests_follow_their_input_keep_about_these() -> None:
    """The largest need of all was given to the small ones, at twenty times their request."""
    draw = random.Random(1)
    tasks = [asking_by_input(draw, 8) for _ in range(40)]
    runs = played(tasks)
    assert spare(runs) <= 1.1 * spare(played(tasks, "preset"))
    assert failed(runs) <= 3


def test_a_task_that_asks_for_nothing_is_not_served_by_its_request() -> None:
    """However cheap the requests of other tasks are: it would be given what is not there."""
    draw, fleet, served_by = random.Random(1), TaskStandings(), set[str]()
    for number in range(40):
        for need_bytes, asked_bytes in asking_by_input(draw, 8):
            asked = None if number % 4 == 3 else asked_bytes
            run = EndedRun(float(need_bytes), HOUR_S, asked)
            fleet.learn(f"t{number}", Ended(run=run, features={}, bids=None, overhead_s=None))
            if asked is None:
                served_by.add(fleet.standing(f"t{number}").champion)
    assert fleet.standing("t38").champion == REQUEST
    assert REQUEST not in served_by


def asking_too_much(draw: random.Random, runs: int) -> list[Needs]:
    level = draw.lognormvariate(0, 1) * GIB
    return [(int(level * draw.lognormvariate(0, 0.1)), int(10 * level)) for _ in range(runs)]


def test_tasks_that_ask_far_too_much_do_not_get_it_because_others_ask_well() -> None:
    """Three of four tasks ask by their input: the fourth kept ten times what it needed."""
    draw = random.Random(1)
    asking_much = [asking_too_much(draw, 10) for _ in range(20)]
    fleet = list[list[Needs]]()
    for task in asking_much:
        fleet += [*(asking_by_input(draw, 8) for _ in range(3)), task]
    among_others = [run for run in played(fleet) if int(run.row.task[1:]) % 4 == 3]
    alone = played(asking_much)
    assert spare(among_others) <= 1.15 * spare(alone)
    assert failed(among_others) <= failed(alone)


def test_a_task_one_of_whose_runs_needed_more_than_it_asked_for_does_not_get_its_requests() -> None:
    """However well other tasks ask, and although another of its runs asked for more."""
    draw, fleet, served_by = random.Random(1), TaskStandings(), set[str]()

    def learn(task: str, need_bytes: float, asked_bytes: float | None) -> None:
        run = EndedRun(need_bytes, HOUR_S, asked_bytes)
        fleet.learn(task, Ended(run=run, features={}, bids=None, overhead_s=None))

    for number in range(30):
        for need_bytes, asked_bytes in asking_by_input(draw, 8):
            learn(f"t{number}", need_bytes, asked_bytes)
    learn("mistaken", 2.0 * GIB, 1.5 * GIB)
    for need_bytes, asked_bytes in asking_by_input(draw, 8):
        learn("mistaken", need_bytes, max(asked_bytes or 0.0, 2.5 * GIB))
        served_by.add(fleet.standing("mistaken").champion)
    assert fleet.standing("t29").champion == REQUEST
    assert REQUEST not in served_by
