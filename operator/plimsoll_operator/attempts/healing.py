"""Decides how far Plimsoll may go for a run whose attempt was too small. Pure.

| people let Plimsoll now | the attempt that was too small | healing                       |
|-------------------------|--------------------------------|-------------------------------|
| enforce                 | any                            | all: lifts, retries           |
| nothing: it is paused,  | lowered while they let it      | its run gets what was written |
| or recommend, or off    | as written                     | none: that is its owner's     |

Whether an attempt was lowered is recorded on the attempt itself, so a restart changes none of this.
What was lowered is owed: only Plimsoll knows that the run had less than was written. To give it
back is no new size, and it happens once, because the next attempt is not lowered.
"""

from __future__ import annotations

from enum import StrEnum

from plimsoll_predictor.core.policy import Mode


class Healing(StrEnum):
    """How far it may go."""

    ALL = "all"
    AS_WRITTEN = "as-written"
    NONE = "none"


def healing_of(mode: Mode, *, paused: bool, lowered: bool) -> Healing:
    """Say how far healing may go.

    mode, paused: as people say now. lowered: whether the attempt ran with less than was written, by
    its own decision.
    """
    if mode is Mode.ENFORCE and not paused:
        return Healing.ALL
    return Healing.AS_WRITTEN if lowered else Healing.NONE
