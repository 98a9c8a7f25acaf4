"""What foresight gains, and how the figures of placing are computed."""

from __future__ import annotations

import random

import numpy as np
import pytest

from benchmarks.placing.bars import BARS
from benchmarks.placing.foresight import _rules, ordered
from benchmarks.placing.plays import USUAL, Figures, Repetition, summed
from plimsoll_predictor.placing.policies.catalogue import OWN
from plimsoll_predictor.placing.queueing import MOST_OVERTAKEN
from plimsoll_predictor.replay.placing.world import World, synthetic_world


@pytest.fixture
def world() -> World:
    return synthetic_world(4, kinds=8)


@pytest.mark.slow
def test_who_knows_what_comes_loses_less_and_overtakes_no_more(world: World) -> None:
    shares = np.full(8, 1 / 8)
    rules = _rules(world, shares, fair=False)
    draw = random.Random(1)
    kinds = [draw.randrange(8) for _ in range(400)]
    usual, foreseen = (ordered(rules, kinds, starts) for starts in (0, 25))
    assert foreseen.slowdowns.sum() < usual.slowdowns.sum()
    assert (foreseen.jobs == usual.jobs).all()
    assert (usual.slowdowns / usual.jobs >= 1.0).all()
    assert max(usual.most_overtaken, foreseen.most_overtaken) <= MOST_OVERTAKEN


def a_repetition(own: list[float], usual: list[float]) -> Repetition:
    by_kind = {OWN: np.array(own), USUAL: np.array(usual)}
    means = {name: float(each.mean()) for name, each in by_kind.items()}
    return Repetition(means, by_kind, {OWN: 9, USUAL: 0}, 1.0, 1.1, 0.9)


def figures(repetitions: list[Repetition]) -> Figures:
    return next(summed(synthetic_world(0, kinds=2), None, repetitions))


def test_the_worst_kind_has_an_error() -> None:
    same = [a_repetition([1.1, 1.2], [1.0, 1.5])] * 3
    assert figures(same).worst_kind == pytest.approx(0.1)
    assert figures(same).worst_kind_error == pytest.approx(0.0, abs=1e-12)
    apart = [a_repetition([each, 1.2], [1.0, 1.5]) for each in (1.0, 1.1, 1.2)]
    assert figures(apart).worst_kind == pytest.approx(0.1)
    assert figures(apart).worst_kind_error == pytest.approx(0.1 / np.sqrt(3))
    assert figures(apart[:1]).worst_kind_error == 0.0


def test_gains_are_told_as_shares_of_what_a_fair_mix_gains() -> None:
    found = figures([a_repetition([1.1, 1.1], [1.2, 1.2])])
    assert found.of_fair_mix == pytest.approx(1.0)
    assert found.of_best_mix == pytest.approx(0.5)


def test_the_bar_of_the_worst_kind_is_told_with_its_error() -> None:
    row = figures([a_repetition([1.1, 1.2], [1.0, 1.5])] * 2)
    (bar,) = (each for each in BARS if each.words == "worst kind, backlog")
    assert bar.error(row) == row.worst_kind_error
