"""Curves over features: which is found, what room it gets, and when there is none."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping

import pytest

from plimsoll_predictor.core.documents import from_document, to_document
from plimsoll_predictor.core.record import FeatureValue
from plimsoll_predictor.experts.charging import EndedRun
from plimsoll_predictor.experts.features.curves import fitted
from plimsoll_predictor.experts.features.residuals import CHANCE, student
from plimsoll_predictor.experts.features.run_table import LATEST, MOST_FEATURES, RunTable
from plimsoll_predictor.experts.panel import CURVED_RUNS, PANEL, view_of
from plimsoll_predictor.experts.past import Past
from plimsoll_predictor.experts.pool import Ratios
from plimsoll_predictor.knowledge.curve import Kinds, Steps, Straight
from plimsoll_predictor.knowledge.expert_names import BY_FEATURES, CURVES
from plimsoll_predictor.knowledge.rule import Rule

MB = 1e6


def rows_of(seed: int, runs: int) -> list[float]:
    draws = random.Random(seed)
    return [100_000 * math.exp(draws.gauss(0, 1)) for _ in range(runs)]


def a_table(
    runs: int, need: Callable[[float], float], seed: int = 1, **features: FeatureValue
) -> RunTable:
    table = RunTable()
    for rows in rows_of(seed, runs):
        table.add({"rows": rows, **features}, need(rows))
    return table


def linear(rows: float) -> float:
    return 60 * MB + rows * 1000


def noisy(need: Callable[[float], float], share: float, seed: int = 7) -> Callable[[float], float]:
    draws = random.Random(1000 + seed)
    return lambda rows: need(rows) * math.exp(draws.gauss(0, share))


@pytest.mark.parametrize("runs", [3, 8, 40])
def test_a_line_is_known_from_the_fourth_run_on(runs: int) -> None:
    found = fitted(a_table(runs, linear))
    assert found is not None
    for rows in (20_000.0, 500_000.0):
        size_bytes = found.curve.at({"rows": rows})
        assert size_bytes == pytest.approx(linear(rows), rel=0.05)
        assert size_bytes is not None
        assert size_bytes >= linear(rows)


def test_two_runs_are_too_few() -> None:
    assert fitted(a_table(2, linear)) is None


@pytest.mark.slow
def test_a_clear_curve_is_told_from_one_that_chance_made() -> None:
    found = fitted(a_table(4, linear))
    assert found is not None
    assert found.clear
    by_chance = 0
    for seed in range(200):
        unruled = noisy(lambda _: 300 * MB, 0.3, seed)
        noise = fitted(a_table(4, unruled, seed=seed))
        by_chance += noise is not None and noise.clear
    assert by_chance <= 6


@pytest.mark.parametrize("odd", [{}, {"rows": "many"}, {"rows": 1e301}], ids=str)
def test_a_run_without_a_feature_leaves_its_curve(odd: Mapping[str, FeatureValue]) -> None:
    table = a_table(30, linear)
    table.add(odd, linear(70_000))
    found = fitted(table)
    assert found is not None
    assert found.curve.at({"rows": 500_000.0}) == pytest.approx(linear(500_000), rel=0.05)


def test_a_run_with_an_odd_value_leaves_sizes_by_kind() -> None:
    table, needs = RunTable(), {"eu": 100 * MB, "us": 800 * MB}
    for run in range(30):
        region = "us" if run % 2 else "eu"
        table.add({"region": region}, needs[region] * (1 + run % 3 / 100))
    table.add({"region": 7.0}, 300 * MB)
    found = fitted(table)
    assert found is not None
    assert isinstance(found.curve, Kinds)
    assert found.curve.at({"region": 7.0}) is None


@pytest.mark.parametrize(("runs", "odd"), [(26, 4), (7, 1)])
def test_a_feature_that_too_few_runs_have_gives_no_curve(runs: int, odd: int) -> None:
    table = a_table(runs, linear)
    for _ in range(odd):
        table.add({}, linear(70_000))
    assert fitted(table) is None


def test_a_curve_that_all_runs_can_use_is_left_only_for_a_much_better_one() -> None:
    table = RunTable()
    for run, rows in enumerate(rows_of(4, 30)):
        table.add({"rows": rows} | ({"bytes": 8 * rows} if run != 20 else {}), linear(rows))
    found = fitted(table)
    assert found is not None
    assert found.curve.names == ("rows",)


def test_a_power_is_a_line_in_logarithms() -> None:
    found = fitted(a_table(20, lambda rows: 3 * MB * rows**0.4))
    assert found is not None
    assert isinstance(found.curve, Straight)
    assert found.curve.logs


def test_two_features_are_used_where_one_does_not_do() -> None:
    table, draws = RunTable(), random.Random(3)
    for rows in rows_of(2, 20):
        files = draws.uniform(1, 50)
        table.add({"rows": rows, "files": files}, linear(rows) + files * 20 * MB)
    found = fitted(table)
    assert found is not None
    assert isinstance(found.curve, Straight)
    assert set(found.curve.features) == {"rows", "files"}


def test_steps_are_found() -> None:
    def need(rows: float) -> float:
        return 100 * MB if rows < 60_000 else 250 * MB if rows < 150_000 else 900 * MB

    found = fitted(a_table(40, noisy(need, 0.01)))
    assert found is not None
    assert isinstance(found.curve, Steps)
    assert found.curve.at({"rows": 20_000.0}) == pytest.approx(100 * MB, rel=0.15)
    assert found.curve.at({"rows": 900_000.0}) == pytest.approx(900 * MB, rel=0.15)


def test_a_word_has_a_size_of_its_own() -> None:
    table, draws = RunTable(), random.Random(5)
    needs = {"small": 100 * MB, "large": 800 * MB}
    for _ in range(12):
        kind = draws.choice(sorted(needs))
        table.add({"kind": kind}, needs[kind] * math.exp(draws.gauss(0, 0.01)))
    found = fitted(table)
    assert found is not None
    assert isinstance(found.curve, Kinds)
    small = found.curve.at({"kind": "small"})
    assert small is not None
    assert 100 * MB < small < 200 * MB
    assert found.curve.at({"kind": "never seen"}) is None


def of_kinds(kinds: str, needs: Mapping[str, float]) -> RunTable:
    """A run of each letter's kind, whose needs wobble by 2%."""
    table, draws = RunTable(), random.Random(6)
    for kind in kinds:
        table.add({"kind": kind}, needs[kind] * math.exp(draws.gauss(0, 0.02)))
    return table


