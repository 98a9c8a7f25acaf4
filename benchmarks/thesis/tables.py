"""Tables 6 to 13 in the thesis's form: its printed figures next to those on the synthetic data.

If a cell has several figures, the first are printed in the thesis, the others are ours: with a
shuffled split, which explains the thesis's figures best, and in time order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rich.table import Table

from benchmarks.thesis.facts import Fact, optimal_improvements
from benchmarks.thesis.groups import Saving
from benchmarks.thesis.models import ModelFigures
from benchmarks.thesis.printed import (
    BINNINGS,
    SAMPLERS,
    TABLE_6,
    TABLE_11,
    TABLES_7_8,
    TABLES_9_10,
    Ceilings,
)
from benchmarks.thesis.served import Served
from benchmarks.thesis.tasks import TaskRows
from plimsoll_predictor.core.units import GB
from plimsoll_predictor.model.bins import BinLimits, search_bins
from plimsoll_predictor.training.u_score import Evaluation, estimated_improvement

SYNTHETIC = "SYNTHETIC data"
_OWN_BINS = range(2, 6)


def table_of(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A table whose title says that its data is synthetic; figures to the right."""
    table = Table(title=f"{title} · {SYNTHETIC}", title_justify="left", header_style="bold")
    for place, column in enumerate(columns):
        table.add_column(column, justify="left" if place < 2 else "right", no_wrap=place < 2)
    for row in rows:
        table.add_row(*row)
    return table


def facts_table(found: Sequence[Fact]) -> Table:
    """The targets of the generator, and its results."""
    rows = [(fact.what, fact.stated, fact.made) for fact in found]
    return table_of("The situation (thesis 5.1)", ("", "the thesis states", "generated"), rows)


def table_6(tasks: Mapping[str, TaskRows]) -> Table:
    """Binning strategies and their optimal improvements; the thesis's own, then Plimsoll's."""
    rows = []
    for name, binnings in BINNINGS.items():
        for ceilings in binnings:
            printed, made = TABLE_6[name, ceilings], optimal_improvements(tasks[name], ceilings)
            rows.append((name, binning(ceilings), *_beside(printed.plain, made[0])))
            rows[-1] += _beside(printed.time_based, made[1])
        rows += _own_bins(tasks[name])
    columns = ("task", "binning, GB", "optimal: thesis", "ours", "time-based: thesis", "ours")
    return table_of("Table 6: binning strategies, optimal improvement in %", columns, rows)


def _own_bins(rows: TaskRows) -> list[tuple[str, ...]]:
    """The result of the product's exact search, in hindsight over all rows as in the thesis."""
    limits = BinLimits(reference_bytes=rows.reference_bytes)
    options = search_bins(rows.need_bytes.astype(float), rows.runtime_s, limits)
    return [
        (
            "  Plimsoll's search",
            binning(tuple(round(size / GB, 1) for size in option.bins.ceilings_bytes)),
            "",
            f"{option.optimal_improvement:.1%}"[:-1],
            "",
            f"{option.time_based_optimal_improvement:.1%}"[:-1],
        )
        for option in options
        if len(option.bins) in _OWN_BINS
    ]


def tables_7_8(models: Sequence[ModelFigures]) -> list[Table]:
    """The best of each classifier, by u-score, over its samplers."""
    columns = (
        "binning, GB",
        "model",
        "accuracy: thesis",
        "shuffled",
        "in time",
        "u-score: thesis",
        "shuffled",
        "in time",
        "in time, as served",
    )
    tables = []
    for number, (name, binnings) in enumerate(BINNINGS.items(), start=7):
        rows = []
        for ceilings in binnings:
            for classifier in ("xgboost", "svm"):
                printed = TABLES_7_8[name, ceilings, classifier]
                shuffled, timed = (
                    best(
                        models,
                        task=name,
                        ceilings_gb=ceilings,
                        shuffled=way,
                        classifier=classifier,
                    )
                    for way in (True, False)
                )
                accuracies = (f.likeliest.accuracy * 100 for f in (shuffled, timed))
                scores = (f.likeliest.u_score for f in (shuffled, timed))
                row = (binning(ceilings), classifier, *_beside(printed.accuracy, *accuracies))
                row += _beside(printed.u_score, *scores)
                rows.append((*row, f"{timed.served.u_score:.1f}"))
        tables.append(table_of(f"Table {number}: model performance for {name}", columns, rows))
    return tables


def tables_9_10(models: Sequence[ModelFigures]) -> list[Table]:
    """U-scores by over-sampling method: thesis / shuffled / in time."""
    tables = []
    for number, classifier in ((9, "svm"), (10, "xgboost")):
        rows = []
        for (name, ceilings), printed in TABLES_9_10[classifier].items():
            cells = []
            for sampler, said in zip(SAMPLERS[classifier], printed, strict=True):
                found = (
                    best(
                        models,
                        task=name,
                        ceilings_gb=ceilings,
                        shuffled=way,
                        classifier=classifier,
                        sampler=sampler,
                    )
                    for way in (True, False)
                )
                scores = _beside(said, *(figures.likeliest.u_score for figures in found))
                cells.append(" / ".join(scores))
            rows.append((name, binning(ceilings), *cells))
        title = f"Table {number}: u-scores of {classifier} (thesis / shuffled / in time)"
        columns = ("task", "binning, GB", *SAMPLERS[classifier])
        tables.append(table_of(title, columns, rows))
    return tables


