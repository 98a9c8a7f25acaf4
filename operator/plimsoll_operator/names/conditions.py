"""Makes and reads the conditions of a status, as Kubernetes defines them (KEP-1623)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

MAX_MESSAGE: Final = 1024


class ConditionStatus(StrEnum):
    """The status of a condition."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class ConditionType(StrEnum):
    """All conditions; docs/status.md lists their reasons."""

    DEGRADED = "Degraded"
    LEAKING = "Leaking"
    TRAINING_FAILED = "TrainingFailed"
    MEASUREMENTS_FRESH = "MeasurementsFresh"
    MODEL_READY = "ModelReady"
    DRIFTING = "Drifting"
    PAUSED = "Paused"
    STEPPED_BACK = "SteppedBack"
    IN_FORCE = "InForce"
    """A SizingPolicy's only condition; those above are a TaskProfile's."""
    ACCEPTED = "Accepted"
    PROGRESSING = "Progressing"
    """A ProfilingCampaign's conditions."""


TROUBLE: Final[Mapping[str, str]] = {
    ConditionType.DEGRADED: ConditionStatus.TRUE,
    ConditionType.LEAKING: ConditionStatus.TRUE,
    ConditionType.TRAINING_FAILED: ConditionStatus.TRUE,
    ConditionType.MEASUREMENTS_FRESH: ConditionStatus.FALSE,
}
"""The status at which a condition is trouble. Unknown is no trouble."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The state of one condition.

    reason: one CamelCase word. message: a sentence for people, cut to MAX_MESSAGE characters.
    """

    status: ConditionStatus
    reason: str
    message: str


def conditions_of(
    findings: Mapping[ConditionType, Finding], previous: object, now_s: float
) -> list[dict[str, Any]]:
    """Return the conditions as the API server takes them.

    previous: the conditions before. A condition keeps lastTransitionTime while its status stays.
    now_s: Unix seconds.
    """
    since = {
        (old.get("type"), old.get("status")): old.get("lastTransitionTime")
        for old in read_conditions(previous)
    }
    return [
        {
            "type": kind.value,
            "status": finding.status.value,
            "reason": finding.reason,
            "message": cut(finding.message, MAX_MESSAGE),
            "lastTransitionTime": since.get((kind, finding.status)) or timestamp(now_s),
        }
        for kind, finding in findings.items()
    ]


def read_conditions(conditions: object) -> list[Mapping[str, Any]]:
    """Return a status' conditions as the API server has them, without malformed ones."""
    listed = conditions if isinstance(conditions, list | tuple) else ()
    return [condition for condition in listed if isinstance(condition, Mapping)]


def is_trouble(condition: Mapping[str, Any]) -> bool:
    """Say whether somebody should mend the cause of a condition, as the API server has it."""
    status = TROUBLE.get(str(condition.get("type")))
    return status is not None and status == condition.get("status")


def timestamp(at_s: float) -> str:
    """Write Unix seconds as RFC 3339, to the second, as Kubernetes does.

    >>> timestamp(0)
    '1970-01-01T00:00:00Z'
    """
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def cut(text: str, limit: int) -> str:
    """Return the text; if it is too long, cut to ``limit`` characters that end in an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1] + "…"
