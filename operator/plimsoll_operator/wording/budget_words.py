"""Words for runs that were killed below their request, and for the error budget they spend."""

from __future__ import annotations

from collections.abc import Mapping

from plimsoll_operator.wording.cause_words import CAUSES
from plimsoll_predictor.core.record import Cause
from plimsoll_predictor.core.units import counted
from plimsoll_predictor.knowledge.error_budget import Spent


def words_for_spent(spent: Spent, causes: Mapping[str, int], budget: float | None) -> str:
    """One sentence without its full stop; empty if there is no budget and nothing was spent.

    causes: cause -> how many runs were killed by it; "" if unknown.
    """
    if budget is None and not spent.killed:
        return ""
    were = "was" if spent.killed == 1 else "were"
    runs = counted(spent.runs, "run")
    words = f"{spent.killed} of the last {runs} {were} killed below the request"
    if named := words_for_counts(causes):
        words += f" ({named})"
    if budget is None:
        return words
    if spent.share_of(budget) >= 1:
        return f"{words}; its error budget of {budget:.2%} is spent, so it gets its request"
    allowed = spent.allowed(budget)
    return f"{words}; its error budget of {budget:.2%} allows {allowed}"


def words_for_counts(causes: Mapping[str, int]) -> str:
    """Each cause and how many runs it killed; empty if no cause is known.

    >>> words_for_counts({"own-limit": 2, "": 1})
    'killed at its limit (2)'
    """
    named = ((Cause(cause), count) for cause, count in causes.items() if cause in _NAMES)
    return ", ".join(f"{CAUSES[cause]} ({count})" for cause, count in named)


_NAMES = frozenset(Cause)
