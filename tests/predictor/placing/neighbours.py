"""Nodes with neighbours of four kinds, and their costs to each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from plimsoll_predictor.placing.costs import Costs
from plimsoll_predictor.placing.hinting import Hint, Neighbourhoods, NoHint
from plimsoll_predictor.placing.kinds import OTHERS

QUIET, LOUD, WAITING = 1, 2, 3
KINDS = (OTHERS, "shop/quiet", "shop/loud", "shop/waiting")
ROWS = [
    [0.3, 0.3, 0.3, 0.1],
    [0.3, 0.4, 1.0, 0.0],
    [0.3, 1.0, 1.8, 0.0],
    [0.1, 0.0, 0.0, 0.0],
]


def costs(*, known: float = 1.0) -> Costs:
    return Costs(KINDS, np.array(ROWS), np.full((4, 4), known))


def among(*residents: Sequence[tuple[int, int]], known: float = 1.0) -> Neighbourhoods:
    """Nodes ``n0``, ``n1`` ... with these on them."""
    nodes = Neighbourhoods()
    nodes.costs = costs(known=known)
    for number, each in enumerate(residents):
        nodes.put(f"n{number}", each)
    return nodes


def names(hint: Hint | NoHint) -> tuple[str, ...]:
    assert isinstance(hint, Hint), hint
    return hint.nodes
