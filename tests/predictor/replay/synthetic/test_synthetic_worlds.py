"""Synthetic tasks: the draws repeat, runs do not overlap, and none beats the oracle by much."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from plimsoll_predictor.replay.sizes.engine import replay
from plimsoll_predictor.replay.sizes.policies import POLICIES
from plimsoll_predictor.replay.sizes.sizer import Knobs, Sizer
from plimsoll_predictor.replay.synthetic.elastic import ShownPeaks
from plimsoll_predictor.replay.synthetic.oracle import Ladder, cheapest_ladder
from plimsoll_predictor.replay.synthetic.worlds import (
    BURST_REQUEST_BYTES,
    KNOWN_AFTER,
    REQUEST_BYTES,
    RUNS,
    Family,
    World,
    names_of,
    world,
)

WORLDS = [(family, name) for family in Family for name in names_of(family)]
TOLERANCE_BYTES = 1e6


def waste_gb_h(drawn: World, sizer: Sizer) -> float:
    return sum(each.waste_gb_h for each in replay(drawn.rows, sizer).rows)


@pytest.mark.slow
@pytest.mark.parametrize(("family", "name"), WORLDS)
def test_a_seed_draws_the_same_world_again_and_another_seed_another(
    family: Family, name: str
) -> None:
    drawn = world(family, name, 20.0, seed=1)
    assert drawn.rows == world(family, name, 20.0, seed=1).rows
    assert drawn.rows != world(family, name, 20.0, seed=2).rows


@pytest.mark.parametrize(("family", "name"), WORLDS)
def test_every_run_fits_its_request_and_has_a_size_of_the_oracle(family: Family, name: str) -> None:
    drawn = world(family, name, 600.0, seed=3)
    most = BURST_REQUEST_BYTES if family is Family.BURST else REQUEST_BYTES
    assert len({row.line for row in drawn.rows}) == len(drawn.rows)
    for row in drawn.rows:
        assert 0 < row.peak_bytes <= most == row.preset_bytes
        assert 0 < drawn.first_bytes[row.line] <= most


def test_runs_one_after_another_end_before_the_next_is_submitted() -> None:
    rows = world(Family.FEATURE, "linear", 3600.0, seed=0).rows
    assert len(rows) == RUNS
    for one, following in pairwise(rows):
        # Three failed attempts leave room, too.
        assert one.submit_s + 4 * one.runtime_s < following.submit_s


def test_of_a_burst_a_few_small_runs_end_first_and_the_rest_comes_at_once() -> None:
    drawn = world(Family.BURST, "Pareto 2", 600.0, seed=0)
    for task in {row.task for row in drawn.rows}:
        rows = [row for row in drawn.rows if row.task == task]
        moments = sorted({row.submit_s for row in rows})
        first = [row for row in rows if row.submit_s == moments[0]]
        rest = [row for row in rows if row.submit_s == moments[1]]
        assert len(moments) == 2
        assert 1 <= len(first) <= 3
        assert len(rest) > 30
        assert max(row.complete_s for row in first) < moments[1]
        assert max(row.peak_bytes for row in first) <= min(row.peak_bytes for row in rest)


def test_without_chance_the_oracle_wastes_nothing_once_the_line_is_known() -> None:
    drawn = world(Family.FEATURE, "linear, exact", 3600.0, seed=0)
    ended = replay(drawn.rows, drawn.oracle()).rows
    late = [each for each in ended if each.row.line in drawn.later]
    assert len(late) == RUNS - KNOWN_AFTER
    assert sum(each.failed_attempts for each in ended) == 0
    assert sum(each.waste_gb_h for each in late) == pytest.approx(0, abs=1e-5)
    early = [each for each in ended if each.row.line not in drawn.later]
    assert {each.first_bytes for each in early} == {REQUEST_BYTES}


@pytest.mark.parametrize("family", [Family.FEATURE, Family.TAIL, Family.BURST, Family.INTERACTION])
def test_the_oracle_wastes_less_than_every_simple_rule(family: Family) -> None:
    for name in names_of(family):
        drawn = world(family, name, 3600.0, seed=0)
        least = waste_gb_h(drawn, drawn.oracle())
        for rule in ("preset", "max-seen-1.1", "last-20"):
            assert least < waste_gb_h(drawn, POLICIES[rule].make(Knobs())), (name, rule)


def test_the_cheapest_ladder_of_two_equal_needs_is_that_need() -> None:
    found = cheapest_ladder(np.full(50, 2.0), np.ones(50), float("inf"))
    assert found.multiple == pytest.approx(2.0)


def test_the_cheapest_ladder_leaves_a_rare_large_run_to_the_retry() -> None:
    chance = np.array([1.0] * 99 + [50.0])
    found = cheapest_ladder(chance, np.ones(100), float("inf"))
    assert found.multiple == pytest.approx(1.0)
    assert isinstance(found, Ladder)


def test_an_elastic_run_shows_a_share_of_what_it_was_given_and_never_less_than_its_need() -> None:
    drawn = world(Family.ELASTIC, "fills 90%", 600.0, seed=0)
    seen: list[tuple[int, int]] = []

    class Watching:
        def decide(self, _asked: object, _now_s: float) -> int:
            return REQUEST_BYTES

        def lift(self, _asked: object, failed_bytes: int, _attempt: int, _now_s: float) -> int:
            return failed_bytes * 2

        def failed(self, *_: object) -> None:
            raise AssertionError("the request suffices")

        def completed(self, row: object, allocation_bytes: int, _now_s: float) -> None:
            seen.append((row.peak_bytes, allocation_bytes))  # type: ignore[attr-defined]

    ended = replay(drawn.rows, ShownPeaks(Watching(), drawn.shown)).rows
    assert {peak for peak, _ in seen} == {int(0.9 * REQUEST_BYTES)}
    # The need is charged, not what was shown.
    assert all(each.row.peak_bytes < 0.3 * REQUEST_BYTES for each in ended)
