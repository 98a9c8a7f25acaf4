"""Decides whether a task has learned enough to be trained again. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from plimsoll_predictor.core.units import counted

LEAST_NEW_RUNS: Final = 5
"""Also for a task never trained: the simple experts serve it well enough until then."""
GROWTH: Final = 0.1
"""Share of the runs known at the last training that must be new."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Since:
    """A task's runs in all, and what came since its last training.

    runs: runs with a known need. min_runs: below it nothing is lowered, so nothing is trained.
    trained_runs: ``runs`` when it was last trained, or a training was asked for; None if neither
        ever was.
    new_kills: OOM kills since then.
    """

    runs: int
    min_runs: int
    trained_runs: int | None
    new_kills: int = 0


def should_train(since: Since) -> str | None:
    """Say why the task should be trained now; None if it should not.

    The first training comes with five known runs. Later ones come when the runs have grown by a
    tenth, at least by five, and after every OOM kill. The queue limits how often a task is trained.
    """
    if since.runs < max(since.min_runs, LEAST_NEW_RUNS):
        return None
    if since.trained_runs is None:
        return f"{since.runs} runs known and never trained"
    if since.new_kills > 0:
        return f"{counted(since.new_kills, 'OOM kill')} since the last training"
    # Runs may have been forgotten since: then their number says nothing until it has grown.
    new_runs = since.runs - since.trained_runs
    if new_runs >= max(LEAST_NEW_RUNS, math.ceil(GROWTH * since.trained_runs)):
        return f"{new_runs} new runs since the last training, which knew {since.trained_runs}"
    return None
