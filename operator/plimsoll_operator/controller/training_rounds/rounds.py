"""Has due trainings done by a Job, one round after another; by one process if no Job may be made.

Due trainings are in the store, so that a new leader goes on where the last one was. The store also
says how each training ended; the Job says only whether its pods still work.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final

import structlog

from plimsoll_operator.controller.training_rounds.round_jobs import RoundJobs
from plimsoll_operator.kube.errors import ApiError, Refused
from plimsoll_operator.metrics.training_rounds import RoundMetrics
from plimsoll_operator.training.queue import Trained, TrainingQueue
from plimsoll_operator.training.round_job import MOST_A_ROUND, BadTemplate, RoundState
from plimsoll_operator.training.spawning import Ended, LearnedBy, Locally, here
from plimsoll_operator.wording.training_words import TrainingsNow
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import (
    Backlog,
    DueTraining,
    EndedTraining,
    Store,
    StoreError,
    Work,
    WorkKind,
    Writer,
)

log = structlog.get_logger()

LOOK_EVERY_S: Final = 5.0
GATHER_S: Final = 10.0
"""Trainings that become due within this time share a round."""
UNSTARTED_S: Final = 600.0
"""Workers that begin and end nothing for so long never will: no room, or no image."""
LOCAL_S: Final = 600.0
"""How long the controller trains by itself after a round could not be had."""
LINGER_S: Final = 60.0
"""How long pods may go on after the last training of their round, for their ends to be seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How often rounds are looked at, in seconds; see the constants."""

    look_every_s: float = LOOK_EVERY_S
    gather_s: float = GATHER_S
    unstarted_s: float = UNSTARTED_S
    local_s: float = LOCAL_S
    linger_s: float = LINGER_S


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundParts:
    """What rounds work with. queue: trains if no Job may be made.

    on_result: awaited after each training of a task. fitted: called if features were learned that
    no caller waits for.
    """

    jobs: RoundJobs
    store: Store
    writer: Writer
    queue: TrainingQueue
    on_result: Callable[[Trained], Awaitable[None]]
    fitted: Callable[[], None]
    metrics: RoundMetrics
    now_s: Callable[[], float]
    pace: Pace = Pace()


class TrainingRounds:
    """One per controller. Belongs to one event loop."""

    def __init__(self, parts: RoundParts) -> None:
        self._parts = parts
        self._loop = asyncio.get_running_loop()
        self._asked: dict[Work, DueTraining] = {}
        self._awaited: dict[Work, asyncio.Future[Ended | None]] = {}
        self._wake = asyncio.Event()
        self._local_until = 0.0
        self._looked = False
        """Whether it has looked yet: what is asked for before that was found due at the start."""
        self._began: float | None = None
        """When this leader first saw the round, by the loop's clock."""
        self._moved = 0.0
        """When it last saw that a worker had begun or ended something."""
        self._steps: tuple[int, int, int] | None = None
        """What was begun, how often, and what had ended, at its last look at the round."""
        self.backlog = Backlog()
        self._last_round_s: float | None = None
        self._lingering: dict[str, float] = {}
        """Rounds that are over while their Jobs go on -> when that was, by the loop's clock."""

    @property
    def now(self) -> TrainingsNow:
        """Return what waits and what runs, for people."""
        return TrainingsNow(
            waiting=self.waiting,
            running=self.running,
            longest_wait_s=self.longest_wait_s,
            last_round_s=self._last_round_s,
        )

    @property
    def waiting(self) -> int:
        """Trainings that have not begun."""
        known = self.backlog.waiting + self.backlog.in_round - self.backlog.begun
        return len(self._asked) + known

    @property
    def running(self) -> int:
        """Trainings that have begun and not ended."""
        return max(0, self.backlog.begun - self.backlog.ended)

    @property
    def longest_wait_s(self) -> float:
        """How long the training that waits longest has waited for a worker to begin it."""
        since_s = self.backlog.oldest_s
        return 0.0 if since_s is None else max(0.0, self._parts.now_s() - since_s)

    def request(self, task: TaskId, policy: Policy, why: str, *, killed: bool = False) -> None:
        """Have the task trained in the next round. killed: an OOM kill asks for it."""
        if self._is_local:
            self._parts.queue.request(task, policy, why)
            return
        self._ask(Work(WorkKind.MODEL, task), why, policy, killed)

    async def learn(self, kind: WorkKind, why: str, locally: Locally) -> Ended:
        """Learn a kind of work over all tasks in the next round, or by ``locally``."""
        if self._is_local:
            return await locally()
        work = Work(kind)
        future = self._awaited.setdefault(work, self._loop.create_future())
        self._ask(work, why, None, False)
        ended = await asyncio.shield(future)
        return await locally() if ended is None else ended

    async def run(self) -> None:
        """Look at the round again and again, until cancelled."""
        pace = self._parts.pace
        while True:
            try:
                await self.look()
            except (StoreError, ApiError) as error:
                log.warning("rounds of trainings wait", why=str(error))
            except Exception:
                log.exception("rounds of trainings could not be looked at")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pace.look_every_s):
                    await self._wake.wait()
            self._wake.clear()

    async def look(self) -> None:
        """Go one step on with the round there is, or plan the next."""
        parts, due = self._parts, self._parts.store.due
        await self._write_asked()
        self._looked = True
        round_ = await parts.writer.read(due.round)
        if round_ is not None:
            # The Job is read first: if it has ended, the store has all that its pods finished.
            state = await parts.jobs.state(round_)
            await self._take_ended()
            self.backlog = await parts.writer.read(due.backlog)
            await self._judge(round_, state)
        self.backlog = await parts.writer.read(due.backlog)
        if self.backlog.waiting and not self.backlog.in_round:
            await self._go_on()
        await self._end_lingering()

    @property
    def _is_local(self) -> bool:
        return self._loop.time() < self._local_until

    def _ask(self, work: Work, why: str, policy: Policy | None, killed: bool) -> None:
        before = self._asked.get(work)
        self._asked[work] = DueTraining(
            work=work,
            why=before.why if before else why,
            since_s=before.since_s if before else self._parts.now_s(),
            policy=policy,
            killed=killed or (before is not None and before.killed),
        )

    async def _write_asked(self) -> None:
        if not self._asked:
            return
        asked, self._asked = self._asked, {}
        due = self._parts.store.due
        try:
            await self._parts.writer.call(due.ask, list(asked.values()), again=self._looked)
        except BaseException:
            self._asked = asked | self._asked
            raise

    async def _take_ended(self) -> None:
        due, writer = self._parts.store.due, self._parts.writer
        while ended := await writer.read(due.ended):
            self._moved = self._loop.time()
            for each in ended:
                try:
                    await self._tell(each)
                except Exception:
                    log.exception("the end of a training is not handled", of=each.due.work.key)
            await writer.call(due.forget_ended, ended)

    async def _tell(self, ended: EndedTraining) -> None:
        """Tell the one that asked for it. If this leader dies here, the next one tells it again."""
        work = ended.due.work
        if work.task is not None:
            why, failure = ended.due.why, ended.failure
            result = Trained(work.task, why, failure, ended.duration_s, ended.result)
            await self._parts.on_result(result)
        elif not self._answer(work, (ended.failure, ended.result)) and ended.failure is None:
            self._parts.fitted()

    def _answer(self, work: Work, ended: Ended | None) -> bool:
        future = self._awaited.pop(work, None)
        if future is None or future.done():
            return False
        future.set_result(ended)
        return True

    async def _judge(self, round_: str, state: RoundState) -> None:
        """Close the round if it is over, or will never begin, or does not go on.

        It is also over when all its trainings have ended and were told: its pods then end by
        themselves, or are ended later.
        """
        now, backlog = self._loop.time(), self.backlog
        if self._began is None:
            self._began = self._moved = now
        # A lost worker's training counts as begun for ever, so only changes show that one works.
        steps = (backlog.begun, backlog.starts, backlog.ended)
        if self._steps not in (None, steps):
            self._moved = now
        self._steps = steps
        stuck = backlog.in_round > 0 and now - self._moved > self._patience_s
        if state is RoundState.GOING and not backlog.in_round:
            state = RoundState.DONE
            self._lingering[round_] = now
        if state is RoundState.GOING and not stuck:
            return
        if stuck:
            await self._parts.jobs.delete(round_)
        left = await self._parts.writer.call(self._parts.store.due.release, round_)
        # Trainings that ended since the Job was read are told at the next look.
        took_s, idle = now - self._began, self._moved == self._began and not backlog.begun
        self._began = self._steps = None
        result = state.value
        if stuck:
            result = "unstarted" if idle else "stalled"
        self._last_round_s = took_s
        self._parts.metrics.ended(result, took_s)
        log.info("a round of trainings ended", round=round_, state=result, left=left)
        if left and (idle or stuck) and state is not RoundState.GONE:
            self._train_locally_for_a_while(f"no pod of {round_} begins or ends anything: {result}")

    async def _end_lingering(self) -> None:
        """Delete Jobs whose pods do not end with their work, such as beside a proxy of a mesh."""
        jobs, long_ago = self._parts.jobs, self._loop.time() - self._parts.pace.linger_s
        for round_ in [each for each, since in self._lingering.items() if since <= long_ago]:
            if await jobs.state(round_) is RoundState.GOING:
                await jobs.delete(round_)
                log.warning("pods of a round went on after its trainings", round=round_)
            del self._lingering[round_]

    @property
    def _patience_s(self) -> float:
        """How long a round may show nothing new: a training that has begun may take its time."""
        training_s = self._parts.queue.limit_s if self.backlog.begun else 0.0
        return self._parts.pace.unstarted_s + training_s

    async def _go_on(self) -> None:
        """Begin a round, unless due trainings are still being gathered."""
        parts, waiting = self._parts, self.backlog.waiting
        if self._is_local:
            await self._hand_over()
            return
        if self.longest_wait_s < parts.pace.gather_s:
            return
        try:
            template = parts.jobs.template()
        except BadTemplate as error:
            self._train_locally_for_a_while(str(error))
            return
        await self._take_policies()
        shards = template.shards(min(waiting, MOST_A_ROUND))
        round_ = template.round_name(parts.now_s())
        planned = await parts.writer.call(parts.store.due.plan, round_, MOST_A_ROUND, shards)
        try:
            await parts.jobs.create(template, round_, shards)
        except ApiError as error:
            await parts.writer.call(parts.store.due.release, round_)
            if isinstance(error, Refused):
                self._train_locally_for_a_while(f"its Job is refused: {error}")
                return
            raise
        self._began = self._moved = self._loop.time()
        log.info("a round of trainings begins", round=round_, trainings=planned, shards=shards)

    async def _take_policies(self) -> None:
        """Give what waits the policies of now: people may have changed them since it was due."""
        parts = self._parts
        changed: list[DueTraining] = []
        for each in await parts.writer.read(parts.store.due.waiting, self.backlog.waiting):
            task = each.work.task
            policy = None if task is None else parts.queue.policy_of(task)
            if policy is not None and policy != each.policy:
                changed.append(replace(each, policy=policy))
        if changed:
            await parts.writer.call(parts.store.due.take_policies, changed)

    def _train_locally_for_a_while(self, why: str) -> None:
        pace = self._parts.pace
        self._local_until = self._loop.time() + pace.local_s
        words = f"for {pace.local_s:.0f} s the controller trains one task at a time"
        log.warning("a round of trainings cannot be had", why=why, instead=words)
        self._parts.metrics.refused()
        self._wake.set()

    async def _hand_over(self) -> None:
        """Let one process do the trainings that wait for a round."""
        parts = self._parts
        due = await parts.writer.read(parts.store.due.waiting, MOST_A_ROUND)
        for each in due:
            if each.work.task is not None:
                parts.queue.request(each.work.task, each.policy or Policy(), each.why)
            else:
                self._answer(each.work, None)
        await parts.writer.call(parts.store.due.forget, [each.work for each in due])
        self.backlog = await parts.writer.read(parts.store.due.backlog)


def learned_by(rounds: TrainingRounds | None, kind: WorkKind, why: str) -> LearnedBy:
    """Return what does the learning over all tasks."""
    if rounds is None:
        return here
    return lambda locally: rounds.learn(kind, why, locally)
