"""A forecast as tables in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from plimsoll_operator.attempts.running_long import LEAST_RUNS_TO_WARN
from plimsoll_operator.commands.printing.tables import (
    BAR,
    bar,
    bare_table,
    panel,
    plain,
    titled_table,
)
from plimsoll_operator.views.runtimes.running_run import Punctuality, RunningRun
from plimsoll_operator.views.runtimes.task_runtimes import Anomaly, TaskRuntimes
from plimsoll_operator.wording.cause_words import words_for_cause
from plimsoll_operator.wording.figure_words import words_for_minute
from plimsoll_operator.wording.forecast_words import (
    TOLD_SHARES,
    words_for_chance,
    words_for_odds,
    words_for_quantile,
)
from plimsoll_predictor.core.durations import words_for_duration
from plimsoll_predictor.core.record import Outcome
from plimsoll_predictor.core.units import counted
from plimsoll_predictor.runtimes.forecasting.forecast import Forecast
from plimsoll_predictor.store.learned.past_runtimes import PastRuntime

ROWS: Final = 14
"""Rows of the histogram."""
_ENDS: Final = (0.005, 0.995)
"""The histogram's first and last row hold everything beyond these shares."""
_SHORTEST_BAR: Final = 4
_BETWEEN: Final = 6
"""Columns that separate the histogram's three parts."""
_OUTCOMES: Final = {
    Outcome.SUCCEEDED: "",
    Outcome.OOM_KILLED: "OOM-killed",
    Outcome.FAILED: "failed",
    Outcome.EVICTED: "evicted",
    Outcome.DELETED: "deleted",
}
_UNKNOWN: Final = f"unknown: its forecast knew fewer than {LEAST_RUNS_TO_WARN} runs of its task"
_STYLES: Final = {Punctuality.LATE: "yellow", Punctuality.RUNNING_LONG: "bold red"}


def forecast_table(
    runtimes: TaskRuntimes, run: RunningRun | None, last: Sequence[PastRuntime]
) -> RenderableType:
    """Show a task's runtimes, and a pod's run."""
    parts: list[RenderableType] = [] if run is None else [_run(run)]
    parts += [_head(runtimes), _Histogram(runtimes.forecast)]
    if last:
        parts.append(_last(runtimes, last))
    return Group(*parts)


def _head(runtimes: TaskRuntimes) -> Panel:
    forecast = runtimes.forecast
    rows = dict(_quantile_rows(forecast))
    if forecast.usual_s is not None:
        for times in (2, 10):
            words = words_for_chance(forecast.longer_than_usual(times))
            beyond = words_for_duration(times * forecast.usual_s)
            rows[f"over {times}× the usual"] = plain(f"{words}, that is longer than {beyond}")
    rows["from"] = plain(_from(runtimes))
    rows["features"] = plain(runtimes.features.words)
    if runtimes.summary is not None:
        newest = f"of its newest {counted(runtimes.summary.known_runs, 'run')}"
        rows["so far"] = plain(f"{newest}: {runtimes.summary.words}")
    if runtimes.trend is not None:
        rows["trend"] = plain(runtimes.trend)
    typical = runtimes.typical
    if typical is not None:
        share = words_for_chance(typical.share)
        rows["typical shape"] = plain(f"{typical.shape.name} ({share}), version {typical.version}")
    return panel(f"next run of {runtimes.task}", rows)


def _quantile_rows(forecast: Forecast) -> Iterator[tuple[str, Text]]:
    for share in TOLD_SHARES:
        style = "bold" if share in {0.5, 0.95} else ""
        words = words_for_quantile(share, forecast)
        yield f"p{100 * share:.0f}", plain(f"{words:<16} {words_for_odds(share)}", style=style)


def _from(runtimes: TaskRuntimes) -> str:
    runs, usual_s = runtimes.forecast.known_runs, runtimes.forecast.usual_s
    if not runs or usual_s is None:
        owner = runtimes.task.namespace
        return f"no run of it is known: this is what runs of {owner} and of all others suggest"
    usually = f"usually {words_for_duration(usual_s)}"
    if not runtimes.alone:
        return f"{counted(runs, 'run')}, {usually}"
    others = "other tasks do not count, as no controller has learned from this store yet"
    return f"its newest runs alone, {runs:,}, {usually}: {others}"


