"""Counts what each attempt asked for, got and used. It counts once, when the attempt ends."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from prometheus_client import CollectorRegistry, Counter

from plimsoll_operator.metrics.tasks import TaskMetrics
from plimsoll_operator.sizing.decision_note import DecisionNote
from plimsoll_predictor.core.decision import Reason
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.record import Cause, Observation, Outcome

AWAITED: Final = 5_000
"""The most ended attempts that wait for their final peak; it comes within seconds, or never."""

REQUEST: Final = "request"
FIRST: Final = "first"
LIFT: Final = "lift"


@dataclass(frozen=True, slots=True)
class Sizes:
    """The bytes that one attempt asked for and those reserved for it; None if there were none.

    at: the size at which it ran: the user's own ``request``, Plimsoll's ``first`` size, or a
        ``lift`` after an OOM kill.
    """

    asked_bytes: int | None
    reserved_bytes: int | None
    at: str


def sizes_of(observation: Observation, mode: Mode, note: DecisionNote | None) -> Sizes:
    """Say how the attempt was sized, by the mode that held for it and the decision's note."""
    asked_bytes = observation.request_bytes
    if mode is not Mode.ENFORCE:
        return Sizes(asked_bytes, asked_bytes, REQUEST)
    reserved_bytes = observation.reserved_bytes
    if note is None or note.allocation_bytes is None:
        return Sizes(asked_bytes, reserved_bytes, REQUEST)
    if observation.attempt > 1 or note.reason is Reason.LIFTED:
        return Sizes(asked_bytes, reserved_bytes, LIFT)
    at = REQUEST if note.allocation_bytes == asked_bytes else FIRST
    return Sizes(asked_bytes, reserved_bytes, at)


class AttemptMetrics:
    """Counters of ended attempts. Call ``ended`` once for each, ``measured`` at any time."""

    def __init__(self, registry: CollectorRegistry, tasks: TaskMetrics) -> None:
        def memory_time(name: str, words: str, labels: tuple[str, ...] = ()) -> Counter:
            return Counter(f"plimsoll_memory_{name}_byte_seconds", words, labels, registry=registry)

        self._tasks = tasks
        self._awaited: OrderedDict[str, int | None] = OrderedDict()
        """Attempt UID -> bytes reserved for it if known, until its peak is known."""
        self._ended = Counter(
            "plimsoll_attempts",
            "Attempts seen to end, by outcome and, if they did not succeed, by cause.",
            ["outcome", "cause"],
            registry=registry,
        )
        self._measured = Counter(
            "plimsoll_attempts_measured",
            "Attempts that succeeded and whose peak became known.",
            registry=registry,
        )
        self._oom_kills = Counter(
            "plimsoll_oom_kills",
            "OOM kills, by the size they happened at: the user's request, Plimsoll's first size,"
            " or a lift.",
            ["at"],
            registry=registry,
        )
        self._killed_below_request = Counter(
            "plimsoll_kills_below_request",
            "Attempts killed at a size below their request, or ended there as their node was full,"
            " by cause.",
            ["cause"],
            registry=registry,
        )
        self._requested = memory_time(
            "requested",
            "Memory-time that ended attempts asked for; not of those killed below their request.",
        )
        self._reserved = memory_time("reserved", "Memory-time reserved for ended attempts.")
        self._saved = memory_time("saved", "Memory-time reserved less than was asked for.")
        self._added = memory_time(
            "added",
            "Memory-time reserved beyond what was asked for, and by attempts killed below it.",
        )
        self._wasted = memory_time(
            "wasted",
            "Memory-time reserved and not used: above the peak, or all of a failed attempt's.",
            ("outcome",),
        )
        self._ended.labels(Outcome.SUCCEEDED.value, "")
        for cause in Cause:
            self._ended.labels(cause.outcome.value, cause.value)
            if cause.is_kill or cause is Cause.NODE_PRESSURE:
                self._killed_below_request.labels(cause.value)
        for outcome in Outcome:
            self._wasted.labels(outcome.value)
        for at in (REQUEST, FIRST, LIFT):
            self._oom_kills.labels(at)

    def ended(self, observation: Observation, sizes: Sizes) -> None:
        """Count an attempt whose end was recorded for the first time."""
        outcome = observation.outcome
        self._ended.labels(outcome.value, observation.cause or "").inc()
        if outcome is Outcome.OOM_KILLED:
            self.killed(observation, sizes)
        elif observation.killed_below_request:
            self._killed_below_request.labels(observation.cause or "").inc()
        if outcome is Outcome.SUCCEEDED:
            self._awaited[observation.attempt_uid] = sizes.reserved_bytes
            if len(self._awaited) > AWAITED:
                self._awaited.popitem(last=False)
            self.measured(observation)
        runtime_s = observation.runtime_s
        if sizes.reserved_bytes is None or runtime_s is None:
            return
        self._reserved.inc(sizes.reserved_bytes * runtime_s)
        self._compare(observation, sizes, runtime_s)
        if outcome is not Outcome.SUCCEEDED:
            self._waste(observation, sizes.reserved_bytes * runtime_s)

    def killed(self, observation: Observation, sizes: Sizes) -> None:
        """Count a kill, which may become known after the end was counted as something else."""
        self._oom_kills.labels(sizes.at).inc()
        if observation.killed_below_request:
            self._killed_below_request.labels(observation.cause or "").inc()
        self._tasks.oom_killed(observation.task)

    def measured(self, observation: Observation) -> None:
        """Count the attempt's peak once, as soon as it is known."""
        peak_bytes, runtime_s = observation.peak_bytes, observation.runtime_s
        if peak_bytes is None or observation.attempt_uid not in self._awaited:
            return
        reserved_bytes = self._awaited.pop(observation.attempt_uid)
        self._measured.inc()
        if reserved_bytes is not None and runtime_s is not None:
            self._waste(observation, max(0, reserved_bytes - peak_bytes) * runtime_s)

    def _compare(self, observation: Observation, sizes: Sizes, runtime_s: float) -> None:
        asked_bytes, reserved_bytes = sizes.asked_bytes, sizes.reserved_bytes
        if asked_bytes is None or reserved_bytes is None:
            return
        if observation.outcome is Outcome.OOM_KILLED and observation.killed_below_request:
            # Its request would have been enough; the attempt that succeeds counts the request.
            self._added.inc(reserved_bytes * runtime_s)
            return
        self._requested.inc(asked_bytes * runtime_s)
        saved = (asked_bytes - reserved_bytes) * runtime_s
        (self._saved if saved >= 0 else self._added).inc(abs(saved))
        self._tasks.saved(observation.task, saved)

    def _waste(self, observation: Observation, byte_seconds: float) -> None:
        self._wasted.labels(observation.outcome.value).inc(byte_seconds)
        self._tasks.wasted(observation.task, byte_seconds)
