"""A task's latest runs with their features, to fit curves to. Bounded."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from plimsoll_predictor.core.record import FeatureValue

LATEST: Final = 96
"""The most runs: enough to show a curve, few enough to fit one in milliseconds."""
MOST_FEATURES: Final = 12
LONGEST_WORD: Final = 64
LEAST_TOLD: Final = 0.9
"""The share of the runs that must tell the features which a curve follows: odd ones are few."""

Vector = NDArray[np.float64]


class TableRow(Struct, array_like=True):
    """A run: its need, and its value of each feature by the table's names; None where missing."""

    need_bytes: float
    values: list[float | str | None]


class RunTable(Struct):
    """The runs, oldest first. names: of features, in the order they were met."""

    names: list[str] = msgspec.field(default_factory=list)
    rows: deque[TableRow] = msgspec.field(default_factory=deque)

    def __post_init__(self) -> None:
        """Bound what was read."""
        self.rows = deque(self.rows, maxlen=LATEST)

    def add(self, features: Mapping[str, FeatureValue], need_bytes: float) -> None:
        """Learn a run; features beyond the bound are left out.

        A new feature takes the place of the one that the fewest of the runs tell, if that is one
        run at most: as few as tell the new one. Of equals, the one that was met first goes.
        """
        for name in features:
            if name not in self.names and self._has_room(features):
                self.names.append(name)
        values = [_bounded(features.get(name)) for name in self.names]
        self.rows.append(TableRow(need_bytes, values))

    def _has_room(self, features: Mapping[str, FeatureValue]) -> bool:
        """Whether there is room for another name, after one that few runs tell went for it."""
        if len(self.names) < MOST_FEATURES:
            return True
        told = {
            place: sum(
                place < len(row.values) and row.values[place] is not None for row in self.rows
            )
            for place, name in enumerate(self.names)
            if name not in features
        }
        rarest = min(told, key=told.__getitem__, default=None)
        if rarest is None or told[rarest] > 1:
            return False
        del self.names[rarest]
        for row in self.rows:
            del row.values[rarest : rarest + 1]
        return True

    def correct(
        self, before_bytes: float, after_bytes: float, features: Mapping[str, FeatureValue]
    ) -> bool:
        """Correct the latest run that was taken to need ``before_bytes``; False if none was.

        features: take the place of the run's, unless they are empty.
        """
        for row in reversed(self.rows):
            if row.need_bytes == before_bytes:
                row.need_bytes = after_bytes
                if features:
                    row.values = [_bounded(features.get(name)) for name in self.names]
                return True
        return False

    def numbers(self, name: str) -> Vector | None:
        """A feature's values, (n,); None if a run lacks it or has a word."""
        place, found = self.names.index(name), []
        for row in self.rows:
            value = row.values[place] if place < len(row.values) else None
            if not isinstance(value, int | float):
                return None
            found.append(value)
        return np.array(found, dtype=np.float64)

    def words(self, name: str) -> list[str] | None:
        """A feature's words, one a run; None if a run lacks it or has a number."""
        place, found = self.names.index(name), []
        for row in self.rows:
            value = row.values[place] if place < len(row.values) else None
            if not isinstance(value, str):
                return None
            found.append(value)
        return found

    def features_of(self, row: TableRow) -> dict[str, FeatureValue]:
        """Return a row's features by name, without those that it lacks."""
        told = zip(self.names, row.values, strict=False)  # a name may be newer than the row
        return {name: value for name, value in told if value is not None}

    def words_in(self, rows: Iterable[TableRow], names: Collection[str]) -> set[str]:
        """Return the words that rows tell for these features, each with its feature's name."""
        return {
            f"{name}={value}"
            for row in rows
            for name, value in self.features_of(row).items()
            if name in names and isinstance(value, str)
        }

    def without_odd(self) -> RunTable | None:
        """The runs that tell what nearly all tell; None if those are all runs.

        Features that most runs tell come first; one that would leave too few runs is passed over.
        """
        places = frozenset(range(len(self.rows)))
        for telling in sorted(self._telling(), key=len, reverse=True):
            if len(places & telling) >= LEAST_TOLD * len(self.rows):
                places &= telling
        if len(places) == len(self.rows):
            return None
        rows = (row for place, row in enumerate(self.rows) if place in places)
        return RunTable(self.names, deque(rows))

    def _telling(self) -> Iterator[frozenset[int]]:
        """The places of the rows that have a number in a column, and of those with a word."""
        for column in range(len(self.names)):
            values = [row.values[column] if column < len(row.values) else None for row in self.rows]
            for kind in (int | float, str):
                yield frozenset(
                    place for place, value in enumerate(values) if isinstance(value, kind)
                )

    def forget_before(self, keep: int) -> None:
        """Keep the latest runs only."""
        while len(self.rows) > keep:
            self.rows.popleft()


def _bounded(value: FeatureValue | None) -> float | str | None:
    if isinstance(value, str):
        return value if len(value) <= LONGEST_WORD else None
    return value if value is not None and abs(value) < 1e300 else None
