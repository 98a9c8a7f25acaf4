"""Whether a store of many more observations makes admission slower or larger.

Two controllers' feeds, each from its own store with the same tasks, and a replica of each. They
decide in turns, so that other load on the machine falls on both alike.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final
from urllib.parse import urlsplit

from benchmarks.admission.load import Endpoint, Load
from benchmarks.scale.data import task_name
from benchmarks.scale.feed import peak_rss_bytes, replicas
from benchmarks.scale.store import take_up
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import Store, Writer
from tests.builders.nodes import a_node, nodes_of
from tests.builders.pods import a_pod, a_review
from tests.rigs.servers.admission_servers import a_feed

CONNECTIONS: Final = 8
ROUNDS: Final = 15
REQUESTS: Final = 1_000
_POLL_S: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionFigures:
    """The measurements of the smaller store and of the larger.

    per_s: decisions a second, the median of the rounds. rss_bytes: of the replica at its peak.
    share: the larger's decisions a second over the smaller's, the median of the rounds.
    """

    per_s: tuple[float, float]
    rss_bytes: tuple[int, int]
    share: float


async def measure(folder: Path, smaller_url: str, larger_url: str) -> AdmissionFigures:
    """Measure on two stores that ``data.fill`` has filled with the same tasks."""
    async with (
        _a_replica(folder / "smaller", smaller_url) as (smaller, smaller_pid),
        _a_replica(folder / "larger", larger_url) as (larger, larger_pid),
    ):
        for load in (smaller, larger):
            await load.burst(REQUESTS)  # warm
        rounds = [
            ((await smaller.burst(REQUESTS)).rps, (await larger.burst(REQUESTS)).rps)
            for _ in range(ROUNDS)
        ]
        return AdmissionFigures(
            per_s=(median(each[0] for each in rounds), median(each[1] for each in rounds)),
            rss_bytes=(peak_rss_bytes(smaller_pid), peak_rss_bytes(larger_pid)),
            share=median(large / small for small, large in rounds),
        )


@asynccontextmanager
async def _a_replica(folder: Path, url: str) -> AsyncIterator[tuple[Load, int]]:
    """A replica that has received all that a controller reads from the store, and its pid."""
    folder.mkdir()
    async with AsyncExitStack() as stack:
        store = Store.open(url)
        stack.callback(store.close)
        writer = Writer(store)
        stack.push_async_callback(writer.close)
        board = FeedBoard("bench")
        board.set_defaults(Policy(mode=Mode.ENFORCE), nodes=nodes_of(a_node("64Gi")))
        await take_up(store, writer, board)
        feed_url = await stack.enter_async_context(a_feed(board))
        (caller,), (process,) = await stack.enter_async_context(replicas(folder, feed_url, 1))
        while not board.readers:  # it has received all, and waits for news
            await asyncio.sleep(_POLL_S)
        port = urlsplit(caller.url).port
        assert port is not None
        load = await Load.connect(Endpoint(port, "/size"), _a_creation(), CONNECTIONS)
        stack.callback(load.close)
        yield load, process.pid


def _a_creation() -> bytes:
    """The API server's question about a pod of the task that ran most."""
    task = TaskId.parse(task_name(0))
    pod = a_pod().in_namespace(task.namespace).labelled(task.name).asking("16Gi")
    return json.dumps(a_review(pod, namespace=task.namespace)).encode()
