"""The gentle ladder: what comes after an allocation that was too small."""

from __future__ import annotations

from typing import Final

USEFUL_STEP: Final = 1.05
"""A smaller raise is hardly worth an attempt."""
OVER_LARGEST: Final = 1.06
GEOMETRIC_STEP: Final = 2.0


def next_step_bytes(failed_bytes: float, largest_bytes: float) -> float:
    """A little over the largest need seen if that is a real step, else twice what failed.

    largest_bytes: of runs that succeeded; 0 if none has. What a kill only showed to be exceeded
    must not count here, or each retry would creep up by a few percent.
    """
    known_bytes = largest_bytes * OVER_LARGEST
    if known_bytes >= failed_bytes * USEFUL_STEP:
        return known_bytes
    return failed_bytes * GEOMETRIC_STEP
