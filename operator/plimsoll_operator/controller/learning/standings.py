"""Every task's experts: they learn lessons, bid, and are saved and restored.

The store keeps a log of lessons (see its lessons.py); what the experts know is a fold over it (see
``log_fold``), and the book gets the result.

Memory: a task's experts take some 30 kB, and 40 kB more for each numeric feature that they follow.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

import structlog
from prometheus_client import Histogram

from plimsoll_operator.controller.hub.habits import Turns
from plimsoll_operator.controller.learning.log_fold import LogFold
from plimsoll_operator.controller.tasks.book import TaskBook
from plimsoll_predictor.core.decision import Ask
from plimsoll_predictor.core.record import Features
from plimsoll_predictor.core.shared_keys import key_of
from plimsoll_predictor.core.task import TaskId, namespace_of
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.deciding.modelled import modelled_bids
from plimsoll_predictor.experts.charging import DECIDED, GIVEN, EndedRun
from plimsoll_predictor.experts.failures import AttemptAt
from plimsoll_predictor.experts.panel import MODELLED
from plimsoll_predictor.experts.pool import Pool
from plimsoll_predictor.experts.standing import Ended, Exceeded, Standing
from plimsoll_predictor.experts.task_standings import TaskStandings
from plimsoll_predictor.knowledge.expert_names import MAX_SEEN
from plimsoll_predictor.store import Lesson, LessonKind, Store, StoreError, Writer

log = structlog.get_logger()

HELD_TASKS: Final = 1000
UNKNOWN_TASKS: Final = 10_000
_REFRESHED_AFTER: Final = frozenset({LessonKind.EXCEEDED, LessonKind.CORRECTED, LessonKind.TRAINED})
"""Lessons after which the experts are compared anew; to learn a run's need does so by itself."""


