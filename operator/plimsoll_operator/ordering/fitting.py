"""Finds the nodes on which pods fit, for many pods and nodes at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from plimsoll_operator.ordering.asks import UNBOUNDED, Amounts, Asked, times_it_fits

_MOST: Final = 2**62
"""Larger amounts count as this one: a person may write any number."""


class Fitting:
    """The nodes on which pods fit; pods that ask alike are looked up once."""

    def __init__(self, nodes: Sequence[Amounts]) -> None:
        """Read what each node has left of the resources that it names."""
        self._nodes = list(nodes)
        self._found: dict[Asked, tuple[int, ...]] = {}
        names = sorted({name for node in nodes for name in node})
        self._column = {name: column for column, name in enumerate(names)}
        rows = [self._row(node) for node in nodes]
        self._free = np.array(rows, dtype=float).reshape(len(nodes), len(names))

    def of(self, asked: Asked) -> tuple[int, ...]:
        """Return the positions of the nodes that have room for one pod."""
        found = self._found.get(asked)
        if found is None:
            found = self._found[asked] = self._of(asked)
        return found

    def takes(self, asked: Asked, pods: int) -> bool:
        """Say whether there is room for so many pods that ask alike."""
        nodes, left = self.of(asked), pods
        if len(nodes) >= left:
            return bool(nodes)
        for at in nodes:
            left -= times_it_fits(asked, self._nodes[at], left)
        return left <= 0

    def take(self, at: int, asked: Asked) -> Amounts:
        """Note that a pod takes room on a node, and return what is left there."""
        taken, left = dict(asked), self._nodes[at]
        self._nodes[at] = {name: amount - taken.get(name, 0) for name, amount in left.items()}
        self._free[at] = self._row(self._nodes[at])
        self._found.clear()
        return self._nodes[at]

    def _row(self, node: Amounts) -> list[float]:
        """What a node has left of each resource that any node names."""
        return [
            float(min(node[name], _MOST)) if name in node else _unnamed(name)
            for name in self._column
        ]

    def _of(self, asked: Asked) -> tuple[int, ...]:
        named = [(self._column[name], amount) for name, amount in asked if name in self._column]
        if any(name not in self._column and name not in UNBOUNDED for name, _ in asked):
            return ()
        columns = [column for column, _ in named]
        amounts = [min(amount, _MOST) for _, amount in named]
        enough = (self._free[:, columns] >= amounts).all(axis=1)
        return tuple(np.flatnonzero(enough).tolist())


def _unnamed(resource: str) -> float:
    """What a node has of a resource that it does not name."""
    return np.inf if resource in UNBOUNDED else -np.inf
