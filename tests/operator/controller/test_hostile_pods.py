"""Thousands of pods by hostile authors: all stays bounded, and others keep their own.

Figures are bytes and counts. A pod's cost is measured in the store's own pages.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pytest

from plimsoll_operator.admission.snapshot import load_snapshot, take_snapshot, write_snapshot
from plimsoll_operator.attempts.watched_pod import read_pod
from plimsoll_operator.controller.tasks.book import LIFTS_IN_ALL
from plimsoll_operator.feed.board import MAX_CHANGE_BYTES, MAX_MESSAGE_BYTES, FeedBoard
from plimsoll_operator.feed.client import FeedClient, FeedSource
from plimsoll_operator.feed.wire import decode_message
from plimsoll_operator.names import labels
from plimsoll_operator.pods.identity import identify
from plimsoll_operator.sizing.pod_sizing import size
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.bounded_text import MOST_RUN_BYTES
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.task import TaskId
from tests.builders.controller.ledgers import Inside, a_train, an_inside, decided, ended, killed
from tests.builders.kubernetes.hostile_pods import HostilePod, hostile_pods, oddly_typed_pods
from tests.builders.pods import APod

FEW_PODS, MANY_PODS, MANY_ROUNDS = 2_000, 10_000, 40
"""Many in `make soak`."""
AT_ONCE: Final = 200
MOST_STORED_BYTES: Final = 4096
"""Bytes of a pod in the store."""
MOST_STORED_OF_A_TASK_BYTES: Final = 3072
"""Bytes of a task without its pods: its sums, and the state of its experts and forecaster."""
MOST_SNAPSHOT_BYTES: Final = 1024
"""Bytes of a pod in admission's copy on disk."""
CALM: Final = TaskId("calm", "train")


def chunks(pods: Iterator[HostilePod]) -> Iterator[list[HostilePod]]:
    while chunk := list(islice(pods, AT_ONCE)):
        yield chunk


def a_reader() -> FeedClient:
    """An admission replica's side of the feed, without the network between."""
    state = AdmissionState(default_policy=Policy(mode=Mode.ENFORCE))
    source = FeedSource("http://unused", Path("unused"))
    return FeedClient(source, state, lambda: None, refuse, random.Random(1))


def refuse(reason: str) -> None:
    raise AssertionError(f"admission refused an entry: {reason}")


async def follow(reader: FeedClient, board: FeedBoard) -> int:
    """Read the feed to its end; the bytes of the largest message."""
    largest = 0
    while True:
        position = reader.position
        message = board.message(position.revision, position.epoch)
        largest = max(largest, len(message))
        read = decode_message(message)
        await reader.take(read)
        if read.revision == read.head:
            return largest


async def live_through(inside: Inside, chunk: Sequence[HostilePod]) -> None:
    """The pods are created, run and end, all at once; no step may raise."""
    see = inside.controller.watch.see_pod
    await asyncio.gather(*(see(pod.document, gone=False) for pod in chunk[::5]))
    await asyncio.gather(*(see(pod.running(), gone=False) for pod in chunk))
    await inside.report(*(pod.peak() for pod in chunk))
    await asyncio.gather(*(see(pod.ended(), gone=False) for pod in chunk))


async def flood(inside: Inside, reader: FeedClient, pods: Iterator[HostilePod]) -> int:
    """The bytes of the largest message of the feed."""
    largest = 0
    for chunk in chunks(pods):
        sized = [pod.sized(size(pod.document, reader.state).patch) for pod in chunk]
        await live_through(inside, sized)
        await inside.controller.publications.publish()
        await inside.controller.runtimes.fold()
        largest = max(largest, await follow(reader, inside.controller.board))
    return largest


