"""Looks now and then at what is known of splitting tasks' Jobs, for the tasks' statuses.

A look reads up to 500 chunks and plays a Job many times: a tenth of a second for a hundred workers.
While a Job's pods end one after the other, a look is worth that twice a minute.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final, TypeVar

import structlog

from plimsoll_operator.profile.splitting_status import SplitFacts, TaskSplitting
from plimsoll_operator.views.splitting_facts import AskedJob, cut_facts, leased_facts
from plimsoll_operator.wording.splitting_words import (
    words_for_cut,
    words_for_job,
    words_for_last_leased,
)
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.splitting.proposing import TIME
from plimsoll_predictor.store import Store

log = structlog.get_logger()
T = TypeVar("T")

LOOKED_EVERY_S: Final = 30.0
MOST_TASKS: Final = 1_000
"""Tasks whose last look is kept; the others are looked at more often."""


class SplittingKnown:
    """Keeps the last looks. One call at a time, from any thread."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._looks: OrderedDict[TaskId, tuple[float, TaskSplitting]] = OrderedDict()

    def of(
        self, task: TaskId, now_s: float, *, has_chunks: bool, memory_weight: float = TIME
    ) -> tuple[TaskSplitting, bool]:
        """Return what is known, and whether it is an earlier look, less than LOOKED_EVERY_S old.

        now_s: Unix seconds. has_chunks: whether attempts of the task said how many items they do.
        memory_weight: the policy's, see ``Aim``.
        Cost: a query by key for tasks without such Jobs.

        Raises:
            StoreError: if the store cannot be read.
        """
        looked_s, found = self._looks.get(task, (None, TaskSplitting()))
        if looked_s is not None and 0 <= now_s - looked_s < LOOKED_EVERY_S:
            return found, True
        found = TaskSplitting(
            cut=_made(task, memory_weight, self._cut) if has_chunks else None,
            leased=_made(task, memory_weight, self._leased),
        )
        self._looks.pop(task, None)
        if found != TaskSplitting():
            self._looks[task] = (now_s, found)
            if len(self._looks) > MOST_TASKS:
                self._looks.popitem(last=False)
        return found, False

    def _cut(self, task: TaskId, memory_weight: float) -> SplitFacts | None:
        facts = cut_facts(self._store, task, AskedJob(memory_weight=memory_weight))
        if facts is None:
            return None
        return SplitFacts(
            of="pods",
            costs=facts.learned.costs,
            peaks=facts.learned.peaks,
            largest=facts.learned.largest,
            last=words_for_job(facts.job.items, facts.job.workers, facts.job.pods),
            verdict=words_for_cut(facts.job, facts.cut, memory_weight),
        )

    def _leased(self, task: TaskId, memory_weight: float) -> SplitFacts | None:
        facts = leased_facts(self._store, task, AskedJob(memory_weight=memory_weight))
        if facts is None:
            return None
        return SplitFacts(
            of="leases",
            costs=facts.learned.costs,
            peaks=facts.learned.peaks,
            largest=facts.learned.largest,
            last=words_for_last_leased(facts.learned.last),
            verdict=facts.verdict,
        )


def _made(
    task: TaskId, memory_weight: float, make: Callable[[TaskId, float], T | None]
) -> T | None:
    """Return the facts; None if pods report nonsense, so that the rest of the status is written."""
    try:
        return make(task, memory_weight)
    except (ArithmeticError, ValueError):
        log.exception("splitting is not published", task=str(task))
        return None
