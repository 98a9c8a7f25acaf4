"""What is known about a run at its submission, apart from all pasts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

MOST_FEATURES: Final = 8
"""The most features of a run, the first by name. Each task keeps a line for each of them."""
MOST_NAME: Final = 63
_FIELDS: Final = ("requested_s", "processors", "requested_bytes", "busy", "queued")
_LARGEST: Final = 1e300


@dataclass(frozen=True, slots=True)
class AskedRun:
    """The request, the load, and the run's own features; None if unknown.

    requested_s: the most seconds that it may run. processors: asked for, in cores. requested_bytes:
    memory asked for. busy: share of all processors in use. queued: runs that wait. features: up to
    MOST_FEATURES numbers, by name.
    """

    requested_s: float | None = None
    processors: float | None = None
    requested_bytes: float | None = None
    busy: float | None = None
    queued: float | None = None
    features: Mapping[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types, without unknown fields."""
        said = {name: value for name in _FIELDS if (value := getattr(self, name)) is not None}
        return {**said, "features": dict(self.features)} if self.features else said

    @classmethod
    def from_dict(cls, written: object) -> AskedRun:
        """Read what ``to_dict`` wrote; a value that is not a number counts as unknown."""
        if not isinstance(written, Mapping):
            return NOTHING_ASKED
        said = {
            name: value for name in _FIELDS if (value := _number(written.get(name))) is not None
        }
        features = written.get("features")
        return cls(**said, features=numeric(features if isinstance(features, Mapping) else {}))


def numeric(features: Mapping[str, Any]) -> dict[str, float]:
    """The first MOST_FEATURES features, by name, that are numbers; categories are left out."""
    numbers = {
        name: number
        for name, value in features.items()
        if isinstance(name, str) and len(name) <= MOST_NAME
        if (number := _number(value)) is not None
    }
    return {name: numbers[name] for name in sorted(numbers)[:MOST_FEATURES]}


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) and abs(number) <= _LARGEST else None


NOTHING_ASKED: Final = AskedRun()
