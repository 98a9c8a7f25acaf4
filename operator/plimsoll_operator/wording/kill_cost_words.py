"""What kills and rescues cost, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from plimsoll_operator.wording.figure_words import words_for_gb_h
from plimsoll_predictor.core.units import counted, plural

_HOUR_MIN = 60


class Costs(Protocol):
    """The fields of ``views.kill_costs.KillCosts``."""

    @property
    def attempts(self) -> int:
        """Return how many attempts were counted."""

    @property
    def kills(self) -> int:
        """Return how many attempts were killed."""

    @property
    def lost_s(self) -> float:
        """Return the time that they ran in vain."""

    @property
    def lost_gb_h(self) -> float:
        """Return the memory-time that they held in vain."""

    @property
    def rescues(self) -> int:
        """Return how many attempts were rescued."""

    @property
    def kept_s(self) -> float:
        """Return the time that kills would have lost."""

    @property
    def added_gb_h(self) -> float:
        """Return the memory-time that raises added."""

    @property
    def in_vain(self) -> int:
        """Return how many attempts were raised in vain."""


def words_for_kill_costs(costs: Costs) -> str:
    """Return what they cost; empty if nothing was killed or raised.

    >>> from types import SimpleNamespace as Sums
    >>> costs = {"kills": 2, "lost_s": 720, "lost_gb_h": 0.4, "kept_s": 0, "added_gb_h": 0}
    >>> words_for_kill_costs(Sums(**costs, attempts=50, rescues=0, in_vain=0))
    'over the latest 50 attempts: 2 kills lost 12 min and 0.4 GB·h'
    """
    parts = "; ".join(_parts(costs))
    over = "attempt" if costs.attempts == 1 else counted(costs.attempts, "attempt")
    return parts and f"over the latest {over}: {parts}"


def _parts(costs: Costs) -> Iterator[str]:
    if costs.kills:
        lost = f"{_minutes(costs.lost_s)} and {words_for_gb_h(costs.lost_gb_h)}"
        yield f"{costs.kills} {plural(costs.kills, 'kill')} lost {lost}"
    if costs.rescues:
        rescues = f"{costs.rescues} {plural(costs.rescues, 'rescue')}"
        yield f"{rescues} kept {_minutes(costs.kept_s)} of work"
    if costs.in_vain:
        yield f"{costs.in_vain} {plural(costs.in_vain, 'raise')} in vain"
    if costs.rescues or costs.in_vain or costs.added_gb_h:
        yield f"raises added {words_for_gb_h(costs.added_gb_h)}"


def _minutes(seconds: float) -> str:
    minutes = seconds / 60
    if minutes >= 10 * _HOUR_MIN:
        return f"{minutes / _HOUR_MIN:.0f} h"
    return f"{minutes:.0f} min" if minutes >= 1 else f"{seconds:.0f} s"
