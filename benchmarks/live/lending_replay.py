"""Lending, replayed: cold runs of the public traces on full nodes, with and without it.

    TRACES=folder PYTHONPATH=. .venv/bin/python -P -m benchmarks.live.lending_replay

It plays the runs that were submitted before any run of their task had ended, all at once, in their
order. Traces do not say when a run reached its peak, so two ways of growing are assumed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from benchmarks.public_traces import TRACES_FOLDER
from plimsoll_predictor.lending.node_steps import Patience
from plimsoll_predictor.replay.growth import GROWTHS, Growth
from plimsoll_predictor.replay.lending.cold_run import ColdRun
from plimsoll_predictor.replay.lending.nodes import Played, cold_runs, play
from plimsoll_predictor.replay.sizes.traces import read_trace

TRACES: Final = (
    "nfcore-methylseq",
    "nfcore-eager",
    "nfcore-rnaseq",
    "nfcore-mag",
    "cluster-mag",
    "nfcore-chipseq",
)
NODES, NODE_BYTES = 4, 128 * 10**9


def replayed(folder: Path = TRACES_FOLDER) -> list[dict[str, Any]]:
    """Return a row for each trace that is in the folder, and each way of growing."""
    paths = [folder / f"{name}.csv.gz" for name in TRACES]
    return [row for path in paths if path.exists() for row in _of_trace(path)]


def _of_trace(path: Path) -> Iterator[dict[str, Any]]:
    trace = read_trace(path)
    rows = [
        (
            row.task,
            row.submit_s,
            row.complete_s,
            ColdRun(
                task=row.task,
                asked_bytes=max(row.preset_bytes or 0, row.peak_bytes),
                need_bytes=row.peak_bytes,
                runtime_s=max(1.0, row.runtime_s),
            ),
        )
        for row in trace.rows
    ]
    runs = list(cold_runs(rows))
    for growth in GROWTHS:
        without, lent = _play(runs, growth, None), _play(runs, growth, Patience())
        yield {
            "trace": trace.name,
            "growth": growth.name,
            "runs": lent.runs,
            "hours": [without.makespan_s / 3600, lent.makespan_s / 3600],
            "waste_gb_h": [without.waste_gb_h, lent.waste_gb_h],
            "lends": lent.lends,
            "take_backs": lent.backs,
            "deferred": lent.deferred,
            "beyond": lent.beyond,
            "node_short": lent.short,
        }


def _play(runs: Sequence[ColdRun], growth: Growth, patience: Patience | None) -> Played:
    return play(runs, growth, nodes=NODES, node_bytes=NODE_BYTES, patience=patience)


def table(rows: Sequence[dict[str, Any]]) -> Table:
    """Return the table for people."""
    nodes = f"{NODES} nodes of {NODE_BYTES / 1e9:.0f} GB"
    shown = Table(title=f"Cold runs on {nodes}, lending off → on")
    for column in (
        *("trace", "growth", "runs", "hours", "GB·h unused", "lent", "taken back"),
        *("of these deferred", "runs beyond their request", "nodes short of memory"),
    ):
        shown.add_column(column)
    for row in rows:
        (hours, lent_hours), (waste, lent_waste) = row["hours"], row["waste_gb_h"]
        shown.add_row(
            row["trace"],
            row["growth"],
            str(row["runs"]),
            f"{hours:.2f} → {lent_hours:.2f} ({lent_hours / hours - 1:+.0%})",
            f"{waste:.0f} → {lent_waste:.0f} ({lent_waste / waste - 1:+.0%})",
            *(str(row[k]) for k in ("lends", "take_backs", "deferred", "beyond", "node_short")),
        )
    return shown


def main(arguments: Sequence[str] | None = None) -> int:
    """Replay and print."""
    parser = argparse.ArgumentParser(prog="benchmarks.live.lending_replay", description=__doc__)
    parser.add_argument("--traces", type=Path, default=TRACES_FOLDER, help="folder with the traces")
    rows = replayed(parser.parse_args(arguments).traces)
    if not rows:
        raise SystemExit("no public traces there; set TRACES to their folder")
    Console(width=200).print(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
