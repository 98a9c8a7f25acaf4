"""Runs trainings one at a time. Each task is queued once, and each training has a time limit."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import structlog

from plimsoll_operator.training.limits import GRACE_S, PATIENCE
from plimsoll_operator.training.spawning import Ended, result_of
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import Store, StoreError

log = structlog.get_logger()

MIN_INTERVAL_S: Final = 15.0


class Spawns(Protocol):
    """Starts a trainer; see spawning.py."""

    @property
    def budget_s(self) -> float:
        """Seconds of processor time it may search."""

    async def __call__(self, task: TaskId, policy: Policy) -> asyncio.subprocess.Process:
        """Start one, as ``spawning.start`` does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRules:
    """When trainings begin and end, and by which policy.

    A training is ended after ``patience`` times its budget plus ``grace_s``.

    min_interval_s: from a task's training to its next. policy_of: gives a task's policy when its
    training starts. None: the one that came with the request.
    """

    grace_s: float = GRACE_S
    patience: float = PATIENCE
    min_interval_s: float = MIN_INTERVAL_S
    policy_of: Callable[[TaskId], Policy | None] = lambda _: None


@dataclass(frozen=True, slots=True)
class Trained:
    """How a training ended.

    failure: why it failed, and the old model serves on; None if it succeeded.
    result: the trainer's own report; empty if there is none.
    """

    task: TaskId
    why: str
    failure: str | None
    duration_s: float
    result: Mapping[str, Any] = field(default_factory=dict)


class TrainingQueue:
    """Runs trainings one after another and reports how each ended. For use on one event loop.

    on_result: awaited after each training; an error in it is logged.
    now_s: gives the Unix seconds of failures in the store.
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
        self.turn = asyncio.Semaphore(1)
        """Held by each training, and by other processes that need as much memory."""
        self._loop = asyncio.get_running_loop()
        self._wanted: dict[TaskId, tuple[Policy, str, float]] = {}
        """Task -> its policy, why it waits for a training, and since when, by the loop's clock."""
        self._running: dict[TaskId, asyncio.Task[None]] = {}
        self._not_before: dict[TaskId, float] = {}
        self._wake: asyncio.TimerHandle | None = None
        self._closed = False

    def policy_of(self, task: TaskId) -> Policy | None:
        """Return the policy by which a task is trained now; None: that of its request."""
        return self._rules.policy_of(task)

    @property
    def waiting(self) -> tuple[TaskId, ...]:
        """Tasks that wait for their training, in the order of their requests."""
        return tuple(self._wanted)

    @property
    def longest_wait_s(self) -> float:
        """How long the task with the longest wait has waited."""
        now = self._loop.time()
        return max((now - since for _, _, since in self._wanted.values()), default=0.0)

    @property
    def running(self) -> tuple[TaskId, ...]:
        """Tasks being trained."""
        return tuple(self._running)

    @property
    def limit_s(self) -> float:
        """How long one training may take by the clock."""
        return self._rules.patience * self._spawn.budget_s + self._rules.grace_s

    def request(self, task: TaskId, policy: Policy, why: str) -> None:
        """Train the task when no other is trained and its last training is long enough ago.

        A task that already waits keeps its place and takes the new policy; a task that is being
        trained is trained again afterwards.
        """
        if self._closed:
            return
        _, why, since = self._wanted.get(task, (policy, why, self._loop.time()))
        self._wanted[task] = policy, why, since
        self._start_due()

    async def close(self) -> None:
        """End all trainings and forget the waiting tasks."""
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
        if self._running or not self._wanted:
            return
        task = next((task for task in self._wanted if task not in self._not_before), None)
        if task is None:
            due = min(self._not_before[task] for task in self._wanted)
            self._wake = self._loop.call_at(due, self._start_due)
            return
        policy, why, _ = self._wanted.pop(task)
        training = self._train(task, policy, why)
        self._running[task] = self._loop.create_task(training, name=f"training {task}")

    async def _train(self, task: TaskId, policy: Policy, why: str) -> None:
        try:
            async with self.turn:
                policy = self.policy_of(task) or policy  # people may have changed it meanwhile
                log.info("training", task=str(task), why=why)
                began = self._loop.time()
                failure, result = await self._one_process(task, policy)
            duration_s = self._loop.time() - began
            if failure is not None and not result.get("recorded"):
                await self._record(task, failure, policy)
            await self._on_result(Trained(task, why, failure, duration_s, result))
        except asyncio.CancelledError:
            # Only the end of the process cancels a training: the next one must not begin.
            self._closed = True
            raise
        except Exception:
            log.exception("the end of a training could not be handled", task=str(task))
        finally:
            del self._running[task]
            self._not_before[task] = self._loop.time() + self._rules.min_interval_s
            if not self._closed:
                self._start_due()

    async def _one_process(self, task: TaskId, policy: Policy) -> Ended:
        return await result_of(self._spawn(task, policy), self.limit_s)

    async def _record(self, task: TaskId, failure: str, policy: Policy) -> None:
        began = {"budget_s": self._spawn.budget_s, "policy": policy.to_dict()}
        try:
            await asyncio.to_thread(
                self._store.trainings.record_failure, task, failure, self._now_s(), report=began
            )
        except StoreError as error:
            log.error("a failed training could not be recorded", task=str(task), error=str(error))
