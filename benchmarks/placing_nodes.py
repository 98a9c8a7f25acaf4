"""Placing on two real nodes of a core each: `make bench-placing-nodes`.

    .venv/bin/python -P -m benchmarks.placing_nodes [--learn 200] [--runs 100] [--repeats 3]

docs/placing.md has the protocol. It writes bench-placing-nodes.json, and takes some ten minutes a
repeat.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from statistics import mean
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.placing_queue import KINDS, Arm, Played, played
from tests.apiserver.controllers import a_shop
from tests.apiserver.crds import install_crds
from tests.conftest import Cluster
from tests.e2e.plimsolls import a_plimsoll
from tests.placing.two_nodes import two_nodes
from tests.rigs.eater import load_eater

ROOT: Final = Path(__file__).resolve().parents[1]
WIDTH: Final = 120
SEED: Final = 16
BAR: Final = -0.10
"""Of the mean runtime, against the default scheduler."""
DRAWS: Final = 2000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print and write. Returns 0 if the bar holds, else 1."""
    given = _parser().parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    with two_nodes() as cluster:
        load_eater(cluster.handle.layout)
        install_crds(cluster)
        repeats = [
            asyncio.run(_repeat(cluster, given, number, console)) for number in range(given.repeats)
        ]
    console.print(_table(repeats))
    less, low, high = compared(repeats)
    console.print(
        f"mean runtime with hints, against as usual: {less:+.1%} (95%: {low:+.1%} to {high:+.1%}), "
        f"bar {BAR:+.0%}: {'holds' if less <= BAR else 'SHORT'}",
        highlight=False,
    )
    rows = [row for number, arms in enumerate(repeats) for row in _rows(number, arms)]
    given.json.write_text(json.dumps(rows, indent=1) + "\n")
    console.print(f"written to {given.json}", markup=False, soft_wrap=True)
    return 0 if less <= BAR else 1


async def _repeat(
    cluster: Cluster, given: argparse.Namespace, number: int, console: Console
) -> dict[Arm, Played]:
    """Learn from nothing, then play the same submissions both ways."""
    draw = Random(SEED + number)
    first, then = shuffled(given.learn, draw), shuffled(given.runs, draw)
    arms = [Arm.USUAL, Arm.PLACED] if number % 2 else [Arm.PLACED, Arm.USUAL]
    with (
        tempfile.TemporaryDirectory(prefix="plimsoll-placing-") as folder,
        a_plimsoll(cluster, Path(folder)),
    ):
        async with a_shop(cluster.kubeconfig) as shop:
            learned = await played(shop, Arm.PLACED, "learn", first)
            console.print(f"repeat {number + 1}: {len(learned.runs)} runs learned from")
            return {arm: await played(shop, arm, arm.name.lower(), then) for arm in arms}


def shuffled(runs: int, draw: Random) -> list[str]:
    """So many submissions, as many of each kind, in a random order."""
    kinds = [kind for kind in KINDS for _ in range(runs // len(KINDS))]
    draw.shuffle(kinds)
    return kinds


def compared(repeats: Sequence[dict[Arm, Played]]) -> tuple[float, float, float]:
    """How much less the mean runtime is as placed, and its 95% interval by paired bootstrap."""
    pairs = [
        (usual.took_s, placed.took_s)
        for arms in repeats
        for usual, placed in zip(arms[Arm.USUAL].runs, arms[Arm.PLACED].runs, strict=True)
    ]
    draw = Random(SEED)
    drawn = sorted(_ratio(draw.choices(pairs, k=len(pairs))) for _ in range(DRAWS))
    return _ratio(pairs), drawn[int(0.025 * DRAWS)], drawn[int(0.975 * DRAWS) - 1]


def _ratio(pairs: Sequence[tuple[float, float]]) -> float:
    return sum(placed for _, placed in pairs) / sum(usual for usual, _ in pairs) - 1.0


def _table(repeats: Sequence[dict[Arm, Played]]) -> Table:
    table = Table(
        *("repeat", "", *(f"{kind}, s" for kind in KINDS), "mean, s", "all ended, s"),
        "longest wait, s",
        box=SIMPLE_HEAD,
        title="The same submissions on two nodes: mean runtimes",
    )
    for number, arms in enumerate(repeats, start=1):
        for arm in Arm:
            done = arms[arm]
            kinds = [f"{mean(done.of_kind(kind)):.2f}" for kind in KINDS]
            spans = [f"{done.makespan_s:.0f}", f"{done.longest_wait_s:.0f}"]
            table.add_row(str(number), arm.value, *kinds, f"{done.mean_s:.2f}", *spans)
    return table


def _rows(number: int, arms: dict[Arm, Played]) -> Iterator[dict[str, object]]:
    for arm, done in arms.items():
        yield {
            "repeat": number + 1,
            "arm": arm.name.lower(),
            "runs": len(done.runs),
            "mean_s": round(done.mean_s, 3),
            "makespan_s": round(done.makespan_s, 1),
            "longest_wait_s": round(done.longest_wait_s, 1),
            **{f"{kind}_s": round(mean(done.of_kind(kind)), 3) for kind in KINDS},
        }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--learn", type=int, default=200, help="runs to learn from (default 200)")
    parser.add_argument("--runs", type=int, default=100, help="runs of each arm (default 100)")
    parser.add_argument("--repeats", type=int, default=3, help="default 3")
    parser.add_argument("--json", type=Path, default=ROOT / "bench-placing-nodes.json")
    return parser


if __name__ == "__main__":
    sys.exit(main())
