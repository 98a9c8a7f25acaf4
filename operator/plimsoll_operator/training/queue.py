"""Runs trainings one at a time. Each task is queued once, and each training has a time limit."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import structlog

from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import Store, StoreError

log = structlog.get_logger()

GRACE_S: Final = 60.0
"""Over the search's budget: loading the libraries, reading, the last fit, saving. Generous, since
a trainer gives way to everything else on its node."""
PATIENCE: Final = 3.0
"""The budget is processor time; on a busy node a low-priority trainer takes longer by the clock."""
MIN_INTERVAL_S: Final = 15.0


class Spawns(Protocol):
    """Starts a trainer; see spawning.py."""

    @property
    def budget_s(self) -> float:
        """Seconds of processor time it may search."""

    async def __call__(self, task: TaskId, policy: Policy) -> asyncio.subprocess.Process:
        """Start one, in a process group of its own; its last line on stdout is its result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRules:
    """workers: trainings at a time. min_interval_s: from a task's training to its next.

    A training is ended after ``patience`` times its budget and ``grace_s`` more.
    """

    workers: int = 1
    grace_s: float = GRACE_S
    patience: float = PATIENCE
    min_interval_s: float = MIN_INTERVAL_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """How a training ended.

    failure: why it failed; None if it succeeded. Then the old model serves on.
    result: what the trainer said of itself; empty if it could not.
    """

    task: TaskId
    why: str
    failure: str | None
    duration_s: float
    result: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class _Wanted:
    policy: Policy
    why: str


class TrainingQueue:
    """Runs trainings one after another and tells how each ended. Lives on one event loop.

    on_result: awaited after each training; what it raises is logged.
    now_s: Unix seconds, dates failures in the store.
    """

    def __init__(
        self,
        spawn: Spawns,
        store: Store,
        on_result: Callable[[Trained], Awaitable[None]],
        *,
        rules: QueueRules | None = None,
        now_s: Callable[[], float] = time.time,
    ) -> None:
        self._spawn = spawn
        self._store = store
        self._on_result = on_result
        self._rules = rules or QueueRules()
        self._now_s = now_s
        self.turn = asyncio.Semaphore(self._rules.workers)
        """Whoever trains holds it; other processes that need as much memory hold it, too."""
        self._loop = asyncio.get_running_loop()
        self._wanted: dict[TaskId, _Wanted] = {}
        self._running: dict[TaskId, asyncio.Task[None]] = {}
        self._not_before: dict[TaskId, float] = {}
        self._wake: asyncio.TimerHandle | None = None
        self._closed = False

    @property
    def waiting(self) -> tuple[TaskId, ...]:
        """Tasks that wait for their training, first come first."""
        return tuple(self._wanted)

    @property
    def running(self) -> tuple[TaskId, ...]:
        """Tasks being trained."""
        return tuple(self._running)

    def request(self, task: TaskId, policy: Policy, why: str) -> None:
        """Train the task as soon as a worker is free and its last training is long enough ago.

        A task that waits already keeps its place and takes the new policy; one that is being
        trained is trained again afterwards.
        """
        if self._closed:
            return
        if task in self._wanted:
            self._wanted[task].policy = policy
        else:
            self._wanted[task] = _Wanted(policy, why)
        self._start_due()

    async def close(self) -> None:
        """End all trainings and forget what waits."""
        self._closed = True
        self._wanted.clear()
        if self._wake is not None:
            self._wake.cancel()
        trainings = list(self._running.values())
        for training in trainings:
            training.cancel()
        await asyncio.gather(*trainings, return_exceptions=True)

    def _start_due(self) -> None:
        if self._wake is not None:
            self._wake.cancel()
            self._wake = None
        now = self._loop.time()
        self._not_before = {task: due for task, due in self._not_before.items() if due > now}
        for task in list(self._wanted):
            if len(self._running) >= self._rules.workers:
                return
            if task not in self._running and task not in self._not_before:
                wanted = self._wanted.pop(task)
                name = f"training {task}"
                self._running[task] = self._loop.create_task(self._train(task, wanted), name=name)
        due = [self._not_before[task] for task in self._wanted if task in self._not_before]
        if due:
            self._wake = self._loop.call_at(min(due), self._start_due)

    async def _train(self, task: TaskId, wanted: _Wanted) -> None:
        try:
            async with self.turn:
                log.info("training", task=str(task), why=wanted.why)
                began = self._loop.time()
                failure, result = await self._one_process(task, wanted.policy)
            done = Trained(
                task=task,
                why=wanted.why,
                failure=failure,
                duration_s=self._loop.time() - began,
                result=result,
            )
            if failure is not None and not result.get("recorded"):
                await self._record(task, failure, wanted.policy)
            await self._on_result(done)
        except Exception:
            log.exception("the end of a training could not be handled", task=str(task))
        finally:
            del self._running[task]
            self._not_before[task] = self._loop.time() + self._rules.min_interval_s
            if not self._closed:
                self._start_due()

    async def _one_process(
        self, task: TaskId, policy: Policy
    ) -> tuple[str | None, Mapping[str, Any]]:
        limit_s = self._rules.patience * self._spawn.budget_s + self._rules.grace_s
        try:
            process = await self._spawn(task, policy)
        except OSError as error:
            return f"the trainer could not be started: {error}", {}
        try:
            async with asyncio.timeout(limit_s):
                said, _ = await process.communicate()
        except TimeoutError:
            return f"ended after {limit_s:.0f} s, far over its budget", {}
        finally:
            await end(process)
        return outcome(process.returncode or 0, said)

    async def _record(self, task: TaskId, failure: str, policy: Policy) -> None:
        began = {"budget_s": self._spawn.budget_s, "policy": policy.to_dict()}
        try:
            await asyncio.to_thread(
                self._store.trainings.record_failure, task, failure, self._now_s(), report=began
            )
        except StoreError as error:
            log.error("a failed training could not be recorded", task=str(task), error=str(error))


async def end(process: asyncio.subprocess.Process) -> None:
    """Kill what is left of its group; nothing if it has ended."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.communicate()


def outcome(status: int, said: bytes) -> tuple[str | None, Mapping[str, Any]]:
    """Return why a trainer failed (None if it did not), and what it printed about itself.

    status: exit status, negative for the signal that ended it. said: its stdout; the last line
    counts.
    """
    result = _last_line(said)
    if result.get("ok") is True:
        # The trainer prints this after it saved the model: whatever came then, the model serves.
        return None, result
    if status < 0:
        hint = " (memory cap?)" if -status == signal.SIGKILL else ""
        return f"killed by signal {-status}{hint}", result
    if not isinstance(result.get("ok"), bool):
        # Linear algebra libraries end the process themselves when they get no memory.
        return (
            f"the trainer ended with status {status} and no result (memory cap?); see its log",
            {},
        )
    return str(result.get("message") or f"ended with status {status}"), result


def _last_line(said: bytes) -> dict[str, Any]:
    lines = said.strip().splitlines()
    try:
        result = json.loads(lines[-1]) if lines else {}
    except ValueError:
        return {}
    return result if isinstance(result, dict) else {}
