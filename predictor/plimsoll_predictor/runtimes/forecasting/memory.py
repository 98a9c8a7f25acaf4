"""A forecaster's memory: the pasts that it learned, and the runs that have not ended."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from plimsoll_predictor.runtimes.forecasting.pasts import OwnerPast, TaskPast
from plimsoll_predictor.runtimes.forecasting.settings import (
    MAX_OPEN_RUNS,
    MAX_OPEN_S,
    MAX_OWNERS,
    MAX_TASKS,
    Settings,
)
from plimsoll_predictor.runtimes.forecasting.submitted_run import SubmittedRun


@dataclass(slots=True)
class Unsaved:
    """Names of the parts of a forecaster's state that changed since the last save.

    tasks, owners: their state is to be saved, or removed where it is None now.
    runs: open runs whose state is to be saved. ended: runs whose state is to be removed.
    """

    tasks: set[str] = field(default_factory=set)
    owners: set[str] = field(default_factory=set)
    shared: bool = False
    runs: set[str] = field(default_factory=set)
    ended: set[str] = field(default_factory=set)


class Memory:
    """Tasks, owners and open runs by their names; all are bounded, and the oldest go first.

    An open run was submitted and has not ended.
    """

    def __init__(self, settings: Settings) -> None:
        self.tasks: OrderedDict[str, TaskPast] = OrderedDict()
        self.owners: OrderedDict[str, OwnerPast] = OrderedDict()
        self.runs: OrderedDict[str, SubmittedRun] = OrderedDict()
        self.unsaved = Unsaved()
        self._settings = settings

    def task(self, name: str) -> TaskPast:
        """The task's past; a new one if there is none."""
        past = self.tasks.get(name)
        if past is not None:
            self.tasks.move_to_end(name)
            return past
        if len(self.tasks) >= MAX_TASKS:
            self.forget_task(next(iter(self.tasks)))
        past = self.tasks[name] = TaskPast(len(self._settings.task_half_lives))
        return past

    def owner_to_teach(self, name: str) -> OwnerPast:
        """The owner's past, for the caller to change; a new one if there is none."""
        self.unsaved.owners.add(name)
        self.unsaved.shared = True
        past = self.owners.get(name)
        if past is not None:
            self.owners.move_to_end(name)
            return past
        if len(self.owners) >= MAX_OWNERS:
            self.unsaved.owners.add(self.owners.popitem(last=False)[0])
        past = self.owners[name] = OwnerPast(len(self._settings.owner_half_lives))
        return past

    def open_run(self, run: str, submitted: SubmittedRun) -> None:
        """Hold a run until it ends."""
        self.unsaved.ended.discard(run)
        self.runs[run] = submitted
        past = self.task(submitted.task)
        past.open_runs += 1
        if submitted.started_s is not None:
            past.started(run, submitted.started_s)

    def end_run(self, run: str) -> SubmittedRun | None:
        """Let a run go; None if it is not open."""
        submitted = self.runs.pop(run, None)
        if submitted is None:
            return None
        self.tasks[submitted.task].ended(run)
        self.unsaved.runs.discard(run)
        self.unsaved.ended.add(run)
        return submitted

    def end_endless_runs(self, now_s: float) -> None:
        """Let the oldest runs go if their end was missed, or if there are too many."""
        while self.runs:
            run, oldest = next(iter(self.runs.items()))
            if len(self.runs) <= MAX_OPEN_RUNS and now_s - oldest.submitted_s <= MAX_OPEN_S:
                return
            self.end_run(run)

    def forget_past(self, name: str) -> None:
        """Forget what the task's runs taught it; its open runs stay."""
        before = self.tasks.get(name)
        if before is None:
            return
        past = self.tasks[name] = TaskPast(len(self._settings.task_half_lives))
        past.open_runs, past.running = before.open_runs, before.running
        self.unsaved.tasks.add(name)

    def forget_task(self, name: str) -> None:
        """Forget the task and its open runs; what it taught others stays."""
        past = self.tasks.get(name)
        if past is None:
            return
        if past.open_runs:
            for run in [run for run, submitted in self.runs.items() if submitted.task == name]:
                self.end_run(run)
        del self.tasks[name]
        self.unsaved.tasks.add(name)
