"""Placing on two real nodes of a core each: `make bench-placing-nodes`.

    PYTHONPATH=. .venv/bin/python -P -m benchmarks.placing.nodes
        [--learn 200] [--runs 100] [--repeats 3]
    PYTHONPATH=. .venv/bin/python -P -m benchmarks.placing.nodes --read FILE [FILE ...]

docs/placing.md has the protocol. It writes bench-placing-nodes.json after each repeat; a repeat
takes minutes. A repeat's failure is printed, and the others go on. Repeats may also be played side
by side, each by a process with a cluster and a file of its own; `--read` joins their files.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import mean
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.placing.arms import Arm
from benchmarks.placing.kinds import ALONE_S, KINDS
from benchmarks.placing.mixes import mixes_of
from benchmarks.placing.pod_queue import Played, Run
from benchmarks.placing.repeat import Plan, Repeat, commands_for, compared, repeat_of
from plimsoll_operator.commands.placing.placing import placing_command
from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.ordering.longest_wait import MOST_WAIT_S
from plimsoll_predictor.placing.soft_pairing import MOST_EXCESS
from plimsoll_predictor.store import Store
from tests.apiserver.crds import install_crds
from tests.placing.two_nodes import two_nodes
from tests.rigs.images.eater import load_eater

ROOT: Final = Path(__file__).resolve().parents[2]
WIDTH: Final = 140
CORE_SHARE: Final = 1.0
"""How much of its core a node's pods have. With less, the cores of one machine slow each other less
when both are busy; nodes of a cluster do not slow each other at all."""
PARTS: Final = 4
"""How many parts each arm's queue has. The arms take turns between them, so that a machine that
becomes slower is as slow for both."""
FOLLOWED: Final = 15
"""How many pods follow each part: as many as an order chooses among."""
BAR: Final = -0.10
"""The change of the mean runtime against the default scheduler."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print and write. Returns 0 if the bar holds and nothing failed, else 1."""
    given = _parser().parse_args(arguments)
    # If the run is ended from outside, the nodes are taken down as after Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    console = Console(width=None if sys.stdout.isatty() else WIDTH, highlight=False)
    if given.read:
        written = [repeat for path in given.read for repeat in repeats_in(path)]
        console.print(table_of(written))
        console.print(summary_of(written))
        return 0 if _holds(written) else 1
    with two_nodes(given.core_share) as cluster:
        load_eater(cluster.handle.layout)
        install_crds(cluster)
        commands = asyncio.run(commands_for(cluster, given.alone))
        console.print("; ".join(f"{kind}: {command}" for kind, command in commands.items()))
        placed = Arm.HINTED if given.hints_alone else Arm.ORDERED
        plan = Plan(
            *(commands, given.learn, given.runs, console.print, (placed, Arm.USUAL)),
            learned=_tell_what_is_believed,
            parts=given.parts,
            most_excess=given.most_excess,
            followed=0 if given.hints_alone else FOLLOWED,
        )
        repeats = all_of(
            range(given.first - 1, given.first - 1 + given.repeats),
            lambda number: asyncio.run(repeat_of(cluster, plan, number)),
            console,
            given.json,
        )
    if not repeats:
        console.print("no repeat came to its end: there is no figure")
        return 1
    console.print(f"written to {given.json}", markup=False, soft_wrap=True)
    failed = given.repeats - len(repeats)
    console.print(f"{len(repeats)} repeats, and {failed} that failed")
    return 1 if failed or not _holds(repeats) else 0


def _tell_what_is_believed(store_url: str) -> None:
    """Print what was learned, as people see it: it shows why a kind loses by the order."""
    sys.stdout.flush()
    placing_command(None, store_url, OutputForm.TABLE)
    store = Store.open(store_url)
    try:
        print(mixes_of(store.encounters.newest()), flush=True)
    finally:
        store.close()


def all_of(
    numbers: Iterable[int], play: Callable[[int], Repeat], console: Console, path: Path
) -> list[Repeat]:
    """Play all. After each, print the results so far, and write every run of it."""
    repeats: list[Repeat] = []
    for number in numbers:
        began_s = time.monotonic()
        try:
            repeats.append(play(number))
        except Exception:
            # A failed repeat is reported; the others must not be lost with it.
            console.print(f"repeat {number + 1} FAILED", traceback.format_exc(), markup=False)
            continue
        console.print(f"repeat {number + 1} took {time.monotonic() - began_s:.0f} s")
        _write(path, repeats)
        console.print(table_of(repeats))
        console.print(summary_of(repeats))
    return repeats


