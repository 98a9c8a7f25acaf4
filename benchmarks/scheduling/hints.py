"""What a hint at nodes costs admission, by the number of nodes; and what the feed sends for it.

    PYTHONPATH=. .venv/bin/python -P -m benchmarks.scheduling.hints

One process decides pods of fifty tasks in turn, without hints and with them, in bursts that
alternate. Each burst without is compared with the adjacent one with: both meet the same conditions.
"""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.admission.inputs import a_model
from plimsoll_operator.admission.answering import Answerer
from plimsoll_operator.admission.freshness import Freshness
from plimsoll_operator.admission.metrics import AdmissionMetrics
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.feed.client import FeedClient, FeedSource
from plimsoll_operator.feed.wire import decode_message
from plimsoll_operator.metrics.quiet_log import QuietLog
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.policy import Mode, Placing, Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GIB
from plimsoll_predictor.knowledge.expert_names import CLASSIFIER
from plimsoll_predictor.knowledge.knowledge import Knowledge
from plimsoll_predictor.placing.costs import Costs
from plimsoll_predictor.placing.kinds import MOST_KINDS, OTHERS
from plimsoll_predictor.placing.loads import NodeLoad
from tests.builders.nodes import a_node, nodes_of
from tests.builders.pods import a_pod, a_review

NODES: Final = (100, 500, 1000)
RESIDENTS: Final = 10
"""Tasks on a node."""
BURST: Final = 250
ROUNDS: Final = 21
SEED: Final = 5
TASKS: Final = [TaskId("shop", f"task-{number}") for number in range(MOST_KINDS)]


@dataclass(frozen=True, slots=True)
class Figures:
    """For one number of nodes: medians of bursts, a processor's microseconds per answer.

    added_us: of adjacent sets of bursts; the bound is 200. loaded_us: with loads, too.
    a_load_bytes: of one node in a message.
    """

    nodes: int
    without_us: float
    added_us: float
    loaded_us: float
    a_load_bytes: float
    hinted: float
    first_bytes: int
    a_node_bytes: float
    take_us: float


def measure(nodes: int) -> Figures:
    """Decide pods with so many nodes."""
    board = FeedBoard("bench")
    tell(board, hosts_of(nodes))
    first = board.message(0, None)
    states = [a_state(first, placing) for placing in (Placing.NEVER, Placing.ENFORCE)]
    before = board.revision
    tell_loads(board, hosts_of(nodes))
    loads_bytes = len(board.message(before, "bench")) - len(board.message(board.revision, "bench"))
    states.append(a_state(board.message(0, None), Placing.ENFORCE))
    answerers = [an_answerer(state) for state in states]
    bodies = [a_body(task) for task in TASKS]
    for answerer in answerers:
        burst_us(answerer, bodies)
    pairs = [[burst_us(each, bodies) for each in answerers] for _ in range(ROUNDS)]
    revision = board.revision
    board.set_host("node-7", [(place, 2) for place in range(RESIDENTS)])
    began_s = time.thread_time()
    for number in range(BURST):
        states[1].placing.put(f"node-{number % nodes}", [(place, 1) for place in range(RESIDENTS)])
    return Figures(
        nodes=nodes,
        without_us=statistics.median(without for without, _, _ in pairs),
        added_us=statistics.median(hints - without for without, hints, _ in pairs),
        loaded_us=statistics.median(loaded - without for without, _, loaded in pairs),
        a_load_bytes=loads_bytes / nodes,
        hinted=_share(answerers[1]),
        first_bytes=len(first),
        a_node_bytes=len(board.message(revision, "bench"))
        - len(board.message(revision + 1, "bench")),
        take_us=(time.thread_time() - began_s) / BURST * 1e6,
    )


def hosts_of(nodes: int) -> list[str]:
    """Names of so many nodes."""
    return [f"node-{number}" for number in range(nodes)]


def tell_loads(board: FeedBoard, hosts: Sequence[str]) -> None:
    """Put what is left of nodes on the board, drawn: one in five has less than a pod here needs."""
    draw = np.random.default_rng(SEED)
    for host in hosts:
        idle, room_mib = draw.integers(0, 36_000), draw.integers(-4_000, 60_000)
        board.set_load(host, NodeLoad(36_000, int(idle), int(room_mib)))


