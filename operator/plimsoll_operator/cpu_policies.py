"""The field ``cpu`` of a SizingPolicy's or TaskProfile's spec. Pure.

Errors follow the field and its value in a sentence: "TaskProfile: cpu {...} " comes before them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from plimsoll_operator.quantity import BadQuantity, parse_millicores
from plimsoll_predictor.policy import CpuPolicy, Mode

MAX_HEADROOM: Final = 10
MOST_RUNS: Final = 10_000


def read_cpu(value: Any) -> dict[str, Any]:
    """Fields of CpuPolicy; those that the spec does not name are absent.

    Raises:
        TypeError, ValueError: if a part of it makes no sense; nothing of it is then read.
    """
    if not isinstance(value, Mapping):
        raise TypeError("is not a map; write cpu: {mode: enforce}")
    read: dict[str, Any] = {}
    for key, part in value.items():
        if part is None:
            continue
        if key not in _READERS:
            known = ", ".join(_READERS)
            raise ValueError(f"has an unknown field {key!r:.40}; write one of {known}")
        field, reader = _READERS[key]
        read[field] = reader(part)
    return read


def lay_over(base: CpuPolicy, read: Mapping[str, Any]) -> CpuPolicy:
    """``base`` with the fields of ``read_cpu`` over it; a new maximum lowers an inherited minimum.

    Raises:
        ValueError: if the minimum is above the maximum.
    """
    policy = replace(base, **read)
    if policy.max_millicores is None or policy.min_millicores <= policy.max_millicores:
        return policy
    if "min_millicores" in read:
        raise ValueError("has a min larger than its max; lower min or raise max")
    return replace(policy, min_millicores=policy.max_millicores)


def _mode(value: Any) -> Mode:
    # YAML 1.1 reads an unquoted `off` as false; nothing else is meant by it.
    if value is False:
        return Mode.OFF
    try:
        return Mode(value)
    except ValueError as error:
        known = ", ".join(mode.value for mode in Mode)
        raise ValueError(f"has an unknown mode; write one of {known}") from error


def _millicores(value: Any) -> int:
    try:
        millicores = parse_millicores(value)
    except BadQuantity as error:
        raise ValueError("has a bound that is no quantity; write for example 250m or 2") from error
    if millicores < 1:
        raise ValueError("has a bound below 1m; write for example 250m or 2")
    return millicores


def _headroom(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"has a headroom that is no number; write one from 1 to {MAX_HEADROOM}")
    if not (math.isfinite(value) and 1 <= value <= MAX_HEADROOM):
        raise ValueError(f"has a headroom out of range; write one from 1 to {MAX_HEADROOM}")
    return float(value)


def _min_runs(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        raise TypeError(f"has a minRuns that is no whole number; write one from 1 to {MOST_RUNS}")
    if not 1 <= value <= MOST_RUNS:
        raise ValueError(f"has a minRuns out of range; write one from 1 to {MOST_RUNS}")
    return int(value)


_READERS: Final[Mapping[str, tuple[str, Callable[[Any], Any]]]] = {
    "mode": ("mode", _mode),
    "min": ("min_millicores", _millicores),
    "max": ("max_millicores", _millicores),
    "headroom": ("headroom", _headroom),
    "minRuns": ("min_runs", _min_runs),
}