class Standings(LogFold):
    """The experts of one controller, as a fold over the log of lessons."""

    of = "experts"

    def __init__(
        self,
        store: Store,
        writer: Writer,
        book: TaskBook,
        restart_seconds: Histogram,
        *,
        held_tasks: int = HELD_TASKS,
    ) -> None:
        """restart_seconds: observes the time from a kill to the next start of its run."""
        super().__init__(writer, held_tasks)
        self._store = store
        self._book = book
        self._restart_seconds = restart_seconds
        # Other teams' runs do not concern a task: its pool is its namespace.
        self._experts = TaskStandings(namespace_of)
        self._unknown: set[str] = set()
        """Tasks without a saved state, so that not each of their pods causes a look-up."""
        self._unsaved: dict[str, None] = {}
        self._unsaved_pools: dict[str, None] = {}

    def held(self, task: TaskId) -> Standing | None:
        """Return the task's experts if they are in memory, as after a lesson of the task."""
        return self._experts.get(str(task))

    async def standing(self, task: TaskId) -> Standing | None:
        """Return the task's experts, to look at only; None if they know nothing of it."""
        held = self.held(task)
        if held is not None or str(task) in self._unknown:
            return held
        through = self.through
        saved = await self._writer.read(self._store.experts.standings_of, [str(task)])
        # If something was learned during the read, the task may have been saved since.
        if not saved and self.through == through and len(self._unknown) < UNKNOWN_TASKS:
            self._unknown.add(str(task))
        data = saved.get(str(task))
        return None if data is None else _readable(str(task), data)

    async def pool(self, task: TaskId) -> Pool:
        """Return what the tasks of a namespace share; callers must not change it."""
        held = self._experts.pools.get(task.namespace)
        if held is not None:
            return held
        saved = await self._writer.read(self._store.experts.pools, [task.namespace])
        alone = TaskStandings(namespace_of)
        _put_pool(alone, task.namespace, saved.get(task.namespace))
        return alone.pool_of(str(task))

    async def bids(
        self, task: TaskId, request_bytes: int | None, features: Features
    ) -> Mapping[str, float]:
        """Return each expert's bid for an attempt decided just now; empty if none bids."""
        ask = Ask(features=dict(features), request_bytes=request_bytes)
        by_model = modelled_bids(self._book.look(task), ask)
        try:
            standing = await self.standing(task)
        except StoreError as error:
            log.warning("bids are missed, the store cannot be read", error=str(error))
            standing = None
        return {**standing.bids(request_bytes, features), **by_model} if standing else by_model

    async def restore(self) -> None:
        """Restore what was saved, and fold what became known since."""
        async with self._lock:
            through = await self._writer.read(self._store.experts.through)
            self._experts = TaskStandings(namespace_of)
            self._used.clear()
            self._unknown.clear()
            self._unsaved.clear()
            self._unsaved_pools.clear()
            self.through = through
            self._saved_through = {through}
            after = ""
            while saved := await self._writer.read(self._store.experts.standings, after):
                after = max(saved)
                await self._hold(saved, saved)
                for name in saved:
                    if (standing := self._experts.get(name)) is not None:
                        self._book.inform(TaskId.parse(name), standing)
                self._let_go()
        await self.fold()

    async def _fold_some(self) -> bool:
        experts = self._store.experts
        async with self._lock:
            lessons = await self._writer.read(experts.lessons, self.through)
            tasks = {lesson.task for lesson in lessons}
            if missing := [str(task) for task in tasks if str(task) not in self._used]:
                saved = await self._writer.read(experts.standings_of, missing)
                await self._hold(saved, missing)
            turns = Turns()
            for lesson in lessons:
                self._learn(lesson)
                await turns.rest()
            # The book is told before a save may let go of them.
            for task in tasks:
                # A task that was forgotten meanwhile stays forgotten.
                if (standing := self._experts.get(str(task))) is not None:
                    self._book.inform(task, standing)
        return bool(lessons)

    async def _write(self, follows: frozenset[int]) -> bool:
        turns = Turns()
        pools = {name: self._experts.pools[name].to_dict() for name in self._unsaved_pools}
        changed = dict[str, Mapping[str, Any]]()
        for task in tuple(self._unsaved):
            if (standing := self._experts.get(task)) is not None:
                changed[task] = standing.to_dict()
                await turns.rest()
        # A task that was forgotten while others had their turn must not come back.
        changed = {task: state for task, state in changed.items() if task in self._unsaved}
        saved = await self._writer.call(
            self._store.experts.save, self.through, changed, pools, follows
        )
        if saved:
            self._unsaved.clear()
            self._unsaved_pools.clear()
        return saved

    async def close(self) -> None:
        """Fold and save what is left; what cannot be saved is learned at the next start."""
        try:
            await self.fold()
        except StoreError as error:
            log.warning("the experts are not saved; the next start learns again", error=str(error))
        else:
            await super().close()

    async def forget(self, task: TaskId) -> None:
        """Forget a task at people's request; what is stored of it since teaches anew."""
        async with self._lock:
            await self._writer.call(self._store.unlearn, task)
            self._drop(str(task))

    def forget_all_but(self, stored: Collection[TaskId]) -> None:
        """Forget the tasks that the store has forgotten already."""
        names = {str(task) for task in stored}
        for task in [task for task in self._used if task not in names]:
            self._drop(task)
        self._drop_pools()

    async def _hold(self, saved: Mapping[str, Mapping[str, Any]], tasks: Iterable[str]) -> None:
        """Restore the saved state of tasks, and of the pools that their namespaces share."""
        turns, standings = Turns(), dict[str, Standing]()
        for task, data in saved.items():
            if (standing := _readable(task, data)) is not None:
                standings[task] = standing
            await turns.rest()
        # Pools without a task that is held may be dropped in any turn of others: the tasks follow
        # at once.
        namespaces = {namespace_of(task) for task in tasks}
        while unknown := namespaces - self._experts.pools.keys():
            pools = await self._writer.read(self._store.experts.pools, unknown)
            for namespace in sorted(unknown):
                _put_pool(self._experts, namespace, pools.get(namespace))
        for task, standing in standings.items():
            self._experts.put(task, standing)
            self._used[task] = None

    def _let_go(self) -> None:
        """Let go of saved tasks beyond the limit."""
        for task in list(self._used)[: max(0, len(self._used) - self._held_tasks)]:
            self._drop(task)
        self._drop_pools()

    def _drop_pools(self) -> None:
        """Drop the saved pools without a task that is held."""
        held = {namespace_of(task) for task in self._used} | self._unsaved_pools.keys()
        for namespace in self._experts.pools.keys() - held:
            del self._experts.pools[namespace]

    def _drop(self, task: str) -> None:
        self._experts.forget(task)
        self._used.pop(task, None)
        self._unsaved.pop(task, None)

    def _learn(self, lesson: Lesson) -> None:
        task = str(lesson.task)
        pool = self._experts.pool_of(task)
        standing = self._experts.standing(task)
        try:
            self._learn_restart(lesson)
            self._take_in(lesson, standing)
            if lesson.kind in _REFRESHED_AFTER:
                standing.refresh(pool, self._overhead_s(lesson.task))
        except (ArithmeticError, LookupError, TypeError, ValueError):
            # The lesson is half learned, but just the same after a restart; stopping is worse.
            log.exception("a lesson could not be learned", task=task, run=lesson.run)
        self.through = lesson.serial
        self._unknown.discard(task)
        self._unsaved[task] = self._used[task] = None
        self._unsaved_pools[lesson.task.namespace] = None
        self._used.move_to_end(task)

    def _take_in(self, lesson: Lesson, standing: Standing) -> None:
        task = str(lesson.task)
        need_bytes = float(lesson.need_bytes)
        match lesson.kind:
            case LessonKind.ENDED:
                self._experts.learn(task, self._ended(lesson, standing))
                _learn_floor(standing, lesson)
            case LessonKind.EXCEEDED:
                self._experts.exceeded(task, _exceeded(lesson))
            case LessonKind.FAILED:
                standing.floors.failed(_attempt_of(lesson, lesson.run))
            case LessonKind.PRESSED_OUT:
                standing.spending.kill(lesson.run, need_bytes, lesson.request_bytes, lesson.cause)
            case LessonKind.CORRECTED:
                standing.correct(float(lesson.before_bytes), need_bytes, lesson.features)
            case LessonKind.TRAINED:
                _take_in_training(standing, lesson.times)
            case LessonKind.UNKNOWN:
                log.warning("a lesson of a newer version is passed over", task=task)

    def _learn_restart(self, lesson: Lesson) -> None:
        """Count how long the attempt's run had waited after a kill; prices use it from now on."""
        if lesson.restart_s is not None:
            self._experts.restarted(str(lesson.task), lesson.restart_s)
            self._restart_seconds.observe(lesson.restart_s)

    def _ended(self, lesson: Lesson, standing: Standing) -> Ended:
        # If the run was killed before, judge the bids for its first attempt that was killed.
        key = key_of(lesson.run, lesson.attempt_uid)
        first_bids = standing.bids_of_killed(key)
        runtime_s = lesson.runtime_s
        if runtime_s is None:
            runtime_s = standing.past.mean_runtime_s if standing.past.runs else 1.0
        request_bytes = lesson.request_bytes
        bids = dict(first_bids or _without_given(lesson) or {})
        decided_bytes = bids.pop(DECIDED, None)
        return Ended(
            run=EndedRun(
                need_bytes=float(lesson.need_bytes),
                runtime_s=runtime_s,
                request_bytes=None if request_bytes is None else float(request_bytes),
            ),
            features=lesson.features,
            bids=bids or None,
            decided_bytes=decided_bytes,
            version=lesson.image or "",
            overhead_s=self._overhead_s(lesson.task),
            key=key,
            given_bytes=_given_bytes(lesson, lesson.allocation_bytes),
            max_seen_bytes=bids.get(MAX_SEEN),
            least_bytes=max(self._book.look(lesson.task).policy.min_bytes, MIB),
        )

    def _overhead_s(self, task: TaskId) -> float | None:
        return self._book.look(task).policy.overhead_s


