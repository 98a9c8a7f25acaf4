"""The cost of a store of a million observations: to start on, to show, to write to, to prune."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import psutil

from benchmarks.scale.data import NOW_S, Size, task_name
from plimsoll_operator.controller.hub.hub import Hub
from plimsoll_operator.controller.learning.standings import Standings
from plimsoll_operator.controller.restoring import remember_all, stored_models
from plimsoll_operator.controller.tasks.book import TaskBook
from plimsoll_operator.controller.tasks.publishing import Publications, connect_book
from plimsoll_operator.controller.tasks.publishing_item_needs import ItemNeeds
from plimsoll_operator.controller.tasks.task_policies import TaskPolicies
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.metrics.controller import ControllerMetrics
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.record import Observation, Outcome, PeakSource
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import Store, Writer, pruning

_WRITES: Final = 300
_KEPT_PER_TASK: Final = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreFigures:
    """The measurements.

    start_s: to open the store and read all it knows, as a controller does before it is ready.
    start_cpu_s: the processor time for that, without the server's. start_rss_bytes: its memory.
    tasks_s: to read what a page of all tasks shows; task_s: the same for the task with the most
        attempts.
    write_s, pruned_write_s: the longest of some single observations' waits for their commits,
        alone and while rows are pruned at the same time. pruned_rows: how many.
    """

    observations: int
    start_s: float
    start_cpu_s: float
    start_rss_bytes: int
    tasks_s: float
    task_s: float
    write_s: float
    pruned_write_s: float
    pruned_rows: int


def measure(url: str, size: Size) -> StoreFigures:
    """Measure on a store that ``data.fill`` has filled; it prunes some of it."""
    return asyncio.run(_measure(url, size))


async def _measure(url: str, size: Size) -> StoreFigures:
    cpu_s = time.process_time()
    before, began_s = psutil.Process().memory_info().rss, time.monotonic()
    store = Store.open(url)
    writer = Writer(store)
    await take_up(store, writer, FeedBoard("bench"))
    start_s, cpu_s = time.monotonic() - began_s, time.process_time() - cpu_s
    rss = psutil.Process().memory_info().rss - before
    largest = TaskId.parse(task_name(0))
    tasks_s = _best(lambda: (store.totals.by_task(), store.totals.task_uses()))
    task_s = _best(lambda: _of_one(store, largest))
    write_s = max([await _write(writer, number) for number in range(_WRITES)])
    steps = store.prune_steps(NOW_S, pruning.Bounds(per_task=_KEPT_PER_TASK))
    prune = asyncio.create_task(_prune(writer, steps))
    waits, number = list[float](), _WRITES
    while not prune.done():
        waits.append(await _write(writer, number))
        number += 1
    figures = StoreFigures(
        observations=size.observations,
        start_s=start_s,
        start_cpu_s=cpu_s,
        start_rss_bytes=rss,
        tasks_s=tasks_s,
        task_s=task_s,
        write_s=write_s,
        pruned_write_s=max(waits),
        pruned_rows=await prune,
    )
    await writer.close()
    store.close()
    return figures


async def take_up(store: Store, writer: Writer, board: FeedBoard) -> None:
    """Restore what the store knows, like ``Controller.restore``."""
    hub = Hub()
    book = TaskBook(TaskPolicies(Policy(), hub), hub)
    standings = Standings(store, writer, book, ControllerMetrics().restart_seconds)
    publications = Publications(book, standings.fold, board, hub)
    connect_book(hub, book, publications)
    await writer.call(store.totals.mend)
    for remembered in (await writer.read(remember_all, store)).values():
        book.restore(remembered.knowledge)
    async for task, saved in stored_models(store, writer):
        book.serve(task, saved.model)
    await ItemNeeds(board).restore(await writer.read(store.observations.item_needs))
    await standings.restore()
    await publications.publish()


def _of_one(store: Store, task: TaskId) -> object:
    return (
        store.totals.of(task),
        store.observations.of_task(task, limit=1_000),
        store.decisions.newest(task),
        store.trainings.newest(task, limit=5),
        store.models.newest(task),
    )


def _best(work: Callable[[], object]) -> float:
    """The shortest of three, in seconds: the machine may be busy with other work."""
    took: list[float] = []
    for _ in range(3):
        began_s = time.monotonic()
        work()
        took.append(time.monotonic() - began_s)
    return min(took)


async def _write(writer: Writer, number: int) -> float:
    began_s = time.monotonic()
    await writer.record(
        Observation(
            attempt_uid=f"bench-{number}",
            task=TaskId.parse(task_name(number % 100)),
            run=f"bench-{number}",
            outcome=Outcome.SUCCEEDED,
            request_bytes=2**32,
            allocation_bytes=2**30,
            peak_bytes=5 * 10**8,
            peak_source=PeakSource.AGENT,
            cpu_s=60.0,
            started_s=NOW_S,
            finished_s=NOW_S + 300 + number,
        )
    )
    return time.monotonic() - began_s


async def _prune(writer: Writer, steps: Any) -> int:
    rows = 0
    while (deleted := await writer.call(next, steps, None)) is not None:
        rows += deleted
    return rows
