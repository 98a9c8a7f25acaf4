from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from typing import cast

import numpy as np
import pytest

from plimsoll_predictor.placing.encounter import Encounter
from plimsoll_predictor.placing.interference import Interference, learned_from
from plimsoll_predictor.placing.kinds import OTHERS, UNLABELLED
from plimsoll_predictor.placing.matrix import TELLING, Array, Matrix
from plimsoll_predictor.placing.placed_run import PlacedRun
from plimsoll_predictor.placing.ridge import (
    SPREAD_OF_A_KIND,
    SPREAD_OF_A_PAIR,
    SPREAD_OF_ALL,
    USUAL,
    grown,
    guess,
    without,
)

KINDS = ("a", "b", "c", "d")
THETA = {
    (row, column): 0.1 * n + 0.15 * m
    for n, row in enumerate(KINDS)
    for m, column in enumerate(KINDS)
}


def encounters(
    runs: int, noise: float, seed: int = 1, counts: Sequence[float] = (0.3, 1.0)
) -> Iterator[Encounter]:
    """Runs beside none, or beside one kind; ``counts`` below 1 are shares of the run's time."""
    draw = random.Random(seed)
    for _ in range(runs):
        kind = draw.choice(KINDS)
        beside = {draw.choice(KINDS): draw.choice(counts)} if draw.random() < 0.8 else {}
        slow = sum(slowed(THETA[kind, other], count) for other, count in beside.items())
        yield Encounter(kind, beside, slow + draw.gauss(0, noise))


def slowed(theta: float, count: float) -> float:
    """The change of a run's logarithm by a neighbour that is there for a part of it, or always."""
    return count * theta if count >= 1 else -math.log(1 - count + count * math.exp(-theta))


def test_who_learned_many_runs_at_once_is_as_sure_as_who_learned_them_one_by_one() -> None:
    at_once, one_by_one = Interference(), Interference()
    for run in encounters(600, 0.5):
        at_once.learn(run)
        one_by_one.learn(run)
        one_by_one.matrix()
    matrix = at_once.matrix()
    assert at_once.matrix() is matrix
    assert at_once.row_noise[1:5] == pytest.approx(np.full(4, 0.5), rel=0.15)
    apart = np.s_[1:, 1:]  # without OTHERS, about which both know nothing
    ratio = matrix.deviation[apart] / one_by_one.matrix().deviation[apart]
    assert ratio == pytest.approx(np.ones((4, 4)), rel=0.2)


def as_a_regression(runs: list[Encounter], names: list[str]) -> tuple[Array, Array]:
    """A row a run, a column for b of each kind, then for θ - USUAL of each pair; and its target."""
    size = len(names)
    design, target = np.zeros((len(runs), size + size * size)), np.zeros(len(runs))
    for n, run in enumerate(runs):
        row = names.index(run.kind)
        design[n, row] = 1
        for other, count in run.beside.items():
            design[n, size + row * size + names.index(other)] = count
        target[n] = run.log_slowdown - USUAL * sum(run.beside.values())
    return design, target


def test_it_is_the_ridge_that_its_docstring_names() -> None:
    model = Interference(retention=1.0)
    # A neighbour counts as one of the others until a run of its kind has ended.
    runs = [*(Encounter(kind, {}, 0.05) for kind in KINDS), *encounters(60, 0.1, counts=(1.0, 2.0))]
    for run in runs:
        model.learn(run)
    model.matrix()
    # One fit, with the noises from before, and with the rows' covariance as found.
    noises, differ = model.row_noise, model.covariance
    matrix = model._fit()
    names = list(matrix.kinds)
    size = len(names)
    assert not np.allclose(differ, grown(differ[:1, :1], size))
    # Unknowns: b, θ - USUAL of all pairs, with the covariance that m, c and rows make together.
    covariance = np.zeros((size + size * size,) * 2)
    covariance[size:, size:] = SPREAD_OF_ALL**2
    covariance[size:, size:] += SPREAD_OF_A_KIND**2 * np.tile(np.eye(size), (size, size))
    for row in range(size):
        at = [row, *range(size + row * size, size + (row + 1) * size)]
        covariance[np.ix_(at, at)] += differ
    design, target = as_a_regression(runs, names)
    noise = noises[[names.index(run.kind) for run in runs]]
    assert len(set(noise)) == len(KINDS)
    seen = design @ covariance @ design.T + np.diag(noise**2)
    gain = covariance @ design.T @ np.linalg.inv(seen)
    mean = gain @ target
    left = covariance - gain @ design @ covariance
    assert matrix.own == pytest.approx(mean[:size], abs=1e-6)
    assert matrix.theta.ravel() == pytest.approx(USUAL + mean[size:], abs=1e-6)
    assert matrix.deviation.ravel() == pytest.approx(np.sqrt(np.diag(left)[size:]), abs=1e-6)
    # Each pair against the mean of the row's others, by their shares.
    others = np.where(np.eye(size), 0.0, matrix.shares) / (1 - matrix.shares)[:, None]
    against = np.kron(np.eye(size), np.eye(size) - others)
    variance = np.diag(against @ left[size:, size:] @ against.T)
    assert np.ravel(cast(Array, matrix.apart)) == pytest.approx(np.sqrt(variance), abs=1e-6)


