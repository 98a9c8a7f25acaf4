"""Conditions of a status, as Kubernetes defines them (KEP-1623). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

MAX_MESSAGE: Final = 1024


class Verdict(StrEnum):
    """A condition's status."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True)
class Condition:
    """One thing that holds or does not.

    reason: one CamelCase word. message: a sentence for people, cut to MAX_MESSAGE characters.
    """

    type: str
    verdict: Verdict
    reason: str
    message: str


def conditions_of(
    conditions: Iterable[Condition],
    previous: Sequence[Mapping[str, Any]] | None,
    now_s: float,
) -> list[dict[str, Any]]:
    """The conditions as the API server takes them.

    previous: the status' conditions before; lastTransitionTime stays where the verdict stays.
    now_s: Unix seconds.
    """
    since = {
        old.get("type"): (old.get("status"), old.get("lastTransitionTime"))
        for old in previous or ()
        if isinstance(old, Mapping)
    }
    return [_manifest(condition, since.get(condition.type), now_s) for condition in conditions]


def timestamp(at_s: float) -> str:
    """Unix seconds as RFC 3339, to the second, as Kubernetes writes it.

    >>> timestamp(0)
    '1970-01-01T00:00:00Z'
    """
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def cut(text: str, limit: int) -> str:
    """Text of at most ``limit`` characters; what was cut is marked."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _manifest(condition: Condition, since: tuple[Any, Any] | None, now_s: float) -> dict[str, Any]:
    stayed = since is not None and since[0] == condition.verdict.value and since[1]
    return {
        "type": condition.type,
        "status": condition.verdict.value,
        "reason": condition.reason,
        "message": cut(condition.message, MAX_MESSAGE),
        "lastTransitionTime": since[1] if stayed and since else timestamp(now_s),
    }
