"""Lifts a run's next attempt after an observed end, where it needs more memory.

The lift is committed before it is in the feed, and both before a retry is intended.

A lift stays until the pod that it was made for has succeeded: after an attempt that was evicted,
preempted or failed by itself, the next one has the lifted size. Pods of one Job may share a run,
and so do the executions of a cleared Airflow task. So times tell which pod a lift was made for:
that pod was made after the run's latest kill. Where siblings have one key (``Executions.AT_ONCE``),
nothing tells whose pod succeeded: the lift stays until it is old, and all of them have its size. A
killed pod that is still there after that is not lifted again.

While a task is paused, or not enforced any more, only runs that were lowered before are lifted, and
only to what was written (``attempts/healing.py``). The same lift follows an attempt below its
request that its node ended because the node was short of memory. After an attempt that requested
more than was written, and that its node refused (``attempts/refused.py``), the lift is to exactly
what was written.

An attempt that its maker has counted is noted in every mode, because the mode may change before the
run's next one. Such a lift changes no pod while nothing is enforced.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Final

from prometheus_client import Counter

from plimsoll_operator.attempts.healing import Healing, healing_of
from plimsoll_operator.attempts.last_attempt import (
    counts_siblings,
    did_its_work,
    is_given_up,
    is_last,
)
from plimsoll_operator.attempts.lift_step import (
    Follows,
    GetsWritten,
    Held,
    Kill,
    Leaks,
    Stands,
    UsedUp,
    lift_step,
    may_be_spared,
)
from plimsoll_operator.attempts.over import ended_s
from plimsoll_operator.attempts.refused import grew_while_waiting, was_refused_raised
from plimsoll_operator.controller.announcing.announcer import Announcer
from plimsoll_operator.controller.attempts.retries import Retries
from plimsoll_operator.controller.hub.habits import KeyedLocks, read_patiently
from plimsoll_operator.controller.hub.hub import AttemptEnded
from plimsoll_operator.controller.tasks.book import TaskBook
from plimsoll_operator.controller.tasks.bounds import ClusterBounds
from plimsoll_operator.controller.tasks.leaking import LeakingTasks
from plimsoll_operator.pods.engines.row import Executions
from plimsoll_operator.pods.identity import Retrier
from plimsoll_operator.pods.spec import Pod
from plimsoll_operator.wording import event_words
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.deciding.own_failures import lift_after_failure
from plimsoll_predictor.deciding.restoring_written import (
    after_used,
    exactly_written,
    lift_to_written,
    no_less_than_written,
)
from plimsoll_predictor.knowledge.knowledge import Lift
from plimsoll_predictor.store import Store, Writer
from plimsoll_predictor.store.attempts.lifts import KEPT_S

Spares = Callable[[Pod], Awaitable[bool]]
"""Says whether a killed pod's next attempt will need less, so that it may have as much memory."""
_COUNTING: Final = frozenset({Retrier.JOB, Retrier.ENGINE, Retrier.REMAKER})
"""Retriers that count each attempt they make, whatever ended it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifts:
    """Lifts killed runs and ends the lifts of those that succeeded.

    spares: says which killed pods need no lift. made: counts lifts.
    """

    store: Store
    writer: Writer
    book: TaskBook
    bounds: ClusterBounds
    leaking: LeakingTasks
    retries: Retries
    announcer: Announcer
    spares: Spares
    made: Counter
    now_s: Callable[[], float]
    _turns: KeyedLocks[tuple[TaskId, str]] = field(init=False, default_factory=KeyedLocks)

    async def follow(self, ended: AttemptEnded) -> bool:
        """Return whether all is done; otherwise the pod must be looked at again.

        A lift belongs to the key that its pods have, of however many executions.
        """
        of_key = replace(ended.observation, run=ended.watched.attempt.run)
        ended = replace(ended, observation=of_key)
        outcome = ended.observation.outcome
        if outcome is Outcome.SUCCEEDED:
            await self._succeeded(ended)
        if was_refused_raised(ended.watched, ended.status):
            return await self._refused(ended)
        followed = {
            Outcome.OOM_KILLED: self._oom_killed,
            Outcome.FAILED: self._failed,
            Outcome.EVICTED: self._evicted,
        }.get(outcome)
        return True if followed is None else await followed(ended)

    async def _refused(self, ended: AttemptEnded) -> bool:
        """Give no later attempt of the run more than was written, as its node refused more.

        No size was too small, so whoever makes the next attempt, it is as its author wrote it.
        """
        if await self._got_through(ended):
            return True  # every start of a controller sees the refused pod again
        # The kubelet writes no time of a refusal; the pod was bound just before it.
        refused = replace(ended.observation, finished_s=ended_s(ended.pod, ended.status))
        async with self._turns.of((refused.task, refused.run)):
            there = self.book.look(refused.task).lifts.get(refused.run)
            lift = exactly_written(refused, there)
            if lift is not None and lift != there:
                await self._put(refused, replace(lift, killed_s=self._killed_s(refused)))
        if lift is not None:
            return await self.retries.follow(ended, lift)
        await self._used(ended)
        if grew_while_waiting(ended.watched):
            return await self.retries.follow(ended, lift_to_written(refused))
        return True

    async def _failed(self, ended: AttemptEnded) -> bool:
        """Make sure that a run that failed by itself goes on as its author wrote it."""
        failed, watched = ended.observation, ended.watched
        healing = self._healing(ended)
        if healing is Healing.NONE:
            return await self._leave(ended)
        if is_given_up(watched) or await self._got_through(ended):
            return True
        if not failed.failed_by_itself:
            await self._used(ended)
            return True
        counted = watched.retrier in _COUNTING
        async with self._turns.of((failed.task, failed.run)):
            there = self.book.look(failed.task).lifts.get(failed.run)
            lift = lift_after_failure(failed, watched.attempts, there, counted=counted)
            if lift is None:
                return True
            failed_s = self._killed_s(failed)
            if lift is not there or failed_s > (lift.killed_s or 0):
                await self._put(failed, replace(lift, killed_s=failed_s))
        if not failed.is_lowered:
            return True
        if healing is Healing.AS_WRITTEN:
            lift = lift_to_written(failed)
        happening = event_words.failed_lowered(failed.allocation_bytes or 0, lift.attempt)
        self._announce(happening, ended)
        return await self.retries.follow(ended, lift)

    async def _evicted(self, ended: AttemptEnded) -> bool:
        """Make sure that a run goes on as written, if its lowered size may have caused its end.

        Other evictions have nothing to do with its size. What people allow now does not matter: see
        ``healing.py``.
        """
        if is_given_up(ended.watched) or await self._got_through(ended):
            return True
        if ended.observation.was_pressed_out:
            return await self.retries.follow(ended, await self._give_back(ended))
        await self._used(ended)
        return True

    async def _used(self, ended: AttemptEnded) -> None:
        """Lower no later attempt of the run: its maker has counted this one, too.

        Admission does not know how many evictions came before, so it could not say how many
        attempts are left. People may let sizes be enforced before the next attempt comes.
        """
        used, watched = ended.observation, ended.watched
        if watched.retrier not in _COUNTING or not watched.attempts.left:
            return
        if watched.mode is Mode.OFF:
            return  # then nothing is recorded
        async with self._turns.of((used.task, used.run)):
            there = self.book.look(used.task).lifts.get(used.run)
            kept = after_used(used, there)
            if kept is not there:
                await self._put(used, replace(kept, killed_s=self._killed_s(used)))

    async def _give_back(self, ended: AttemptEnded) -> Lift:
        """Give no later attempt of the run less than was written. Return the next one's lift."""
        had_less, watched = ended.observation, ended.watched
        task, run = had_less.task, had_less.run
        lift = lift_to_written(had_less)
        async with self._turns.of((task, run)):
            there = self.book.look(task).lifts.get(run)
            kept, ended_s = no_less_than_written(had_less, there), self._killed_s(had_less)
            if kept is not there:
                self.made.inc()
            if kept is not there or ended_s > (kept.killed_s or 0):
                await self._put(had_less, replace(kept, killed_s=ended_s))
        certain = watched.attempts.left is not None
        happening = event_words.given_back(
            lift.after_bytes, lift.attempt, had_less.cause, certain=certain
        )
        self._announce(happening, ended)
        return lift

    async def _succeeded(self, ended: AttemptEnded) -> None:
        task, run = ended.observation.task, ended.observation.run
        # Without a note nobody knows which attempt it was; then the run is over.
        attempt = ended.observation.attempt if ended.watched.note is not None else None
        submitted_s = ended.observation.submitted_s
        if ended.watched.executions is Executions.AT_ONCE:
            async with self._turns.of((task, run)):
                there = self.book.look(task).lifts.get(run)
                if there and not there.answered and there.is_answered_by(attempt, submitted_s):
                    await self._put(ended.observation, replace(there, answered=True))
            return
        lift = self.book.settle(task, run, attempt, submitted_s)
        if lift is not None:
            await self.writer.call(self.store.lifts.close, task, run, lift.killed_s)

    async def _oom_killed(self, ended: AttemptEnded) -> bool:
        if did_its_work(ended.pod, ended.watched, ended.status):
            # A child was killed. If the pod fails all the same, its maker makes a next attempt.
            return ended.status.has_final_phase
        healing = self._healing(ended)
        if healing is Healing.NONE:
            return await self._leave(ended)
        if await self._got_through(ended):
            return True  # the pod was seen late, and the run has succeeded meanwhile
        refused = await self._refused_before(ended)
        if is_last(ended.watched, refused):
            self._say_that_no_lift_follows(ended)
            return True
        if healing is Healing.AS_WRITTEN:
            return await self.retries.follow(ended, await self._give_back(ended))
        killed = ended.observation
        # Pods that share a run take turns: a smaller lift must not replace a larger one.
        async with self._turns.of((killed.task, killed.run)):
            lift = await self._lift(ended, refused)
        if lift is None and not killed.is_lowered:
            return True
        # Even if no lift would help: a lowered run gets its written memory before it is given up.
        return await self.retries.follow(ended, lift or await self._give_back(ended))

    def _announce(self, happening: event_words.Happening, ended: AttemptEnded) -> None:
        """Announce what follows from an attempt's end, with the time of that end."""
        at_s = ended_s(ended.pod, ended.status)
        self.announcer.announce(event_words.at(happening, at_s), ended.pod)

    def _healing(self, ended: AttemptEnded) -> Healing:
        watched = ended.watched
        paused = self.book.policies.pauses(watched.task)
        return healing_of(watched.mode, paused=paused, lowered=ended.observation.is_lowered)

    async def _got_through(self, ended: AttemptEnded) -> bool:
        """Return whether the run succeeded after the attempt, or may be given up, being so old."""
        if ended.watched.executions is Executions.AT_ONCE:
            # A success may be that of a sibling's pod. Its engine may keep a killed pod for months.
            end_s = ended_s(ended.pod, ended.status)
            return end_s is not None and self.now_s() - end_s > KEPT_S
        found = self.store.observations.got_through
        return await read_patiently(self.writer, found, await self._in_its_execution(ended))

    async def _in_its_execution(self, ended: AttemptEnded) -> Observation:
        """Return the attempt in the run that it is stored in, which may be one of several."""
        if ended.watched.executions is not Executions.IN_TURN:
            return ended.observation
        found = self.store.observations.run_in_turn
        run = await read_patiently(self.writer, found, ended.observation)
        return replace(ended.observation, run=run)

    async def _leave(self, ended: AttemptEnded) -> bool:
        """Leave a run to its owner, as its attempt had what was written and nothing is enforced."""
        await self._pass_over(ended)
        if ended.watched.retrier in _COUNTING and not await self._got_through(ended):
            await self._used(ended)
        return True

    async def _pass_over(self, ended: AttemptEnded) -> None:
        """Store that a pod with its written size is not retried later: that is up to its owner."""
        note = ended.watched.note
        # Without a note nobody knows what it had: admission may have been away.
        may_be_sized = note is None or note.mode is Mode.ENFORCE
        if may_be_sized and ended.watched.retrier is Retrier.PLIMSOLL:
            await self.retries.pass_over(ended)

    def _say_that_no_lift_follows(self, ended: AttemptEnded) -> None:
        """Announce the kill, and promise no retry: only the next run is sized by what it taught."""
        watched, killed = ended.watched, ended.observation
        at_bytes = killed.allocation_bytes or 0
        if watched.retrier is Retrier.KUBELET:
            self._announce(event_words.stuck(), ended)
        elif counts_siblings(watched):
            self._announce(event_words.not_lifted(at_bytes, killed.cause), ended)
        else:
            happening = event_words.not_retried(at_bytes, watched.attempts.by, killed.cause)
            self._announce(happening, ended)

    async def _lift(self, ended: AttemptEnded, refused: int) -> Lift | None:
        """Take the step that follows from a kill. Return the next attempt's lift, if there is one.

        refused: how many attempts before it used up no lift.
        """
        killed, watched = ended.observation, ended.watched
        kill = Kill(
            observation=killed, watched=watched, killed_s=self._killed_s(killed), refused=refused
        )
        knowledge = self.book.get(killed.task)
        spared = may_be_spared(kill, knowledge) and await self.spares(ended.pod)
        bounds = self.bounds.of_lift(ended.pod, killed, watched.written_limit_bytes)
        step = lift_step(kill, knowledge, bounds, spared=spared)
        match step:
            case Stands(lift, due_again):
                if due_again:
                    await self._put(killed, lift)
                return lift
            case Held(lift):
                await self._put(killed, lift)
                happening = event_words.smaller_chunks(lift.after_bytes, lift.attempt, killed.cause)
                self._announce(happening, ended)
                return lift
            case Follows(lift, reasons):
                await self._put(killed, lift)
                self.made.inc()
                self._announce(event_words.because(_lifted(ended, lift), reasons), ended)
                return lift
            case Leaks(words):
                self.leaking.leaked(killed, words)
                self._announce(event_words.leaking(words, killed.run), ended)
            case UsedUp():
                self._say_that_no_lift_follows(ended)
            case GetsWritten():
                pass  # the caller gives it back
        return None

    async def _refused_before(self, ended: AttemptEnded) -> int:
        """Return how many attempts before it used up no lift, because nodes refused their pods."""
        if ended.observation.attempt == 1:
            return 0
        found = self.store.observations.never_tried
        return await read_patiently(self.writer, found, await self._in_its_execution(ended))

    async def _put(self, killed: Observation, lift: Lift) -> None:
        await self.writer.call(self.store.lifts.put, killed.task, killed.run, lift)
        for forgotten in self.book.lift(killed.task, killed.run, lift):
            await self.writer.call(self.store.lifts.forget, *forgotten)

    def _killed_s(self, killed: Observation) -> float:
        """Return when it was killed, in the whole seconds of the API server's times.

        A node's clock may be ahead, and no pod would seem to be made after a kill in the future.
        """
        now_s = self.now_s()
        ended_s = now_s if killed.finished_s is None else killed.finished_s
        return float(math.floor(min(now_s, ended_s)))


def _lifted(ended: AttemptEnded, lift: Lift) -> event_words.Happening:
    killed = ended.observation
    return event_words.lifted(
        killed.allocation_bytes or 0,
        lift.allocation_bytes,
        lift.attempt,
        certain=ended.watched.attempts.left is not None,
        cause=killed.cause,
    )
