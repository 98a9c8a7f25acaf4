"""An expert's bids as data: the feed carries it, and deciding evaluates it in microseconds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from plimsoll_predictor.core.record import FeatureValue
from plimsoll_predictor.knowledge.curve import Curve

OVER_CURVE: Final = 1.2
LARGER_REQUEST: Final = 1.1
"""A request this much above all that were seen belongs to another kind of run."""


class Line(Struct, frozen=True, array_like=True):
    """A need's logarithm as a straight line over one feature's logarithm."""

    feature: str
    slope: float
    intercept: float

    @property
    def names(self) -> tuple[str, ...]:
        """The feature that it depends on."""
        return (self.feature,)

    def at(self, features: Mapping[str, FeatureValue]) -> float | None:
        """The need in bytes; None if the feature is missing or not a number above zero."""
        value = features.get(self.feature)
        if not isinstance(value, int | float) or not 0 < value < math.inf:
            return None
        return math.exp(min(self.slope * math.log(value) + self.intercept, _LARGEST_LOG))


_LARGEST_LOG: Final = math.log(2.0**60)


class Rule(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """An expert's bid for any run of one task.

    base_bytes: the bid where nothing else applies.
    request_share: of the part of the user's request above ``over_bytes``, added to the base.
    lines: best first; the first whose feature is known replaces the base, times ``factor``, within
        ``least_bytes`` and ``most_bytes``: a line must not be trusted beyond what was seen.
    curves: best first; like lines, with their room in them. Above ``over_bytes`` the request bounds
        them as well.
    """

    base_bytes: float
    request_share: float = 0.0
    over_bytes: float = 0.0
    lines: tuple[Line, ...] = ()
    factor: float = 1.0
    least_bytes: float = 0.0
    most_bytes: float = 0.0
    curves: tuple[Curve, ...] = ()

    def bid_bytes(self, request_bytes: float | None, features: Mapping[str, FeatureValue]) -> float:
        """The bid for this run in bytes, before any clamping."""
        for curve in self.curves:
            size_bytes = curve.at(features)
            if size_bytes is not None:
                # The user's request bounds what a curve may add to what was seen.
                most_bytes = max(self.over_bytes, min(self.most_bytes, request_bytes or math.inf))
                return min(max(size_bytes, self.least_bytes), most_bytes)
        for line in self.lines:
            predicted = line.at(features)
            if predicted is not None:
                return min(max(predicted * self.factor, self.least_bytes), self.most_bytes)
        if self.request_share and request_bytes is not None:
            return self.base_bytes + self.request_share * max(request_bytes - self.over_bytes, 0.0)
        return self.base_bytes

    def why(self, features: Mapping[str, FeatureValue]) -> str:
        """The features that a run's bid depends on, in words, as in ``bid_bytes``."""
        shapes = (*self.curves, *self.lines)
        for shape in shapes:
            if shape.at(features) is not None:
                return f"its size follows {' and '.join(shape.names)}"
        if not shapes:
            return ""
        return f"it follows no feature, as {' and '.join(shapes[0].names)} is unknown or new"

    def after_curve(self, failed_bytes: float) -> float:
        """The size after a curve's size failed: its room once more, and a fifth; 0 without one."""
        if not self.curves:
            return 0.0
        curve = self.curves[0]
        return failed_bytes * curve.factor * OVER_CURVE + curve.room_bytes


def for_larger_request(
    bid_bytes: float, request_bytes: float | None, largest_request_bytes: float | None
) -> float:
    """A bid for a run that asks for more than its task ever did: in proportion, up to the request.

    Workflows ask for more if they know that a run is unusually large, and when they try again.
    """
    if request_bytes is None or not largest_request_bytes:
        return bid_bytes
    if request_bytes <= largest_request_bytes * LARGER_REQUEST:
        return bid_bytes
    return max(bid_bytes, min(bid_bytes * request_bytes / largest_request_bytes, request_bytes))
