"""What one question of a scheduler costs the extender, by the number of nodes.

    PYTHONPATH=. .venv/bin/python -P -m benchmarks.scheduling.extender

One process answers questions about pods of fifty tasks in turn, with names alone and with whole
nodes. Each burst of scored pods is compared with the adjacent burst of unlabelled pods: both meet
the same conditions. The question's JSON is read and the answer's written in both.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from benchmarks.scheduling.hints import NODES, TASKS, a_state, hosts_of, tell, tell_loads
from plimsoll_operator.extender.metrics import ExtenderMetrics
from plimsoll_operator.extender.scoring import Scorer
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.metrics.quiet_log import QuietLog
from plimsoll_predictor.core.policy import Placing
from tests.builders.pods import APod, a_pod
from tests.rigs.servers.extenders import by_names, by_nodes

BURST: Final = 50
ROUNDS: Final = 21


@dataclass(frozen=True, slots=True)
class Figures:
    """For one number of nodes: medians of bursts, a processor's microseconds per answer.

    loaded_us: scored, with loads known. ratio: scored over unscored, of adjacent bursts.
    """

    nodes: int
    scored_us: float
    loaded_us: float
    unscored_us: float
    ratio: float
    question_bytes: int
    answer_bytes: int
    given: float


def measure(nodes: int, *, whole: bool) -> Figures:
    """Answer questions about so many nodes."""
    board = FeedBoard("bench")
    names = hosts_of(nodes)
    tell(board, names)
    scorer = a_scorer(board)
    tell_loads(board, names)
    loaded = a_scorer(board)
    pods = [a_pod().in_namespace(task.namespace).labelled(task.name) for task in TASKS]
    scored = [_body(pod, names, whole=whole) for pod in pods]
    unscored = [_body(pod.unlabelled(), names, whole=whole) for pod in pods]
    for each in (scorer, loaded):
        _burst_us(each, scored)
    found = [
        (_burst_us(scorer, scored), _burst_us(loaded, scored), _burst_us(scorer, unscored))
        for _ in range(ROUNDS)
    ]
    return Figures(
        nodes=nodes,
        scored_us=statistics.median(each for each, _, _ in found),
        loaded_us=statistics.median(each for _, each, _ in found),
        unscored_us=statistics.median(each for _, _, each in found),
        ratio=statistics.median(one / other for one, _, other in found),
        question_bytes=len(scored[0]),
        answer_bytes=len(scorer.score(scored[0], time.monotonic())),
        given=_given(scorer) / (len(found) * BURST + BURST + 1),
    )


def a_scorer(board: FeedBoard) -> Scorer:
    """One that has just received everything on the board."""
    state = a_state(board.message(0, None), Placing.ENFORCE)
    now_s = time.monotonic
    scorer = Scorer(state, ExtenderMetrics(), QuietLog(now_s), now_s, deadline_s=60.0)
    scorer.hear()
    return scorer


def _body(pod: APod, names: Sequence[str], *, whole: bool) -> bytes:
    args: dict[str, Any] = (
        by_nodes(pod, **{name: name for name in names}) if whole else by_names(pod, *names)
    )
    return json.dumps(args, separators=(",", ":")).encode()


def _burst_us(scorer: Scorer, bodies: Sequence[bytes]) -> float:
    began_s = time.process_time()
    for number in range(BURST):
        scorer.score(bodies[number % len(bodies)], time.monotonic())
    return (time.process_time() - began_s) / BURST * 1e6


def _given(scorer: Scorer) -> float:
    scorer.hear()
    found = scorer.metrics.registry.get_sample_value(
        "plimsoll_extender_questions_total", {"result": "given"}
    )
    return found or 0.0


def main() -> None:
    """Print the table."""
    table = Table(title="A question of a scheduler, a processor's time")
    for column in (
        "nodes",
        "scored, µs",
        "with loads, µs",
        "nobody's pod, µs",
        "ratio",
        "question, kB",
    ):
        table.add_column(column, justify="right")
    for column in ("answer, kB", "given"):
        table.add_column(column, justify="right")
    for nodes, whole in [*((each, False) for each in NODES), (NODES[-1], True)]:
        found = measure(nodes, whole=whole)
        table.add_row(
            f"{nodes}{', whole' if whole else ''}",
            f"{found.scored_us:.0f}",
            f"{found.loaded_us:.0f}",
            f"{found.unscored_us:.0f}",
            f"{found.ratio:.2f}",
            f"{found.question_bytes / 1e3:.0f}",
            f"{found.answer_bytes / 1e3:.0f}",
            f"{found.given:.0%}",
        )
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