async def stored_bytes(inside: Inside, folder: Path) -> int:
    """The store's pages in use, when all that was learned is saved."""
    await inside.controller.standings.close()
    await inside.controller.runtimes.close()
    with closing(sqlite3.connect(folder / "store.db")) as connection:
        pages, free, page_bytes = (
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
    return int((pages - free) * page_bytes)


def a_calm_pod(name: str) -> APod:
    work = {labels.RUN: "r1", labels.ITEM: name}
    return a_train(name).in_namespace(CALM.namespace).annotated(work)


async def live_calmly(inside: Inside) -> None:
    """Another namespace has items, a lift and a pod that waits."""
    for number in range(20):
        pod = a_calm_pod(f"s{number}")
        await inside.see(ended(pod))
    await inside.see(killed(decided(a_calm_pod("big").owned_by_job())))
    await inside.see(a_calm_pod("waits"))


def is_calm(inside: Inside, state: AdmissionState) -> bool:
    """Whether that namespace still has all of it, here and at admission."""
    known = inside.controller.book.look(CALM)
    return (
        len(known.lifts) == 1
        and state.tasks[CALM].lifts == known.lifts
        and inside.controller.late_binding._waiting.has(CALM)
    )


def snapshot_of(reader: FeedClient, folder: Path) -> tuple[int, AdmissionState]:
    """The bytes of admission's copy on disk, and what a restarted replica reads from it."""
    path, restarted = folder / "snapshot", AdmissionState()
    write_snapshot(path, take_snapshot(reader.state, reader.position, 0.0))
    loaded = load_snapshot(path, restarted)
    assert loaded is not None
    assert loaded.bad_entries == ()
    return path.stat().st_size, restarted


@pytest.mark.slow
async def test_thousands_of_hostile_pods_leave_everything_bounded_and_others_alone(
    tmp_path: Path, rounds: int
) -> None:
    count = MANY_PODS if rounds >= MANY_ROUNDS else FEW_PODS
    async with an_inside(tmp_path) as inside:
        reader = a_reader()
        await live_calmly(inside)
        largest_message = await flood(inside, reader, hostile_pods(count, seed=1))
        book = inside.controller.book
        lifts = [run for task in book for run in book.look(task).lifts]

        assert largest_message <= MAX_MESSAGE_BYTES + MAX_CHANGE_BYTES
        assert len(lifts) <= LIFTS_IN_ALL
        assert all(len(run.encode()) <= MOST_RUN_BYTES for run in lifts)
        assert len(book) > count / 4
        assert is_calm(inside, reader.state)
        snapshot_bytes, restarted = snapshot_of(reader, tmp_path)
        assert snapshot_bytes <= count * MOST_SNAPSHOT_BYTES
        assert is_calm(inside, restarted)
        assert await stored_bytes(inside, tmp_path) <= count * MOST_STORED_BYTES


@pytest.mark.slow
async def test_pods_that_are_as_large_as_can_be_in_every_way_cost_no_more(tmp_path: Path) -> None:
    count = 400
    async with an_inside(tmp_path) as inside:
        reader = a_reader()
        empty = await stored_bytes(inside, tmp_path)
    folder = tmp_path / "flooded"
    folder.mkdir()
    async with an_inside(folder) as inside:
        await flood(inside, reader, hostile_pods(count, seed=1, worst_every=1))
        tasks = len(inside.controller.book)
        grown = await stored_bytes(inside, folder) - empty
    assert grown <= count * MOST_STORED_BYTES + tasks * MOST_STORED_OF_A_TASK_BYTES


@pytest.mark.slow
def test_whatever_types_a_pod_has_it_is_read(tmp_path: Path) -> None:
    state = AdmissionState(default_policy=Policy(mode=Mode.ENFORCE))
    for pod in oddly_typed_pods(500, seed=2):
        identify(pod)
        size(pod, state, "evil")
        read_pod(pod, state.knowledge_of)


@pytest.mark.slow
def test_a_retry_is_planned_without_the_pod_itself(tmp_path: Path) -> None:
    async def planned() -> list[Any]:
        async with an_inside(tmp_path) as inside:
            await inside.see(killed(decided(a_train()).annotated({"notes": "x" * 200_000})))
            return inside.store.retries.waiting()

    (intent,) = asyncio.run(planned())
    assert len(intent.manifest) < 4096
