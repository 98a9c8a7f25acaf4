from __future__ import annotations

import json
import math
import time
from dataclasses import replace

import numpy as np
import pytest

from plimsoll_predictor.runtimes.what_if.change import Direction, Evidence, MeasureChange
from plimsoll_predictor.runtimes.what_if.estimating import estimate
from plimsoll_predictor.runtimes.what_if.measures import (
    MEASURES,
    Measure,
    effective_runs,
    levels,
    student,
)
from plimsoll_predictor.runtimes.what_if.scenario import Scenario
from plimsoll_predictor.runtimes.what_if.time_blocks import matched
from plimsoll_predictor.runtimes.what_if.what_if import WhatIf
from tests.builders.runtimes.what_ifs import DAY_S, WEEK_S, a_run, a_task

ON_N2 = Scenario(node_type="n2")


def changes_of(answer: WhatIf) -> dict[Measure, MeasureChange]:
    return {change.measure: change for change in answer.changes}


def test_runs_on_a_faster_node_are_told_as_faster_with_an_interval_and_counts() -> None:
    answer = estimate(a_task(faster=0.4), ON_N2)
    p50 = changes_of(answer)[Measure.P50]

    assert p50.direction is Direction.LESS
    assert p50.evidence is Evidence.OWN
    assert p50.low is not None
    assert p50.high is not None
    assert p50.low < math.exp(-0.4) - 1 < p50.high < 0
    assert p50.now == pytest.approx(150, rel=0.1)
    assert p50.then == pytest.approx(100, rel=0.1)
    assert answer.words[0] == (
        f"{answer.counts.compared_as_asked} runs on n2 against "
        f"{answer.counts.compared_otherwise} on other node types in the same "
        f"{answer.counts.blocks} {'days' if answer.counts.block_s == DAY_S else 'weeks'}."
    )
    assert any(words.startswith("The median runtime: -3") for words in answer.words)
    assert "not what caused it" in answer.words[-1]


def test_where_nothing_changes_the_answer_is_that_the_data_cannot_tell() -> None:
    answer = estimate(a_task(seed=5), ON_N2)
    for change in answer.changes:
        assert change.direction is Direction.CANNOT_TELL
        assert "includes no change" in change.words


def test_few_runs_of_one_side_are_too_few_and_say_so_with_their_number() -> None:
    runs = [*a_task(new=0), *[a_run(node_type="n2", submitted_s=day * DAY_S) for day in range(3)]]
    answer = estimate(runs, ON_N2)
    assert {change.direction for change in answer.changes} == {Direction.TOO_FEW}
    assert answer.words[0].startswith("3 runs on n2 against ")
    assert answer.words[0].endswith("to tell.")
    assert len(answer.words) == 1


@pytest.mark.parametrize(
    ("new", "said"),
    [
        pytest.param(0.0, "No run on n2 is known: nothing to compare.", id="none as asked"),
        pytest.param(1.0, "All 50 runs known ran on n2 already: nothing to compare.", id="all"),
    ],
)
def test_without_another_side_there_is_nothing_to_compare(new: float, said: str) -> None:
    assert estimate(a_task(runs=50, new=new), ON_N2).words == (said,)


def test_a_task_that_moved_all_at_once_cannot_be_compared_with_its_past() -> None:
    before = a_task(1, runs=100, new=0, usual_s=300)
    after = [
        replace(run, submitted_s=run.submitted_s + 70 * DAY_S)
        for run in a_task(2, runs=100, new=1, usual_s=100)
    ]
    answer = estimate([*before, *after], ON_N2)
    assert {change.direction for change in answer.changes} == {Direction.TOO_FEW}
    assert "never within the same week" in answer.words[0]


def test_no_runs_at_all_and_runs_of_unknown_conditions_are_answers_too() -> None:
    assert estimate([], ON_N2).words == ("No run on n2 is known: nothing to compare.",)
    answer = estimate([a_run(), a_run()], ON_N2)
    assert answer.counts.untold == 2
    assert answer.words[1] == "2 runs of which nobody recorded the node's type are left out."


