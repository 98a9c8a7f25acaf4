"""Places attempts of the past in their runs, in the order in which they ended."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Final

from plimsoll_operator.pods.status import pod_uid
from plimsoll_predictor.core.bounded_text import MOST_RUN_BYTES, bounded
from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.core.task import TaskId

KEPT: Final = 100_000
"""The most runs that are remembered, so that their next attempt counts as theirs."""
_BY_OWNERS_NAME: Final = tuple(
    f"{maker}:" for maker in ("job", "owner", "argo", "jobset", "kubeflow", "ray", "spark")
)
"""Beginnings of keys that may have an owner's name in place of its UID, or in any case. Another
owner may have it again."""


@dataclass(slots=True)
class _Run:
    """name: of this execution. attempts: seen so far. over: whether one of them succeeded."""

    name: str
    attempts: int = 0
    over: bool = False


class PastRuns:
    """The runs of one import; another import names those that it finds differently."""

    def __init__(self) -> None:
        self._runs: OrderedDict[tuple[TaskId, str], _Run] = OrderedDict()

    def place(self, attempt: Observation) -> Observation:
        """Name the run of an attempt, and number the attempt within it.

        A run ends with its first success. If its key comes again, it is another execution. That
        one has its first pod's UID in its name, and so has each run that is named by an owner:
        imports of other days know nothing of this one's runs.
        """
        key = (attempt.task, attempt.run)
        run = self._runs.pop(key, None)
        if run is None and not attempt.run.startswith(_BY_OWNERS_NAME):
            run = _Run(attempt.run)
        elif run is None or run.over:
            name = f"{attempt.run}#{pod_uid(attempt.attempt_uid)}"
            run = _Run(bounded(name, MOST_RUN_BYTES))
        run.attempts += 1
        run.over = attempt.outcome is Outcome.SUCCEEDED
        self._runs[key] = run
        if len(self._runs) > KEPT:
            self._runs.popitem(last=False)
        return replace(attempt, run=run.name, attempt=run.attempts)