def table_11(models: Sequence[ModelFigures], tasks: Mapping[str, TaskRows]) -> Table:
    """Estimated improvement of each binning's best model: thesis / shuffled / in time."""
    rows = []
    for (name, ceilings), printed in TABLE_11.items():
        optimal = optimal_improvements(tasks[name], ceilings)[1]
        found = [
            best(models, task=name, ceilings_gb=ceilings, shuffled=way).likeliest
            for way in (True, False)
        ]
        cells = [
            _beside(printed.optimal, optimal),
            _beside(printed.accuracy, *(figures.accuracy * 100 for figures in found)),
            _beside(printed.u_rate, *(figures.u_rate * 100 for figures in found)),
            _beside(printed.estimated, *(estimated(optimal, figures) for figures in found)),
        ]
        rows.append((name, binning(ceilings), *map(" / ".join, cells)))
    columns = ("task", "binning, GB", "optimal", "accuracy", "u rate", "estimated improvement")
    title = "Table 11: estimated improvements in % (thesis / shuffled / in time)"
    return table_of(title, columns, rows)


def table_12(savings: Sequence[Saving]) -> Table:
    """Task-level improvements."""
    return _savings("Table 12: task-level improvements", savings)


def table_13(savings: Sequence[Saving]) -> Table:
    """Run-level improvement."""
    return _savings("Table 13: estimated improvement for a single-scenario run", savings)


def _savings(title: str, savings: Sequence[Saving]) -> Table:
    rows = [
        (
            saving.resource,
            f"{saving.tasks} ({saving.members})",
            saving.printed,
            f"{saving.before:.1f} {saving.unit}",
            "-" if saving.after is None else f"{saving.after:.0f} {saving.unit}",
            f"{saving.improved:.1%}",
        )
        for saving in savings
    ]
    return table_of(title, ("resource", "tasks", "thesis", "before", "after", "improved"), rows)


def candidates_table(served: Sequence[Served]) -> Table:
    """The results of the product's own search for each number of bins at its last training."""
    rows = [
        (
            found.task,
            binning(tuple(round(size / GB, 1) for size in candidate.ceilings_bytes)),
            f"{candidate.time_based_optimal_improvement:.1%}",
            f"{candidate.accuracy:.1%}",
            f"{candidate.u_score:.1f}",
            f"{candidate.u_rate:.2%}",
            f"{candidate.estimated_improvement:.1%}",
            f"{candidate.served_improvement:.1%}",
        )
        for found in served
        if found.report is not None
        for candidate in found.report.candidates
    ]
    columns = (
        "task",
        "ceilings, GB",
        "optimal",
        "accuracy",
        "u-score",
        "u rate",
        "estimated",
        "as served",
    )
    return table_of("Plimsoll's last training: bins compared out of time", columns, rows)


def served_table(served: Sequence[Served]) -> Table:
    """Policies on the same runs, in strict time order."""
    rows = [
        (
            found.task,
            found.policy,
            f"{found.every.waste_gb_h:.0f}",
            str(found.every.failed_attempts),
            f"{found.later.waste_gb_h:.0f}",
            str(found.later.failed_attempts),
            str(found.later.failed_runs),
            f"{found.later.failure_rate:.2%}",
            f"{found.ms_per_decision:.3f}",
        )
        for found in served
    ]
    columns = (
        "task",
        "policy",
        "all runs: GB·h",
        "failed",
        "last 70%: GB·h",
        "failed",
        "runs failed",
        "attempts per run",
        "ms a decision",
    )
    return table_of("Served in time order, retries charged", columns, rows)


def reliability_table(served: Sequence[Served]) -> Table:
    """How often a need fitted a ceiling, by the chance that the classifier gave it."""
    rows = []
    for found in served:
        if found.reliability is not None:
            rows += [
                (found.task, f"{b.chance:.1%}", f"{b.came_true:.1%}", str(b.count), "")
                for b in found.reliability.buckets
            ]
            rows.append(
                (found.task, "mean distance", "", "", f"{found.reliability.error or 0:.2%}")
            )
    columns = ("task", "chance given", "came true", "of", "calibration error")
    return table_of("Reliability: 'the need fits this ceiling', in time order", columns, rows)


def binning(ceilings: Ceilings) -> str:
    """A binning as the thesis writes it: ``10; 60; 350``."""
    return "; ".join(f"{ceiling:g}" for ceiling in ceilings)


def best(models: Sequence[ModelFigures], **wanted: object) -> ModelFigures:
    """The model with the lowest u-score among those whose jobs have the wanted fields."""
    found = (
        figures
        for figures in models
        if all(getattr(figures.job, field) == value for field, value in wanted.items())
    )
    return min(found, key=lambda figures: figures.likeliest.u_score)


def estimated(optimal_percent: float, figures: Evaluation) -> float:
    """Per cent, as in Table 11's last column."""
    return 100 * estimated_improvement(optimal_percent / 100, figures.accuracy, figures.u_rate)


def _beside(*percents: float) -> tuple[str, ...]:
    return tuple(f"{percent:.1f}" for percent in percents)