def tell(board: FeedBoard, hosts: Sequence[str], namespace: str = "shop") -> None:
    """Put drawn tasks on nodes and drawn costs of pairs on the board. namespace: of the tasks."""
    draw = np.random.default_rng(SEED)
    places = len(TASKS) + 1
    rows = draw.lognormal(-1.0, 0.8, (places, places))
    kinds = (OTHERS, *(f"{namespace}/{task.name}" for task in TASKS))
    board.set_pairs(Costs(kinds, rows, np.ones((places, places))))
    for host in hosts:
        residents = sorted({int(kind) for kind in draw.integers(0, places, RESIDENTS)})
        board.set_host(host, [(kind, 1) for kind in residents])


def a_state(message: bytes, placing: Placing) -> AdmissionState:
    """A state with the feed's message, and fifty tasks that a classifier of 100 trees sizes."""
    state = AdmissionState()
    take(state, message)
    state.nodes = nodes_of(a_node("72Gi", cpu="36"))
    policy, model = Policy(mode=Mode.ENFORCE, placing=placing), a_model()
    for task in TASKS:
        state.tasks[task] = Knowledge(
            task=task,
            policy=policy,
            runs=1460,
            max_need_bytes=7 * GIB,
            champion=CLASSIFIER,
            model=replace(model, task=str(task)),
        )
    return state


def take(state: AdmissionState, message: bytes) -> None:
    """Have the state take a message of the feed, as a replica does."""
    client = FeedClient(
        FeedSource("", Path()), state, lambda: None, lambda _: None, random.Random(SEED)
    )
    asyncio.run(client.take(decode_message(message)))


def an_answerer(state: AdmissionState) -> Answerer:
    """One that has just received the controller's message."""
    freshness = Freshness(86_400.0)
    freshness.hear(time.monotonic())
    return Answerer(state, freshness, AdmissionMetrics(), QuietLog(time.monotonic), time.monotonic)


def a_body(task: TaskId) -> bytes:
    """The API server's question about a new pod."""
    pod = a_pod().in_namespace(task.namespace).labelled(task.name).asking("16Gi").limited("16Gi")
    pod = pod.knowing(**{f"x{number}": 40.0 * number for number in range(12)})
    return json.dumps(a_review(pod, namespace=task.namespace)).encode()


def burst_us(answerer: Answerer, bodies: Sequence[bytes]) -> float:
    """Answer some, and return the processor time of one."""
    answerer.freshness.hear(time.monotonic())
    began_s = time.thread_time()
    for number in range(BURST):
        answerer.answer(bodies[number % len(bodies)])
    return (time.thread_time() - began_s) / BURST * 1e6


def _share(answerer: Answerer) -> float:
    given, others = 0.0, 0.0
    for metric in answerer.metrics.registry.collect():
        for sample in metric.samples:
            if sample.name == "plimsoll_placing_hints_total":
                is_given = sample.labels["result"] == "given"
                given, others = given + is_given * sample.value, others + sample.value
    return given / others if others else 0.0


def main() -> int:
    """Measure and print."""
    shown = Table(title=f"A hint at nodes, {MOST_KINDS} tasks, {RESIDENTS} on a node")
    for column in ("nodes", "answer without, µs", "added by a hint, µs", "with loads (bound 200)"):
        shown.add_column(column, justify="right")
    for column in ("hinted", "first message, kB", "a node's change, B", "a load, B", "taken, µs"):
        shown.add_column(column, justify="right")
    worst_us = 0.0
    for nodes in NODES:
        found = measure(nodes)
        if nodes <= 500:
            worst_us = max(worst_us, found.loaded_us)
        shown.add_row(
            str(nodes),
            f"{found.without_us:.0f}",
            f"{found.added_us:.0f}",
            f"{found.loaded_us:.0f}",
            f"{found.hinted:.0%}",
            f"{found.first_bytes / 1e3:.0f}",
            f"{found.a_node_bytes:.0f}",
            f"{found.a_load_bytes:.0f}",
            f"{found.take_us:.0f}",
        )
    Console(width=160).print(shown)
    return 0 if worst_us <= 200 else 1


if __name__ == "__main__":
    sys.exit(main())
