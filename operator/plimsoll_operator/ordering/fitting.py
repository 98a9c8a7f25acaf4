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
        self._nodes = nodes
        self._found: dict[Asked, tuple[int, ...]] = {}
        names = sorted({name for node in nodes for name in node})
        self._column = {name: column for column, name in enumerate(names)}
        unnamed = [np.inf if name in UNBOUNDED else -np.inf for name in names]
        self._free = np.array(
            [
                [
                    min(node[name], _MOST) if name in node else missing
                    for name, missing in zip(names, unnamed, strict=True)
                ]
                for node in nodes
            ],
            dtype=float,
        ).reshape(len(nodes), len(names))

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

    def _of(self, asked: Asked) -> tuple[int, ...]:
        named = [(self._column[name], amount) for name, amount in asked if name in self._column]
        if any(name not in self._column and name not in UNBOUNDED for name, _ in asked):
            return ()
        columns = [column for column, _ in named]
        amounts = [min(amount, _MOST) for _, amount in named]
        enough = (self._free[:, columns] >= amounts).all(axis=1)
        return tuple(np.flatnonzero(enough).tolist())
