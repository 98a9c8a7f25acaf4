"""Curves from features to a size, as data: the feed carries them, deciding evaluates them."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping
from typing import Final, TypeAlias, TypeGuard

from msgspec import Struct

from plimsoll_predictor.core.record import FeatureValue

_LARGEST_LOG: Final = math.log(2.0**60)


class Straight(Struct, frozen=True, tag="straight"):
    """A size that is linear in one or two features.

    logs: whether slopes and intercept are of logarithms, and the features must be above zero.
    factor, room_bytes: the room over what the runs needed on average.
    """

    features: tuple[str, ...]
    slopes: tuple[float, ...]
    intercept: float
    logs: bool = False
    factor: float = 1.0
    room_bytes: float = 0.0

    @property
    def names(self) -> tuple[str, ...]:
        """The features that it depends on."""
        return self.features

    def at(self, features: Mapping[str, FeatureValue]) -> float | None:
        """The size in bytes; None if a feature is missing, or no number it can use."""
        total = self.intercept
        for name, slope in zip(self.features, self.slopes, strict=True):
            value = features.get(name)
            if not _is_number(value) or (self.logs and not value > 0):
                return None
            total += slope * (math.log(value) if self.logs else value)
        size_bytes = math.exp(min(total, _LARGEST_LOG)) if self.logs else total
        return _finite(size_bytes * self.factor + self.room_bytes)


class Steps(Struct, frozen=True, tag="steps"):
    """A size that steps up with a feature.

    edges: ascending. sizes_bytes: one more than edges, with their room; the first is for values up
        to the first edge. factor: the room in them.
    """

    feature: str
    edges: tuple[float, ...]
    sizes_bytes: tuple[float, ...]
    factor: float = 1.0
    room_bytes: float = 0.0

    @property
    def names(self) -> tuple[str, ...]:
        """The feature that it depends on."""
        return (self.feature,)

    def at(self, features: Mapping[str, FeatureValue]) -> float | None:
        """The size in bytes; None if the feature is missing or no number."""
        value = features.get(self.feature)
        return self.sizes_bytes[bisect_left(self.edges, value)] if _is_number(value) else None


class Kinds(Struct, frozen=True, tag="kinds"):
    """A size for each value of a feature that is a word; factor: the room in them."""

    feature: str
    sizes_bytes: Mapping[str, float]
    factor: float = 1.0
    room_bytes: float = 0.0

    @property
    def names(self) -> tuple[str, ...]:
        """The feature that it depends on."""
        return (self.feature,)

    def at(self, features: Mapping[str, FeatureValue]) -> float | None:
        """The size in bytes; None for a value that was not seen."""
        value = features.get(self.feature)
        return self.sizes_bytes.get(value) if isinstance(value, str) else None


class Product(Struct, frozen=True, tag="product"):
    """A size that is linear in the product of two features.

    slope: bytes for each unit of the product. factor, room_bytes: the room over what the runs
    needed on average.
    """

    features: tuple[str, str]
    slope: float
    intercept: float
    factor: float = 1.0
    room_bytes: float = 0.0

    @property
    def names(self) -> tuple[str, ...]:
        """The features that it depends on."""
        return self.features

    def at(self, features: Mapping[str, FeatureValue]) -> float | None:
        """The size in bytes; None if a feature is missing or no number."""
        first, second = (features.get(name) for name in self.features)
        if not _is_number(first) or not _is_number(second):
            return None
        size_bytes = self.intercept + self.slope * first * second
        return _finite(size_bytes * self.factor + self.room_bytes)


class KindLines(Struct, frozen=True, tag="kind-lines"):
    """A size that is linear in a number, with a line for each value of a word.

    lines: intercept and slope by word. logs: as in ``Straight``. factor, room_bytes: the room over
    what the runs needed on average.
    """

    feature: str
    kind_feature: str
    lines: Mapping[str, tuple[float, float]]
    logs: bool = False
    factor: float = 1.0
    room_bytes: float = 0.0

    @property
    def names(self) -> tuple[str, ...]:
        """The features that it depends on."""
        return (self.feature, self.kind_feature)

    def at(self, features: Mapping[str, FeatureValue]) -> float | None:
        """The size in bytes; None for a word that was not seen, or a number it cannot use."""
        kind, value = features.get(self.kind_feature), features.get(self.feature)
        line = self.lines.get(kind) if isinstance(kind, str) else None
        if line is None or not _is_number(value) or (self.logs and not value > 0):
            return None
        intercept, slope = line
        total = intercept + slope * (math.log(value) if self.logs else value)
        size_bytes = math.exp(min(total, _LARGEST_LOG)) if self.logs else total
        return _finite(size_bytes * self.factor + self.room_bytes)


Curve: TypeAlias = Straight | Steps | Kinds | Product | KindLines


def _finite(size_bytes: float) -> float | None:
    """A size; None if the features were too large for it to be a number."""
    return size_bytes if math.isfinite(size_bytes) else None


def _is_number(value: FeatureValue | None) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
