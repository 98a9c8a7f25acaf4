"""Curves over two features that act on each other: rows times columns, and rows by region."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator

import pytest

from plimsoll_predictor.core.documents import from_document, to_document
from plimsoll_predictor.core.record import FeatureValue
from plimsoll_predictor.experts.charging import EndedRun
from plimsoll_predictor.experts.features.curves import fitted
from plimsoll_predictor.experts.features.interactions import MOST_KINDS
from plimsoll_predictor.experts.features.run_table import RunTable
from plimsoll_predictor.experts.panel import CURVED_RUNS, PANEL, view_of
from plimsoll_predictor.experts.past import Past
from plimsoll_predictor.experts.pool import Ratios
from plimsoll_predictor.knowledge.curve import KindLines, Kinds, Product, Straight
from plimsoll_predictor.knowledge.expert_names import CURVES
from plimsoll_predictor.knowledge.rule import Rule

MB = 1e6
BYTES_A_ROW = {"north": 200.0, "south": 350.0, "coast": 700.0}
WOBBLES = 0.01

Run = tuple[dict[str, FeatureValue], float]
World = Callable[[int], Iterator[Run]]


def tables(seed: int) -> Iterator[Run]:
    """A program's own memory, and some bytes for each cell of a table."""
    draws = random.Random(seed)
    while True:
        rows = 50_000 * math.exp(draws.gauss(0, 1))
        columns = draws.choice((8, 12, 20, 30, 45, 60))
        need_bytes = 90 * MB + rows * columns * 40
        yield {"rows": rows, "columns": columns}, need_bytes * math.exp(draws.gauss(0, WOBBLES))


def regions(seed: int) -> Iterator[Run]:
    """A program's own memory, and some bytes for each row, by its region."""
    draws = random.Random(seed)
    while True:
        rows, region = draws.uniform(1e5, 2e6), draws.choice(sorted(BYTES_A_ROW))
        need_bytes = 60 * MB + rows * BYTES_A_ROW[region]
        yield {"rows": rows, "region": region}, need_bytes * math.exp(draws.gauss(0, WOBBLES))


def powers(seed: int) -> Iterator[Run]:
    """A power of the rows, times a factor of the region."""
    draws = random.Random(seed)
    while True:
        rows, region = math.exp(draws.uniform(9, 15)), draws.choice(sorted(BYTES_A_ROW))
        yield {"rows": rows, "region": region}, BYTES_A_ROW[region] * 1e4 * rows**0.6


def of_runs(runs: Iterator[Run], count: int) -> RunTable:
    table = RunTable()
    for _ in range(count):
        table.add(*next(runs))
    return table


@pytest.mark.parametrize(
    ("world", "shape"), [(tables, Product), (regions, KindLines), (powers, KindLines)]
)
def test_what_two_features_make_together_is_found_and_few_runs_exceed_it(
    world: World, shape: type[Product | KindLines]
) -> None:
    exceeded = allocated = needed = 0.0
    for seed in range(20):
        runs = world(seed)
        found = fitted(of_runs(runs, 36))
        assert found is not None
        assert isinstance(found.curve, shape)
        for _ in range(50):
            features, need_bytes = next(runs)
            size_bytes = found.curve.at(features)
            assert size_bytes is not None
            exceeded += size_bytes < need_bytes
            allocated += size_bytes
            needed += need_bytes
    assert exceeded <= 0.02 * 20 * 50
    assert allocated / needed < 1.1


def test_a_word_or_a_number_that_says_nothing_changes_nothing() -> None:
    draws, table = random.Random(4), RunTable()
    for _ in range(40):
        rows = draws.uniform(1e5, 2e6)
        features: dict[str, FeatureValue] = {"rows": rows, "other": draws.uniform(1, 9)}
        features["word"] = draws.choice("abc")
        table.add(features, (60 * MB + rows * 500) * math.exp(draws.gauss(0, 0.1)))
    found = fitted(table)
    assert found is not None
    assert isinstance(found.curve, Straight)
    assert found.curve.features == ("rows",)


def test_a_word_that_was_hardly_seen_has_no_line() -> None:
    runs = regions(1)
    table = of_runs(runs, 30)
    table.add({"rows": 1e6, "region": "moon"}, 500 * MB)
    found = fitted(table)
    assert found is not None
    assert isinstance(found.curve, KindLines)
    assert set(found.curve.lines) == set(BYTES_A_ROW)
    assert found.curve.at({"rows": 1e6, "region": "moon"}) is None
    assert found.curve.at({"rows": 1e6}) is None
    assert found.curve.at({"region": "north"}) is None
    assert found.curve.at({"rows": True, "region": "north"}) is None


def test_a_name_that_is_always_new_leads_nowhere() -> None:
    draws, table = random.Random(9), RunTable()
    for number in range(60):
        kind = f"file-{number // 3}"
        table.add({"rows": draws.uniform(1e5, 2e6), "file": kind}, draws.uniform(1, 5) * 100 * MB)
    found = fitted(table)
    assert found is None or not isinstance(found.curve, KindLines)
    assert len(set(table.words("file") or ())) > MOST_KINDS


@pytest.mark.parametrize(
    "features",
    [
        {"rows": 1e299, "columns": 1e299},
        {"rows": math.inf, "columns": 1},
        {"rows": "many", "columns": 1},
        {"columns": 8},
    ],
)
def test_a_product_of_no_use_is_told(features: dict[str, FeatureValue]) -> None:
    assert Product(("rows", "columns"), 1.0, 0.0).at(features) is None


def test_numbers_whose_product_overflows_break_nothing() -> None:
    table, runs = RunTable(), tables(1)
    for _ in range(12):
        features, need_bytes = next(runs)
        table.add({**features, "huge": 1e299 * float(features["rows"])}, need_bytes)
    found = fitted(table)
    assert found is not None
    assert isinstance(found.curve, Product)
    assert found.curve.features == ("rows", "columns")


@pytest.mark.filterwarnings("error")
def test_a_kind_whose_runs_all_have_no_rows_breaks_nothing() -> None:
    table = of_runs(regions(3), 20)
    for _ in range(3):
        table.add({"rows": 0, "region": "moon"}, 60 * MB)
    assert fitted(table) is not None


@pytest.mark.parametrize("world", [tables, regions])
def test_a_curve_over_two_is_followed_for_good_and_comes_back_as_it_was(world: World) -> None:
    past, runs = Past(), world(2)
    for _ in range(CURVED_RUNS + 60):
        features, need_bytes = next(runs)
        past.add(EndedRun(need_bytes, 60.0, 9000 * MB), features)
    nothing = {"largest": Ratios(), "predicted": Ratios()}
    bid = PANEL[CURVES](view_of(past, nothing, None))
    assert isinstance(bid.curves[0], Product | KindLines)
    assert from_document(Rule, to_document(bid), "a rule") == bid
    features, need_bytes = next(runs)
    assert bid.bid_bytes(9000 * MB, features) == pytest.approx(need_bytes, rel=0.15)
    assert " and ".join(bid.curves[0].names) in bid.why(features)


def test_kinds_without_a_number_are_sizes_as_before() -> None:
    draws, table = random.Random(5), RunTable()
    for _ in range(20):
        kind = draws.choice(("small", "large"))
        need_bytes = (100 if kind == "small" else 800) * MB * math.exp(draws.gauss(0, 0.01))
        table.add({"kind": kind, "rows": draws.uniform(1, 2)}, need_bytes)
    found = fitted(table)
    assert found is not None
    assert isinstance(found.curve, Kinds)
