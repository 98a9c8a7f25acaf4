"""Chooses the nodes on which a new task should run, by the tasks and the use of each node.

Admission asks for each new pod, and the extender for each pod that is scheduled. So a question must
cost little: each node has a row of counts, which changes with the news. Numpy alone.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np

from plimsoll_predictor.placing.costs import MOST_PLACES, Costs
from plimsoll_predictor.placing.loads import (
    COLUMNS,
    PRESSED,
    UNKNOWN_NEED,
    Need,
    NodeLoad,
    costs_with_loads,
)
from plimsoll_predictor.placing.matrix import Array

MOST_NODES: Final = 1000
"""The most nodes that are compared. A scheduler looks at only a part of more nodes."""
MOST_NAMED: Final = 5
LEAST_GAIN: Final = 0.05
"""In slowdowns: nodes that differ by less are alike."""
LEAST_KNOWN: Final = 0.5
"""For this share of the tasks on the nodes, it must be known how the kind gets along with them."""
OF_THE_GAIN: Final = 0.5
"""A hint names the best node, and those with at least this share of its gain."""
AWAITED_S: Final = 5.0
"""A task counts on its node for so long before it is reported: it must be scheduled, started, seen.
A task that ended sooner may never be reported."""
MOST_AWAITED: Final = 5000
MOST_RESIDENTS: Final = 1000
"""The most tasks of one kind on one node that count."""
MOST_LOADS: Final = 2 * MOST_NODES
"""The most nodes whose load is kept; some of them take no pods now."""
_NO_KIND: Final = -1
_SPREAD: Final = 1e-3
_TURNS: Final = np.arange(2 * MOST_NODES) * 0.6180339887498949 % 1.0 * _SPREAD
"""Far below LEAST_GAIN: if nodes are alike, each question finds other ones first."""


@dataclass(frozen=True, slots=True)
class Hint:
    """Nodes to prefer, the best first. gain: of the best over the mean, in slowdowns."""

    nodes: tuple[str, ...]
    gain: float


class NoHint(StrEnum):
    """Why no node is preferred."""

    UNKNOWN = "unknown"
    """The kind is not told apart, or too little is known about the tasks on the nodes."""
    ALIKE = "alike"
    """No node is better by enough, or there is none to choose."""


class Neighbourhoods:
    """Nodes that take tasks, and the tasks on each; residents are places of ``Costs``."""

    def __init__(self) -> None:
        self.costs: Costs | None = None
        """None while nothing is known; then there are no hints."""
        self._names: list[str] = []
        self._rows: dict[str, int] = {}
        self._beside: Array = np.zeros((0, MOST_PLACES))
        """A row per node: how many tasks of each kind are there, or awaited."""
        self._here: Array = np.zeros(0)
        """The sum of each row."""
        self._awaited: Array = np.zeros((0, MOST_PLACES))
        self._promised: Array = np.zeros((0, COLUMNS))
        """What awaited tasks will use; subtracted from the reported load."""
        self._loads: dict[str, NodeLoad] = {}
        self._load_rows: Array = np.full((0, COLUMNS), np.nan)
        """The same as a table; nan where nothing was reported."""
        self._avoided: set[str] = set()
        self._total: Array = np.zeros(MOST_PLACES)
        """The sum of all rows."""
        self._residents = 0.0
        """The sum of that: counts are whole numbers, so that it returns to exactly zero."""
        self._expected: deque[tuple[float, str, int, Array | None]] = deque()
        """Awaited tasks: until when, on which node, of which kind; their use if loads are known."""
        self._arrived = Counter[tuple[str, int]]()
        """How many of those have been reported since, the oldest first."""
        self._questions = 0

    @property
    def has_loads(self) -> bool:
        """Whether it is known for any node what is left."""
        return bool(self._loads)

    @property
    def hosts(self) -> Sequence[str]:
        """The nodes; not to be changed."""
        return self._names

    def __len__(self) -> int:
        """How many nodes there are."""
        return len(self._names)

    def put(self, node: str, residents: Iterable[tuple[int, int]]) -> None:
        """Set the tasks on a node. residents: place of a kind, and how many.

        Raises:
            ValueError: for a place that no kind can have, or a node too many.
        """
        counts = np.zeros(MOST_PLACES)
        for place, count in residents:
            if not 0 <= place < MOST_PLACES:
                raise ValueError(f"there is no kind {place}")
            counts[place] = min(counts[place] + max(0, count), MOST_RESIDENTS)
        row = self._row(node)
        self._arrive(node, row, counts)
        counts += self._awaited[row]
        self._total += counts - self._beside[row]
        self._residents = float(self._total.sum())
        self._beside[row] = counts
        self._here[row] = counts.sum()

    def remove(self, node: str) -> None:
        """Forget a node; the last one takes its row."""
        row = self._rows.pop(node, None)
        if row is None:
            return
        self._total -= self._beside[row]
        self._residents = float(self._total.sum())
        last = self._names.pop()
        if last != node:
            self._rows[last], self._names[row] = row, last
        for rows, nothing in self._tables():
            rows[row] = rows[len(self._names)]
            rows[len(self._names)] = nothing
        self._expected = deque(each for each in self._expected if each[1] != node)
        for gone in [each for each in self._arrived if each[0] == node]:
            del self._arrived[gone]

    def put_load(self, node: str, load: NodeLoad) -> None:
        """Set what is left of a node; the node itself may be put before or after.

        Raises:
            ValueError: for a node too many.
        """
        if node not in self._loads and len(self._loads) >= MOST_LOADS:
            raise ValueError(f"there are loads of more than {MOST_LOADS} nodes")
        self._loads[node] = load
        if load.pressed:
            self._avoided.add(node)
        else:
            self._avoided.discard(node)
        row = self._rows.get(node)
        if row is not None:
            self._load_rows[row] = load.row()

    def forget_load(self, node: str) -> None:
        """Note that nobody knows any more what is left of a node."""
        self._loads.pop(node, None)
        self._avoided.discard(node)
        row = self._rows.get(node)
        if row is not None:
            self._load_rows[row] = np.nan

    def loads(self) -> Mapping[str, NodeLoad]:
        """Return what is left of each node."""
        return self._loads

    def copy(self) -> Neighbourhoods:
        """Return a copy of what was reported, without awaited tasks."""
        copied = Neighbourhoods()
        copied.costs = self.costs
        copied._names, copied._rows = [*self._names], {**self._rows}
        copied._beside = self._beside - self._awaited
        copied._here = copied._beside.sum(axis=1)
        copied._awaited = np.zeros_like(self._awaited)
        copied._promised = np.zeros_like(self._promised)
        copied._loads, copied._avoided = {**self._loads}, {*self._avoided}
        copied._load_rows = self._load_rows.copy()
        copied._total = copied._beside.sum(axis=0)
        copied._residents = float(copied._total.sum())
        return copied

    def residents(self) -> Iterator[tuple[str, list[tuple[int, int]]]]:
        """Return each node with its tasks, as ``put`` takes them; awaited tasks count."""
        for node, row in self._rows.items():
            counts = self._beside[row]
            yield node, [(int(place), int(counts[place])) for place in np.flatnonzero(counts)]

    def hint(self, kind: str, now_s: float, need: Need = UNKNOWN_NEED) -> Hint | NoHint:
        """Choose nodes for a task that is about to start. now_s: on a clock that cannot jump.

        need: what it will use. O(nodes × kinds), in numpy.
        """
        place = None if self.costs is None else self.costs.place(kind)
        if self.costs is None or place is None:
            return NoHint.UNKNOWN
        self._forget_expected(now_s)
        kinds, nodes = len(self.costs.kinds), len(self._names)
        if nodes < 2 or not self._residents:
            return NoHint.ALIKE
        if self.costs.known[place] @ self._total[:kinds] < LEAST_KNOWN * self._residents:
            return NoHint.UNKNOWN
        here = self._here[:nodes]
        scores = _empty_first(self._beside[:nodes, :kinds] @ self.costs.rows[place], here)
        if self._loads:
            scores = costs_with_loads(scores, here, self._left(), need)
        return self._best(scores)

    def costs_on(
        self, kind: str, nodes: Sequence[str], now_s: float, need: Need = UNKNOWN_NEED
    ) -> Array | NoHint:
        """Return what a task that is about to start costs on each of these nodes, in slowdowns.

        nan for a node about which nothing was reported. now_s: on a clock that cannot jump. need:
        what it will use. If pairs are not known, only loads count, if any are known. O(all nodes ×
        kinds), in numpy.
        """
        self._forget_expected(now_s)
        rows = [self._rows.get(node, -1) for node in nodes]
        pairs = self._pairs_on(kind, rows)
        if not self._loads:
            return pairs if isinstance(pairs, NoHint) else pairs[0]
        # A row of -1, about which nothing was reported, stays nan.
        left = np.vstack((self._left(), np.full(COLUMNS, np.nan)))[rows]
        if isinstance(pairs, NoHint):
            told = ~np.isnan(left).all(axis=1)
            if not told.any() and self._avoided.isdisjoint(nodes):
                return pairs
            pairs = np.where(told, 0.0, np.nan), np.zeros(len(nodes))
        costs = costs_with_loads(*pairs, left, need)
        return self._avoiding(costs, nodes)

    def expect(self, kind: str, node: str, now_s: float, need: Need = UNKNOWN_NEED) -> None:
        """Count a task on a node until it is reported there."""
        place = None if self.costs is None else self.costs.place(kind)
        row = self._rows.get(node)
        if row is None or (place is None and not self._loads):
            return
        will_use = need.taken() if self._loads else None
        place = _NO_KIND if place is None else place
        self._count(row, place, 1.0)
        if will_use is not None:
            self._promised[row] += will_use
        self._expected.append((now_s + AWAITED_S, node, place, will_use))
        if len(self._expected) > MOST_AWAITED:
            self._forget_first()

    def _pairs_on(self, kind: str, rows: Sequence[int]) -> tuple[Array, Array] | NoHint:
        """What a task and those of each row lose by each other, and how many those are."""
        place = None if self.costs is None else self.costs.place(kind)
        if self.costs is None or place is None:
            return NoHint.UNKNOWN
        kinds = len(self.costs.kinds)
        asked = np.zeros((MOST_PLACES, 3))
        asked[:kinds, 0], asked[:kinds, 1] = self.costs.rows[place], self.costs.known[place]
        asked[:, 2] = 1.0
        # A last row for nodes about which nothing was reported; a row of -1 is the last one.
        told = np.full((len(self._names) + 1, 3), np.nan)
        told[:-1] = self._beside[: len(self._names)] @ asked
        costs, known, residents = told[rows].T
        if not np.nansum(known) >= LEAST_KNOWN * np.nansum(residents):
            return NoHint.UNKNOWN
        return _empty_first(costs, residents), residents

    def _left(self) -> Array:
        """What is left of each node once the awaited tasks are there."""
        nodes = len(self._names)
        told = self._load_rows[:nodes]
        return told - self._promised[:nodes] if self._expected else told

    def _avoiding(self, costs: Array, nodes: Sequence[str]) -> Array:
        """Add what nodes under pressure cost more than others."""
        if self._avoided.isdisjoint(nodes):
            return costs
        avoided = np.array([node in self._avoided for node in nodes])
        known = costs[~avoided & ~np.isnan(costs)]
        costs[avoided] = PRESSED + (float(known.max()) if len(known) else 0.0)
        # If nothing is known about the others, they are still better.
        return costs if len(known) else np.where(avoided, costs, 0.0)

    def _best(self, scores: Array) -> Hint | NoHint:
        """Choose by what a task costs on each node."""
        nodes, mean = len(scores), float(scores.mean())
        self._questions += 1
        turn = self._questions % (len(_TURNS) - nodes + 1)
        turned = scores + _TURNS[turn : turn + nodes]
        named = min(MOST_NAMED, nodes)
        rows = turned.argpartition(named - 1)[:named]
        first = sorted(zip(turned[rows].tolist(), rows.tolist(), strict=True))
        gain = mean - float(scores[first[0][1]])
        if not gain >= LEAST_GAIN:
            return NoHint.ALIKE
        within = mean - OF_THE_GAIN * gain
        named_rows = (row for score, row in first if score <= within or row == first[0][1])
        return Hint(tuple(self._names[row] for row in named_rows), gain)

    def _row(self, node: str) -> int:
        row = self._rows.get(node)
        if row is not None:
            return row
        row = len(self._names)
        if row >= MOST_NODES:
            raise ValueError(f"there are more than {MOST_NODES} nodes")
        if row == len(self._beside):
            rows = min(MOST_NODES, max(8, 2 * row))
            tables = [_grown(table, rows, nothing) for table, nothing in self._tables()]
            self._beside, self._here, self._awaited, self._promised, self._load_rows = tables
        self._names.append(node)
        self._rows[node] = row
        if (load := self._loads.get(node)) is not None:
            self._load_rows[row] = load.row()
        return row

    def _tables(self) -> Iterator[tuple[Array, float]]:
        """All tables with a row per node, and the value of an unused row."""
        yield self._beside, 0.0
        yield self._here, 0.0
        yield self._awaited, 0.0
        yield self._promised, 0.0
        yield self._load_rows, np.nan

    def _arrive(self, node: str, row: int, told: Array) -> None:
        """Stop awaiting the tasks by which a node has more than before."""
        awaited = self._awaited[row]
        if not awaited.any():
            return
        arrived = np.clip(told - (self._beside[row] - awaited), 0.0, awaited)
        for place in np.flatnonzero(arrived):
            self._arrived[node, int(place)] += int(arrived[place])
            self._count(row, int(place), -float(arrived[place]))

    def _count(self, row: int, place: int, by: float) -> None:
        if place == _NO_KIND:
            return
        self._beside[row, place] += by
        self._here[row] += by
        self._awaited[row, place] += by
        self._total[place] += by
        self._residents += by

    def _forget_expected(self, now_s: float) -> None:
        while self._expected and self._expected[0][0] <= now_s:
            self._forget_first()

    def _forget_first(self) -> None:
        _, node, place, will_use = self._expected.popleft()
        if will_use is not None:
            self._promised[self._rows[node]] -= will_use
        if (node, place) not in self._arrived:
            self._count(self._rows[node], place, -1.0)
            return
        self._arrived[node, place] -= 1
        if not self._arrived[node, place]:
            del self._arrived[node, place]


def _grown(table: Array, rows: int, nothing: float) -> Array:
    more = np.full((rows - len(table), *table.shape[1:]), nothing)
    return np.concatenate((table, more))


def _empty_first(pairs: Array, residents: Array) -> Array:
    """Return costs of pairs, with none beside others below that of an empty node, if there is one.

    The worth of a neighbourhood to others is part of a cost. Beside a neighbour that is worth
    little a task costs less than nothing, though both lose; on an empty node nobody does.
    """
    if not (residents == 0).any():
        return pairs
    return np.asarray(np.where(residents > 0, np.maximum(pairs, _SPREAD), pairs))
