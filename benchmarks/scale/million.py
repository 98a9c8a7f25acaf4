"""`make bench-scale`: a million observations on either database, and models of many tasks."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Final, TypeVar

from rich.console import Console
from rich.table import Table

from benchmarks.scale import admission, feed, results_file, store
from benchmarks.scale.admission import AdmissionFigures
from benchmarks.scale.data import Size, fill
from benchmarks.scale.feed import FeedFigures
from benchmarks.scale.store import StoreFigures
from tests.rigs.servers.databases import postgresql_server

FEEDS: Final = ((500, 500), (2_500, 500), (10_000, 500), (10_000, 2_500))
"""Tasks, and how many of them have a model."""
SMALL: Final = 100
"""One in so many observations makes up the smaller store that admission is compared with."""
LEAST_SHARE: Final = 0.9
"""As a share of the decisions a second; two equal replicas differ by some hundredths."""

Figures = TypeVar("Figures")


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table. holds: None if no bound was set."""

    what: str
    measured: str
    bound: str = ""
    holds: bool | None = None


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, write. Returns 0 if every bound holds."""
    parser = argparse.ArgumentParser(prog="benchmarks.scale.million", description=__doc__)
    parser.add_argument("--observations", type=int, default=1_000_000)
    parser.add_argument("--tasks", type=int, default=5_000)
    parser.add_argument("--quick", action="store_true", help="the first feed only")
    chosen = parser.parse_args(arguments)
    console, size = Console(), Size(observations=chosen.observations, tasks=chosen.tasks)
    stores: dict[str, StoreFigures] = {}
    admissions: dict[str, AdmissionFigures] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, url in _stores(Path(folder)):
            with console.status(f"measuring: {name}, {size.observations:,} observations"):
                _apart(fill, url, size)
                admissions[name] = _apart(_admission, url, size)
                stores[name] = _apart(store.measure, url, size)
    feeds: list[FeedFigures] = []
    for tasks, models in FEEDS[: 1 if chosen.quick else None]:
        with console.status(f"measuring: {tasks:,} tasks, {models:,} models"):
            feeds.append(_apart(_feed, tasks, models))
    found = {
        "stores": {name: asdict(figures) for name, figures in stores.items()},
        "admissions": {name: asdict(figures) for name, figures in admissions.items()},
        "feeds": [asdict(figures) for figures in feeds],
    }
    results_file.keep(found)
    lines = [line for name, figures in stores.items() for line in _of_store(name, figures)]
    lines += [line for name, figures in admissions.items() for line in _of_admission(name, figures)]
    lines += [line for figures in feeds for line in _of_feed(figures)]
    console.print(_table(lines))
    return 0 if all(line.holds is not False for line in lines) else 1


def _stores(folder: Path) -> Iterator[tuple[str, str]]:
    yield "SQLite", f"sqlite:///{folder}/store.db"
    with _a_database() as url:
        yield "PostgreSQL", url


@contextmanager
def _a_database() -> Iterator[str]:
    with postgresql_server() as server:
        yield server.url(server.new_database(empty=True))


def _apart(work: Callable[..., Figures], *arguments: object) -> Figures:
    """Run in a process of its own, so that none inherits another's memory."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(work, *arguments).result()


def _admission(url: str, size: Size) -> AdmissionFigures:
    smaller = replace(size, observations=size.observations // SMALL)
    with tempfile.TemporaryDirectory() as folder:
        smaller_url = f"sqlite:///{folder}/smaller.db"
        _apart(fill, smaller_url, smaller)
        return asyncio.run(admission.measure(Path(folder), smaller_url, url))


def _feed(tasks: int, models: int) -> FeedFigures:
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(feed.measure(Path(folder), tasks, models))


def _of_store(name: str, figures: StoreFigures) -> list[Figure]:
    return [
        Figure(f"{name}: start, s", *_within(figures.start_s, 10)),
        Figure(f"{name}: its processor time, s", f"{figures.start_cpu_s:.1f}"),
        Figure(f"{name}: it takes, MB", f"{figures.start_rss_bytes / 1e6:.0f}"),
        Figure(f"{name}: all tasks, ms", *_within(1e3 * figures.tasks_s, 200)),
        Figure(f"{name}: the largest task, ms", *_within(1e3 * figures.task_s, 200)),
        Figure(f"{name}: longest write of one, ms", f"{1e3 * figures.write_s:.0f}"),
        Figure(
            f"{name}: likewise while {figures.pruned_rows:,} rows are pruned, ms",
            *_within(1e3 * figures.pruned_write_s, 2_000),
        ),
    ]


def _of_admission(name: str, figures: AdmissionFigures) -> list[Figure]:
    (small_per_s, large_per_s), (small_bytes, large_bytes) = figures.per_s, figures.rss_bytes
    name = f"{name}: admission beside it and beside 1/{SMALL}"
    return [
        Figure(f"{name}, decisions a second", f"{large_per_s:.0f}, {small_per_s:.0f}"),
        Figure(
            f"{name}, ratio",
            f"{figures.share:.2f}",
            f"≥ {LEAST_SHARE:g}",
            figures.share >= LEAST_SHARE,
        ),
        Figure(f"{name}, RSS, MB", f"{large_bytes / 1e6:.0f}, {small_bytes / 1e6:.0f}"),
    ]


def _of_feed(figures: FeedFigures) -> list[Figure]:
    name = f"{figures.tasks:,} tasks, {figures.models:,} models"
    bounded = figures.tasks == figures.models
    rss_mb = figures.rss_bytes / 1e6
    return [
        Figure(f"{name}: admission's RSS, MB", *_within(rss_mb, 250 if bounded else None)),
        Figure(f"{name}: one update, s", *_within(figures.update_s, 2)),
        Figure(f"{name}: all models new, s", f"{figures.retrained_s:.1f}"),
        Figure(f"{name}: a replica that starts, s", f"{figures.synced_s:.1f}"),
        Figure(f"{name}: the controller's side, MB", f"{figures.board_bytes / 1e6:.0f}"),
    ]


def _within(measured: float, bound: float | None) -> tuple[str, str, bool | None]:
    words = f"{measured:.1f}" if measured < 100 else f"{measured:.0f}"
    return (words, "", None) if bound is None else (words, f"≤ {bound:g}", measured <= bound)


def _table(lines: Sequence[Figure]) -> Table:
    table = Table(title="Plimsoll at scale")
    for column in ("figure", "measured", "bound", ""):
        table.add_column(column)
    for line in lines:
        verdict = "" if line.holds is None else "[green]holds[/]"
        table.add_row(
            line.what,
            line.measured,
            line.bound,
            "[red]does not hold[/]" if line.holds is False else verdict,
        )
    return table


if __name__ == "__main__":
    sys.exit(main())
