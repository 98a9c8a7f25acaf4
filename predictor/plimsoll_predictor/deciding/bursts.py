"""What a task's unfinished runs, running or failing, say about the next size.

A burst is submitted when one or two small runs have ended. The runs that still go on then tend to
need more, and killed runs show that the largest need known is no guide.
"""

from __future__ import annotations

from plimsoll_predictor.core.decision import Ask
from plimsoll_predictor.core.units import words_for_bytes
from plimsoll_predictor.knowledge.knowledge import Knowledge
from plimsoll_predictor.knowledge.measured_constants import SERVED, Constants


def fails_in_burst(run: str | None, knowledge: Knowledge, constants: Constants = SERVED) -> bool:
    """Whether so many runs were killed and have not succeeded yet that a burst shows.

    run: the key of one that was killed now; it counts once.
    """
    # An eviction says nothing about a size: its lift names none that was too small.
    others = (lift for key, lift in knowledge.lifts.items() if key != run)
    failing = 1 + sum(lift.is_awaited for lift in others)
    return shows_burst(failing, knowledge.runs, constants)


def failing_runs(knowledge: Knowledge) -> int:
    """How many runs were killed and have not succeeded yet. Evictions say nothing about sizes."""
    return sum(lift.is_awaited for lift in knowledge.lifts.values())


def shows_burst(failing: int, runs: int, constants: Constants = SERVED) -> bool:
    """Whether so many failing runs are a burst, given so many known runs."""
    return failing >= constants.burst_runs and failing > constants.burst_share * runs


def over_shown(
    size_bytes: float,
    request_bytes: float | None,
    knowledge: Knowledge,
    constants: Constants = SERVED,
) -> float:
    """A size raised over what running attempts have reached, if that is more than was known.

    The request bounds it, unless the size is above the request already.
    """
    floor_bytes = knowledge.shown.floor_bytes
    if floor_bytes <= max(knowledge.largest_bytes or 0, size_bytes / constants.shown_room):
        return size_bytes
    wanted_bytes = floor_bytes * constants.shown_room
    if request_bytes is not None and request_bytes > size_bytes:
        wanted_bytes = min(wanted_bytes, max(request_bytes, floor_bytes))
    return max(size_bytes, wanted_bytes)


def first_over_siblings(
    size_bytes: float, ask: Ask, knowledge: Knowledge, constants: Constants = SERVED
) -> tuple[float, str]:
    """A first size raised by what running attempts show, and why; no words if it stays."""
    raised_bytes, words = over_shown(size_bytes, ask.request_bytes, knowledge, constants), ""
    if raised_bytes > size_bytes:
        reached = words_for_bytes(knowledge.shown.floor_bytes)
        words = f"raised: running attempts have reached {reached}"
    outlasting = ask.now_s is not None and knowledge.shown.outlasting(
        knowledge.runs, ask.now_s, constants
    )
    if outlasting:
        roomy_bytes = constants.outlasting_room * (knowledge.max_need_bytes or 0)
        if ask.request_bytes is not None:
            roomy_bytes = min(roomy_bytes, ask.request_bytes)
        if roomy_bytes > raised_bytes:
            return roomy_bytes, "raised: others run longer than all that ended, and may need more"
    return raised_bytes, words