def test_slow_weeks_on_the_new_node_mislead_all_runs_together_but_not_the_same_weeks() -> None:
    """The cluster was slow in the weeks in which it ran mostly on n2: no node's fault."""
    random = np.random.default_rng(3)
    runs = []
    for week in range(30):
        slow = week % 2
        for _ in range(20):
            new = random.random() < (0.8 if slow else 0.2)
            log = 5 + 1.0 * slow + random.normal(0, 0.3)
            at_s = (week + random.random()) * WEEK_S
            runs.append(
                a_run(runtime_s=math.exp(log), submitted_s=at_s, node_type="n2" if new else "n1")
            )
    means = [
        np.mean([math.log(run.runtime_s) for run in runs if run.node_type == node])
        for node in ("n2", "n1")
    ]
    assert means[0] - means[1] > 0.5
    p50 = changes_of(estimate(runs, ON_N2))[Measure.P50]
    assert p50.direction is Direction.CANNOT_TELL
    assert p50.change == pytest.approx(0, abs=0.2)


@pytest.mark.slow
def test_larger_inputs_of_other_tasks_on_the_new_node_do_not_make_it_slow() -> None:
    small = {f"small-{seed}": a_task(seed, new=0.2, usual_s=30) for seed in range(5)}
    large = {f"large-{seed}": a_task(seed + 9, new=0.8, usual_s=3000) for seed in range(5)}
    pooled = [run for runs in (small | large).values() for run in runs]
    naive = changes_of(estimate(pooled, ON_N2))[Measure.P50]
    assert naive.direction is Direction.MORE  # the result of comparing different tasks

    answer = estimate(a_task(99, runs=12, new=0.3), ON_N2, small | large)
    p50 = changes_of(answer)[Measure.P50]
    assert p50.evidence in {Evidence.OTHERS, Evidence.BOTH}
    assert p50.direction is Direction.CANNOT_TELL
    assert p50.low is not None
    assert p50.high is not None
    assert -0.2 < p50.low < 0 < p50.high < 0.2


@pytest.mark.slow
def test_other_tasks_widen_the_evidence_of_one_with_few_runs_and_the_words_say_so() -> None:
    others = {f"t{seed}": a_task(seed, faster=0.4, usual_s=20 + 30 * seed) for seed in range(8)}
    few = a_task(50, runs=20, new=0.1, faster=0.4)
    alone = changes_of(estimate(few, ON_N2))[Measure.P50]
    answer = estimate(few, ON_N2, others)
    p50 = changes_of(answer)[Measure.P50]

    assert alone.direction is Direction.TOO_FEW
    assert p50.direction is Direction.LESS
    assert p50.evidence is Evidence.OTHERS
    assert p50.tasks == 8
    assert p50.now == pytest.approx(150, rel=0.4)  # its own level, not theirs
    assert any("8 other tasks of the owner" in words for words in answer.words)
    assert "by 8 other tasks alone" in p50.words


@pytest.mark.slow
@pytest.mark.parametrize(
    ("new", "said"),
    [
        pytest.param(0.0, "No run of this task on n2 is known.", id="none as asked"),
        pytest.param(1.0, "All 50 runs known ran on n2 already.", id="all"),
    ],
)
def test_where_only_other_tasks_tell_nothing_says_that_there_is_nothing_to_compare(
    new: float, said: str
) -> None:
    others = {f"t{seed}": a_task(seed, faster=0.4, usual_s=20 + 30 * seed) for seed in range(8)}
    answer = estimate(a_task(runs=50, new=new), ON_N2, others)
    assert changes_of(answer)[Measure.P50].evidence is Evidence.OTHERS
    assert answer.words[0] == said
    assert answer.words[1].startswith("Instead, 8 other tasks of the owner")


@pytest.mark.slow
def test_other_tasks_do_not_drown_a_task_that_tells_of_itself() -> None:
    others = {f"t{seed}": a_task(seed, faster=0.8) for seed in range(8)}
    p50 = changes_of(estimate(a_task(50, runs=2000), ON_N2, others))[Measure.P50]
    assert p50.change == pytest.approx(0, abs=0.1)


def test_four_other_tasks_are_too_few_to_expect_anything_by() -> None:
    others = {f"t{seed}": a_task(seed, faster=0.4) for seed in range(4)}
    answer = estimate(a_task(50, runs=12, new=0.1), ON_N2, others)
    assert {change.direction for change in answer.changes} == {Direction.TOO_FEW}


@pytest.mark.slow
def test_the_order_of_runs_and_of_tasks_changes_nothing() -> None:
    runs = a_task(faster=0.2)
    others = {f"t{seed}": a_task(seed) for seed in range(6)}
    backwards = dict(reversed(others.items()))
    first = estimate(runs, ON_N2, others).to_dict()
    assert estimate(list(reversed(runs)), ON_N2, backwards).to_dict() == first


