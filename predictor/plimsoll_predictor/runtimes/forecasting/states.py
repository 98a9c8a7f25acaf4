"""The parts of the forecaster's state, to bytes and back, exactly."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from plimsoll_predictor.runtimes.forecasting.grid import N_BINS, FloatArray
from plimsoll_predictor.runtimes.forecasting.kept import Kept, ParentSaid, TaskSaid
from plimsoll_predictor.runtimes.forecasting.owner_past import OwnerPast
from plimsoll_predictor.runtimes.forecasting.settings import MAX_NAME, Settings
from plimsoll_predictor.runtimes.forecasting.shared import N_AGES, N_RUNS, PIT_BINS, Shared
from plimsoll_predictor.runtimes.forecasting.state_bytes import StateBytes, shaped
from plimsoll_predictor.runtimes.forecasting.task_past import TaskPast
from plimsoll_predictor.runtimes.forecasting.usual import MOST_VALUES, Usual

_NO_ARRAY = np.zeros((0, N_BINS), dtype=np.float32)


class States:
    """Writes and reads the parts of one configuration; ``read_...`` raise ValueError."""

    def __init__(self, settings: Settings) -> None:
        self._bytes = StateBytes(settings)
        self._experts = len(settings.task_half_lives)
        self._owner_experts = len(settings.owner_half_lives)

    def task(self, past: TaskPast) -> bytes:
        """What is known of a task, without its runs in flight: those come with ``kept``."""
        head = {"runs": past.runs, "lastFinish_s": past.last_finish_s}
        values = np.array(past.usual.values_s, dtype=np.float32)
        times = np.array(past.usual.times, dtype=np.float64)
        arrays = [past.counts, past.totals, past.credit, values, times]
        return self._bytes.write("task", head, arrays)

    def read_task(self, state: bytes) -> TaskPast:
        """What ``task`` wrote."""
        head, arrays = self._read("task", state, 5)
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
        return past

    def owner(self, past: OwnerPast) -> bytes:
        """What is known of an owner."""
        return self._bytes.write(
            "owner", {"runs": past.runs}, [past.counts, past.totals, past.credit]
        )

    def read_owner(self, state: bytes) -> OwnerPast:
        """What ``owner`` wrote."""
        head, (counts, totals, credit) = self._read("owner", state, 3)
        past = OwnerPast(self._owner_experts)
        past.runs = _count(head, "runs")
        past.counts = shaped(counts, self._owner_experts, N_BINS)
        past.totals = shaped(totals, self._owner_experts)
        past.credit = shaped(credit, self._owner_experts + 1)
        return past

    def shared(self, shared: Shared) -> bytes:
        """What all tasks share."""
        arrays = [
            shared.counts,
            shared.weights,
            shared.owner_weights,
            shared.pit,
            shared.pit_in_context,
        ]
        return self._bytes.write("shared", {"total": shared.total}, arrays)

    def read_shared(self, state: bytes, into: Shared) -> None:
        """What ``shared`` wrote; nothing changes if it is refused."""
        head, arrays = self._read("shared", state, 5)
        total = _number(head, "total")
        counts = shaped(arrays[0], N_BINS)
        weights = shaped(arrays[1], N_RUNS, N_AGES, self._experts)
        owner_weights = shaped(arrays[2], N_RUNS, self._owner_experts + 1)
        pit = shaped(arrays[3], N_RUNS, PIT_BINS)
        pit_in_context = shaped(arrays[4], N_RUNS, N_AGES, PIT_BINS)
        if not total > 0 or not counts.sum() > 0:
            raise ValueError("the shared state counts nothing")
        into.take_up(total, counts, (weights, owner_weights), (pit, pit_in_context))

    def kept(self, kept: Kept) -> bytes:
        """What was said of a run in flight."""
        head = {
            "task": kept.task,
            "owner": kept.owner,
            "submitted_s": kept.submitted_s,
            "started_s": kept.started_s,
            "inFlight": kept.in_flight,
            "context": list(kept.context),
            "knownRuns": kept.known_runs,
            "usual_s": kept.usual_s,
        }
        parent, said = kept.parent, kept.said
        nothing: FloatArray = np.zeros(0)
        arrays = [
            _NO_ARRAY if parent.counts is None else parent.counts,
            nothing if parent.totals is None else parent.totals,
            parent.everybody,
            parent.weights,
            _NO_ARRAY if said.counted is None else said.counted,
            said.totals,
            said.weights,
            said.mixed,
            kept.curve,
        ]
        return self._bytes.write("kept", head, arrays)

    def read_kept(self, state: bytes) -> Kept:
        """What ``kept`` wrote."""
        head, arrays = self._read("kept", state, 9)
        context = tuple(int(at) for at in head["context"])
        if len(context) != 2 or not (0 <= context[0] < N_RUNS and 0 <= context[1] < N_AGES):
            raise ValueError(f"{context!r} is no context")
        submitted_s = _time(head, "submitted_s")
        if submitted_s is None:
            raise ValueError("it was never submitted")
        return Kept(
            task=checked_name(head["task"]),
            owner=checked_name(head["owner"]),
            submitted_s=submitted_s,
            started_s=_time(head, "started_s"),
            in_flight=_count(head, "inFlight"),
            context=(context[0], context[1]),
            known_runs=_count(head, "knownRuns"),
            usual_s=_time(head, "usual_s"),
            parent=self._parent(arrays[:4]),
            said=self._said(arrays[4:8]),
            curve=shaped(arrays[8], PIT_BINS + 1),
        )

    def _parent(self, arrays: list[FloatArray]) -> ParentSaid:
        counts, totals, everybody, weights = arrays
        known = len(counts) > 0
        experts = self._owner_experts
        return ParentSaid(
            shaped(counts, experts, N_BINS) if known else None,
            shaped(totals, experts) if known else None,
            shaped(everybody, N_BINS),
            shaped(weights, experts + 1 if known else 1),
        )

    def _said(self, arrays: list[FloatArray]) -> TaskSaid:
        counted, totals, weights, mixed = arrays
        known = len(counted) > 0
        experts = self._experts if known else 1
        return TaskSaid(
            shaped(counted, experts, N_BINS) if known else None,
            shaped(totals, experts),
            shaped(weights, experts),
            shaped(mixed, N_BINS + 1),
        )

    def _read(self, kind: str, state: bytes, count: int) -> tuple[dict[str, Any], list[FloatArray]]:
        head, arrays = self._bytes.read(kind, state)
        if len(arrays) != count:
            raise ValueError(f"a state of {kind!r} has {count} arrays, not {len(arrays)}")
        return head, arrays


def checked_name(name: Any) -> str:
    """A task's, an owner's or a run's name; ValueError for what is too long or no text."""
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
