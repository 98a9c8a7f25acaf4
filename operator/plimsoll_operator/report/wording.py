"""Times and attempts in words, for the page. Pure."""

from __future__ import annotations

from datetime import UTC, datetime

from plimsoll_operator.conditions import cut
from plimsoll_operator.report.records import AttemptPoint
from plimsoll_predictor.record import Outcome
from plimsoll_predictor.units import words_for_bytes

_OUTCOMES = {
    Outcome.SUCCEEDED: "succeeded",
    Outcome.OOM_KILLED: "OOM-killed again",
    Outcome.FAILED: "failed for a reason of its own",
    Outcome.EVICTED: "evicted by its node",
    Outcome.DELETED: "deleted",
}


def words_for_minute(at_s: float | None) -> str:
    """Unix seconds to the minute, UTC; '-' for none or for what is no date.

    >>> words_for_minute(0), words_for_minute(None), words_for_minute(1e300)
    ('1970-01-01 00:00', '-', '-')
    """
    if at_s is None:
        return "-"
    try:
        return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M")
    except (OverflowError, ValueError, OSError):
        return "-"


def words_for_size(size_bytes: float | None) -> str:
    """Bytes as people read them; '-' for none."""
    return "-" if size_bytes is None else words_for_bytes(size_bytes)


def words_for_outcome(outcome: Outcome | None) -> str:
    """How the attempt after a lift ended; None: it has not ended."""
    return "not ended yet" if outcome is None else _OUTCOMES[outcome]


def words_for_point(point: AttemptPoint) -> str:
    """What shows under the pointer."""
    need = words_for_size(point.need_bytes)
    needed = f"OOM-killed: needs more than {need}" if point.killed else f"needed {need}"
    got = words_for_size(point.allocation_bytes)
    asked = words_for_size(point.request_bytes)
    run = f"run {cut(point.run, 80)}, attempt {point.attempt}"
    return f"{needed}, got {got}, asked {asked}; {run}; {words_for_minute(point.at_s)}"
