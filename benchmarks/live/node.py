"""`make bench-live`: measures Plimsoll on the real node, and writes bench-live.json.

Three recurring tasks, round after round; bursts, with and without what running attempts show; a
batch of cold runs on a full node, with and without lending. Each figure is beside its bound; the
exit status is 1 if one is missed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from benchmarks.live import burst, recurring
from benchmarks.real_node.stand import node
from tests.conftest import Cluster

ROOT: Final = Path(__file__).resolve().parents[2]
RESULTS: Final = ROOT / "bench-live.json"
RECURRING, BURST, LENDING = "recurring", "burst", "lending"
PARTS: Final = (
    RECURRING,
    BURST,
    *([LENDING] if find_spec("benchmarks.live.lending") is not None else []),
)
RUNS_S: Final = 10
BURST_RUNS_S: Final = 60


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, write. Returns 0 if every measured bound holds."""
    options = _parser().parse_args(arguments)
    console, found = Console(), dict[str, Any]()
    if RESULTS.exists() and options.only:
        found = json.loads(RESULTS.read_text())
    parts = [options.only] if options.only else PARTS
    with node() as cluster:
        for part in parts:
            found[part] = _measured(part, cluster, options)
            for table in _tables(part, found[part]):
                console.print(table)
            RESULTS.write_text(json.dumps(found, indent=2) + "\n")
    console.print(f"written to {RESULTS.name}")
    missed = [part for part in parts if not holds(part, found[part])]
    if missed:
        console.print(f"missed: {', '.join(missed)}")
    return 1 if missed else 0


def holds(part: str, found: Mapping[str, Any]) -> bool:
    """Whether a part reaches its bound."""
    if part == RECURRING:
        return recurring.holds(found)
    if part == BURST:
        return burst.holds(found)
    return bool(_lending().holds(found))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.live.node", description=__doc__)
    parser.add_argument("--only", choices=PARTS, help="measure one part")
    parser.add_argument("--runs-s", type=int, default=RUNS_S, help="how long a recurring run takes")
    parser.add_argument("--rounds", type=int, default=recurring.ROUNDS)
    parser.add_argument("--burst-runs-s", type=int, default=BURST_RUNS_S)
    parser.add_argument("--burst-runs", type=int, default=burst.RUNS)
    parser.add_argument("--bursts", type=int, default=burst.BURSTS)
    parser.add_argument("--seed", type=int, default=1)
    return parser


def _measured(part: str, cluster: Cluster, options: argparse.Namespace) -> dict[str, Any]:
    if part == RECURRING:
        return recurring.recurring(cluster, options.runs_s, options.seed, options.rounds)
    if part == BURST:
        runs_s, runs, bursts = options.burst_runs_s, options.burst_runs, options.bursts
        return burst.burst(cluster, runs_s, options.seed, runs, bursts)
    lending: dict[str, Any] = _lending().lending(cluster)
    return lending


def _tables(part: str, found: dict[str, Any]) -> Iterator[Table]:
    if part == RECURRING:
        yield from recurring.tables(found)
    elif part == BURST:
        yield burst.table(found)
    else:
        yield from _lending().tables(found)


def _lending() -> Any:
    return import_module("benchmarks.live.lending")


if __name__ == "__main__":
    sys.exit(main())
