"""Whether more runs would change what is known: the estimated improvement, run by run."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from plimsoll_predictor.campaigns.findings import estimated_improvement, learned_of
from plimsoll_predictor.campaigns.runs import CampaignRun

LEAST_RUNS: Final = 5
"""Before so many needs are known, nothing can be said."""


def moves_no_more(
    runs: Sequence[CampaignRun], reference_bytes: int, change: float, window: int
) -> bool:
    """Say whether each of the last ``window`` runs moved the estimate by ``change`` at most.

    reference_bytes: today's request. change: of the estimated improvement, a share of 1.
    """
    learned = learned_of(runs)
    if len(learned) < max(LEAST_RUNS, window) + 1:
        return False
    # Each estimate fits a Gaussian process, and mostly the newest one already moved.
    newest_first = (
        estimated_improvement(learned[:known], reference_bytes)
        for known in range(len(learned), len(learned) - window - 1, -1)
    )
    return all(
        before is not None and after is not None and abs(after - before) <= change
        for after, before in pairwise(newest_first)
    )
