"""Software builds as a second kind of workload: Plimsoll against the other methods tried on them.

    TRACES=folder PYTHONPATH=. .venv/bin/python -P -m benchmarks.sap.comparison
        [--quick] [--json FILE]

docs/sap.md says how to read the table. The exit status is 1 if a bar is missed; --quick trains
less often, and misses no bar that the full one keeps.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
from collections import Counter
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.sap.baselines import BASELINES
from benchmarks.sap.builds import FILE_NAME, Builds, SapTraceError, Score, read_builds, score
from benchmarks.sap.served import FULL, QUICK, Effort, Served, joined, served, spans

ROOT: Final = Path(__file__).resolve().parents[2]
WORKERS: Final = 2
WIDTH: Final = 100
"""Width of the table without a terminal."""
OVERALL: Final = "Plimsoll"
CLASSIFIER: Final = "the classifier alone"
BOOSTING: Final = "boosting alone"
BARS: Final = {OVERALL: 88.0, CLASSIFIER: 105.0}


@dataclass(frozen=True, slots=True)
class Line:
    """One policy's figures. published: its published score; bar: the score that it must keep."""

    policy: str
    figures: Score
    published: float | None = None
    bar: float | None = None

    @property
    def holds(self) -> bool:
        """Whether it keeps its bar, if it has one."""
        return self.bar is None or self.figures.score <= self.bar


def main() -> int:
    """Print the table; 1 if a bar is missed, 2 if the trace cannot be read."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a fourth of the trainings")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    chosen = parser.parse_args()
    folder = Path(os.environ.get("TRACES", ROOT.parent / "shared" / "traces"))
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    try:
        builds = read_builds(folder / FILE_NAME)
    except SapTraceError as error:
        console.print(f"benchmarks.sap.comparison: {error}")
        return 2
    found = _served(builds, QUICK if chosen.quick else FULL, console)
    lines = [*_baseline_lines(builds), *_product_lines(builds, found)]
    console.print(_table(lines), _cheapest(found))
    if chosen.json:
        chosen.json.write_text(json.dumps(_document(builds, lines, found), indent=1) + "\n")
    return 0 if all(line.holds for line in lines) else 1


def _served(builds: Builds, effort: Effort, console: Console) -> list[Served]:
    with (
        # Forked processes would share locks that threads of the parent may hold.
        ProcessPoolExecutor(WORKERS, multiprocessing.get_context("spawn")) as pool,
        Progress(console=console, transient=True) as progress,
    ):
        # The longest first, so that no worker is left alone with it.
        futures: list[Future[Served]] = [
            pool.submit(served, builds, span, effort) for span in reversed(spans(builds, effort))
        ]
        doing = progress.add_task("trainings", total=len(futures))
        for _ in as_completed(futures):
            progress.advance(doing)
    return [future.result() for future in reversed(futures)]


def _baseline_lines(builds: Builds) -> list[Line]:
    return [
        Line(name, score(builds, rule(builds)), published=published)
        for name, (rule, published) in BASELINES.items()
    ]


def _product_lines(builds: Builds, found: list[Served]) -> list[Line]:
    sizes = {
        CLASSIFIER: [(part.span, part.classifier_bytes) for part in found],
        BOOSTING: [(part.span, part.boosting_bytes) for part in found],
        OVERALL: [(part.span, part.overall_bytes) for part in found],
    }
    return [
        Line(name, score(builds, joined(builds, parts)), bar=BARS.get(name))
        for name, parts in sizes.items()
    ]


def _table(lines: list[Line]) -> Table:
    table = Table(title="Builds: 5 x under % + over %, the latest 70 of 100, less is better")
    for heading in ("", "score", "under %", "over %", "published", "bar", ""):
        table.add_column(heading, justify="right" if heading else "left")
    for line in lines:
        figures = line.figures
        table.add_row(
            line.policy,
            f"{figures.score:.1f}",
            f"{figures.under_percent:.2f}",
            f"{figures.over_percent:.1f}",
            "" if line.published is None else f"{line.published:g}",
            "" if line.bar is None else f"<= {line.bar:g}",
            "" if line.bar is None else ("pass" if line.holds else "FALLS SHORT"),
        )
    return table


def _cheapest(found: list[Served]) -> str:
    counts = Counter(part.cheapest for part in found)
    served_by = ", ".join(f"{name} after {count}" for name, count in counts.most_common())
    seconds = sum(part.training_s for part in found)
    return f"{len(found)} trainings ({seconds:.0f} s of one core); served: {served_by}"


def _document(builds: Builds, lines: list[Line], found: list[Served]) -> dict[str, Any]:
    return {
        "builds": len(builds),
        "scored": len(builds) - builds.first_scored,
        "policies": [
            {
                "policy": line.policy,
                **asdict(line.figures),
                "published": line.published,
                "bar": line.bar,
                "holds": line.holds,
            }
            for line in lines
        ],
        "trainings": [
            {
                "known": part.span.known,
                "cheapest": part.cheapest,
                "bins": part.bins,
                "training_s": part.training_s,
            }
            for part in found
        ],
    }


if __name__ == "__main__":
    sys.exit(main())