def test_an_answer_is_plain_json() -> None:
    written = json.loads(json.dumps(estimate(a_task(faster=0.4), ON_N2).to_dict()))
    assert written["scenario"] == {"node_type": "n2"}
    assert [change["measure"] for change in written["changes"]] == [*MEASURES]
    assert written["changes"][0]["verdict"] == "less"
    assert written["held_out"]["checked"] >= written["held_out"]["within"] > 0
    assert written["now"]["words"]


def test_the_same_runtime_every_time_is_no_certainty_about_outliers() -> None:
    runs = [replace(run, runtime_s=100.0) for run in a_task()]
    found = changes_of(estimate(runs, ON_N2))
    assert found[Measure.P50].change == pytest.approx(0, abs=1e-9)
    outliers = found[Measure.OUTLIERS]
    assert outliers.low is not None
    assert outliers.high is not None
    assert outliers.low < -0.005 < 0.005 < outliers.high


def test_runtimes_of_zero_and_a_thousandfold_apart_give_finite_answers() -> None:
    random = np.random.default_rng(2)
    runs = [
        replace(run, runtime_s=float(random.choice([0.0, 1.0, 1000.0, 1e6]))) for run in a_task()
    ]
    for change in estimate(runs, ON_N2).changes:
        assert change.low is not None
        assert change.high is not None
        assert math.isfinite(change.low)
        assert math.isfinite(change.high)
        assert change.words


@pytest.mark.slow
def test_an_answer_takes_time_in_proportion_to_the_runs_it_looks_at() -> None:
    def cpu_s(runs: int) -> float:
        task = a_task(runs=runs, days=400)
        begun_s = time.process_time()
        estimate(task, ON_N2)
        return time.process_time() - begun_s

    cpu_s(200)
    small_s, large_s, bounded_s = cpu_s(2_500), cpu_s(10_000), cpu_s(20_000)
    assert large_s < 10 * small_s
    assert bounded_s < 2 * large_s
    assert large_s < 3


def test_both_sides_weigh_alike_in_every_block_of_time() -> None:
    random = np.random.default_rng(4)
    logs, times_s = random.normal(5, 1, 400), random.random(400) * 20 * WEEK_S
    sides = (random.random(400) < 0.2).astype(np.int8)
    runs = matched(logs, times_s, sides)
    assert list(runs.log_runtimes) == sorted(runs.log_runtimes)
    for group in range(runs.n_groups):
        inside = runs.groups == group
        asked = runs.weights[inside & runs.as_asked].sum()
        assert asked == pytest.approx(runs.weights[inside & ~runs.as_asked].sum())
        assert asked > 0


def test_measures_of_many_alike_runs_are_the_plain_ones() -> None:
    logs = np.sort(np.random.default_rng(5).normal(5, 0.5, 20_000))
    middle, high, spread, beyond = levels(logs, np.ones(logs.size), 5 + math.log(2))
    quarter, median, three_quarters, p95 = np.quantile(logs, [0.25, 0.5, 0.75, 0.95])
    assert middle == pytest.approx(median, abs=0.005)
    assert high == pytest.approx(p95, abs=0.01)
    assert spread == pytest.approx(three_quarters - quarter, abs=0.01)
    assert beyond == np.mean(logs > 5 + math.log(2))


def test_weights_count_as_that_many_runs() -> None:
    logs = np.array([1.0, 2.0, 3.0, 10.0])
    once = levels(np.repeat(logs, [1, 1, 1, 1]), np.array([1.0, 1.0, 1.0, 0.0]), 2.5)
    assert list(once) == pytest.approx(list(levels(logs[:3], np.ones(3), 2.5)))
    assert effective_runs(np.array([3.0, 3.0, 3.0])) == pytest.approx(3)
    assert effective_runs(np.array([1.0, 0.0])) == 1
    assert effective_runs(np.zeros(3)) == 0


@pytest.mark.parametrize(("df", "point"), [(4, 2.7764), (5, 2.5706), (10, 2.2281), (60, 2.0003)])
def test_students_points_are_those_of_the_tables(df: int, point: float) -> None:
    assert student(df) == pytest.approx(point, abs=0.003)


@pytest.mark.slow
def test_an_interval_of_fewer_than_five_stretches_is_refused() -> None:
    with pytest.raises(ValueError, match="3 degrees of freedom are too few"):
        student(3)
