"""Holds admission's answer for one pod."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from plimsoll_operator.names.json_patch import Operation
from plimsoll_operator.pods.identity import RunIdentity
from plimsoll_operator.sizing.decision_note import DecisionNote
from plimsoll_operator.sizing.patch import Memory
from plimsoll_predictor.core.decision import Decision


class Treatment(StrEnum):
    """The kind of one answer, for counting."""

    ENFORCED = "enforced"
    RECOMMENDED = "recommended"
    KEPT = "kept"
    OFF = "off"
    PAUSED = "paused"
    EXCLUDED = "excluded"
    LEFT = "left"
    NOT_OURS = "not-ours"
    NOT_SIZABLE = "not-sizable"


@dataclass(frozen=True, slots=True)
class Sized:
    """Admission's answer for one pod, and the reason.

    patch: JSON Patch operations; empty leaves the pod as it is.
    identity, decision: None if the pod is not Plimsoll's.
    ignored_features: how many were out of bounds.
    warning: for the creator of the pod; None almost always.
    wanted: the sized container's memory by the decision, in any mode.
    note: the decision as written on the pod. Both are None if nothing could be sized.
    """

    treatment: Treatment
    patch: list[Operation]
    identity: RunIdentity | None = None
    decision: Decision | None = None
    ignored_features: int = 0
    warning: str | None = None
    wanted: Memory | None = None
    note: DecisionNote | None = None
