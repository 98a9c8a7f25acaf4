"""Conditions of a status, as Kubernetes defines them (KEP-1623)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

MAX_MESSAGE: Final = 1024


class ConditionStatus(StrEnum):
    """Whether a condition holds."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class ConditionType(StrEnum):
    """All conditions there are; docs/status.md has them with their reasons."""

    DEGRADED = "Degraded"
    LEAKING = "Leaking"
    TRAINING_FAILED = "TrainingFailed"
    MEASUREMENTS_FRESH = "MeasurementsFresh"
    MODEL_READY = "ModelReady"
    DRIFTING = "Drifting"
    PAUSED = "Paused"
    IN_FORCE = "InForce"
    """The only one of a SizingPolicy; the others are a TaskProfile's."""


TROUBLE: Final[Mapping[str, str]] = {
    ConditionType.DEGRADED: ConditionStatus.TRUE,
    ConditionType.LEAKING: ConditionStatus.TRUE,
    ConditionType.TRAINING_FAILED: ConditionStatus.TRUE,
    ConditionType.MEASUREMENTS_FRESH: ConditionStatus.FALSE,
}
"""The status with which a condition is trouble. Unknown is none: nothing was learned yet."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What is found of one condition.

    reason: one CamelCase word. message: a sentence for people, cut to MAX_MESSAGE characters.
    """

    status: ConditionStatus
    reason: str
    message: str


def conditions_of(
    findings: Mapping[ConditionType, Finding],
    previous: object,
    now_s: float,
) -> list[dict[str, Any]]:
    """The conditions as the API server takes them.

    previous: the status' conditions before; lastTransitionTime stays where the status stays.
    now_s: Unix seconds.
    """
    before = {old.get("type"): old for old in read_conditions(previous)}
    return [
        {
            "type": kind.value,
            "status": found.status.value,
            "reason": found.reason,
            "message": cut(found.message, MAX_MESSAGE),
            "lastTransitionTime": _since(found, before.get(kind, {})) or timestamp(now_s),
        }
        for kind, found in findings.items()
    ]


def read_conditions(found: object) -> list[Mapping[str, Any]]:
    """A status' conditions as the API server has them; what is none is left out."""
    listed = found if isinstance(found, list | tuple) else ()
    return [each for each in listed if isinstance(each, Mapping)]


def is_trouble(condition: Mapping[str, Any]) -> bool:
    """Whether a status' condition, as the API server has it, is one that somebody should mend."""
    status = TROUBLE.get(str(condition.get("type")))
    return status is not None and status == condition.get("status")


def timestamp(at_s: float) -> str:
    """Unix seconds as RFC 3339, to the second, as Kubernetes writes it.

    >>> timestamp(0)
    '1970-01-01T00:00:00Z'
    """
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def cut(text: str, limit: int) -> str:
    """Text of at most ``limit`` characters; what was cut is marked."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _since(found: Finding, before: Mapping[str, Any]) -> Any:
    """Since when its status is the same; None if it changes now."""
    return before.get("lastTransitionTime") if before.get("status") == found.status else None
