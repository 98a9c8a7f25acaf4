"""The gentle ladder: its steps lead up from an allocation that was too small."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

USEFUL_STEP: Final = 1.05
"""A smaller raise is hardly worth an attempt."""
LEAST_CEILING_STEP: Final = 1.2
"""A ceiling that is less of a raise is hardly worth an attempt."""
OVER_LARGEST: Final = 1.06
GEOMETRIC_STEP: Final = 2.0


def next_step_bytes(failed_bytes: float, largest_bytes: float) -> float:
    """A little over the largest need seen if that is a real step, else twice what failed.

    largest_bytes: of runs that succeeded; 0 if none has. What a kill only showed to be exceeded
    must not count here, or each retry would creep up by a few percent.
    """
    over_largest_bytes = largest_bytes * OVER_LARGEST
    if over_largest_bytes >= failed_bytes * USEFUL_STEP:
        return over_largest_bytes
    return failed_bytes * GEOMETRIC_STEP


def lowest_step_bytes(
    failed_bytes: float,
    largest_bytes: float,
    *,
    ceilings_bytes: Iterable[float] = (),
    request_bytes: float | None = None,
) -> float:
    """The smallest useful step: a ceiling, the user's request, or ``next_step_bytes``."""
    steps = [next_step_bytes(failed_bytes, largest_bytes)]
    least_bytes = failed_bytes * LEAST_CEILING_STEP
    steps += [float(ceiling) for ceiling in ceilings_bytes if ceiling >= least_bytes]
    if request_bytes is not None and request_bytes >= failed_bytes * USEFUL_STEP:
        steps.append(float(request_bytes))
    return min(steps)
