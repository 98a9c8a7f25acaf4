from __future__ import annotations

import random
from typing import Final

from plimsoll_predictor.placing.encounter import Encounter
from plimsoll_predictor.placing.interference import Interference
from plimsoll_predictor.placing.matrix import Matrix

KINDS: Final = ("a", "b", "c", "d")


def test_few_runs_that_scatter_much_are_not_told_as_facts() -> None:
    """Runs of a demo scatter by .8, and a first fit with a guess of .1 was sure of them."""
    draw = random.Random(7)
    interference = Interference()
    for _ in range(76):
        beside = {f"k{draw.randrange(3)}": draw.random() * 2}
        interference.learn(Encounter(f"k{draw.randrange(3)}", beside, draw.gauss(0.1, 0.8)))
    assert interference.matrix().known_pairs == 0
    assert interference.row_noise[1:4].min() > 0.5


def with_a_noisy_kind(seed: int) -> Matrix:
    """Three kinds of noise .1 that are slowed, and "d" of noise 1, which no neighbour slows."""
    draw, model = random.Random(seed), Interference()
    for number in range(400):
        kind, other = draw.choice(KINDS), draw.choice([*KINDS, None])
        slow = 0.1 * (1 + KINDS.index(other)) if other and kind != "d" else 0.0
        slow += draw.gauss(0, 1.0 if kind == "d" else 0.1)
        model.learn(Encounter(kind, {other: 1.0} if other else {}, slow))
        if number % 10 == 0:
            model.matrix()
    return model.matrix()


def test_a_kind_that_scatters_by_itself_is_not_told_and_holds_no_other_back() -> None:
    matrices = [with_a_noisy_kind(seed) for seed in range(20)]
    of_noisy = [matrix.slowdown("d", other) for matrix in matrices for other in KINDS]
    assert not any(each.known for each in of_noisy)
    inside = sum(each.low <= 1.0 <= each.high for each in of_noisy)
    assert inside >= 0.8 * len(of_noisy)
    assert all(
        matrix.slowdown(kind, other).known
        for matrix in matrices
        for kind in KINDS[:3]
        for other in KINDS
    )


def test_a_kind_that_takes_the_place_of_a_noisy_one_begins_with_the_noise_of_all() -> None:
    model, draw = Interference(most_kinds=2, retention=1.0), random.Random(8)
    for _ in range(40):
        model.learn(Encounter("quiet", {}, draw.gauss(0, 0.1)))
        model.learn(Encounter("noisy", {}, draw.gauss(0, 1.0)))
    model.matrix()
    place = model.kinds.place("noisy")
    assert model.row_noise[place] > 2 * model.noise
    while "new" not in model.kinds.names:
        model.learn(Encounter("quiet", {}, draw.gauss(0, 0.1)))
        model.learn(Encounter("new", {}, draw.gauss(0, 0.1)))
    assert model.kinds.place("new") == place
    assert model.row_noise[place] == model.noise
