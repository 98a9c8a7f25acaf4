"""The benchmark of Jobs over items on the node: how many items a kind has, and what is printed."""

from __future__ import annotations

from io import StringIO
from itertools import product

import numpy as np
import pytest
from rich.console import Console

from benchmarks.split import orders
from benchmarks.split.node import Measured, shown
from benchmarks.split.node_kinds import KINDS, LEAST_WORK_S, MOST_RATIO, WORKERS, Kind, fair_items
from plimsoll_predictor.splitting.makespans import played_s


def test_all_kinds_of_the_issue_are_there() -> None:
    asked = set(product((0.01, 0.2, 5.0), (0.5, 1.5)))
    assert {(kind.mean_s, kind.sigma) for kind in KINDS} == asked


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_who_takes_items_singly_in_random_order_meets_the_bar(kind: Kind) -> None:
    draw, each_s = np.random.default_rng(11), np.array(kind.each_s)
    took_s = [played_s(draw.permutation(each_s).tolist(), WORKERS, 0.0) for _ in range(200)]
    assert np.quantile(took_s, 0.9) <= MOST_RATIO * kind.work_s / WORKERS


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_job_is_long_beside_a_start_and_ends_within_three_minutes(kind: Kind) -> None:
    assert kind.work_s >= 0.9 * LEAST_WORK_S
    assert kind.work_s / WORKERS <= 180


def test_items_that_differ_more_are_more() -> None:
    assert fair_items(5.0, 0.1) < fair_items(5.0, 0.5) < fair_items(5.0, 1.5)


@pytest.mark.parametrize("left_out", [True, False])
def test_each_way_is_printed_with_its_ratio(left_out: bool) -> None:
    found = Measured(
        kind=KINDS[0].name,
        items=2000,
        bound_s=10.0,
        share_s=11.0,
        one_each_s=None if left_out else 40.0,
        reckoned=True,
        cut_s=None if left_out else 10.5,
        pods=2,
        leased_bound_s=12.0,
        leased_s=12.6,
    )
    written = StringIO()
    Console(width=120, file=written).print(shown([found]))
    told = written.getvalue()
    assert "11.0 (1.10)" in told
    assert "12.6 (1.05)" in told
    assert ("≈ 40.0 (4.00)" in told) is not left_out
    assert ("10.5 (1.05)" in told) is not left_out


@pytest.mark.parametrize("workers", [1, 3])
def test_a_leased_job_is_played_to_its_end(workers: int) -> None:
    each_s, _ = orders.drawn(40, 0.5, seed=1)
    took_s = orders.leased_s(each_s, workers)
    assert orders.bound_s(each_s, workers) <= took_s
    assert took_s <= 1.3 * orders.bound_s(each_s, workers)