def test_where_nobody_is_ever_alone_it_is_known_by_how_much_neighbours_differ() -> None:
    model = Interference()
    draw = np.random.default_rng(2)
    for _ in range(300):
        kind, *others = (KINDS[at] for at in draw.integers(0, len(KINDS), 3))
        share = float(draw.random())
        beside = dict.fromkeys(others, 0.0)
        for other, count in zip(others, (share, 1 - share), strict=True):
            beside[other] += count  # one neighbour at every moment
        slow = sum(count * THETA[kind, other] for other, count in beside.items())
        model.learn(Encounter(kind, beside, slow + 0.1 * float(draw.normal())))
    matrix = model.matrix()
    told_apart = np.s_[1:, 1:]
    assert matrix.apart is not None
    assert matrix.deviation[told_apart].min() > TELLING
    assert matrix.apart[told_apart].max() < TELLING
    # And what a task takes beside each in all, which is what was seen.
    times = np.array(
        [
            [matrix.times_forecast[matrix.place(row), matrix.place(column)] for column in KINDS]
            for row in KINDS
        ]
    )
    theta = np.reshape(list(THETA.values()), times.shape)
    assert np.abs(np.log(times) - theta).max() < TELLING


def test_one_kind_alone_differs_from_no_other() -> None:
    model = Interference()
    for _ in range(20):
        model.learn(Encounter("a", {"a": 1.0}, 0.3))
    apart = model.matrix().apart
    assert apart is not None
    assert np.isinf(apart[:, 1]).all()


def test_with_runs_it_comes_near_the_truth_and_says_how_near() -> None:
    model = Interference()
    for run in encounters(2000, 0.1):
        model.learn(run)
    matrix = model.matrix()
    off = {
        (row, column): matrix.theta[matrix.place(row), matrix.place(column)] - theta
        for (row, column), theta in THETA.items()
    }
    assert max(map(abs, off.values())) < 0.08
    inside = [
        abs(error) < 1.645 * matrix.deviation[matrix.place(row), matrix.place(column)]
        for (row, column), error in off.items()
    ]
    assert sum(inside) >= 0.8 * len(inside)
    assert model.row_noise[1:5] == pytest.approx(np.full(4, 0.1), rel=0.15)
    assert matrix.slowdown("d", "d").known
    assert matrix.slowdown("d", "d").times == pytest.approx(math.exp(0.75), rel=0.1)


def test_of_nothing_known_it_believes_the_usual_and_says_that_it_cannot_tell() -> None:
    found = Interference().matrix().slowdown("never", "seen")
    assert found.times == pytest.approx(math.exp(USUAL))
    assert not found.known
    assert found.low < found.times < found.high


def test_what_is_special_about_pairs_is_learned_to_be_much_or_little() -> None:
    special, alike = Interference(), Interference()
    draw = random.Random(3)
    theta = {pair: draw.gauss(0.3, 0.4) for pair in THETA}
    for _ in range(600):
        kind, other = draw.choice(KINDS), draw.choice(KINDS)
        special.learn(Encounter(kind, {other: 1.0}, theta[kind, other] + draw.gauss(0, 0.05)))
        alike.learn(Encounter(kind, {other: 1.0}, 0.3 + draw.gauss(0, 0.05)))
        special.matrix()
        alike.matrix()
    assert spread_of_pairs(alike) < SPREAD_OF_A_PAIR
    assert spread_of_pairs(special) > 2 * SPREAD_OF_A_PAIR


def spread_of_pairs(model: Interference) -> float:
    """How much kinds differ in the effect of one neighbour and not of another."""
    apart = model.covariance[2:, 2:]  # without OTHERS, which were never there
    together = apart[~np.eye(len(apart), dtype=bool)].mean()
    return float(np.sqrt(np.diagonal(apart).mean() - together))


