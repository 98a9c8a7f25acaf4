"""Runs that are slower than neighbours explain, as a CronJob's full loads that only meet one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
import pytest

from plimsoll_predictor.placing.costs import Costs
from plimsoll_predictor.placing.encounter import MOST_LOG_SLOWDOWN, Encounter
from plimsoll_predictor.placing.hinting import Neighbourhoods
from plimsoll_predictor.placing.interference import Interference, learned_from
from plimsoll_predictor.placing.matrix import MOST_UNTOLD, Array, Matrix
from plimsoll_predictor.placing.overlaps import most_log_slowdown
from plimsoll_predictor.placing.placed_run import PlacedRun
from plimsoll_predictor.placing.prices import OF_A_RESIDENT, costs_on_nodes
from tests.predictor.placing.neighbours import names

NOISE = 0.05
OTHERS_OF = {"c": "de", "d": "ce", "e": "cd"}


def placed(kind: str, beside: Mapping[str, float], slow: float) -> PlacedRun:
    """A run that was forecast to take 1,000 s. slow: ln of how many times longer it took."""
    return PlacedRun(
        kind=kind,
        node="node-1",
        submitted_s=0.0,
        started_s=0.0,
        finished_s=1000 * math.exp(slow),
        forecast_s=1000.0,
        beside=beside,
    )


def with_full_loads(times: float, share: float, days: int = 700) -> Iterator[PlacedRun]:
    """Runs of "a" take so many times longer on one day in seven, and only these meet "b".

    share: of their time. Of the others, "c" and "d" slow each other by 30%, and "e" slows nobody.
    """
    draw = np.random.default_rng(1)
    for _ in range(days):
        full = draw.random() < 1 / 7
        slow = math.log(times) if full else 0.0
        yield placed("a", {"b": share} if full else {}, slow + NOISE * draw.normal())
        yield placed("b", {"a": 1.0} if full else {}, NOISE * draw.normal())
        for kind, others in OTHERS_OF.items():
            who = str(draw.choice([*others, "nobody"]))
            slow = 0.26 if {kind, who} == {"c", "d"} else 0.0
            beside = {} if who == "nobody" else {who: 1.0}
            yield placed(kind, beside, slow + NOISE * draw.normal())


def one_by_one(runs: Iterable[PlacedRun]) -> Interference:
    """As a controller learns from runs as they end."""
    model = Interference()
    for number, run in enumerate(runs):
        encounter = run.encounter
        assert encounter is not None
        model.learn(encounter)
        if number % 20 == 0:
            model.matrix()
    return model


def hint_for_c(matrix: Matrix) -> tuple[str, ...]:
    nodes = Neighbourhoods()
    nodes.costs = Costs.from_document(costs_on_nodes(matrix)[0].to_document())
    for kind in "deab":
        nodes.put(f"node-{kind}", [(matrix.place(kind), 1)])
    return names(nodes.hint("c", 0.0))


@pytest.mark.parametrize(
    ("times", "share"), [(1.0, 1 / 6), (1.3, 1 / 6), (2.0, 1 / 6), (3.0, 1 / 12), (10.0, 1 / 10)]
)
def test_full_loads_that_meet_one_neighbour_change_no_hint_for_others(
    times: float, share: float
) -> None:
    matrix = one_by_one(with_full_loads(times, share)).matrix()
    assert np.abs(matrix.theta).max() <= MOST_LOG_SLOWDOWN
    assert hint_for_c(matrix)[0] == "node-e"
    if times > 1.5:
        assert matrix.slowdown("a", "b").times == pytest.approx(1.15, abs=0.15)
    costs = costs_on_nodes(matrix)[0].rows
    c, d, e = map(matrix.place, "cde")
    assert costs[c, d] - costs[c, e] > 0.2


def test_who_learns_at_once_learns_the_same_from_full_loads() -> None:
    runs = list(with_full_loads(2.0, 1 / 6))
    one, other = one_by_one(runs).matrix(), learned_from(runs).matrix()
    assert one.noise is not None
    assert other.noise is not None
    assert other.kinds == one.kinds
    assert other.theta == pytest.approx(one.theta, abs=0.02)
    assert other.own == pytest.approx(one.own, abs=0.01)
    assert other.noise == pytest.approx(one.noise, abs=0.01)


def test_a_full_load_still_counts_as_a_run_of_its_kind() -> None:
    runs = list(with_full_loads(10.0, 1 / 10))
    for model in (one_by_one(runs), learned_from(runs)):
        assert model.runs == len(runs)
        assert model.matrix().shares[1:] == pytest.approx(np.full(5, 0.2), abs=0.001)


def forecast_wrong_by(times: float, runs: int, *, after: int = 0) -> Iterator[PlacedRun]:
    """Runs of "x", all of which take so many times the forecast, from some run on; "y" slows none.

    "x" is never alone, and "z" is there for too little of its time to explain that.
    """
    draw = np.random.default_rng(2)
    for number in range(after + runs):
        slow = math.log(times) if number >= after else 0.0
        beside = {other: float(draw.uniform(0.05, 0.3)) for other in "yz"}
        slow -= math.log(1 - beside["z"] * (1 - math.exp(-0.5)))
        yield placed("x", beside, slow + NOISE * draw.normal())
        for other in "yz":
            yield placed(other, {"x": 1.0}, NOISE * draw.normal())


@pytest.mark.parametrize("learned", [one_by_one, learned_from])
@pytest.mark.parametrize(("times", "runs", "after"), [(2, 100, 0), (5, 300, 0), (5, 1500, 100)])
def test_a_kind_whose_forecast_is_wrong_is_learned_all_the_same(
    learned: Callable[[Iterable[PlacedRun]], Interference], times: float, runs: int, after: int
) -> None:
    model = learned(forecast_wrong_by(times, runs, after=after))
    matrix = model.matrix()
    x = matrix.place("x")
    assert matrix.own[x] == pytest.approx(math.log(times), abs=0.1)
    # Its latest runs teach about its neighbours, as all others do.
    before, encounter = model.gram[x].copy(), Encounter("x", {"z": 0.2}, math.log(times) + 0.1)
    model.learn(encounter)
    z = model.kinds.place("z") + 1
    assert model.gram[x, z, z] > before[z, z]


def test_a_kind_that_scatters_much_is_not_taken_for_one_with_other_causes() -> None:
    draw = np.random.default_rng(3)
    runs = []
    for _ in range(1000):
        share = float(draw.choice([0.0, 0.1, 0.3, 0.8]))
        slow = -math.log(1 - share * (1 - math.exp(-0.3))) + 0.3 * draw.normal()
        runs += [placed("x", {"y": share} if share else {}, slow), placed("y", {}, 0.0)]
    for model in (one_by_one(runs), learned_from(runs)):
        found = model.matrix().slowdown("x", "y")
        assert found.known
        assert math.log(found.times) == pytest.approx(0.3, abs=0.07)
        assert model.row_noise[model.kinds.place("x")] == pytest.approx(0.3, rel=0.1)


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0, 3.0, 3.5])
def test_the_most_that_neighbours_explain_is_each_that_slows_twentyfold(share: float) -> None:
    whole, part = divmod(share, 1.0)
    apart = whole * MOST_LOG_SLOWDOWN - math.log(1 - part * (1 - math.exp(-MOST_LOG_SLOWDOWN)))
    assert most_log_slowdown(np.array([share])) == pytest.approx(apart)
    assert most_log_slowdown(np.array([])) == 0.0


def test_a_guess_of_an_extreme_slowdown_sets_no_prices() -> None:
    """What is guessed of "a" beside all others changes no price that the others have."""
    theta = np.full((4, 4), 0.1)
    theta[2, 3] = theta[3, 2] = 0.3
    guessed = theta.copy()
    guessed[1] = guessed[:, 1] = 3.0
    deviation = np.full((4, 4), 0.02)
    deviation[1] = deviation[:, 1] = 0.5

    def prices(effects: Array) -> Array:
        matrix = Matrix(("o", "a", "b", "c"), effects, deviation, np.zeros(4), np.full(4, 0.25))
        return costs_on_nodes(matrix)[1]

    assert prices(guessed)[2:] == pytest.approx(prices(theta)[2:], abs=0.3)


def test_a_told_slowdown_counts_in_full_however_large() -> None:
    theta = np.array([[0.1, 0.1], [0.1, 2.0]])
    matrix = Matrix(("o", "a"), theta, np.full((2, 2), 0.02), np.zeros(2), np.full(2, 0.5))
    costs, prices = costs_on_nodes(matrix)
    cost = 2 * (math.exp(2.0) - 1) - OF_A_RESIDENT * prices[1]
    assert costs.rows[1, 1] == pytest.approx(cost)


@pytest.mark.parametrize("slow", [1.0, 1.6, 2.0])
def test_what_a_task_takes_beside_one_that_is_always_there_is_known_in_full(slow: float) -> None:
    """Only the split between itself and its neighbour is not."""
    draw = np.random.default_rng(5)
    model = Interference()
    for _ in range(400):
        model.learn(Encounter("x", {"y": 1.0}, slow + 0.05 * draw.normal()))
        model.learn(Encounter("y", {"x": 1.0}, 0.1 + 0.05 * draw.normal()))
    matrix = model.matrix()
    at = matrix.place("x"), matrix.place("y")
    assert not matrix.told[at]
    assert math.log(matrix.times_forecast[at]) == pytest.approx(slow, abs=0.05)
    assert math.log(matrix.slowdowns[at]) <= MOST_UNTOLD + 1e-9
