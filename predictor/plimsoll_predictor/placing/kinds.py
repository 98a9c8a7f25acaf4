"""Which kinds are told apart: the ones that run most; all others count as one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

OTHERS: Final = "(others)"
"""The kind of all tasks that are not told apart, and of neighbours that nobody labelled."""
UNLABELLED: Final = "(unlabelled)"
"""Pods of no task beside a run: their count is the cores that they used, averaged over the run. No
task has such a name. It never runs itself, so it takes no place: it is learned as OTHERS."""
MOST_KINDS: Final = 50
MOST_CANDIDATES: Final = 200
"""The most kinds that are counted but not told apart yet."""
CLEARLY: Final = 2.0
"""A kind takes another's place once it has been seen this many times as often: places that changed
at every draw would throw away what was learned."""


@dataclass(slots=True)
class Kinds:
    """Names that have a place of their own, and how often each has been seen lately.

    Place 0 is OTHERS. Counts fade by ``retention`` with each run. A name costs the same whatever
    came before: at most MOST_KINDS places and MOST_CANDIDATES counts are kept.
    """

    retention: float
    most: int = MOST_KINDS
    names: list[str] = field(default_factory=lambda: [OTHERS])
    counts: list[float] = field(default_factory=lambda: [0.0])
    candidates: dict[str, float] = field(default_factory=dict)
    _places: dict[str, int] = field(default_factory=dict)
    _unit: float = 1.0
    """What a run counts now: it grows, instead of all other counts fading."""

    def place(self, name: str) -> int:
        """The place of a name; 0 if it has none."""
        return self._places.get(name, 0)

    def __len__(self) -> int:
        """How many places are taken, including OTHERS."""
        return len(self.names)

    def __iter__(self) -> Iterator[str]:
        """The names, by their places."""
        return iter(self.names)

    def shares(self) -> list[float]:
        """Each place's share of the latest runs; all alike before any run."""
        total = sum(self.counts)
        return [count / total if total else 1 / len(self.counts) for count in self.counts]

    def seen(self, name: str) -> int | None:
        """Count a run; return the place that its kind takes from another, if it does.

        What was learned about that place's old kind then belongs to OTHERS.
        """
        self._unit /= self.retention
        self._rescale()
        place = self.place(name)
        if place or name == OTHERS:
            self.counts[place] += self._unit
            return None
        count = self.candidates[name] = self.candidates.get(name, 0.0) + self._unit
        if len(self.names) <= self.most:
            self._settle(name, len(self.names), self.candidates.pop(name))
            return None
        weakest = min(range(1, len(self.names)), key=self.counts.__getitem__)
        if count > CLEARLY * self.counts[weakest]:
            self._replace(weakest, name)
            return weakest
        self.counts[0] += self._unit
        if len(self.candidates) > MOST_CANDIDATES:
            del self.candidates[min(self.candidates, key=self.candidates.__getitem__)]
        return None

    def _settle(self, name: str, place: int, count: float) -> None:
        self._places[name] = place
        self.names.append(name)
        self.counts.append(count)

    def _replace(self, place: int, name: str) -> None:
        del self._places[self.names[place]]
        count = self.candidates.pop(name)
        # Its runs so far counted among the others, except for the last one.
        before = count - self._unit
        self.counts[0] = max(0.0, self.counts[0] - before) + self.counts[place]
        self.names[place], self.counts[place] = name, count
        self._places[name] = place

    def _rescale(self) -> None:
        if self._unit < 1e9:  # far from where sums of counts would lose a run
            return
        self.counts = [count / self._unit for count in self.counts]
        self.candidates = {name: count / self._unit for name, count in self.candidates.items()}
        self._unit = 1.0