def test_who_suffers_from_a_neighbour_suffers_from_those_who_are_like_it() -> None:
    """Kinds use two things, so seen rows tell about pairs that never met."""
    draw = np.random.default_rng(4)
    names = [f"k{number}" for number in range(12)]
    suffers, uses = draw.gamma(1.0, 1.0, (2, 12, 2))
    theta = 0.15 * suffers @ uses.T
    unmet = {(row, column) for row in range(12) for column in range(12) if (row - column) % 4 == 1}
    model = Interference()
    for _ in range(1500):
        row, column = (int(each) for each in draw.integers(0, 12, 2))
        if (row, column) not in unmet:
            slow = theta[row, column] + 0.1 * draw.normal()
            model.learn(Encounter(names[row], {names[column]: 1.0}, float(slow)))
        model.learn(Encounter(names[row], {}, 0.1 * float(draw.normal())))
        model.matrix()
    matrix = model.matrix()
    found, rows, columns = (
        np.array(each)
        for each in zip(
            *(
                (matrix.theta[matrix.place(names[row]), matrix.place(names[column])], row, column)
                for row, column in sorted(unmet)
            ),
            strict=True,
        )
    )
    true = theta[rows, columns]
    # The prediction from only the general level of each row and column:
    met = np.where(
        [[(row, column) in unmet for column in range(12)] for row in range(12)], np.nan, theta
    )
    general = np.nanmean(met, axis=1)[:, None] + np.nanmean(met, axis=0) - np.nanmean(met)
    off = np.sqrt(np.mean((found - true) ** 2))
    assert off < 0.5 * np.sqrt(np.mean((general[rows, columns] - true) ** 2))


def test_a_place_that_another_kind_takes_keeps_nothing_of_how_the_old_one_differed() -> None:
    draw = np.random.default_rng(6)
    rows = draw.normal(size=(9, 5))
    covariance = rows.T @ rows / 9
    fresh = without(covariance, 1)
    kept = [0, 1, 3, 4]
    assert fresh[np.ix_(kept, kept)] == pytest.approx(covariance[np.ix_(kept, kept)])
    assert np.linalg.eigvalsh(fresh).min() > 0
    # Like a new kind, except for its place.
    order = [*kept, 2]
    assert fresh[np.ix_(order, order)] == pytest.approx(grown(covariance[np.ix_(kept, kept)], 4))
    assert without(covariance, 4) is covariance
    assert grown(guess(2), 4) == pytest.approx(guess(4))


def test_a_change_is_learned_while_the_old_fades() -> None:
    model = Interference(retention=0.99)
    for _ in range(500):
        model.learn(Encounter("a", {"b": 1.0}, 0.1))
        model.learn(Encounter("a", {}, 0.0))
    for _ in range(500):
        model.learn(Encounter("a", {"b": 1.0}, 0.9))
        model.learn(Encounter("a", {}, 0.0))
    matrix = model.matrix()
    assert matrix.theta[matrix.place("a"), matrix.place("b")] == pytest.approx(0.9, abs=0.05)


def test_ten_thousand_kinds_take_no_more_room_than_the_most() -> None:
    model = Interference(most_kinds=8)
    before = model.gram.nbytes
    for number in range(10_000):
        model.learn(Encounter(f"once-{number}", {f"once-{number - 1}": 1.0}, 0.2))
    for number in range(400):
        model.learn(Encounter(f"often-{number % 4}", {"often-0": 1.0}, 0.5 + 0.1 * (number % 4)))
    matrix = model.matrix()
    assert model.gram.nbytes == before
    assert len(matrix.kinds) <= 9
    assert len(model.kinds.candidates) <= 201
    assert {f"often-{number}" for number in range(4)} <= set(matrix.kinds)
    assert matrix.place("once-5") == matrix.place(OTHERS) == 0
    row = matrix.place("often-3")
    both = matrix.own[row] + matrix.theta[row, matrix.place("often-0")]
    assert both == pytest.approx(0.8, abs=0.05)


