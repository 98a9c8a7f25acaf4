"""Placing on two real nodes of a core each: `make bench-placing-nodes`.

    .venv/bin/python -P -m benchmarks.placing_nodes [--learn 200] [--runs 100] [--repeats 3]

docs/placing.md has the protocol. It writes bench-placing-nodes.json after each repeat, and takes
some ten minutes for one. What fails in a repeat is printed, and the others go on.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from statistics import mean
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.placing_kinds import KINDS, pace_of
from benchmarks.placing_queue import Arm, Played, Submissions, played
from plimsoll_operator.ordering.gate import MOST_WAIT_S
from tests.apiserver.controllers import a_shop
from tests.apiserver.crds import install_crds
from tests.conftest import Cluster
from tests.e2e.plimsolls import wait_for_admission
from tests.ha.that_holds import a_plimsoll_that_holds
from tests.placing.two_nodes import two_nodes
from tests.rigs.eater import load_eater

ROOT: Final = Path(__file__).resolve().parents[1]
WIDTH: Final = 140
SEED: Final = 16
BAR: Final = -0.10
"""Of the mean runtime, against the default scheduler."""
DRAWS: Final = 2000
ROOM_LEFT: Final = 3
"""Pods at once on four places, while it is learned: who is alone tells what neighbours cost."""
BACKLOG: Final = 16
"""Pods at once then: four run, and twelve wait, of whom one is next."""
LEAST_RUNTIMES: Final = "1"
"""Pods take seconds here, so that runs are many; on a cluster, only long tasks are ordered."""
NOT_HERE: Final = ("agent",)
"""Nodes of one machine share its processors: each would tell of all, and neither of itself."""

Repeat = dict[Arm, Played]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print and write. Returns 0 if the bar holds and nothing failed, else 1."""
    given = _parser().parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else WIDTH, highlight=False)
    repeats: list[Repeat] = []
    with two_nodes() as cluster:
        load_eater(cluster.handle.layout)
        install_crds(cluster)
        commands = asyncio.run(_commands(cluster))
        console.print("; ".join(f"{kind}: {command}" for kind, command in commands.items()))
        for number in range(given.repeats):
            began_s = time.monotonic()
            try:
                repeats.append(asyncio.run(_repeat(cluster, given, number, commands, console)))
            except Exception:
                # One that fails is told of, and is no reason to lose the others.
                console.print(f"repeat {number + 1} FAILED", traceback.format_exc(), markup=False)
                continue
            console.print(f"repeat {number + 1} took {time.monotonic() - began_s:.0f} s")
            _write(given.json, repeats)
            _told(console, repeats)
    if not repeats:
        console.print("no repeat came to its end: there is no figure")
        return 1
    console.print(f"written to {given.json}", markup=False, soft_wrap=True)
    failed = given.repeats - len(repeats)
    console.print(f"{len(repeats)} repeats, and {failed} that failed")
    return 1 if failed or not _holds(repeats) else 0


async def _commands(cluster: Cluster) -> Mapping[str, str]:
    """What a pod of each kind runs on this machine."""
    async with a_shop(cluster.kubeconfig) as shop:
        return (await pace_of(shop)).commands()


async def _repeat(
    cluster: Cluster,
    given: argparse.Namespace,
    number: int,
    commands: Mapping[str, str],
    console: Console,
) -> Repeat:
    """Learn from nothing, then play the same submissions both ways."""
    draw = Random(SEED + number)
    first = Submissions("learn", shuffled(given.learn, draw), commands, ROOM_LEFT)
    then = shuffled(given.runs, draw)
    placed = Arm.HINTED if given.hints_alone else Arm.ORDERED
    unended = ROOM_LEFT if given.hints_alone else BACKLOG
    arms = [Arm.USUAL, placed] if number % 2 else [placed, Arm.USUAL]
    with tempfile.TemporaryDirectory(prefix="plimsoll-placing-") as folder:
        async with (
            a_shop(cluster.kubeconfig) as own,
            a_shop(cluster.kubeconfig) as shop,
            a_plimsoll_that_holds(
                *(cluster, own.namespace, Path(folder)),
                without=NOT_HERE,
                PLIMSOLL_ORDER_LEAST_RUNTIMES=LEAST_RUNTIMES,
            ),
        ):
            wait_for_admission(cluster)
            learned = await played(shop, Arm.HINTED, first)
            console.print(f"repeat {number + 1}: {len(learned.runs)} runs learned from")
            found: Repeat = {}
            for arm in arms:
                submitted = Submissions(arm.name.lower(), then, commands, unended)
                found[arm] = await played(shop, arm, submitted)
                console.print(f"repeat {number + 1}, {arm.value}: {_in_words(found[arm])}")
            return found


