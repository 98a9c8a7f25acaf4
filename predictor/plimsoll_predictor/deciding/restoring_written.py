"""Gives a run back what its author wrote, after an attempt that had another size. Pure.

Five things lead here: a program that failed by itself at a lower size (``own_failures.py``), an
attempt at a lower request that ended because its node ran out of memory, a kill at a lower size
while its task is paused or no longer enforced, an attempt that was used up otherwise, at any size,
and a pod that had more than was written, and that its node refused. In the first two, nobody knows
what the run needs; in the third, no size may be decided. What was written is known, and no gamble.
After a refusal the run gets no more than that, either, or its node might refuse it again.
"""

from __future__ import annotations

from dataclasses import replace

from plimsoll_predictor.core.record import Observation
from plimsoll_predictor.knowledge.knowledge import Lift


def lift_to_written(ended: Observation) -> Lift:
    """The lift to what was written, for the run of an attempt that had another size."""
    # Its node looks at the request, the kernel at the limit.
    pressed_bytes = ended.request_memory_ran_bytes if ended.was_pressed_out else None
    return Lift(
        allocation_bytes=ended.request_bytes or 0,
        attempt=ended.attempt + 1,
        after_bytes=pressed_bytes or ended.allocation_bytes or 0,
        as_written=True,
    )


def no_less_than_written(ended: Observation, lift: Lift | None) -> Lift:
    """The lift that the run keeps: its own one if that is no less than was written.

    lift: the one that it has. It is the same one again if it is kept.
    """
    if lift is not None and (lift.as_written or _covers(lift, ended)):
        return lift
    return lift_to_written(ended)


def exactly_written(refused: Observation, lift: Lift | None) -> Lift | None:
    """The lift to what was written and no more, after a node has refused a pod that had more.

    lift: the one that the run has. None if the run was killed at what was written, so that it needs
    more. What was too small before stays known.
    """
    if lift is None:
        lift = replace(lift_to_written(refused), after_bytes=0)
    elif not lift.as_written and _was_killed_as_written(lift, refused):
        return None
    return Lift(
        allocation_bytes=refused.request_bytes or 0,
        attempt=max(lift.attempt, refused.attempt + 1),
        after_bytes=lift.after_bytes,
        as_written=True,
        killed_s=lift.killed_s,
        exactly=True,
    )


def after_used(ended: Observation, lift: Lift | None) -> Lift:
    """The lift that the run keeps after an attempt was used up by something other than memory.

    An example is an eviction. The attempt is counted, so that none is left for a gamble.
    """
    kept = no_less_than_written(ended, lift)
    return kept if kept is lift else replace(kept, after_bytes=0)


def _covers(lift: Lift, ended: Observation) -> bool:
    """Say whether the lift is no less than was written."""
    return _is_no_less(lift.allocation_bytes, ended)


def _was_killed_as_written(lift: Lift, ended: Observation) -> bool:
    return _is_no_less(lift.after_bytes, ended)


def _is_no_less(size_bytes: int, ended: Observation) -> bool:
    """Say whether a size is no less than was written. No size is, where no limit was written."""
    written_bytes = ended.written_limit_bytes
    return bool(written_bytes) and size_bytes >= max(written_bytes or 0, ended.request_bytes or 0)