def test_kinds_far_apart_have_their_sizes_after_two_runs_each() -> None:
    needs = {"d": 90 * MB, "w": 180 * MB, "m": 420 * MB, "y": 760 * MB}
    found = fitted(of_kinds("dwwdymdm", needs))
    assert found is not None
    assert found.clear
    for kind in "dwm":
        size_bytes = found.curve.at({"kind": kind})
        assert size_bytes is not None
        assert 1.0 < size_bytes / needs[kind] < 1.35
    # One run of a kind does not tell what the next one takes.
    assert found.curve.at({"kind": "y"}) is None


def test_kinds_that_differ_by_chance_alone_lean_on_each_other() -> None:
    draws, followed = random.Random(8), 0
    for _ in range(40):
        table = RunTable()
        for _ in range(16):
            table.add({"kind": draws.choice("abcd")}, 300 * MB * math.exp(draws.gauss(0, 0.2)))
        followed += fitted(table) is not None
    assert followed <= 2


def test_a_run_of_a_new_kind_gets_the_largest_need_at_least() -> None:
    past = Past()
    for kind in "ab" * 20:
        past.add(EndedRun(900 * MB if kind == "a" else 90 * MB, 3600.0, 1e9), {"kind": kind})
    bid = rule(CURVES, past)
    assert bid.bid_bytes(1e10, {"kind": "c"}) >= 900 * MB
    assert bid.bid_bytes(1e10, {"kind": "b"}) < 100 * MB


def test_steps_of_few_runs_are_followed_and_what_lies_between_gets_the_upper() -> None:
    table = RunTable()
    for rows, need_bytes in (
        *((200_000.0 + place, 260.0 + place % 3) for place in range(8)),
        *((500_000.0 + place, 640.0 + place % 3) for place in range(2)),
        (90_000.0, 100.0),
    ):
        table.add({"rows": rows}, need_bytes * MB)
    found = fitted(table)
    assert found is not None
    assert isinstance(found.curve, Steps)
    # One run below does not tell a step of its own.
    for rows, need_bytes in ((90_000.0, 260.0), (200_500.0, 640.0), (600_000.0, 640.0)):
        size_bytes = found.curve.at({"rows": rows})
        assert size_bytes is not None
        assert 1.0 < size_bytes / (need_bytes * MB) < 1.1


def test_a_feature_without_influence_leads_nowhere() -> None:
    followed = sum(
        fitted(a_table(12, noisy(lambda _: 300 * MB, 0.1, seed), seed)) is not None
        for seed in range(40)
    )
    assert followed <= 2


