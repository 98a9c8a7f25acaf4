"""A scenario: a run in a namespace of its own, and what Plimsoll already knows about its task.

Each scenario runs twice, unchanged: on a node without Plimsoll, and on the same node with it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import MIB

if TYPE_CHECKING:
    from tests.harm.stage import Stage

Manifest = dict[str, Any]

TASK: Final = "work"
"""The task of nearly every scenario; namespaces tell them apart."""
ASKED_MIB: Final = 128
"""The author's request, unless a scenario says otherwise."""
NEEDS_MIB: Final = 90
"""The run's need: below the request, above what the past suggests."""


class Ending(StrEnum):
    """The end of a run, as its author sees it."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    REFUSED = "refused"
    """The API server refused a pod of it."""
    DOUBLED = "doubled"
    """Somebody made a second pod beside the one that its maker waits for."""
    CHANGED = "changed"
    """A pod got another QoS class than its author chose."""
    PENDING = "pending"
    """None of its pods ever started."""
    UNFINISHED = "unfinished"
    """It started, but had not ended in time."""

    @property
    def rank(self) -> int:
        """How good it is: a run that still waits may succeed one day, a failed one may not."""
        if self is Ending.SUCCEEDED:
            return 2
        return int(self in {Ending.PENDING, Ending.UNFINISHED})


@dataclass(frozen=True, slots=True)
class Past:
    """Runs of the task that ended before: what Plimsoll has learned from.

    peaks_mib: of runs that succeeded, oldest first. allocated_mib: the limits they ran under, if
        these differ from the request. ran_s: how long each ran.
    """

    peaks_mib: tuple[float, ...]
    asked_mib: int = ASKED_MIB
    allocated_mib: tuple[int, ...] = ()
    ran_s: int = 60

    def rows(self, task: TaskId, now_s: float) -> Iterable[Mapping[str, object]]:
        """The rows of a history file (docs/history.md)."""
        for number, peak_mib in enumerate(self.peaks_mib):
            ended_s = now_s - 3600 * (len(self.peaks_mib) - number)
            allocated = self.allocated_mib[number] if self.allocated_mib else self.asked_mib
            yield {
                "namespace": task.namespace,
                "task": task.name,
                "run": f"past-{number}",
                "started_s": int(ended_s) - self.ran_s,
                "finished_s": int(ended_s),
                "peak_bytes": int(peak_mib * MIB),
                "request_bytes": self.asked_mib * MIB,
                "allocation_bytes": allocated * MIB,
            }


SMALL: Final = Past(tuple(38 + number % 3 for number in range(12)))
"""A dozen runs that needed a third of what was asked for: they tempt to lower the request."""


def history(pasts: Mapping[TaskId, Past], now_s: float) -> str:
    """A history file of several tasks."""
    rows = [row for task, past in pasts.items() for row in past.rows(task, now_s)]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


@dataclass(frozen=True, slots=True)
class Scenario:
    """One kind of run.

    name: says it in words. plays: makes the run's objects, does what its engine and the world do
    meanwhile, and says how it ended. past: None if Plimsoll never saw the task. without: how it
    ends without Plimsoll. around: objects of the namespace that are there before. lowers: Plimsoll
    has no reason not to lower the first size, so a suite in which it sizes nothing fails. alone: it
    harms Plimsoll itself, so it runs when the others have ended. namespace: if not one of its own.
    opted_in: its namespace asks that pods without a label are recognised. task: its task's name.
    leaves: an annotation that Plimsoll writes on one of its pods, while it runs at least; without
    it the scenario would prove nothing. taken_back: people tell Plimsoll to stop while its first
    pod runs, so that it decides on no later one. ends_itself_with: exit codes by which the program
    says that its memory was too small.
    """

    name: str
    plays: Callable[[Stage], Awaitable[Ending]]
    past: Past | None = SMALL
    without: Ending = Ending.SUCCEEDED
    around: tuple[Manifest, ...] = ()
    lowers: bool = False
    alone: bool = False
    namespace: str | None = None
    opted_in: bool = False
    task: str = TASK
    leaves: str | None = None
    taken_back: bool = False
    ends_itself_with: tuple[int, ...] = ()

    @property
    def is_told(self) -> bool:
        """Whether Plimsoll already knows the task, and sizes its namespace."""
        return self.past is not None and self.namespace is None
