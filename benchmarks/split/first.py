"""How long a cut Job's first run takes with several pods per worker, when nothing is known.

    PYTHONPATH=. .venv/bin/python -P -m benchmarks.split.first [--seeds 20]

The jobs are those of `make bench-split`, cut before they begin. Their pods take 1.5 s to start, as
there, or longer. The table has the mean and the worst over all jobs, as multiples of the even chunk
that is best in hindsight, and of the author's shares, one pod per worker.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.split.plays import APART, FIRST_JUDGED, KINDS, POD_START_S, Kind
from plimsoll_predictor.replay.splitting.playing import even_all, even_s, lognormal_items
from plimsoll_predictor.splitting.strategies.strategy import Cut

STARTS_S: Final = (POD_START_S, 5.0, 15.0, 30.0)
PODS_A_WORKER: Final = (1, 2, 3, 4, 8)


def first_runs(kind: Kind, start_s: float, seeds: int) -> Mapping[int, tuple[float, float]]:
    """Return the mean time by pods per worker, over the best even chunk's and over the share's."""
    job = replace(kind.job(Cut.BEFORE), wait_s=start_s)
    drawn = [
        lognormal_items(kind.items, kind.median_s, kind.sigma, FIRST_JUDGED + APART * seed)
        for seed in range(seeds)
    ]
    best_s = min(float(np.mean(took)) for took in even_all(job, drawn).values())
    took_s = {
        pods: float(np.mean([even_s(job, each, -(-job.share // pods)) for each in drawn]))
        for pods in PODS_A_WORKER
    }
    return {pods: (each / best_s, each / took_s[1]) for pods, each in took_s.items()}


def _rows(seeds: int) -> Iterator[tuple[str, ...]]:
    for start_s in STARTS_S:
        found = [first_runs(kind, start_s, seeds) for kind in KINDS]
        for pods in PODS_A_WORKER:
            over = np.array([each[pods] for each in found])
            figures = (f"{each:.3f}" for each in (*over.mean(axis=0), *over.max(axis=0)))
            mean_best, mean_share, worst_best, worst_share = figures
            yield f"{start_s:g}", str(pods), mean_best, worst_best, mean_share, worst_share


def main() -> int:
    """Play and print."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seeds", type=int, default=20)
    seeds = options.parse_args().seeds
    title = f"First runs of {len(KINDS)} jobs, {seeds} tasks each"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    names = ("a pod's start, s", "pods a worker", "over the best", "worst", "over shares", "worst")
    for name in names:
        table.add_column(name, justify="right")
    for row in _rows(seeds):
        table.add_row(*row)
    Console(width=100).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