def _learn_floor(standing: Standing, lesson: Lesson) -> None:
    attempt = _attempt_of(lesson, key_of(lesson.run, lesson.attempt_uid))
    need_bytes = float(lesson.need_bytes)
    standing.floors.succeeded(attempt, need_bytes, lesson.runtime_s, lesson.features)


def _attempt_of(lesson: Lesson, key: str) -> AttemptAt:
    return AttemptAt(key, float(lesson.allocation_bytes) or None, lesson.lowered)


def _exceeded(lesson: Lesson) -> Exceeded:
    request_bytes = lesson.request_bytes
    return Exceeded(
        run=lesson.run,
        allocation_bytes=float(lesson.need_bytes),
        request_bytes=None if request_bytes is None else float(request_bytes),
        cause=lesson.cause,
        bids=_without_given(lesson),
        given_bytes=_given_bytes(lesson, lesson.need_bytes),
        runtime_s=lesson.runtime_s,
    )


def _without_given(lesson: Lesson) -> dict[str, float] | None:
    """Return what was bid or recommended for an attempt; None if nothing was."""
    return {name: bid for name, bid in (lesson.bids or {}).items() if name != GIVEN} or None


def _given_bytes(lesson: Lesson, limit_bytes: int) -> float | None:
    """Return what an attempt held; None unless Plimsoll sized it.

    A pod that waited may have been resized since; then its limit says it. A limit that the author
    wrote may be higher than what was given.
    """
    given_bytes = (lesson.bids or {}).get(GIVEN)
    if given_bytes is None or not lesson.lowered:
        return given_bytes
    return float(limit_bytes) or given_bytes


def _take_in_training(standing: Standing, times: Mapping[str, float | None]) -> None:
    for name in MODELLED:
        if name not in times:
            standing.retire(name)
        elif (ratio := times[name]) is not None:
            standing.seed(name, ratio)


def _put_pool(experts: TaskStandings, namespace: str, data: Mapping[str, Any] | None) -> None:
    """Set a namespace's pool as it was stored; one that cannot be read starts again."""
    if not experts.put_pool(namespace, data):
        log.error("what a namespace's tasks share cannot be read", namespace=namespace)


def _readable(task: str, data: Mapping[str, Any]) -> Standing | None:
    """Read a task's standing; None if that is impossible: its experts start again."""
    try:
        return Standing.from_dict(data)
    except (KeyError, TypeError, ValueError) as error:
        log.error("a task's experts cannot be read", task=task, error=repr(error))
        return None
