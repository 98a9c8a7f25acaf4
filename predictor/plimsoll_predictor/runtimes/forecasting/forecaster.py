"""Forecasts runs' runtimes from what ran before, and learns from each that finishes."""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass

from plimsoll_predictor.runtimes.forecasting.forecast import Forecast
from plimsoll_predictor.runtimes.forecasting.grid import checked_runtime
from plimsoll_predictor.runtimes.forecasting.kept import Kept
from plimsoll_predictor.runtimes.forecasting.mixture import Mixture
from plimsoll_predictor.runtimes.forecasting.owner_past import OwnerPast
from plimsoll_predictor.runtimes.forecasting.settings import (
    MAX_FLIGHT_S,
    MAX_IN_FLIGHT,
    MAX_OWNERS,
    MAX_TASKS,
    SETTINGS,
    Settings,
)
from plimsoll_predictor.runtimes.forecasting.states import States, checked_name
from plimsoll_predictor.runtimes.forecasting.task_past import TaskPast


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs from when changes were last taken.

    tasks, owners: their state is to be saved, or removed where it is None now. kept: runs whose
    kept state is to be saved. gone: runs whose kept state is to be removed.
    """

    tasks: frozenset[str]
    owners: frozenset[str]
    shared: bool
    kept: frozenset[str]
    gone: frozenset[str]


class Forecaster:
    """Knows tasks, their owners and the runs in flight; all of them bounded, the oldest go.

    Deterministic: the same calls give the same state, byte for byte, whether or not it was saved
    and taken up between them. Times are Unix seconds, runtimes seconds.
    """

    def __init__(self, settings: Settings = SETTINGS) -> None:
        self._mixture = Mixture(settings)
        self._states = States(settings)
        self._tasks: OrderedDict[str, TaskPast] = OrderedDict()
        self._owners: OrderedDict[str, OwnerPast] = OrderedDict()
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        self._changed_tasks: set[str] = set()
        self._changed_owners: set[str] = set()
        self._changed_shared = False
        self._changed_kept: set[str] = set()
        self._gone: set[str] = set()

    def forecast(self, task: str, owner: str, at_s: float) -> Forecast:
        """The runtime of a run of the task submitted now. Changes nothing."""
        return self._says(task, owner, at_s).forecast()

    def submit(self, run: str, task: str, owner: str, at_s: float) -> Forecast:
        """The same, and keeps what each expert said until the run ends."""
        checked_name(task), checked_name(owner), _checked_time(at_s)
        if run in self._kept:
            self.drop(run)
        kept = self._says(task, owner, at_s)
        self._kept[run] = kept
        self._task(task).in_flight += 1
        self._changed_kept.add(run)
        self._gone.discard(run)
        self._drop_never_ending(at_s)
        return kept.forecast()

    def in_flight(self) -> tuple[str, ...]:
        """The runs that were submitted and have not ended, the first submitted first."""
        return tuple(self._kept)

    def forecast_of(self, run: str) -> Forecast | None:
        """What was forecast of a run in flight; None of any other."""
        kept = self._kept.get(run)
        return None if kept is None else kept.forecast()

    def start(self, run: str, at_s: float) -> None:
        """The run started; one nobody saw submitted is ignored."""
        kept = self._kept.get(run)
        if kept is not None:
            kept.started_s = _checked_time(at_s)
            self._tasks[kept.task].started(run, at_s)
            self._changed_kept.add(run)

    def finish(self, run: str, runtime_s: float, at_s: float) -> float | None:
        """Learn from a run that succeeded, and score what was said of it.

        Returns the share of its forecast that lay below its runtime: near 0 or 1 for an
        anomaly; None for a run nobody saw submitted, which teaches nothing (``learn`` does).
        Raises ValueError for what is no runtime: the run is over, but nothing is learned.
        """
        kept = self._let_go(run)
        if kept is None:
            return None
        runtime_s, at_s = checked_runtime(runtime_s), _checked_time(at_s)
        share = kept.forecast().share_below(runtime_s)
        past, owner = self._task(kept.task), self._owner(kept.owner)
        self._mixture.score(kept, past, owner, runtime_s)
        self._mixture.learn(past, owner, runtime_s, kept.alone)
        past.finished(at_s)
        self._changed_tasks.add(kept.task)
        return share

    def drop(self, run: str) -> None:
        """The run ended without a runtime: killed, failed, or forgotten."""
        self._let_go(run)

    def learn(self, task: str, owner: str, runtime_s: float, at_s: float) -> None:
        """Learn the runtime of a run nobody saw submitted. ValueError for what is none."""
        checked_name(task), checked_name(owner)
        runtime_s, at_s = checked_runtime(runtime_s), _checked_time(at_s)
        past = self._task(task)
        self._mixture.learn(past, self._owner(owner), runtime_s, 1.0)
        past.finished(at_s)
        self._changed_tasks.add(task)

    def forget(self, task: str) -> None:
        """Forget the task and its runs in flight; what it taught others stays."""
        past = self._tasks.get(task)
        if past is None:
            return
        if past.in_flight:
            for run in [run for run, kept in self._kept.items() if kept.task == task]:
                self._let_go(run)
        del self._tasks[task]
        self._changed_tasks.add(task)

    def task_state(self, task: str) -> bytes | None:
        """What is known of the task; None where no run of it has finished."""
        past = self._tasks.get(task)
        return self._states.task(past) if past is not None and past.runs else None

    def owner_state(self, owner: str) -> bytes | None:
        """What is known of the owner; None where nothing is."""
        past = self._owners.get(owner)
        return None if past is None else self._states.owner(past)

    def shared_state(self) -> bytes:
        """What all tasks share."""
        return self._states.shared(self._mixture.shared)

    def kept_state(self, run: str) -> bytes | None:
        """What was said of a run in flight; None of any other."""
        kept = self._kept.get(run)
        return None if kept is None else self._states.kept(kept)

    def take_up_task(self, task: str, state: bytes) -> None:
        """Take up what ``task_state`` gave; ValueError for anything else."""
        past = self._states.read_task(state)
        before = self._tasks.get(checked_name(task))
        if before is not None:
            past.in_flight, past.running = before.in_flight, before.running
        self._tasks[task] = past

    def take_up_owner(self, owner: str, state: bytes) -> None:
        """Take up what ``owner_state`` gave; ValueError for anything else."""
        self._owners[checked_name(owner)] = self._states.read_owner(state)

    def take_up_shared(self, state: bytes) -> None:
        """Take up what ``shared_state`` gave; ValueError for anything else."""
        self._states.read_shared(state, self._mixture.shared)

    def take_up_kept(self, run: str, state: bytes) -> None:
        """Take up what ``kept_state`` gave, in the order of submission; ValueError likewise."""
        kept = self._states.read_kept(state)
        self._let_go(run)
        self._gone.discard(run)
        self._kept[run] = kept
        past = self._task(kept.task)
        past.in_flight += 1
        if kept.started_s is not None:
            past.started(run, kept.started_s)

    def take_changes(self) -> Changes:
        """What changed since the last call; the caller saves it."""
        taken = Changes(
            tasks=frozenset(self._changed_tasks),
            owners=frozenset(self._changed_owners),
            shared=self._changed_shared,
            kept=frozenset(self._changed_kept),
            gone=frozenset(self._gone),
        )
        for changed in (self._changed_tasks, self._changed_owners, self._changed_kept, self._gone):
            changed.clear()
        self._changed_shared = False
        return taken

    def _says(self, task: str, owner: str, at_s: float) -> Kept:
        names = (task, owner)
        return self._mixture.says(names, self._tasks.get(task), self._owners.get(owner), at_s)

    def _task(self, task: str) -> TaskPast:
        past = self._tasks.get(task)
        if past is not None:
            self._tasks.move_to_end(task)
            return past
        if len(self._tasks) >= MAX_TASKS:
            self.forget(next(iter(self._tasks)))
        past = self._tasks[task] = self._mixture.new_task()
        return past

    def _owner(self, owner: str) -> OwnerPast:
        """To be learned into."""
        self._changed_owners.add(owner)
        self._changed_shared = True
        past = self._owners.get(owner)
        if past is not None:
            self._owners.move_to_end(owner)
            return past
        if len(self._owners) >= MAX_OWNERS:
            self._changed_owners.add(self._owners.popitem(last=False)[0])
        past = self._owners[owner] = self._mixture.new_owner()
        return past

    def _let_go(self, run: str) -> Kept | None:
        kept = self._kept.pop(run, None)
        if kept is None:
            return None
        self._tasks[kept.task].ended(run)
        self._changed_kept.discard(run)
        self._gone.add(run)
        return kept

    def _drop_never_ending(self, now_s: float) -> None:
        while True:
            run, oldest = next(iter(self._kept.items()))
            if len(self._kept) <= MAX_IN_FLIGHT and now_s - oldest.submitted_s <= MAX_FLIGHT_S:
                return
            self._let_go(run)


def _checked_time(at_s: float) -> float:
    if not math.isfinite(at_s):
        raise ValueError(f"{at_s!r} is no time; give Unix seconds")
    return at_s
