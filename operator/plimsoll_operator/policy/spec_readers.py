"""Readers of one value of a spec. An error follows the field and its value in a sentence."""

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
    """Reads a number between the bounds, both included."""

    def read(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(f"is not a number; write one from {lowest:g} to {highest:g}")
        if not (math.isfinite(value) and lowest <= value <= highest):
            raise ValueError(f"is out of range; write a number from {lowest:g} to {highest:g}")
        return float(value)

    return read


def whole(lowest: int, highest: int) -> Callable[[Any], int]:
    """Reads a whole number between the bounds, both included."""
    read_number = number(lowest, highest)

    def read(value: Any) -> int:
        if read_number(value) != int(value):
            raise ValueError(f"is not a whole number; write one from {lowest} to {highest}")
        return int(value)

    return read


def flag(value: Any) -> bool:
    """Reads true or false."""
    if not isinstance(value, bool):
        raise TypeError("is neither true nor false; write true or false, without quotes")
    return value


def choice(kind: type[StrEnum]) -> Reader:
    """Reads one of a few words."""

    def read(value: Any) -> Any:
        # YAML 1.1 reads an unquoted `off` as false; nothing else is meant by it.
        if value is False and kind is Mode:
            return Mode.OFF
        try:
            return kind(value)
        except ValueError as error:
            known = ", ".join(member.value for member in kind)
            raise ValueError(f"is not known; write one of {known}") from error

    return read


def fields_of(value: Any, readers: Readers, example: str) -> dict[str, Any]:
    """The policy's fields that a map names; a null field counts as absent.

    Raises:
        TypeError, ValueError: if a part of it makes no sense; nothing of it is then read.
    """
    if not isinstance(value, Mapping):
        raise TypeError(f"is not a map; write {example}")
    read: dict[str, Any] = {}
    for key, part in value.items():
        if part is None:
            continue
        if key not in readers:
            known = ", ".join(readers)
            raise ValueError(f"has an unknown field {key!r:.40}; write one of {known}")
        field, reader = readers[key]
        try:
            read[field] = reader(part)
        except (ValueError, TypeError) as error:
            raise ValueError(f"has a field {key} that {error}") from error
    return read
