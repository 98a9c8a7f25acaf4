"""Every task's experts: they learn lessons, bid, and are saved and restored.

The store keeps a log of lessons (see its lessons.py); what the experts know is a fold over it:

    observation committed ─► its lesson committed with it ─► folded here ─► book ─► feed
                                                               └─► now and then: state saved,
                                                                   folded lessons forgotten
A crash loses nothing: the next start restores the saved state and folds what follows it, and so
comes to the same state. While it lives, this is the only one that folds.

Memory: a task's experts take some 30 kB, and 40 kB more for each numeric feature that they follow.
Those of the tasks that learned last are held; the others are read again when they are needed.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

import structlog

from plimsoll_operator.controller.hub.habits import Turns, fold_and_save
from plimsoll_operator.controller.tasks.book import TaskBook
from plimsoll_predictor.core.decision import Ask
from plimsoll_predictor.core.record import Features
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.deciding.modelled import modelled_bids
from plimsoll_predictor.experts.charging import DECIDED, EndedRun
from plimsoll_predictor.experts.fleet import Fleet
from plimsoll_predictor.experts.panel import MODELLED
from plimsoll_predictor.experts.pool import Pool
from plimsoll_predictor.experts.standing import Ended, Standing
from plimsoll_predictor.store import Lesson, LessonKind, SharedState, Store, StoreError, Writer

log = structlog.get_logger()

HELD_TASKS: Final = 1000
UNKNOWN_TASKS: Final = 10_000


class Standings:
    """One per controller. ``news`` never waits."""

    def __init__(
        self, store: Store, writer: Writer, book: TaskBook, *, held_tasks: int = HELD_TASKS
    ) -> None:
        self._store = store
        self._writer = writer
        self._book = book
        self._held_tasks = held_tasks
        self._fleet = Fleet(namespace_of)
        self._used: OrderedDict[str, None] = OrderedDict()
        """Tasks that are held; the one that learned last is at the end."""
        self._through = 0
        """Serial of the last lesson folded."""
        self._saved_through = {0}
        """Of the last that was saved; and of those that may have been, where nobody heard."""
        self._unknown: set[str] = set()
        """Tasks of which nothing is saved: else each of their pods would be looked up in vain."""
        self._unsaved: dict[str, None] = {}
        self._unsaved_pools: dict[str, None] = {}
        self._news = asyncio.Event()
        self._folding = asyncio.Lock()

    @property
    def through(self) -> int:
        """Serial of the last lesson folded."""
        return self._through

    def held(self, task: TaskId) -> Standing | None:
        """The task's experts if they are in memory, as they are after it has learned."""
        return self._fleet.seen(str(task))

    async def standing(self, task: TaskId) -> Standing | None:
        """The task's experts, to look at only; None if they know nothing of it."""
        held = self.held(task)
        if held is not None or str(task) in self._unknown:
            return held
        through = self._through
        saved = await self._writer.read(self._store.experts.standings_of, [str(task)])
        # Unless something was learned while the store was read.
        if not saved and self._through == through and len(self._unknown) < UNKNOWN_TASKS:
            self._unknown.add(str(task))
        return next(iter(_readable(saved).values()), None)

    async def pool(self, task: TaskId) -> Pool:
        """Return what the tasks of a namespace share; callers must not change it."""
        held = self._fleet.pools.get(task.namespace)
        if held is not None:
            return held
        saved = await self._writer.read(self._store.experts.pools, [task.namespace])
        alone = Fleet(namespace_of)
        alone.take_up_pool(task.namespace, saved.get(task.namespace))
        return alone.pool_of(str(task))

    def to_dict(self) -> dict[str, Any]:
        """The state in memory, as plain JSON types."""
        return {
            "pools": {name: pool.to_dict() for name, pool in self._fleet.pools.items()},
            "standings": {task: self._fleet.standing(task).to_dict() for task in self._fleet},
        }

    async def bids(
        self, task: TaskId, request_bytes: int | None, features: Features
    ) -> Mapping[str, float]:
        """Return each expert's bid for an attempt that was decided just now; empty if none bids."""
        ask = Ask(features=dict(features), request_bytes=request_bytes)
        by_model = modelled_bids(self._book.look(task), ask)
        try:
            standing = await self.standing(task)
        except StoreError as error:
            log.warning("bids are missed, the store cannot be read", error=str(error))
            standing = None
        return {**standing.bids(request_bytes, features), **by_model} if standing else by_model

    def news(self) -> None:
        """Something was committed that may teach."""
        self._news.set()

    async def restore(self) -> None:
        """Take up what was saved, and fold what became known since."""
        async with self._folding:
            shared = await self._writer.read(self._store.experts.shared)
            self._fleet = Fleet(namespace_of)
            self._used.clear()
            self._unknown.clear()
            self._unsaved.clear()
            self._unsaved_pools.clear()
            self._through = shared.through
            self._saved_through = {shared.through}
            after = ""
            while saved := await self._writer.read(self._store.experts.standings, after):
                after = max(saved)
                await self._hold(saved, saved)
                self._tell(saved)
                self._let_go()
        await self.fold()

    async def fold(self) -> None:
        """Learn all that became known; afterwards the book says what follows from it."""
        experts = self._store.experts
        async with self._folding:
            while lessons := await self._writer.read(experts.lessons, self._through):
                tasks = {str(lesson.task) for lesson in lessons}
                if missing := [task for task in tasks if task not in self._used]:
                    saved = await self._writer.read(experts.standings_of, missing)
                    await self._hold(saved, missing)
                turns = Turns()
                for lesson in lessons:
                    self._learn(lesson)
                    await turns.rest()
                self._tell(tasks)

    async def save(self) -> None:
        """Save what changed, as of the last lesson folded.

        If another controller saved meanwhile (two led for a moment), its state is restored.
        """
        async with self._folding:
            if self._saved_through == {self._through}:
                return
            follows = frozenset(self._saved_through)
            self._saved_through.add(self._through)
            pools = {name: self._fleet.pools[name].to_dict() for name in self._unsaved_pools}
            shared = SharedState(through=self._through, pools=pools)
            changed = {task: self._fleet.standing(task).to_dict() for task in self._unsaved}
            if await self._writer.call(self._store.experts.save, shared, changed, follows):
                self._saved_through = {shared.through}
                self._unsaved.clear()
                self._unsaved_pools.clear()
                self._let_go()
                return
        log.warning("another controller saved the experts meanwhile; taking up what it saved")
        await self.restore()

    async def run(self) -> None:
        """Fold what comes and save it now and then, until cancelled."""
        await fold_and_save(self, self._news)

    async def close(self) -> None:
        """Fold and save what is left; what cannot be is folded at the next start."""
        try:
            await self.fold()
            await self.save()
        except StoreError as error:
            log.warning("the experts are not saved; the next start learns again", error=str(error))

    def forget_all_but(self, stored: Collection[TaskId]) -> None:
        """Forget the tasks that the store has forgotten; they are forgotten there already."""
        names = {str(task) for task in stored}
        for task in [task for task in self._used if task not in names]:
            self._drop(task)
        self._drop_pools()

    async def _hold(self, saved: Mapping[str, Mapping[str, Any]], tasks: Iterable[str]) -> None:
        """Take up what was saved of tasks, and what their namespaces share."""
        unknown = {namespace_of(task) for task in tasks} - self._fleet.pools.keys()
        if unknown:
            pools = await self._writer.read(self._store.experts.pools, unknown)
            for namespace in sorted(unknown):
                self._fleet.take_up_pool(namespace, pools.get(namespace))
        for task, standing in _readable(saved).items():
            self._fleet.take_up(task, standing)
            self._used[task] = None

    def _let_go(self) -> None:
        """What is saved need not be held."""
        for task in list(self._used)[: max(0, len(self._used) - self._held_tasks)]:
            self._drop(task)
        self._drop_pools()

    def _drop_pools(self) -> None:
        """Pools of which no task is held; one that is not saved stays until it is."""
        held = {namespace_of(task) for task in self._used} | self._unsaved_pools.keys()
        for namespace in self._fleet.pools.keys() - held:
            self._fleet.forget_pool(namespace)

    def _drop(self, task: str) -> None:
        self._fleet.forget(task)
        self._used.pop(task, None)
        self._unsaved.pop(task, None)

    def _tell(self, tasks: Collection[str]) -> None:
        for name in tasks:
            standing = self._fleet.seen(name)
            if standing is not None:
                self._book.inform(TaskId.parse(name), standing)

    def _learn(self, lesson: Lesson) -> None:
        try:
            self._fold(lesson)
        except (ArithmeticError, LookupError, TypeError, ValueError):
            # The lesson is half learned, but equally so after a restart; stopping would be worse.
            log.exception("a lesson could not be learned", task=str(lesson.task), run=lesson.run)
        self._through = lesson.serial
        task = str(lesson.task)
        self._unknown.discard(task)
        self._unsaved[task] = self._used[task] = None
        self._unsaved_pools[lesson.task.namespace] = None
        self._used.move_to_end(task)

    def _fold(self, lesson: Lesson) -> None:
        task, pool = str(lesson.task), self._fleet.pool_of(str(lesson.task))
        standing = self._fleet.standing(task)
        if lesson.kind is LessonKind.ENDED:
            self._fleet.learn(task, self._ended(lesson, standing))
            return
        if lesson.kind is LessonKind.EXCEEDED:
            self._fleet.exceeded(task, lesson.run, float(lesson.need_bytes), lesson.bids)
        elif lesson.kind is LessonKind.CORRECTED:
            standing.correct(float(lesson.before_bytes), float(lesson.need_bytes))
        else:
            _take_in_training(standing, lesson.times)
        standing.refresh(pool, self._overhead_s(lesson.task))

    def _ended(self, lesson: Lesson, standing: Standing) -> Ended:
        # A run that was killed first was decided then: those bids would have met its need.
        first_bids = standing.bids_of_killed(lesson.run)
        runtime_s = lesson.runtime_s
        if runtime_s is None:
            runtime_s = standing.past.mean_runtime_s if standing.past.runs else 1.0
        request_bytes = lesson.request_bytes
        bids = dict(first_bids or lesson.bids or {})
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
        )

    def _overhead_s(self, task: TaskId) -> float:
        return self._book.look(task).policy.overhead_s


def namespace_of(task: str) -> str:
    """With whom a task shares: with its own namespace. Strangers' runs are none of its business."""
    return task.partition("/")[0]


def _take_in_training(standing: Standing, times: Mapping[str, float | None]) -> None:
    for name in MODELLED:
        if name not in times:
            standing.retire(name)
        elif (ratio := times[name]) is not None:
            standing.seed(name, ratio)


def _readable(saved: Mapping[str, Mapping[str, Any]]) -> dict[str, Standing]:
    """Read standings, and leave out those that cannot be read: their experts start again."""
    found: dict[str, Standing] = {}
    for task, data in saved.items():
        try:
            found[task] = Standing.from_dict(data)
        except (KeyError, TypeError, ValueError) as error:
            log.error("a task's experts cannot be read", task=task, error=repr(error))
    return found
