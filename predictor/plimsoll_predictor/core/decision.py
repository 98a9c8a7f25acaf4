"""The question and the answer of sizing: an attempt that asks, and a decision with its reason."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum


class Reason(StrEnum):
    """The reason for an allocation; the words beside it are for people."""

    OFF = "off"
    PAUSED = "paused"
    """People have paused the task, its namespace or the cluster; its pods are left alone."""
    FIRST_SIZE = "first-size"
    """Nothing is known; the policy's share of the user's request is tried."""
    COLD_START = "cold-start"
    """Too little is known; the user's request is kept."""
    MAX_SEEN = "max-seen"
    LEARNED = "learned"
    """The task's champion among the experts by rule; see plimsoll_predictor.experts.panel."""
    PREDICTED = "predicted"
    LIFTED = "lifted"
    """The run was OOM-killed before; this attempt gets more."""
    KEPT = "kept"
    """The user's request is the cheapest choice, or the right size is more than may be set."""
    NOT_LOWERED = "not-lowered"
    """A safeguard holds: the size is no less than its author wrote; see deciding/safeguards.py."""
    LEFT = "left"
    """Somebody else sets the pod's memory, such as a VerticalPodAutoscaler: Plimsoll leaves it."""
    NOT_SIZABLE = "not-sizable"
    """The pod cannot be sized (no container to size, contradictory annotations ...)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One attempt to be sized.

    request_bytes: what the user asked for; None if nothing.
    limit_bytes: the memory limit as its author wrote it; None if none, or equal to the request.
    run: the run's key, to look up its lift; None if unknown.
    now_s: the time of the decision, Unix seconds; None if no time is meant.
    """

    features: dict[str, float | str]
    request_bytes: int | None
    run: str | None = None
    limit_bytes: int | None = None
    now_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The bounds that the cluster sets, besides the policy. None where nothing bounds."""

    floor_bytes: int | None = None
    """LimitRange minimum."""
    cap_bytes: int | None = None
    """LimitRange maximum: the API server refuses a pod with more."""
    room_bytes: int | None = None
    """The most for a size above the request: quotas, and the largest node that the pod may run on.
    It holds back a raise, and never lowers what the user asked."""
    room_of: str = "the cluster's room"
    """The bound that ``room_bytes`` comes from, in words."""
    room_remedy: str = ""
    """What people can do about that bound, in words."""
    written_bytes: int | None = 0
    """The memory that the pod may use as its author wrote it; None if it has no limit. A size that
    is held back is below the known need; it must not be below this as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The size of one attempt, and the reason for it.

    allocation_bytes: None leaves the pod as its author wrote it.
    bin: index of the chosen ceiling among ``ceilings``; None if no model chose.
    probability: the model's probability that the need lies at or below the allocation.
    why: one sentence for people.
    """

    allocation_bytes: int | None
    reason: Reason
    why: str
    attempt: int = 1
    bin: int | None = None
    probability: float | None = None
    model_version: str | None = None

    def without_model(self) -> Decision:
        """Return it as if no model had chosen, for a size that a rule decides instead."""
        return replace(self, bin=None, probability=None, model_version=None)
