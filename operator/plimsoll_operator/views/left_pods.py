"""Finds tasks whose latest pod Plimsoll left to another program that sets its memory."""

from __future__ import annotations

from collections.abc import Sequence

from plimsoll_predictor.core.decision import Reason
from plimsoll_predictor.store import DecisionRecord


def left_by(decisions: Sequence[DecisionRecord]) -> str | None:
    """Return the latest decision's words if it left a pod's memory to another program, else None.

    decisions: one task's, newest first. Pods have creation times in whole seconds, so several may
    be the latest; then one that was left is enough.
    """
    sized = [each for each in decisions if not each.is_rescue]
    latest = (each for each in sized if each.at_s == sized[0].at_s)
    return next((each.words for each in latest if each.reason == Reason.LEFT), None)