def _in_words(done: Played) -> str:
    return (
        f"{len(done.runs)} runs of {done.mean_s:.2f} s, {done.held} held and let go, "
        f"{done.makespan_s:.0f} s in all, places in use for {done.used:.0%}, "
        f"the longest wait {done.longest_wait_s:.0f} s"
    )


def shuffled(runs: int, draw: Random) -> list[str]:
    """So many submissions, as many of each kind, in a random order."""
    kinds = [kind for kind in KINDS for _ in range(runs // len(KINDS))]
    draw.shuffle(kinds)
    return kinds


def compared(repeats: Sequence[Repeat]) -> tuple[float, float, float]:
    """How much less the mean runtime is as placed, and its 95% interval by paired bootstrap."""
    pairs = [
        (usual.took_s, placed.took_s)
        for arms in repeats
        for arm in arms
        if arm is not Arm.USUAL
        for usual, placed in zip(arms[Arm.USUAL].runs, arms[arm].runs, strict=True)
    ]
    draw = Random(SEED)
    drawn = sorted(_ratio(draw.choices(pairs, k=len(pairs))) for _ in range(DRAWS))
    return _ratio(pairs), drawn[int(0.025 * DRAWS)], drawn[int(0.975 * DRAWS) - 1]


def _ratio(pairs: Sequence[tuple[float, float]]) -> float:
    return sum(placed for _, placed in pairs) / sum(usual for usual, _ in pairs) - 1.0


def _holds(repeats: Sequence[Repeat]) -> bool:
    """Whether runs are so much shorter, and nobody waited for longer than is promised."""
    longest_s = max(done.longest_wait_s for arms in repeats for done in arms.values())
    return compared(repeats)[0] <= BAR and longest_s <= MOST_WAIT_S


def _told(console: Console, repeats: Sequence[Repeat]) -> None:
    """Print what is known so far."""
    console.print(_table(repeats))
    less, low, high = compared(repeats)
    (placed,) = {arm for arms in repeats for arm in arms} - {Arm.USUAL}
    console.print(
        f"mean runtime {placed.value}, against as usual: {less:+.1%} "
        f"(95%: {low:+.1%} to {high:+.1%}), bar {BAR:+.0%}, nobody waits {MOST_WAIT_S:.0f} s: "
        f"{'holds' if _holds(repeats) else 'SHORT'}"
    )


def _table(repeats: Sequence[Repeat]) -> Table:
    table = Table(
        *("repeat", "", *(f"{kind}, s" for kind in KINDS), "mean, s", "all ended, s"),
        *("longest wait, s", "held"),
        box=SIMPLE_HEAD,
        title="The same submissions on two nodes: mean runtimes",
    )
    for number, arms in enumerate(repeats, start=1):
        for arm, done in sorted(arms.items(), key=lambda each: each[0] is not Arm.USUAL):
            kinds = [f"{mean(done.of_kind(kind)):.2f}" for kind in KINDS]
            spans = [f"{done.makespan_s:.0f}", f"{done.longest_wait_s:.0f}", str(done.held)]
            table.add_row(str(number), arm.value, *kinds, f"{done.mean_s:.2f}", *spans)
    return table


def _write(path: Path, repeats: Sequence[Repeat]) -> None:
    rows = [row for number, arms in enumerate(repeats) for row in _rows(number, arms)]
    path.write_text(json.dumps(rows, indent=1) + "\n")


def _rows(number: int, arms: Repeat) -> Iterator[dict[str, object]]:
    for arm, done in arms.items():
        yield {
            "repeat": number + 1,
            "arm": arm.name.lower(),
            "runs": len(done.runs),
            "held": done.held,
            "mean_s": round(done.mean_s, 3),
            "makespan_s": round(done.makespan_s, 1),
            "longest_wait_s": round(done.longest_wait_s, 1),
            **{f"{kind}_s": round(mean(done.of_kind(kind)), 3) for kind in KINDS},
            "took_s": [[run.kind, run.node, run.took_s, run.waited_s] for run in done.runs],
        }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--learn", type=int, default=200, help="runs to learn from (default 200)")
    parser.add_argument("--runs", type=int, default=100, help="runs of each arm (default 100)")
    parser.add_argument("--repeats", type=int, default=3, help="default 3")
    parser.add_argument(
        "--hints-alone", action="store_true", help="no order; one place is left free"
    )
    parser.add_argument("--json", type=Path, default=ROOT / "bench-placing-nodes.json")
    return parser


if __name__ == "__main__":
    sys.exit(main())
