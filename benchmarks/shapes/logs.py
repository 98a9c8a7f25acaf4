"""Shapes on logs of runtimes: learned, labelled, forecast, explained. Part of `bench-forecast`.

    PYTHONPATH=. .venv/bin/python -P -m benchmarks.shapes.logs [--traces FOLDER] [--images FOLDER]

docs/shapes.md says what the tables mean; `--images` draws its pictures anew.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.public_traces import TRACES_FOLDER
from benchmarks.shapes.pictures import effects_plot, shapes_plot, standalone
from benchmarks.shapes.rows import (
    SEED,
    Accuracies,
    Learned,
    as_the_paper,
    cut_of,
    in_time_order,
)
from plimsoll_operator.web.plots.reasons_plot import reasons_plot
from plimsoll_predictor.replay.runtimes.log_reading import read_log
from plimsoll_predictor.runtimes.runs.log_run import RuntimeLog
from plimsoll_predictor.runtimes.shapes.catalogue import ShapeCatalogue
from plimsoll_predictor.runtimes.shapes.explaining import Named, explain
from plimsoll_predictor.runtimes.shapes.explanation import Explanation
from plimsoll_predictor.runtimes.shapes.fitting import TooFewRuns, fit
from plimsoll_predictor.runtimes.shapes.normalising import Normalisation
from plimsoll_predictor.runtimes.shapes.run_table import RunTable, table_of

SHAPES: Final = 8
"""As in the paper; the elbow's choice is printed, too."""
MAY_MISS: Final = 0.02
WIDTH: Final = 130
EXPLAINED: Final = ("runtime-hpc2n", Normalisation.RATIO)
"""The log whose explanation docs/shapes.md shows."""


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """One log by one normalisation."""

    log: str
    catalogue: ShapeCatalogue
    elbow_words: str
    time_order: Accuracies
    paper: Accuracies | None
    explanation: Explanation | None


def tables(traces: Path, console: Console, logs: Sequence[RuntimeLog] = ()) -> list[dict[str, Any]]:
    """Judge and print every `runtime-*` log of a folder; return rows of figures and of bars.

    logs: if already read; else they are read from the folder.
    """
    judged = [one for log in logs or _logs(traces) for one in judge(log.name, table_of(log.runs))]
    for one in judged:
        console.print(_catalogue_table(one))
        console.print(f"{one.log}, {one.catalogue.normalisation}: {one.elbow_words}", markup=False)
        for effect in one.explanation.effects[:5] if one.explanation else ():
            console.print(f"  {effect.words} (mean |Shapley| {effect.importance:.3f})")
    console.print(_next_window_table(judged))
    lines = [figures(one) for one in judged]
    for words, holds in bars(judged):
        console.print(f"{'holds ' if holds else 'MISSED'} {words}", markup=False)
        lines.append({"table": "shapes-bar", "words": words, "holds": holds})
    return lines


def _logs(traces: Path) -> Iterator[RuntimeLog]:
    for path in sorted(traces.glob("runtime-*.csv*")):
        yield read_log(path)


def judge(name: str, table: RunTable) -> list[Judged]:
    """Shapes of the first half's runs, compared with the second half's; both normalisations."""
    histories = table.known_histories(cut_of(table))
    found = []
    for kind in Normalisation:
        try:
            catalogue = fit(histories, kind, seed=SEED, n_shapes=SHAPES).catalogue
            elbow_words = fit(histories, kind, seed=SEED).elbow.words()
            accuracies, learned = in_time_order(table, catalogue)
        except (TooFewRuns, ValueError) as error:
            print(f"{name}, {kind}: {error}", file=sys.stderr)
            continue
        found.append(
            Judged(
                log=name,
                catalogue=catalogue,
                elbow_words=elbow_words,
                time_order=accuracies,
                paper=as_the_paper(table, catalogue),
                explanation=None if learned is None else explained(learned, catalogue),
            )
        )
    return found


def explained(learned: Learned, catalogue: ShapeCatalogue) -> Explanation:
    """Shapley values on the rows of the test."""
    shapes = {place: shape.name for place, shape in enumerate(catalogue.shapes)}
    return explain(learned.model, learned.rows, Named(shapes, learned.tasks))


