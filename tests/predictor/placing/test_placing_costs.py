"""What a kind costs beside another: learned, sent and read back."""

from __future__ import annotations

import numpy as np
import pytest

from plimsoll_predictor.placing.costs import MOST_PLACES, Costs
from plimsoll_predictor.placing.encounter import Encounter
from plimsoll_predictor.placing.hinting import Neighbourhoods
from plimsoll_predictor.placing.interference import Interference
from plimsoll_predictor.placing.kinds import OTHERS
from plimsoll_predictor.placing.matrix import TELLING
from plimsoll_predictor.placing.prices import costs_on_nodes
from tests.predictor.placing.neighbours import names


def test_costs_are_read_back_in_hundredths() -> None:
    draw = np.random.default_rng(1)
    kinds = (OTHERS, *(f"shop/t{number}" for number in range(MOST_PLACES - 1)))
    rows = draw.normal(size=(MOST_PLACES, MOST_PLACES))
    known = draw.integers(0, 2, (MOST_PLACES, MOST_PLACES)).astype(float)
    read = Costs.from_document(Costs(kinds, rows, known).to_document())
    assert read.kinds == kinds
    assert np.abs(read.rows - rows).max() <= 0.005 + 1e-9
    assert (read.known == known).all()


@pytest.mark.parametrize(
    "document",
    [
        None,
        {},
        {"kinds": ["a"], "hundredths": [], "known": ["1"]},
        {"kinds": ["a"], "hundredths": [[1, 2]], "known": ["1"]},
        {"kinds": ["a"], "hundredths": [[1]], "known": ["11"]},
        {"kinds": ["a"], "hundredths": [[10**9]], "known": ["1"]},
        {"kinds": ["a"], "hundredths": [[0.5]], "known": ["1"]},
        {"kinds": ["a" * 600], "hundredths": [[1]], "known": ["1"]},
        {"kinds": ["a"] * 60, "hundredths": [[1] * 60] * 60, "known": ["1" * 60] * 60},
    ],
)
def test_what_nobody_wrote_is_refused(document: object) -> None:
    with pytest.raises(ValueError, match=r"kinds|costs"):
        Costs.from_document(document)


def test_costs_are_what_both_lose_less_the_price_of_the_neighbourhood() -> None:
    model = Interference()
    draw = np.random.default_rng(3)
    for _ in range(400):
        kind, other = draw.choice(["a", "b"], 2)
        beside = float(draw.random())
        slow = beside * (0.6 if kind == other == "a" else 0.05)
        model.learn(Encounter(str(kind), {str(other): beside}, slow + draw.normal() * 0.05))
    matrix = model.matrix()
    found, prices = costs_on_nodes(matrix)
    a, b = matrix.place("a"), matrix.place("b")
    slowdowns = matrix.slowdowns
    assert found.rows[a, b] == pytest.approx(
        slowdowns[a, b] + slowdowns[b, a] - 2 - 0.5 * prices[b]
    )
    assert found.known[a, b] == found.known[b, a] == found.known[a, a] == 1.0
    nodes = Neighbourhoods()
    nodes.costs = Costs.from_document(found.to_document())
    for number in range(3):
        nodes.put(f"a{number}", [(a, 1)])
        nodes.put(f"b{number}", [(b, 1)])
    assert all(name.startswith("b") for name in names(nodes.hint("a", 0.0)))


def test_what_differs_clearly_is_known_however_noisy_runs_are() -> None:
    """As on two real nodes: runtimes of three seconds, in whole seconds."""
    model = Interference()
    draw = np.random.default_rng(5)
    for _ in range(120):
        kind, other = (str(each) for each in draw.choice(["loud", "calm"], 2))
        share = float(draw.choice([0.3, 0.7, 1.0]))
        slow = share * (1.2 if kind == other == "loud" else 0.1)
        model.learn(Encounter(kind, {other: share}, slow + 0.4 * float(draw.normal())))
    matrix = model.matrix()
    loud, calm = matrix.place("loud"), matrix.place("calm")
    assert matrix.apart is not None
    assert min(matrix.deviation[loud, loud], matrix.apart[loud, loud]) > TELLING
    nodes = Neighbourhoods()
    nodes.costs, _ = costs_on_nodes(matrix)
    nodes.put("n0", [(loud, 1)])
    nodes.put("n1", [(calm, 1)])
    assert names(nodes.hint("loud", 0.0)) == ("n1",)
