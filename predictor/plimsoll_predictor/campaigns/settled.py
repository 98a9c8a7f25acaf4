"""Whether more runs would change what is known: the estimated improvement, run by run."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from plimsoll_predictor.campaigns.runs import CampaignRun
from plimsoll_predictor.campaigns.saving import learned_of, saving_of

LEAST_RUNS: Final = 5
"""Before so many needs are known, nothing can be said."""


def moves_no_more(
    runs: Sequence[CampaignRun], reference_bytes: int, change: float, window: int
) -> bool:
    """Say whether each of the last ``window`` runs moved the estimate by ``change`` at most.

    What was still to learn after each of them must not have been more either: while easy scenarios
    run, the estimate does not move.

    reference_bytes: today's request. change: a share of it.
    """
    if len(learned_of(runs)) < max(LEAST_RUNS, window) + 1:
        return False
    # Each estimate fits a Gaussian process, and mostly the newest one already moved.
    newest_first = (
        saving_of(runs, reference_bytes, newest_left_out=left_out) for left_out in range(window + 1)
    )
    return all(
        after is not None
        and before is not None
        and after.to_learn <= change
        and abs(after.cautious - before.cautious) <= change
        for after, before in pairwise(newest_first)
    )
