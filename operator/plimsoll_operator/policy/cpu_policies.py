"""Reads the field ``cpu`` of a SizingPolicy's or TaskProfile's spec.

An error's text ends a sentence that begins with "TaskProfile: cpu {...}".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from plimsoll_operator.names.quantity import BadQuantity, parse_millicores
from plimsoll_operator.policy.spec_readers import Readers, choice, fields_of, integer, number
from plimsoll_predictor.core.policy import CpuPolicy, Mode


def read_cpu(value: Any) -> dict[str, Any]:
    """Return the fields of CpuPolicy that the spec names; errors as in ``fields_of``."""
    return fields_of(value, _READERS, "cpu: {mode: enforce}")


def lay_over(base: CpuPolicy, read: Mapping[str, Any]) -> CpuPolicy:
    """Return ``base`` with the fields of ``read_cpu``; a new maximum lowers an inherited minimum.

    Raises:
        ValueError: if the minimum is above the maximum.
    """
    policy = replace(base, **read)
    if policy.max_millicores is None or policy.min_millicores <= policy.max_millicores:
        return policy
    if "min_millicores" in read:
        raise ValueError("has a min larger than its max; lower min or raise max")
    return replace(policy, min_millicores=policy.max_millicores)


def _millicores(value: Any) -> int:
    try:
        millicores = parse_millicores(value)
    except BadQuantity as error:
        raise ValueError("is not a quantity; write for example 250m or 2") from error
    if millicores < 1:
        raise ValueError("is below 1m; write for example 250m or 2")
    return millicores


_READERS: Final[Readers] = {
    "mode": ("mode", choice(Mode)),
    "min": ("min_millicores", _millicores),
    "max": ("max_millicores", _millicores),
    "headroom": ("headroom", number(1, 10)),
    "minRuns": ("min_runs", integer(1, 10_000)),
}
