"""Readers of one value of a spec. An error's text ends a sentence that begins with the field."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, TypeAlias

from plimsoll_predictor.core.policy import Mode

Reader: TypeAlias = Callable[[Any], Any]
Readers: TypeAlias = Mapping[str, tuple[str, Reader]]
"""Field of a spec -> (field of the policy, its reader)."""


def number(lowest: float, highest: float) -> Callable[[Any], float]:
    """Return a reader of numbers between the bounds, both included."""

    def read(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(f"is not a number; write one from {lowest:g} to {highest:g}")
        if not (math.isfinite(value) and lowest <= value <= highest):
            raise ValueError(f"is out of range; write a number from {lowest:g} to {highest:g}")
        return float(value)

    return read


def integer(lowest: int, highest: int) -> Callable[[Any], int]:
    """Return a reader of whole numbers between the bounds, both included."""
    read_number = number(lowest, highest)

    def read(value: Any) -> int:
        if read_number(value) != int(value):
            raise ValueError(f"is not a whole number; write one from {lowest} to {highest}")
        return int(value)

    return read


def flag(value: Any) -> bool:
    """Read true or false."""
    if not isinstance(value, bool):
        raise TypeError("is neither true nor false; write true or false, without quotes")
    return value


def choice(kind: type[StrEnum]) -> Reader:
    """Return a reader of the words of an enumeration."""

    def read(value: Any) -> Any:
        # YAML 1.1 reads an unquoted `off` as false, which has no other meaning here.
        if value is False and kind is Mode:
            return Mode.OFF
        try:
            return kind(value)
        except ValueError as error:
            raise ValueError(f"is not known; write one of {', '.join(kind)}") from error

    return read


def choices(kind: type[StrEnum]) -> Reader:
    """Return a reader of a list of words of an enumeration, each at most once."""
    read = choice(kind)

    def read_all(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise TypeError(f"is not a list; write some of [{', '.join(kind)}]")
        if len(value) > len(kind):
            raise ValueError(f"is longer than all that is known; write some of [{', '.join(kind)}]")
        return tuple(dict.fromkeys(map(read, value)))

    return read_all


def fields_of(value: Any, readers: Readers, example: str) -> dict[str, Any]:
    """Return the policy's fields that a map names; a null field counts as absent.

    Raises:
        TypeError, ValueError: if any part makes no sense; then no part is read.
    """
    if not isinstance(value, Mapping):
        raise TypeError(f"is not a map; write {example}")
    read: dict[str, Any] = {}
    for key, part in value.items():
        if part is None:
            continue
        if key not in readers:
            fields = ", ".join(readers)
            raise ValueError(f"has an unknown field {key!r:.40}; write one of {fields}")
        field, reader = readers[key]
        try:
            read[field] = reader(part)
        except (ValueError, TypeError) as error:
            raise ValueError(f"has a field {key} that {error}") from error
    return read
