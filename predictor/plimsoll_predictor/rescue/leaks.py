"""Tells a leak from a run that is larger than usual, by the shape of its memory.

A leak is a line: it rises as steadily in its second half as in its first, and never rests. Any
growing run looks like that for a while, so only a curve far over its task's usual size is judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from plimsoll_predictor.rescue.growth import Point

OVER_USUAL: Final = 1.5
"""A line counts as a leak if it is over this many times its task's usual size."""
STEADY: Final = 0.6
"""A line's slower half rises by at least this share of its faster half's rise."""
REST_SHARE: Final = 0.2
"""A line rests for less than this share of its life."""
REST_RISE: Final = 0.2
"""A pace below this share of the mean pace is rest."""
LEAST_POINTS: Final = 6


def is_line(shape: Sequence[Point]) -> bool:
    """Say whether a curve rises at one pace from its beginning to its end.

    >>> is_line([(s, 10 * s) for s in range(10)])
    True
    >>> is_line([(s, min(50, 10 * s)) for s in range(10)])
    False
    """
    if len(shape) < LEAST_POINTS:
        return False
    began_s, began_bytes = shape[0]
    ended_s, ended_bytes = shape[-1]
    if ended_s <= began_s or ended_bytes <= began_bytes:
        return False
    pace = (ended_bytes - began_bytes) / (ended_s - began_s)
    rested_s = sum(
        later[0] - earlier[0]
        for earlier, later in pairwise(shape)
        if later[1] - earlier[1] < REST_RISE * pace * (later[0] - earlier[0])
    )
    if rested_s >= REST_SHARE * (ended_s - began_s):
        return False
    middle_s = (began_s + ended_s) / 2
    middle = min(shape, key=lambda point: abs(point[0] - middle_s))
    if not began_s < middle[0] < ended_s:
        return False
    first = (middle[1] - began_bytes) / (middle[0] - began_s)
    second = (ended_bytes - middle[1]) / (ended_s - middle[0])
    return min(first, second) >= STEADY * max(first, second)


def is_leak(shape: Sequence[Point], usual_bytes: int) -> bool:
    """Say whether a curve is a line far over its task's usual size.

    usual_bytes: the largest need of the task's runs; 0 if none is known: then nothing is a leak.
    """
    return bool(usual_bytes) and shape[-1][1] > OVER_USUAL * usual_bytes and is_line(shape)
