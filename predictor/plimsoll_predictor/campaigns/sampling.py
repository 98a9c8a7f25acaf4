"""Scenarios drawn from a space of features: a Latin hypercube."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from plimsoll_predictor.campaigns.scenarios import check_count

MOST_DRAWS: Final = 20
"""The most rounds of draws from a space; a small space has fewer distinct scenarios."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """A feature of a space that is drawn from: some values, or a range of numbers.

    whole: only whole numbers. logarithmic: each factor is as likely as another.
    """

    name: str
    values: tuple[str, ...] = ()
    low: float = 0.0
    high: float = 0.0
    whole: bool = False
    logarithmic: bool = False


def drawn(axes: Sequence[Axis], count: int, seed: int) -> list[dict[str, object]]:
    """Return ``count`` different scenarios of a space; fewer if it has no more.

    Each axis is cut into ``count`` parts, and each part is drawn from once (a Latin hypercube), so
    that few scenarios already cover all of every range. The same seed gives the same scenarios.

    Raises:
        BadScenarios: if there are too many.
    """
    check_count(count)
    random = Random(seed)
    found: dict[tuple[str, ...], dict[str, object]] = {}
    for _ in range(MOST_DRAWS):
        strata = [random.sample(range(count), count) for _ in axes]
        for place in range(count):
            shares = [(each[place] + random.random()) / count for each in strata]
            texts = [_drawn(axis, share) for axis, share in zip(axes, shares, strict=True)]
            row = {axis.name: text for axis, text in zip(axes, texts, strict=True)}
            found.setdefault(tuple(texts), dict(row))
        if len(found) >= count:
            break
    return list(found.values())[:count]


def _drawn(axis: Axis, share: float) -> str:
    if axis.values:
        return axis.values[min(int(share * len(axis.values)), len(axis.values) - 1)]
    low, high = axis.low, axis.high
    number = low * (high / low) ** share if axis.logarithmic else low + (high - low) * share
    return str(round(number)) if axis.whole else f"{number:.6g}"