def test_what_a_kind_taught_is_not_lost_with_its_place() -> None:
    model = Interference(most_kinds=2, retention=1.0)
    for _ in range(40):
        model.learn(Encounter("a", {"b": 1.0}, 0.6))
        model.learn(Encounter("b", {"b": 1.0}, 0.6))
    weight = model.weight.sum()
    for _ in range(200):
        model.learn(Encounter("c", {"c": 1.0}, 0.6))
    assert "c" in model.kinds.names
    assert model.weight.sum() == pytest.approx(weight + 200)


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_a_run_that_cannot_be_is_refused_by_name(wrong: float) -> None:
    with pytest.raises(ValueError, match="a run of 'train'"):
        Encounter("train", {}, wrong)
    with pytest.raises(ValueError, match="ran beside"):
        Encounter("train", {"etl": wrong}, 0.0)
    with pytest.raises(ValueError, match="ran beside -1"):
        Encounter("train", {"etl": -1}, 0.0)


def test_one_run_that_lies_moves_little() -> None:
    honest, lied_to = Interference(), Interference()
    for run in encounters(300, 0.1):
        honest.learn(run)
        lied_to.learn(run)
    lied_to.learn(Encounter("a", {"b": 1e12}, 1e9))
    moved = lied_to.matrix().theta - honest.matrix().theta
    assert np.abs(moved).max() < 0.5


def slowed_by_load(of_a_core: float, *, seen: bool) -> Matrix:
    """Learned from 400 runs beside unlabelled load. of_a_core: the cost of a core of it, as ln.

    seen: whether agents report it.
    """
    draw, model = random.Random(5), Interference()
    for _ in range(400):
        cores, b = draw.uniform(0, 4), float(draw.random() < 0.5)
        slow = of_a_core * cores + 0.3 * b + draw.gauss(0, 0.1)
        beside = {"b": b, UNLABELLED: cores} if seen else {"b": b}
        model.learn(Encounter("a", beside, slow))
        model.learn(Encounter("b", {}, draw.gauss(0, 0.1)))
    return model.matrix()


def test_runs_slowed_by_unlabelled_load_teach_what_it_costs() -> None:
    matrix = slowed_by_load(0.15, seen=True)
    of_load, of_b = matrix.slowdown("a", UNLABELLED), matrix.slowdown("a", "b")
    assert of_load.low > 1
    assert np.log(of_load.times) == pytest.approx(0.15, abs=0.02)
    assert np.log(of_b.times) == pytest.approx(0.3, abs=0.05)
    assert np.log(slowed_by_load(0.0, seen=True).slowdown("a", UNLABELLED).times) == pytest.approx(
        0.0, abs=0.02
    )


def test_unlabelled_load_takes_no_place_and_changes_nothing_where_no_agent_tells() -> None:
    with_load, without = slowed_by_load(0.15, seen=True), slowed_by_load(0.15, seen=False)
    assert with_load.kinds == without.kinds == (OTHERS, "a", "b")
    # As without any: nothing is known about kinds that are not told apart.
    assert without.slowdown("a", UNLABELLED) == without.slowdown("a", OTHERS)
    assert not without.slowdown("a", UNLABELLED).known


def partly(runs: int, theta: float) -> Iterator[PlacedRun]:
    """Runs of one kind that begin at any time of another run, and so meet it for a part."""
    draw = random.Random(3)
    for _ in range(runs):
        share = draw.choice([0.0, draw.uniform(0.2, 0.8)])
        slow = slowed(theta, share) + draw.gauss(0, 0.05)
        yield PlacedRun(
            kind="a",
            node="node-1",
            submitted_s=0.0,
            started_s=0.0,
            finished_s=100 * math.exp(slow),
            forecast_s=100.0,
            beside={"a": share} if share else {},
        )


@pytest.mark.parametrize("pace", [0.5, 0.25])
def test_who_is_beside_a_run_for_a_part_of_it_slows_it_for_that_part(pace: float) -> None:
    """By shares of time alone, two tasks on one processor seemed to slow each other 1.8 times."""
    runs = list(partly(1500, -math.log(pace)))
    found = learned_from(runs).matrix().slowdown("a", "a")
    assert found.times == pytest.approx(1 / pace, rel=0.05)


def test_who_learns_them_one_by_one_comes_near_it() -> None:
    """Its first runs are learned by the belief of their time."""
    model = Interference()
    for run in partly(300, math.log(2)):
        encounter = run.encounter
        assert encounter is not None
        model.learn(encounter)
        model.matrix()
    assert model.matrix().slowdown("a", "a").times == pytest.approx(2.0, rel=0.05)


def test_what_is_learned_afresh_begins_with_nothing_but_beliefs() -> None:
    runs = list(partly(50, 0.7))
    once = learned_from(runs)
    again = once.afresh()
    assert again.runs == 0
    assert len(again.kinds) == 1
    assert (
        again.matrix().slowdown("a", "a").times == Interference().matrix().slowdown("a", "a").times
    )