def _run(run: RunningRun) -> Panel:
    punctuality = run.punctuality
    said = _UNKNOWN if punctuality is Punctuality.UNKNOWN else punctuality.value
    rows = {"is": plain(said, style=_STYLES.get(punctuality, ""))}
    if punctuality is not Punctuality.WAITING:
        words, below = words_for_duration(run.elapsed_s), run.share_below
        if below is not None:
            words += f"; {words_for_chance(below)} of its forecast are shorter"
        rows["took" if punctuality is Punctuality.ENDED else "runs for"] = plain(words)
    for share in (0.5, 0.95):
        ends_s = run.ends_by_s(share)
        if ends_s is not None:
            left = words_for_duration(max(0.0, ends_s - run.now_s))
            words = f"{words_for_minute(ends_s)} UTC, in {left}"
            rows[f"ends by ({words_for_odds(share)})"] = plain(words)
    return panel(f"pod {run.name}", rows)


@dataclass(frozen=True, slots=True)
class _Histogram:
    """Shows how likely each runtime is: the rows have equal length in the logarithm.

    Where there is little room, the bars are shorter, or left out: figures need theirs.
    """

    forecast: Forecast

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> RenderResult:
        shares, edges_s = _rows(self.forecast)
        marks = _marks(self.forecast, edges_s)
        edges = [words_for_duration(edge_s) for edge_s in edges_s]
        spans = [f"{low} to {high}" for low, high in pairwise(edges)]
        words = [
            f"{words_for_chance(share):>11}  {marks.get(place, '')}"
            for place, share in enumerate(shares)
        ]
        taken = max(map(len, spans)) + max(map(len, words)) + _BETWEEN
        longest = min(BAR, options.max_width - taken)
        table = bare_table("how long it takes")
        table.add_column(justify="right", no_wrap=True, style="dim")
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True, style="dim")
        for span, share, told in zip(spans, shares, words, strict=True):
            drawn = ""
            if longest >= _SHORTEST_BAR:
                drawn = f"{bar(share, max(shares) * BAR / longest):<{longest}}"
            table.add_row(span, Text(drawn, style="blue"), told)
        yield table


def _rows(forecast: Forecast) -> tuple[list[float], list[float]]:
    """(probabilities, edges in seconds); the rows at the ends include what lies beyond them."""
    low_s, high_s = (float(each) for each in forecast.quantiles_s(_ENDS))
    edges_s = np.geomspace(low_s, max(high_s, 1.05 * low_s), ROWS + 1)
    longer = [1.0, *(forecast.longer_than(float(edge)) for edge in edges_s[1:-1]), 0.0]
    return [float(share) for share in -np.diff(longer)], [float(edge) for edge in edges_s]


def _marks(forecast: Forecast, edges_s: Sequence[float]) -> dict[int, str]:
    """Names of the quantiles, by the row that contains them."""
    marks: dict[int, str] = {}
    values = {f"p{100 * share:.0f}": forecast.quantile_s(share) for share in (0.5, 0.95, 0.99)}
    if forecast.usual_s is not None:
        values["2× the usual"] = 2 * forecast.usual_s
    for words, seconds in values.items():
        if edges_s[0] <= seconds <= edges_s[-1]:
            place = min(int(np.searchsorted(edges_s, seconds, "right")) - 1, ROWS - 1)
            marks[place] = f"{marks[place]}, {words}" if place in marks else f"← {words}"
    return marks


def _last(runtimes: TaskRuntimes, last: Sequence[PastRuntime]) -> Table:
    table = titled_table("last attempts", ("started (UTC)", "ran", "on", ""), right=("ran",))
    for each in last:
        anomaly = runtimes.anomaly(each)
        words = anomaly.value if anomaly else words_for_cause(each.cause) or _OUTCOMES[each.outcome]
        style = "red" if anomaly is Anomaly.LONG else "yellow" if anomaly else "dim"
        table.add_row(
            words_for_minute(each.started_s),
            words_for_duration(each.ran_s),
            plain(each.node_type or "-"),
            plain(words, style=style),
        )
    return table
