"""One encoded column: which feature it reads, and which part of it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Final, TypeAlias

from msgspec import Meta

from plimsoll_predictor.core.packing import ModelError
from plimsoll_predictor.core.record import Features, FeatureValue
from plimsoll_predictor.core.units import DAY_S

MAX_TEXT_CHARS: Final = 128
"""Longer categories are cut, longer feature names ignored: they may come from annotations."""
Name: TypeAlias = Annotated[str, Meta(max_length=MAX_TEXT_CHARS)]
MAX_FLOAT32: Final = 3.4028234663852886e38

_LONGEST_NUMBER_CHARS: Final = 64
_LONGEST_DATE_CHARS: Final = 40
# Narrower than float(): "1_000", "nan" and "infinity" are words, not numbers.
_NUMBER: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:.*)?", re.ASCII)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Part(StrEnum):
    """The part of a feature that a column holds."""

    NUMBER = "number"
    CATEGORY = "category"
    """The index of the category."""
    DAYS = "days"
    """Days since 1970-01-01 UTC, with the time of day as fraction."""
    WEEKDAY = "weekday"
    """0 for Monday."""
    DAY = "day"
    """1 to 31."""
    MONTH = "month"
    HOUR = "hour"
    DIFFERENCE = "difference"
    """Days from another date feature to this one."""


DATE_PARTS: Final = (Part.DAYS, Part.WEEKDAY, Part.DAY, Part.MONTH, Part.HOUR)
"""The parts of one date."""


@dataclass(frozen=True, slots=True)
class Column:
    """A number made from one feature (or, for differences, two).

    categories: the known ones; the encoded number is the index. Empty for other parts.
    """

    feature: Name
    part: Part
    other: Name | None = None
    categories: Annotated[tuple[str, ...], Meta(max_length=2**14)] = ()

    def __post_init__(self) -> None:
        if (self.other is not None) != (self.part is Part.DIFFERENCE):
            raise ModelError(f"column {self.feature!r}: only a difference has another date")
        if self.categories and not self.is_category:
            raise ModelError(f"column {self.feature!r}: only a category column has categories")
        if len(set(self.categories)) != len(self.categories):
            raise ModelError(f"column {self.feature!r}: a category occurs twice")

    @property
    def is_category(self) -> bool:
        """Whether the encoded number is a category's index."""
        return self.part is Part.CATEGORY

    def read(self, features: Features) -> float:
        """The encoded number; NaN if missing, unseen or of another kind. Never raises."""
        value = features.get(self.feature)
        if value is None:
            return math.nan
        if self.part is Part.NUMBER:
            number = parse_number(value)
            return math.nan if number is None else number
        if self.part is Part.CATEGORY:
            text = parse_category(value)
            return self.categories.index(text) if text in self.categories else math.nan
        return self._read_date(value, features)

    def _read_date(self, value: FeatureValue, features: Features) -> float:
        date = parse_date(value)
        if date is None:
            return math.nan
        if self.part is Part.DIFFERENCE and self.other is not None:
            other = parse_date(features.get(self.other, ""))
            return math.nan if other is None else (date - other).total_seconds() / DAY_S
        parts: Mapping[Part, float] = {
            Part.DAYS: (date - _EPOCH).total_seconds() / DAY_S,
            Part.WEEKDAY: date.weekday(),
            Part.DAY: date.day,
            Part.MONTH: date.month,
            Part.HOUR: date.hour,
        }
        return parts[self.part]


def is_number(value: object) -> bool:
    """Written as a number, whether or not float32 can hold it.

    >>> is_number("18234"), is_number("1e308"), is_number("eu"), is_number("nan")
    (True, True, False, False)
    """
    if isinstance(value, str):
        return len(value) <= _LONGEST_NUMBER_CHARS and bool(_NUMBER.fullmatch(value.strip()))
    return isinstance(value, int | float)


def parse_number(value: object) -> float | None:
    """A number that float32 can hold; None for anything else (1e308 would become infinite).

    >>> parse_number("18234"), parse_number("1e308"), parse_number("eu")
    (18234.0, None, None)
    """
    if type(value) is float:  # as nearly all arrive; NaN compares false
        return value if abs(value) <= MAX_FLOAT32 else None
    if not isinstance(value, str | int | float) or not is_number(value):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if abs(number) <= MAX_FLOAT32 else None


def parse_date(value: object) -> datetime | None:
    """An ISO 8601 date or time, in its own time zone; UTC if it names none."""
    if not isinstance(value, str) or len(value) > _LONGEST_DATE_CHARS:
        return None
    if not _DATE.fullmatch(value.strip()):
        return None
    try:
        date = datetime.fromisoformat(value.strip())
    except ValueError:
        return None
    return date if date.tzinfo is not None else date.replace(tzinfo=UTC)


def parse_category(value: object) -> str | None:
    """A category's name, cut to a bounded length; None for what is neither text nor a number.

    >>> parse_category(3.0), parse_category("3")
    ('3', '3')
    """
    if isinstance(value, str):
        return value[:MAX_TEXT_CHARS]
    if not isinstance(value, int | float) or (isinstance(value, float) and math.isnan(value)):
        return None
    return repr(float(value)).removesuffix(".0") if abs(value) <= MAX_FLOAT32 else None
