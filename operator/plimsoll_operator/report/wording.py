"""Attempts in words, for the page. Pure."""

from __future__ import annotations

from plimsoll_operator.conditions import cut
from plimsoll_operator.figure_words import words_for_minute, words_for_size
from plimsoll_operator.report.records import AttemptPoint
from plimsoll_predictor.record import Outcome

_OUTCOMES = {
    Outcome.SUCCEEDED: "succeeded",
    Outcome.OOM_KILLED: "OOM-killed again",
    Outcome.FAILED: "failed for a reason of its own",
    Outcome.EVICTED: "evicted by its node",
    Outcome.DELETED: "deleted",
}


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
