"""Keeps the size of a retry that Plimsoll made: an older feed may not know of its lift."""

from __future__ import annotations

from dataclasses import replace

from plimsoll_operator.names.labels import RUN_OF
from plimsoll_operator.pods.spec import annotations_of
from plimsoll_operator.sizing.read_pod import ReadPod
from plimsoll_predictor.core.decision import Bounds, Decision, Reason


def killed(read: ReadPod) -> int | None:
    """Return the allocation that was too small for the previous attempt; None if none was."""
    run, note = read.identity.run, read.note
    lift = read.knowledge.lifts.get(run) if run is not None else None
    if lift is not None:
        return lift.after_bytes
    # An older feed may not know the lift of a retry that Plimsoll made at its size.
    return note.allocation_bytes if note and RUN_OF in annotations_of(read.body) else None


def made_as_written(read: ReadPod) -> bool:
    """Say whether Plimsoll made this attempt at the size that its author wrote."""
    note = read.note
    if note is None or note.attempt <= 1 or note.reason is not Reason.NOT_LOWERED:
        return False
    return RUN_OF in annotations_of(read.body)


def not_below_retry(read: ReadPod, decision: Decision, bounds: Bounds) -> Decision:
    """Keep the lifted size of a retry that Plimsoll made: an older feed must not lower it."""
    note = read.note
    if note is None or note.attempt <= 1 or RUN_OF not in annotations_of(read.body):
        return decision
    if note.allocation_bytes is None or note.allocation_bytes != read.container.request_bytes:
        return decision
    asked_bytes = read.was.request_bytes or 0
    # Neither the maximum nor the room of nodes and quotas ever cuts what the author asked.
    soft_caps = [
        None if most_bytes is None else max(most_bytes, asked_bytes)
        for most_bytes in (read.knowledge.policy.max_bytes, bounds.room_bytes)
    ]
    caps = (note.allocation_bytes, bounds.cap_bytes, *soft_caps)
    lifted_bytes = min(cap_bytes for cap_bytes in caps if cap_bytes is not None)
    if (decision.allocation_bytes or 0) >= lifted_bytes:
        return decision
    return replace(
        decision.without_model(),
        allocation_bytes=lifted_bytes,
        attempt=note.attempt,
        reason=Reason.LIFTED,
        why=f"attempt {note.attempt} keeps the lifted size it was made with",
    )
