"""What a task's running attempts show, known before they end. The feed carries it."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from plimsoll_predictor.knowledge.measured_constants import SERVED, Constants

LONGER: Final = 1.1
"""A run outlasts another if it runs this many times as long, and a second."""


class Shown(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What attempts in flight show of the next run.

    floor_bytes: most of the task's latest runs are expected to need no more, from what they needed
        and what running ones have reached; 0 if that is not above the largest known need.
    started_s: the earliest starts of attempts in flight, Unix seconds, ascending, at most
        MOST_STARTS of them.
    longest_s: the longest runtime of a run that ended.
    """

    floor_bytes: int = 0
    started_s: tuple[float, ...] = ()
    longest_s: float = 0.0

    def outlasting(self, runs: int, now_s: float, constants: Constants = SERVED) -> bool:
        """Whether so many attempts outlast all ended runs that the next need is likely larger.

        runs: how many ended. Short runs end first, and small ones are short.
        """
        if not 0 < runs <= constants.outlasting_runs:
            return False
        since_s = now_s - LONGER * max(self.longest_s, 1.0) - 1.0
        longer = sum(started_s < since_s for started_s in self.started_s)
        return longer >= constants.outlasting_share * (longer + runs)


MOST_STARTS: Final = 4
NOTHING_SHOWN: Final = Shown()
