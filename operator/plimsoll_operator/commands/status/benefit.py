"""Whether tasks were better off with Plimsoll lately, or with their authors' sizes. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from plimsoll_operator.commands.status.checks import Check, Level
from plimsoll_operator.commands.status.tasks import NamespaceState
from plimsoll_operator.wording.figure_words import words_for_gb_h
from plimsoll_operator.wording.saving_words import saving_words
from plimsoll_predictor.core.units import counted

WORSE: Final = 1.01
"""Memory-time held ÷ asked for; a percent more is rounding."""
MOST_NAMED: Final = 3


def benefit_of(namespaces: Sequence[NamespaceState]) -> Check | None:
    """Say what was saved, and where tasks held more than requested; None if nothing was sized."""
    held_gb_h = sum(each.held_gb_h for each in namespaces)
    asked_gb_h = sum(each.asked_gb_h for each in namespaces)
    if asked_gb_h <= 0:
        return None
    worse = [each for each in namespaces if each.held_gb_h > WORSE * each.asked_gb_h]
    worse.sort(key=lambda each: each.asked_gb_h - each.held_gb_h)
    named = ", ".join(each.namespace for each in worse[:MOST_NAMED])
    words = f"saved {saving_words(asked_gb_h, held_gb_h)} lately"
    if held_gb_h > WORSE * asked_gb_h:
        more = words_for_gb_h(held_gb_h - asked_gb_h)
        words = (
            f"lately all tasks together would have been better off without Plimsoll: {more} more"
            f" held than asked for, as in {named}"
        )
    elif worse:
        where = counted(len(worse), "namespace")
        words += f", but {where} would have been better off without Plimsoll: {named}"
    if guarded := sum(each.guarded_tasks for each in namespaces):
        follow = "task follows" if guarded == 1 else "tasks follow"
        words += f"; {guarded} {follow} a simple rule, which did better for long"
    if not worse:
        return Check("benefit", Level.GOOD, words)
    todo = f"plimsoll pause -n {worse[0].namespace} leaves its pods as written"
    return Check("benefit", Level.WARNING, words, todo)
