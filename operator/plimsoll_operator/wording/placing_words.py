"""Words for how tasks slow each other, and for what placing would have saved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from plimsoll_predictor.core.units import counted
from plimsoll_predictor.placing.matrix import Slowdown
from plimsoll_predictor.placing.telling import Neighbour, Neighbours
from plimsoll_predictor.replay.placing.past_queue import Gain

CANNOT_TELL: Final = "cannot tell yet"
WHY_NOT: Final = (
    "it takes more runs of each task, some of them alone and some beside each of the others"
)
"""What has to happen before slowdowns are known."""


def words_for_times(slowdown: Slowdown) -> str:
    """How many times as long, and the interval that contains nine of ten.

    >>> words_for_times(Slowdown(1.917, 1.7, 2.104, True))
    '1.92 times, 1.70 to 2.10'
    """
    return f"{slowdown.times:.2f} times, {slowdown.low:.2f} to {slowdown.high:.2f}"


def words_for_besides(besides: Sequence[Neighbour]) -> str:
    """Name neighbours, each with its slowdown.

    >>> words_for_besides([Neighbour("team/wait", Slowdown(1.1, 1.08, 1.13, True))])
    'team/wait (1.10 times, 1.08 to 1.13)'
    """
    named = [f"{each.kind} ({words_for_times(each.slowdown)})" for each in besides]
    return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"


def words_for_neighbours(neighbours: Neighbours, runs: int, apart: str = ", ") -> str:
    """The text after a task's name. runs: those that taught something. apart: separates clauses.

    >>> words_for_neighbours(Neighbours(), 3)
    'cannot tell yet, from 3 runs'
    >>> words_for_neighbours(
    ...     Neighbours(worst=(Neighbour("team/cpu", Slowdown(1.9, 1.7, 2.1, True)),)), 30
    ... )
    'is slowed most by team/cpu (1.90 times, 1.70 to 2.10)'
    """
    parts = []
    if neighbours.best:
        parts.append(f"gets along with {words_for_besides(neighbours.best)}")
    if neighbours.worst:
        parts.append(f"is slowed most by {words_for_besides(neighbours.worst)}")
    return apart.join(parts) or f"{CANNOT_TELL}, from {counted(runs, 'run')}"


def words_for_gain(gain: Gain, plays: int) -> str:
    """What a policy would have gained over the usual one.

    >>> words_for_gain(Gain(1.31, 0.0532, 0.0416, 0.0834), 10)
    '5.3% less (4.2% to 8.3% in 10 plays)'
    >>> words_for_gain(Gain(1.31, 0.002, -0.011, 0.0134), 10)
    'no difference that can be told (1.1% more to 1.3% less in 10 plays)'
    >>> words_for_gain(Gain(1.31, 0.0, 0.0, 0.0), 10)
    'no difference: there was no choice'
    """
    if gain.low == gain.high == 0:
        return "no difference: there was no choice"
    if not gain.certain:
        span = f"{_change(gain.low)} to {_change(gain.high)}"
        return f"no difference that can be told ({span} in {plays} plays)"
    low, high = sorted((abs(gain.low), abs(gain.high)))
    return f"{_change(gain.saved)} ({_percent(low)} to {_percent(high)} in {plays} plays)"


def _change(saved: float) -> str:
    return f"{_percent(abs(saved))} {'less' if saved >= 0 else 'more'}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"
