"""How long the node benchmark's Jobs take, cut even and by a list, with items in random orders.

    PYTHONPATH=. .venv/bin/python -P -m benchmarks.split.listed [--orders 100] [--start 1]

Two workers do the kinds of items of `make bench-split-node`, in another order in each Job. A task's
first Job is in shares; admission cuts the later ones. The figures are means over all orders, as
multiples of the bound: half of the work, and a pod's start.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from typing import Final

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.split.as_cut import AsCut
from benchmarks.split.node_kinds import KINDS, WORKERS, Kind
from plimsoll_operator.pods.chunk_starts import most_listed
from plimsoll_predictor.replay.splitting.playing import play
from plimsoll_predictor.splitting.jobs import Job
from plimsoll_predictor.splitting.strategies.strategy import Cut

JOBS: Final = 4
_SEED: Final = 11


def over_bound(kind: Kind, listed: int, start_s: float, orders: int) -> Sequence[float]:
    """Return the mean for each of a task's Jobs. listed: up to how many pods a list is allowed."""
    job = Job(kind.items, WORKERS, 0.0, start_s)
    bound_s = start_s + kind.work_s / WORKERS
    found = np.zeros((orders, JOBS))
    for order in range(orders):
        draw, strategy = np.random.default_rng((_SEED, order)), AsCut(listed)
        for at in range(JOBS):
            times = draw.permutation(np.array(kind.each_s))
            found[order, at] = play(strategy, job, times, Cut.BEFORE).makespan_s / bound_s
    return [float(each) for each in found.mean(axis=0)]


def main() -> int:
    """Play and print."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--orders", type=int, default=100, help="tasks of each kind")
    options.add_argument("--start", type=float, default=1.0, help="of a pod, in seconds")
    given = options.parse_args()
    title = f"Over the bound, {given.orders} tasks of each kind, a pod's start {given.start:g} s"
    table = Table("items", "chunks", title=title, title_justify="left", box=SIMPLE_HEAD)
    for at in range(JOBS):
        table.add_column(f"Job {at + 1}", justify="right")
    for kind in KINDS:
        means = partial(over_bound, kind, start_s=given.start, orders=given.orders)
        for name, listed in (("even", 0), ("listed", most_listed(kind.items, variables=1))):
            table.add_row(kind.name, name, *(f"{each:.3f}" for each in means(listed)))
    Console(width=100).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