def bars(judged: Sequence[Judged]) -> list[tuple[str, bool]]:
    """The posterior against 'same as before': never far below, and above on average."""
    gains = {
        (one.log, one.catalogue.normalisation): one.time_order.posterior - one.time_order.same
        for one in judged
        if one.time_order.posterior is not None
    }
    if not gains:
        return [("no log had windows to tell shapes of", False)]
    worst = min(gains, key=lambda key: gains[key])
    mean = sum(gains.values()) / len(gains)
    return [
        (
            f"posterior - same >= -{MAY_MISS} everywhere; least {gains[worst]:+.3f}, on "
            f"{worst[0]}, {worst[1]}",
            gains[worst] >= -MAY_MISS,
        ),
        (f"posterior - same > 0 on average; {mean:+.3f} over {len(gains)}", mean > 0),
    ]


def figures(one: Judged) -> dict[str, Any]:
    """The JSON figures of one log by one normalisation."""
    return {
        "log": one.log,
        "table": "shapes",
        "normalisation": one.catalogue.normalisation.value,
        "shapes": [
            {"name": shape.name, "members": shape.members, **asdict(shape.statistics)}
            for shape in one.catalogue.shapes
        ],
        "elbow": one.elbow_words,
        "next_window": asdict(one.time_order),
        "paper_like": None if one.paper is None else asdict(one.paper),
    }


def _catalogue_table(one: Judged) -> Table:
    unit = "" if one.catalogue.normalisation is Normalisation.RATIO else " (s)"
    table = Table(
        box=SIMPLE_HEAD, title=f"{one.log}: shapes, {one.catalogue.normalisation}-normalised"
    )
    table.add_column("shape")
    columns = "outlier %", f"25-75th{unit}", f"95th{unit}", f"std{unit}", "tasks", "runs"
    for name in columns:
        table.add_column(name, justify="right")
    for shape in one.catalogue.shapes:
        statistics = shape.statistics
        table.add_row(
            shape.name,
            f"{100 * statistics.outlier_share:.2f}",
            f"{statistics.interquartile:,.2f}",
            f"{statistics.p95:,.2f}",
            f"{statistics.std:,.2f}",
            str(shape.members),
            f"{shape.runs:,}",
        )
    return table


def _next_window_table(judged: Sequence[Judged]) -> Table:
    table = Table(
        box=SIMPLE_HEAD,
        title="Shape of the next window, accuracy; last two: one label a task, the paper's way",
    )
    table.add_column("log")
    for name in (
        "shapes by",
        "windows",
        "majority",
        "same",
        "posterior",
        "boosted",
        "ensemble",
        "ceiling",
        "(paper: boosted",
        "majority)",
    ):
        table.add_column(name, justify="right")
    for one in judged:
        found, paper = one.time_order, one.paper
        table.add_row(
            one.log.removeprefix("runtime-"),
            one.catalogue.normalisation.value,
            str(found.rows),
            *map(
                _share,
                (
                    found.majority,
                    found.same,
                    found.posterior,
                    found.boosted,
                    found.voted,
                    found.ceiling,
                    paper.boosted if paper else None,
                    paper.majority if paper else None,
                ),
            ),
        )
    return table


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def draw(judged: Sequence[Judged], folder: Path) -> list[Path]:
    """The pictures of docs/shapes.md."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for one in judged:
        kind = one.catalogue.normalisation
        if one.log != EXPLAINED[0]:
            continue
        pictures = {f"shapes-{kind}.svg": shapes_plot(one.catalogue)}
        if one.explanation is not None and kind is EXPLAINED[1]:
            pictures["shapes-why.svg"] = effects_plot(one.explanation)
            pictures["shapes-why-task.svg"] = reasons_plot(one.explanation.tasks[-1])
        for name, picture in pictures.items():
            (folder / name).write_text(standalone(picture))
            written.append(folder / name)
    return written


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge, print, draw. Returns 0 if the bars hold."""
    parser = argparse.ArgumentParser(prog="benchmarks.shapes.logs", description=__doc__)
    parser.add_argument("--traces", type=Path, default=TRACES_FOLDER, help="folder with the logs")
    parser.add_argument("--images", type=Path, help="folder to draw docs/shapes.md's pictures in")
    given = parser.parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    if given.images is not None:
        path = given.traces / f"{EXPLAINED[0]}.csv.gz"
        log = read_log(path)
        for drawn in draw(judge(log.name, table_of(log.runs)), given.images):
            console.print(f"drawn {drawn}", markup=False)
        return 0
    lines = tables(given.traces, console)
    return 0 if all(line.get("holds", True) for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
