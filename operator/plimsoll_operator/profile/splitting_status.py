"""Makes the part of a TaskProfile's status about Jobs over items: the facts, and their meaning.

Figures have two digits, because each change of the status costs a patch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from plimsoll_operator.names.conditions import cut
from plimsoll_operator.wording.splitting_words import words_for_item, words_for_memory
from plimsoll_predictor.core.durations import two_digits
from plimsoll_predictor.splitting.costs import Costs
from plimsoll_predictor.splitting.peaks import Peaks

MOST_WORDS: Final = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitFacts:
    """What Jobs of one way taught. of: what a worker takes at once, in the plural.

    peaks: None if none was measured. largest: items of the largest that succeeded. last: the last
    Job's result; verdict: the next Job's gain; both in words.
    """

    of: str
    costs: Costs
    peaks: Peaks | None
    largest: int
    last: str
    verdict: str


@dataclass(frozen=True, slots=True)
class TaskSplitting:
    """The facts of Jobs that were cut, and of Jobs that leased; None if there was none."""

    cut: SplitFacts | None = None
    leased: SplitFacts | None = None


def splitting_status(facts: TaskSplitting) -> dict[str, Any] | None:
    """Return the status' field ``splitting``; None while no Job over items is known."""
    known = {"leased": facts.leased, "cut": facts.cut}
    verdicts = [f"{way}: {each.verdict}" for way, each in known.items() if each is not None]
    if not verdicts:
        return None
    text = cut("; ".join(verdicts), MOST_WORDS)
    return {"text": text, **{way: _fields(each) for way, each in known.items()}}


def _fields(facts: SplitFacts | None) -> dict[str, Any] | None:
    if facts is None:
        return None
    return {
        "item": cut(words_for_item(facts.costs), MOST_WORDS),
        "itemSeconds": two_digits(facts.costs.item_s),
        "memory": cut(words_for_memory(facts.peaks, facts.of), MOST_WORDS),
        "largest": facts.largest,
        "lastJob": cut(facts.last, MOST_WORDS),
        "verdict": cut(facts.verdict, MOST_WORDS),
    }