def _holds(repeats: Sequence[Repeat]) -> bool:
    """Whether runs are short enough, and no pod waited longer than promised."""
    longest_s = max(done.longest_wait_s for arms in repeats for done in arms.values())
    return compared(repeats)[0] <= BAR and longest_s <= MOST_WAIT_S


def summary_of(repeats: Sequence[Repeat]) -> str:
    """How much shorter the mean runtime is, with its interval and the bar."""
    return (
        f"{gain_of(repeats)}, bar {BAR:+.0%}, nobody waits {MOST_WAIT_S:.0f} s: "
        f"{'holds' if _holds(repeats) else 'SHORT'}"
    )


def gain_of(repeats: Sequence[Repeat]) -> str:
    """How much shorter the mean runtime is, with its interval."""
    less, low, high = compared(repeats)
    (placed,) = {arm for arms in repeats for arm in arms} - {Arm.USUAL}
    return (
        f"mean runtime {placed.value}, against as usual: {less:+.1%} "
        f"(95%: {low:+.1%} to {high:+.1%})"
    )


def table_of(repeats: Sequence[Repeat]) -> Table:
    """Both arms of each repeat, side by side."""
    seen = {run.kind for arms in repeats for done in arms.values() for run in done.runs}
    kinds = [kind for kind in KINDS if kind in seen]
    table = Table(
        *("repeat", "", *(f"{kind}, s" for kind in kinds), "mean, s", "all ended, s"),
        *("longest wait, s", "held"),
        box=SIMPLE_HEAD,
        title="The same submissions on two nodes: mean runtimes",
    )
    for number, arms in enumerate(repeats, start=1):
        for arm, done in sorted(arms.items(), key=lambda each: each[0] is not Arm.USUAL):
            means = [f"{mean(done.of_kind(kind)):.2f}" for kind in kinds]
            spans = [f"{done.makespan_s:.0f}", f"{done.longest_wait_s:.0f}", str(done.held)]
            table.add_row(str(number), arm.value, *means, f"{done.mean_s:.2f}", *spans)
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
            "followed_s": round(done.followed_s, 1),
            "longest_wait_s": round(done.longest_wait_s, 1),
            **{f"{kind}_s": round(mean(done.of_kind(kind)), 3) for kind in KINDS},
            "all": [asdict(run) for run in done.runs],
        }


def repeats_in(path: Path) -> list[Repeat]:
    """Read the repeats that a file of this benchmark has."""
    found: dict[int, Repeat] = {}
    for row in json.loads(path.read_text()):
        runs = [Run(**run) for run in row["all"]]
        done = Played(runs, row["makespan_s"], row["followed_s"])
        found.setdefault(row["repeat"], {})[Arm[row["arm"].upper()]] = done
    return list(found.values())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--learn", type=int, default=200, help="runs to learn from (default 200)")
    parser.add_argument("--runs", type=int, default=100, help="runs of each arm (default 100)")
    parser.add_argument("--repeats", type=int, default=3, help="default 3")
    parser.add_argument(
        "--first", type=int, default=1, help="the number of the first repeat (default 1)"
    )
    parser.add_argument(
        "--read", type=Path, nargs="+", help="play nothing: join what was written to these files"
    )
    parser.add_argument(
        "--alone", type=float, default=ALONE_S, help="seconds that a run takes alone (default 4)"
    )
    parser.add_argument(
        "--core-share",
        type=float,
        default=CORE_SHARE,
        help=f"of its core, what a node's pods have together (default {CORE_SHARE})",
    )
    parser.add_argument(
        "--most-excess",
        type=float,
        default=MOST_EXCESS,
        help="how much more than beside neighbours as they come the order may slow a kind, as a"
        f" share (default {MOST_EXCESS})",
    )
    parser.add_argument(
        "--parts", type=int, default=PARTS, help=f"of each arm's queue, in turns (default {PARTS})"
    )
    parser.add_argument(
        "--hints-alone", action="store_true", help="no order; one place is left free"
    )
    parser.add_argument("--json", type=Path, default=ROOT / "bench-placing-nodes.json")
    return parser


if __name__ == "__main__":
    sys.exit(main())
