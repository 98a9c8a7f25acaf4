"""The gentle ladder: its steps lead up from an allocation that was too small."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

USEFUL_STEP: Final = 1.05
"""A smaller raise is hardly worth an attempt."""
LEAST_CEILING_STEP: Final = 1.2
"""A ceiling that is less of a raise is hardly worth an attempt."""
OVER_LARGEST: Final = 1.06
GEOMETRIC_STEP: Final = 2.0
FAR_STEP: Final = 3.0
"""Above the request, a largest need that is this many times what failed is reached by steps."""
NEAR_REQUEST: Final = 1.5
"""A request that is at most so many times what failed is the next step."""
FAR_REQUEST: Final = 2.5
"""A request above so many times what failed is reached by a step half-way."""
STEPS_TO_REQUEST: Final = 3
CURVE_STEP: Final = 1.6
"""A curve that needs a larger step is too loose to follow."""


def next_step_bytes(failed_bytes: float, largest_bytes: float) -> float:
    """A little over the largest need seen if that is a real step, else twice what failed.

    largest_bytes: of runs that succeeded; 0 if none has. The lower bound that a kill shows must not
    count here, or each retry would creep up by a few percent.
    """
    over_largest_bytes = largest_bytes * OVER_LARGEST
    if over_largest_bytes >= failed_bytes * USEFUL_STEP:
        return over_largest_bytes
    return failed_bytes * GEOMETRIC_STEP


@dataclass(frozen=True, slots=True, kw_only=True)
class Climb:
    """What is known besides the size that failed.

    largest_bytes: of runs that succeeded; 0 if none has.
    request_bytes: the user's request, the ladder's last step; None if nothing was asked for.
    ceilings_bytes: of the task's bins; empty without a model.
    in_burst: whether many of the task's runs fail now: then runs that succeeded say little.
    curve_bytes: the next size after one from a curve over features; 0 without a curve. A curve errs
        by no more than its room, so the largest need of all is no guide to this run.
    """

    largest_bytes: float = 0.0
    request_bytes: float | None = None
    ceilings_bytes: Sequence[float] = ()
    in_burst: bool = False
    curve_bytes: float = 0.0


def lifted_bytes(failed_bytes: float, attempt: int, climb: Climb) -> float:
    """The size after one that failed; attempt: the one that failed, 1 for a run's first.

    The request is reached in three steps at most, by geometric means: each attempt costs a
    runtime. Above it, so is the largest need of a run that succeeded. What failed above both is
    doubled, because nobody knows where it ends.
    """
    request_bytes = climb.request_bytes
    over_largest_bytes = climb.largest_bytes * OVER_LARGEST
    known = over_largest_bytes >= failed_bytes * USEFUL_STEP
    least_bytes = failed_bytes * LEAST_CEILING_STEP
    ceilings_bytes = [float(each) for each in climb.ceilings_bytes if each >= least_bytes]
    if least_bytes <= climb.curve_bytes <= failed_bytes * CURVE_STEP and attempt == 1:
        ceilings_bytes.append(climb.curve_bytes)
    if request_bytes is None or request_bytes < failed_bytes * USEFUL_STEP:
        if not known:
            return min([failed_bytes * GEOMETRIC_STEP, *ceilings_bytes])
        if attempt >= STEPS_TO_REQUEST:
            return over_largest_bytes
        near = request_bytes is None or over_largest_bytes < failed_bytes * FAR_STEP
        on_the_way_bytes = _on_the_way_bytes(failed_bytes, attempt, over_largest_bytes)
        return min([over_largest_bytes if near else on_the_way_bytes, *ceilings_bytes])
    if attempt >= STEPS_TO_REQUEST or request_bytes <= failed_bytes * NEAR_REQUEST:
        return request_bytes
    step_bytes = _on_the_way_bytes(failed_bytes, attempt, request_bytes)
    if known and attempt < STEPS_TO_REQUEST - 1:
        step_bytes = max(over_largest_bytes, step_bytes) if climb.in_burst else over_largest_bytes
    return min(step_bytes, request_bytes, *ceilings_bytes)


def _on_the_way_bytes(failed_bytes: float, attempt: int, goal_bytes: float) -> float:
    """Half-way to a goal, and no more than doubled at first; a near goal itself after that."""
    between_bytes = math.sqrt(failed_bytes * goal_bytes)
    if attempt < STEPS_TO_REQUEST - 1:
        return min(between_bytes, failed_bytes * GEOMETRIC_STEP)
    return between_bytes if goal_bytes > failed_bytes * FAR_REQUEST else goal_bytes


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