def test_few_later_runs_exceed_a_curve() -> None:
    exceeded = 0
    for seed in range(30):
        need = noisy(linear, 0.1, seed)
        found = fitted(a_table(20, need, seed))
        assert found is not None
        for rows in rows_of(seed + 100, 50):
            size_bytes = found.curve.at({"rows": rows})
            assert size_bytes is not None
            exceeded += size_bytes < need(rows)
    assert exceeded / (30 * 50) <= 2 * CHANCE


@pytest.mark.parametrize(("freedom", "quantile"), [(3, 3.896), (10, 2.527), (60, 2.223)])
def test_students_quantile_is_that_of_its_tables(freedom: int, quantile: float) -> None:
    assert student(0.015, freedom) == pytest.approx(quantile, rel=0.03)


def test_a_table_is_bounded_and_comes_back_as_it_was() -> None:
    table = RunTable()
    for number in range(LATEST + 5):
        table.add({f"f{place}": float(number) for place in range(MOST_FEATURES + 3)}, 1.0 + number)
    assert (len(table.rows), len(table.names)) == (LATEST, MOST_FEATURES)
    assert from_document(RunTable, to_document(table), "a table") == table


def test_features_that_say_the_same_or_overflow_break_nothing() -> None:
    table = RunTable()
    for rows in rows_of(1, 12):
        table.add({"rows": rows, "again": rows, "huge": 1e299 * rows / 1e6, "w": "x" * 99}, rows)
    found = fitted(table)
    assert found is not None
    assert found.curve.at({"rows": 1e5, "again": 1e5, "huge": 1e298}) == pytest.approx(1e5, rel=0.1)


def a_past(runs: int) -> Past:
    past = Past()
    for rows in rows_of(1, runs):
        past.add(EndedRun(linear(rows), 60.0, 1000 * MB), {"rows": rows})
    return past


def rule(expert: str, past: Past) -> Rule:
    nothing = {"largest": Ratios(), "predicted": Ratios()}
    return PANEL[expert](view_of(past, nothing, None))


def test_a_curve_leads_beyond_what_was_seen_but_not_beyond_the_request() -> None:
    past = a_past(20)
    bid = rule(CURVES, past)
    rows = past.largest_bytes / 1000 * 2
    assert bid.bid_bytes(5000 * MB, {"rows": rows}) == pytest.approx(linear(rows), rel=0.05)
    assert bid.bid_bytes(past.largest_bytes * 1.3, {"rows": rows}) == past.largest_bytes * 1.3
    assert bid.bid_bytes(1.0 * MB, {"rows": rows}) == past.largest_bytes * 1.1
    assert bid.bid_bytes(None, {"rows": 1e12}) == past.largest_bytes * 3


def test_a_run_without_the_feature_is_sized_as_without_a_curve() -> None:
    bid = rule(CURVES, a_past(20))
    assert bid.bid_bytes(1000 * MB, {"other": 1.0}) == bid.base_bytes


@pytest.mark.parametrize("own_mb", [0, 10, 60], ids="{} MB of its own".format)
def test_after_many_runs_what_is_expected_around_a_line_of_logarithms_serves(own_mb: int) -> None:
    past = Past()
    for rows in rows_of(1, CURVED_RUNS + 1):
        past.add(EndedRun(own_mb * MB + rows * 1000, 60.0, 1000 * MB), {"rows": rows})
    expects = rule(CURVES, past) == rule(BY_FEATURES, past)
    assert expects is (own_mb < 60), "its own memory is no part of a line of logarithms"


def test_kinds_are_followed_for_good_as_what_is_expected_knows_lines_alone() -> None:
    draws, past = random.Random(3), Past()
    sizes = {"small": 100 * MB, "large": 900 * MB}
    for _ in range(CURVED_RUNS + 1):
        kind = draws.choice(list(sizes))
        need_bytes = sizes[kind] * math.exp(draws.gauss(0, 0.02))
        past.add(EndedRun(need_bytes, 60.0, 2000 * MB), {"kind": kind})
    bid = rule(CURVES, past)
    for kind, size_bytes in sizes.items():
        assert bid.bid_bytes(2000 * MB, {"kind": kind}) == pytest.approx(size_bytes, rel=0.15)


def test_a_size_from_a_tight_curve_is_raised_by_its_room() -> None:
    tight = Straight(("rows",), (1.0,), 0.0, factor=1.1)
    assert Rule(base_bytes=1.0, curves=(tight,)).after_curve(100.0) == pytest.approx(132.0)
    assert Rule(base_bytes=1.0).after_curve(100.0) == 0.0
