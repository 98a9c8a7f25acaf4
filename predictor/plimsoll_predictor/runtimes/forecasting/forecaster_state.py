"""The parts of a forecaster's memory as bytes: saved, and restored exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from plimsoll_predictor.runtimes.forecasting import feature_state
from plimsoll_predictor.runtimes.forecasting.grid import N_BINS, FloatArray
from plimsoll_predictor.runtimes.forecasting.memory import Memory, Unsaved
from plimsoll_predictor.runtimes.forecasting.pasts import OwnerPast, TaskPast
from plimsoll_predictor.runtimes.forecasting.settings import MAX_NAME, Settings
from plimsoll_predictor.runtimes.forecasting.shared import (
    N_AGES,
    N_RUNS,
    PIT_BINS,
    Shared,
    no_pits_of_width,
)
from plimsoll_predictor.runtimes.forecasting.state_bytes import (
    StateBytes,
    numbers,
    packed,
    shaped,
    unpacked,
)
from plimsoll_predictor.runtimes.forecasting.submitted_run import (
    ParentExperts,
    SubmittedRun,
    TaskExperts,
)
from plimsoll_predictor.runtimes.forecasting.usual import MOST_VALUES, Usual

_OF_WIDTH: Final = "pitOfWidth"
_OF_WIDTH_IN_CONTEXT: Final = "pitOfWidthInContext"
_CURVE_OF_WIDTH: Final = "curveOfWidth"


class ForecasterState:
    """Saves the parts of a forecaster's memory, and restores them exactly.

    ``restore_...`` change nothing and raise ValueError for bytes of another configuration.
    """

    def __init__(self, settings: Settings, memory: Memory, shared: Shared) -> None:
        self._bytes = StateBytes(settings)
        self._experts = len(settings.task_half_lives)
        self._owner_experts = len(settings.owner_half_lives)
        self._memory = memory
        self._shared = shared

    def take_unsaved(self) -> Unsaved:
        """The names of what changed since the last call; the caller saves those parts."""
        taken, self._memory.unsaved = self._memory.unsaved, Unsaved()
        return taken

    def task(self, name: str) -> bytes | None:
        """The task's past without its open runs; None if no run has finished."""
        past = self._memory.tasks.get(name)
        if past is None or not past.runs:
            return None
        head = {"runs": past.runs, "lastFinish_s": past.last_finish_s}
        head |= feature_state.of_task(past)
        values = np.array(past.usual.values_s, dtype=np.float32)
        times = np.array(past.usual.times, dtype=np.float64)
        arrays = [past.counts, past.totals, past.credit, values, times]
        return self._bytes.write("task", head, arrays)

    def restore_task(self, name: str, state: bytes) -> None:
        """Replace the task's past by the bytes of ``task``; its open runs stay."""
        head, arrays = self._bytes.read("task", state, 5)
        counts, totals, credit, values, times = arrays
        past = TaskPast(self._experts)
        past.runs = _count(head, "runs")
        past.last_finish_s = _time(head, "lastFinish_s")
        past.counts = shaped(counts, self._experts, N_BINS)
        past.totals = shaped(totals, self._experts)
        past.credit = shaped(credit, self._experts)
        if not len(values) == len(times) <= MOST_VALUES or np.any(np.diff(values) <= 0):
            raise ValueError("the runtimes of a task's state do not rise")
        past.usual = Usual(
            map(float, shaped(values, len(values))), map(int, shaped(times, len(values)))
        )
        feature_state.restore_task(past, head)
        before = self._memory.tasks.get(checked_name(name))
        if before is not None:
            past.open_runs, past.running = before.open_runs, before.running
        self._memory.tasks[name] = past

    def count_open_runs(self, name: str, started_s: Sequence[float | None]) -> None:
        """Count a task's open runs in forecasts of its next run, without holding them.

        started_s: when each started; None for one that waits. They can neither end nor be scored.
        """
        past = self._memory.task(checked_name(name))
        past.open_runs = len(started_s)
        past.running = {str(at): each for at, each in enumerate(started_s) if each is not None}
        past.last_starts = None

    def owner(self, name: str) -> bytes | None:
        """The owner's past; None if there is none."""
        past = self._memory.owners.get(name)
        if past is None:
            return None
        arrays = [past.counts, past.totals, past.credit]
        head = {"runs": past.runs, **feature_state.of_owner(past)}
        return self._bytes.write("owner", head, arrays)

    def restore_owner(self, name: str, state: bytes) -> None:
        """Replace the owner's past by the bytes of ``owner``."""
        head, (counts, totals, credit) = self._bytes.read("owner", state, 3)
        past = OwnerPast(self._owner_experts)
        past.runs = _count(head, "runs")
        past.counts = shaped(counts, self._owner_experts, N_BINS)
        past.totals = shaped(totals, self._owner_experts)
        past.credit = shaped(credit, self._owner_experts + 1)
        feature_state.restore_owner(past, head)
        self._memory.owners[checked_name(name)] = past

    def shared(self) -> bytes:
        """The part that all tasks share."""
        shared = self._shared
        weights = [shared.weights, shared.owner_weights]
        arrays = [shared.counts, *weights, shared.pit, shared.pit_in_context]
        head = {
            "total": shared.total,
            _OF_WIDTH: packed(shared.pit_of_width),
            _OF_WIDTH_IN_CONTEXT: packed(shared.pit_of_width_in_context),
            **feature_state.of_shared(shared),
        }
        return self._bytes.write("shared", head, arrays)

    def restore_shared(self, state: bytes) -> None:
        """Replace the part that all tasks share by the bytes of ``shared``."""
        head, arrays = self._bytes.read("shared", state, 5)
        total = _number(head, "total")
        counts = shaped(arrays[0], N_BINS)
        weights = shaped(arrays[1], N_RUNS, N_AGES, self._experts)
        owner_weights = shaped(arrays[2], N_RUNS, self._owner_experts + 1)
        pit = shaped(arrays[3], N_RUNS, PIT_BINS)
        pit_in_context = shaped(arrays[4], N_RUNS, N_AGES, PIT_BINS)
        of_width, in_context = no_pits_of_width()
        if _OF_WIDTH in head:
            of_width = unpacked(head[_OF_WIDTH], *of_width.shape)
            in_context = unpacked(head.get(_OF_WIDTH_IN_CONTEXT), *in_context.shape)
        if not total > 0 or not counts.sum() > 0:
            raise ValueError("the shared state counts nothing")
        feature_state.restore_shared(self._shared, head)
        pits, pits_of_width = (pit, pit_in_context), (of_width, in_context)
        self._shared.restore(total, counts, (weights, owner_weights), pits, pits_of_width)

    def run(self, name: str) -> bytes | None:
        """An open run with its experts' forecasts; None for any other run."""
        submitted = self._memory.runs.get(name)
        if submitted is None:
            return None
        head = {
            "task": submitted.task,
            "owner": submitted.owner,
            "submitted_s": submitted.submitted_s,
            "started_s": submitted.started_s,
            "inFlight": submitted.open_beside,
            "context": list(submitted.context),
            "knownRuns": submitted.known_runs,
            "usual_s": submitted.usual_s,
            _CURVE_OF_WIDTH: submitted.curve_of_width.tolist(),
            **feature_state.of_run(submitted),
        }
        parent, experts = submitted.parent, submitted.experts
        arrays = [
            parent.counts,
            parent.totals,
            parent.everybody,
            parent.weights,
            experts.counted,
            experts.totals,
            experts.weights,
            experts.mixed,
            submitted.curve,
        ]
        return self._bytes.write("kept", head, arrays)

    def restore_run(self, name: str, state: bytes) -> None:
        """Open a run again, from the bytes of ``run``; call in the order of submission."""
        head, arrays = self._bytes.read("kept", state, 9)
        context = tuple(int(at) for at in head["context"])
        if len(context) != 2 or not (0 <= context[0] < N_RUNS and 0 <= context[1] < N_AGES):
            raise ValueError(f"{context!r} is no context")
        submitted_s = _time(head, "submitted_s")
        if submitted_s is None:
            raise ValueError("it was never submitted")
        curve = curve_of_width = shaped(arrays[8], PIT_BINS + 1)
        if _CURVE_OF_WIDTH in head:
            curve_of_width = shaped(numbers(head[_CURVE_OF_WIDTH]), PIT_BINS + 1)
        submitted = SubmittedRun(
            task=checked_name(head["task"]),
            owner=checked_name(head["owner"]),
            submitted_s=submitted_s,
            started_s=_time(head, "started_s"),
            open_beside=_count(head, "inFlight"),
            context=(context[0], context[1]),
            known_runs=_count(head, "knownRuns"),
            usual_s=_time(head, "usual_s"),
            parent=self._parent(arrays[:4]),
            experts=self._task_experts(arrays[4:8]),
            curve=curve,
            curve_of_width=curve_of_width,
        )
        feature_state.restore_run(submitted, head)
        self._memory.end_run(name)
        self._memory.open_run(name, submitted)

    def _parent(self, arrays: list[FloatArray]) -> ParentExperts:
        counts, totals, everybody, weights = arrays
        experts = self._owner_experts if len(counts) else 0
        return ParentExperts(
            shaped(counts, experts, N_BINS),
            shaped(totals, experts),
            shaped(everybody, N_BINS),
            shaped(weights, experts + 1),
        )

    def _task_experts(self, arrays: list[FloatArray]) -> TaskExperts:
        counted, totals, weights, mixed = arrays
        experts = self._experts if len(counted) else 1
        return TaskExperts(
            shaped(counted, experts if len(counted) else 0, N_BINS),
            shaped(totals, experts),
            shaped(weights, experts),
            shaped(mixed, N_BINS + 1),
        )


def checked_name(name: Any) -> str:
    """A task's, an owner's or a run's name; ValueError if it is too long or no text."""
    if not isinstance(name, str) or len(name) > MAX_NAME:
        raise ValueError(
            f"{str(name)[:80]!r}… is no name; give text of up to {MAX_NAME} characters"
        )
    return name


def _number(head: dict[str, Any], key: str) -> float:
    value = head.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{key} is {value!r}, no number")
    return float(value)


def _count(head: dict[str, Any], key: str) -> int:
    value = _number(head, key)
    if value < 0 or value != int(value):
        raise ValueError(f"{key} is {value!r}, no count")
    return int(value)


def _time(head: dict[str, Any], key: str) -> float | None:
    return None if head.get(key) is None else _number(head, key)
