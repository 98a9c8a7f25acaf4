"""Words of rescues for people: why a limit was raised, and why it was not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from plimsoll_predictor.core.units import words_for_bytes
from plimsoll_predictor.rescue.deciding import MOST_OVER_FIRST, Why

WHY_LEFT: Final[Mapping[Why, str]] = {
    Why.UNLIKELY: "runs like it stopped before their limit",
    Why.EARLY: "it has time, and may stop before its limit",
    Why.LEAK: "its memory rises in a line far over its task's usual size, as a leak does",
    Why.TOO_OFTEN: f"it has been raised to {MOST_OVER_FIRST:g} times its first size, or too often",
    Why.BOUND: "its policy, a LimitRange or a quota allows no more",
    Why.NODE: "its node has no room left for it",
    Why.NAMESPACE: "rescues have used up the share of the node that one namespace may get",
}


def raised_because(used_bytes: int, growth_bytes_s: float, probability: float) -> str:
    """Return why a pod was given more.

    >>> raised_because(190 << 20, 20e6, 0.71)
    'it uses 190Mi and grows by 20 MB a second; it needs more with a probability of 71%'
    """
    grows = f"grows by {growth_bytes_s / 1e6:.0f} MB a second"
    pace = grows if growth_bytes_s else "rises in steps"
    used = words_for_bytes(used_bytes)
    return f"it uses {used} and {pace}; it needs more with a probability of {probability:.0%}"
