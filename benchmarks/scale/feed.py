"""How models of many tasks reach admission's replicas, and what they cost there.

The replicas are separate processes, asked over TLS as the API server asks them.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import psutil

from benchmarks.admission.inputs import a_model
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.knowledge.expert_names import CLASSIFIER, MAX_SEEN
from plimsoll_predictor.knowledge.knowledge import Knowledge
from plimsoll_predictor.model.task_model import Model
from tests.builders.nodes import a_node, nodes_of
from tests.builders.pods import a_pod
from tests.rigs.servers.admission_servers import Caller, a_feed, calling, patch_in, settings_in
from tests.rigs.servers.ports import free_port

REPLICAS: Final = 2
_UPDATES: Final = 20
_POLL_S: Final = 0.01
_WITHIN_S: Final = 300.0
_MAIN: Final = """
from plimsoll_operator.processes.admission import serve
from plimsoll_operator.admission.settings import AdmissionSettings
serve(AdmissionSettings())
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedFigures:
    """The measurements.

    synced_s: from a replica's start until the last of all knows every task. update_s: from a task's
    new model to the last replica that uses it; the longest of some. retrained_s: the same, when all
    models are new at once. rss_bytes: of the largest replica, at its peak. board_bytes: growth of
    the controller's side.
    """

    tasks: int
    models: int
    synced_s: float
    update_s: float
    retrained_s: float
    rss_bytes: int
    board_bytes: int


async def measure(folder: Path, tasks: int, models: int) -> FeedFigures:
    """Feed replicas with that many tasks; the last ``models`` of them have a model."""
    template, before = a_template(), psutil.Process().memory_info().rss
    board = FeedBoard("bench", max_models_bytes=2**40)
    board.set_defaults(Policy(mode=Mode.ENFORCE), nodes=nodes_of(a_node("64Gi")))
    for number in range(tasks):
        board.publish(_knowledge(number, None if number < tasks - models else template, 0))
    board_bytes = psutil.Process().memory_info().rss - before
    async with a_feed(board) as url, replicas(folder, url, REPLICAS) as (callers, processes):
        began_s = time.monotonic()
        await _until_used(callers, tasks - 1, 0)
        synced_s = time.monotonic() - began_s
        updates = [
            await _update(board, callers, _knowledge(tasks - 1 - each % models, template, each + 1))
            for each in range(_UPDATES)
        ]
        began_s = time.monotonic()
        for number in range(tasks - models, tasks):
            board.publish(_knowledge(number, template, 1000))
            await asyncio.sleep(0)
        await _until_used(callers, tasks - 1, 1000)
        retrained_s = time.monotonic() - began_s
        rss = max(peak_rss_bytes(process.pid) for process in processes)
    return FeedFigures(
        tasks=tasks,
        models=models,
        synced_s=synced_s,
        update_s=max(updates),
        retrained_s=retrained_s,
        rss_bytes=rss,
        board_bytes=board_bytes,
    )


@asynccontextmanager
async def replicas(
    folder: Path, feed_url: str, count: int
) -> AsyncIterator[tuple[list[Caller], list[subprocess.Popen[bytes]]]]:
    """Admission processes that read the feed, and a caller of each; they answer already."""
    async with AsyncExitStack() as stack:
        callers, processes = list[Caller](), list[subprocess.Popen[bytes]]()
        for number in range(count):
            home, port = folder / f"replica-{number}", free_port()
            process = _start(home, feed_url, port)
            stack.callback(process.wait)
            stack.callback(process.kill)
            processes.append(process)
            callers.append(await stack.enter_async_context(calling(port, home)))
        for caller in callers:
            await _until_listening(caller)
        yield callers, processes


def _start(home: Path, feed_url: str, port: int) -> subprocess.Popen[bytes]:
    settings = settings_in(home, feed_url, listen_port=port, snapshot_every_s=10.0)
    environment = {
        f"PLIMSOLL_{name.upper()}": str(value)
        for name, value in settings.model_dump(exclude={"excluded_namespaces"}).items()
        if value is not None
    }
    with (home / "log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-c", _MAIN],
            env={**os.environ, **environment, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=log,
            stderr=log,
        )


def _knowledge(number: int, model: Model | None, round_number: int) -> Knowledge:
    task = TaskId(f"team-{number % 40}", f"task-{number}")
    mine = model and _of_round(model, task, round_number)
    return Knowledge(
        task=task,
        policy=Policy(mode=Mode.ENFORCE),
        runs=1460,
        max_need_bytes=7 * GIB,
        champion=CLASSIFIER if model else MAX_SEEN,
        model=mine,
    )


def _of_round(model: Model, task: TaskId, round_number: int) -> Model:
    """The model as if from another training: its smallest bin differs."""
    first, *others = model.bins.ceilings_bytes
    bins = replace(model.bins, ceilings_bytes=(first + round_number * MIB, *others))
    return replace(model, task=str(task), bins=bins, trained_s=float(round_number), version="")


async def _update(board: FeedBoard, callers: Sequence[Caller], known: Knowledge) -> float:
    began_s = time.monotonic()
    board.publish(known)
    assert known.model is not None
    number, round_number = int(known.task.name.split("-")[1]), int(known.model.trained_s)
    await _until_used(callers, number, round_number)
    return time.monotonic() - began_s


async def _until_used(callers: Sequence[Caller], number: int, round_number: int) -> None:
    """Wait until every replica decides by the task's model of that round."""
    known = _knowledge(number, a_template(), round_number)
    assert known.model is not None
    for caller in callers:
        async with asyncio.timeout(_WITHIN_S):
            while known.model.version not in await _patch(caller, known.task):
                await asyncio.sleep(_POLL_S)


_TEMPLATES: list[Model] = []


def a_template() -> Model:
    """The model that all tasks have, trained once."""
    if not _TEMPLATES:
        _TEMPLATES.append(a_model())
    return _TEMPLATES[0]


async def _until_listening(caller: Caller) -> None:
    async with asyncio.timeout(60):
        while True:
            try:
                await caller.review(a_pod())
            except OSError:
                await asyncio.sleep(_POLL_S)
            else:
                return


async def _patch(caller: Caller, task: TaskId) -> str:
    pod = a_pod().in_namespace(task.namespace).labelled(task.name).asking("16Gi")
    return json.dumps(patch_in(await caller.review(pod, namespace=task.namespace)))


def peak_rss_bytes(process: int) -> int:
    """The largest resident memory of a process so far."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    [line] = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024
