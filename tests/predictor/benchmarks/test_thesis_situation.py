"""The synthetic situation of the thesis: statements about it hold, and nothing hidden leaks."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from benchmarks.thesis.comparison import SEED
from benchmarks.thesis.facts import ABOVE_GB, optimal_improvements
from benchmarks.thesis.groups import table_12, table_13
from benchmarks.thesis.models import stratified_split
from benchmarks.thesis.printed import BINNINGS, TABLE_6
from benchmarks.thesis.served import ClassifierSizer, Effort, served_by_rule, trace_rows
from benchmarks.thesis.situation import the_situation
from benchmarks.thesis.tasks import HEAVY_1, HEAVY_2, TaskRows, the_tasks
from plimsoll_predictor.core.units import GB


@cache
def the_default_tasks() -> dict[str, TaskRows]:
    return the_tasks(the_situation(SEED))


@pytest.mark.slow
def test_the_situation_has_the_thesiss_runs_scenarios_regions_and_rows() -> None:
    situation = the_situation(SEED)
    assert situation.runs == 380
    assert len(situation.scenarios) == 153
    assert {len(the_default_tasks()[name].features) for name in (HEAVY_1, HEAVY_2)} == {1460}
    assert len({scenario.region for scenario in situation.scenarios}) == 4


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_any_seed_keeps_to_the_stated_medians_and_maxima(seed: int) -> None:
    tasks = the_tasks(the_situation(seed))
    assert all(np.median(rows.need_bytes) < 4 * GB for rows in tasks.values())
    largest_gb = [round(tasks[name].need_bytes.max() / GB) for name in (HEAVY_1, HEAVY_2)]
    assert largest_gb == [175, 110]
    assert sum(rows.need_bytes.max() > 20 * GB for rows in tasks.values()) == 2


@pytest.mark.parametrize("name", [HEAVY_1, HEAVY_2])
def test_the_default_seed_comes_close_to_table_6(name: str) -> None:
    rows = the_default_tasks()[name]
    for ceilings in BINNINGS[name]:
        plain, time_based = optimal_improvements(rows, ceilings)
        assert plain == pytest.approx(TABLE_6[name, ceilings].plain, abs=0.5)
        assert time_based == pytest.approx(TABLE_6[name, ceilings].time_based, abs=4)
    dozens = [int((rows.need_bytes > size * GB).sum()) for size in ABOVE_GB[name]]
    assert 8 <= dozens[-1] < dozens[0] <= 130


@pytest.mark.slow
def test_the_same_seed_gives_the_same_rows_and_another_seed_others() -> None:
    again = the_tasks(the_situation(SEED))[HEAVY_1]
    other = the_tasks(the_situation(SEED + 1))[HEAVY_1]
    mine = the_default_tasks()[HEAVY_1]
    assert np.array_equal(again.need_bytes, mine.need_bytes)
    assert again.features == mine.features
    assert not np.array_equal(other.need_bytes, mine.need_bytes)


def test_no_feature_tells_the_need_the_runtime_or_the_hidden_price_effect() -> None:
    rows = the_default_tasks()[HEAVY_1]
    assert set(rows.features[0]) == {
        "region",
        "execution_date",
        "products",
        "departments",
        "stores",
        "sale_start",
        "sale_end",
    }
    # The same products and days left need different amounts: something is hidden.
    logs = np.log(rows.need_bytes.astype(float))
    products = np.log([float(features["products"]) for features in rows.features])
    assert abs(float(np.corrcoef(products, logs)[0, 1])) < 0.95


def test_heavier_runs_take_longer() -> None:
    for name in (HEAVY_1, HEAVY_2):
        rows = the_default_tasks()[name]
        heavy = rows.need_bytes > 30 * GB
        assert rows.runtime_s[heavy].mean() > 5 * rows.runtime_s.mean()


def test_a_stratified_split_trains_on_the_earlier_rows_of_each_bin() -> None:
    labels = np.array([0] * 10 + [1] * 3 + [0] * 10)
    trained = stratified_split(labels)
    assert trained[labels == 0].tolist() == [True] * 14 + [False] * 6
    assert trained[labels == 1].tolist() == [True, True, False]


def test_tables_12_and_13_add_up_to_the_static_allocations() -> None:
    tasks = the_default_tasks()
    savings = table_12(tasks, {HEAVY_1: 0.857, HEAVY_2: 0.697})
    memory, cpu = table_13(savings, tasks)
    assert (memory.before, cpu.before) == (1520, 132)
    assert cpu.after == 43
    assert cpu.improved == pytest.approx(0.674, abs=0.001)
    assert sum(saving.members for saving in savings if saving.resource == "memory") == 27


def test_the_classifier_is_handed_nothing_of_a_run_before_it_has_ended() -> None:
    """The training data of each decision are runs that completed before it."""
    rows = the_default_tasks()[HEAVY_2]
    sizer = ClassifierSizer(rows, Effort(), SEED)
    first, second = trace_rows(rows)[:2]
    assert sizer.decide(first.asked, first.submit_s) == rows.reference_bytes
    sizer.completed(second, rows.reference_bytes, second.complete_s)
    assert [observation.run for observation in sizer.known] == [second.run]
    assert not hasattr(first.asked, "peak_bytes")


def test_max_seen_fails_only_where_a_need_is_the_largest_so_far() -> None:
    rows = the_default_tasks()[HEAVY_1]
    served = served_by_rule(rows, "max-seen")
    assert 0 < served.every.failed_attempts < 20
    assert served.later.waste_gb_h < served.every.waste_gb_h
