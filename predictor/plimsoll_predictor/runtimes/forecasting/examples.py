"""The runs that the feature expert is fitted to: the newest that finished, each as submitted."""

from __future__ import annotations

from array import array
from collections import deque

import numpy as np

from plimsoll_predictor.runtimes.features.feature_expert import place_of
from plimsoll_predictor.runtimes.features.fitting import Examples
from plimsoll_predictor.runtimes.features.row import N_FEATURES


class FinishedRows:
    """Rows of finished runs, in the order of their finish; the oldest go first.

    most: how many are kept, each of some 200 bytes.
    """

    def __init__(self, most: int) -> None:
        self._rows: deque[tuple[array[float], int, str]] = deque(maxlen=most)
        self.known = 0
        """How many there ever were."""

    def add(self, task: str, row: list[float], share: float) -> None:
        """Add a finished run. share: of the mixture's forecast below its runtime."""
        self._rows.append((array("f", row), place_of(share), task))
        self.known += 1

    def examples(self) -> Examples:
        """All that are kept."""
        rows = np.empty((len(self._rows), N_FEATURES), dtype=np.float32)
        for place, (row, _, _) in enumerate(self._rows):
            rows[place] = row
        return Examples(rows, np.array([place for _, place, _ in self._rows], dtype=np.int64))

    def tasks(self) -> list[str]:
        """The task of each of them."""
        return [task for _, _, task in self._rows]
