"""Applies to each log the constants chosen on the others; `make bench-forecast` prints the table.

The constants of the forecasts' expert that knows features were chosen with public logs in view. So
each log is left out in turn: of a few settings, the best on all other logs, by the geometric mean
of their pins, is applied to it. Only the first LEFT_OUT_RUNS runs of a log are played.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, log
from typing import Any, Final

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from plimsoll_predictor.replay.runtimes.judging import MethodKind, judge
from plimsoll_predictor.replay.runtimes.product import Product
from plimsoll_predictor.runtimes.features.fitting import FIT_SETTINGS, FitSettings
from plimsoll_predictor.runtimes.runs.log_run import RuntimeLog

LEFT_OUT_RUNS: Final = 15_000
SERVES: Final = "as it serves"
SETTINGS: Final[Mapping[str, FitSettings | None]] = {
    "the past alone": None,
    "small trees": FitSettings(newest_runs=30_000, trees=40, depth=4, rate=0.15),
    SERVES: FIT_SETTINGS,
}
"""None: without the expert that knows features."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """One log: the setting chosen on the others, and its result here.

    pins: of each setting on this log. chosen: its name.
    """

    log: str
    pins: Mapping[str, float]
    chosen: str

    @property
    def lost(self) -> float:
        """How much higher its pin is than that of the best setting here; 0 if it is the best."""
        return self.pins[self.chosen] / min(self.pins.values()) - 1


def judge_setting(runtime_log: RuntimeLog, setting: str) -> dict[str, Any]:
    """The figures of one setting on the first runs of a log."""
    first = replace(runtime_log, runs=runtime_log.runs[:LEFT_OUT_RUNS])
    settings = SETTINGS[setting]
    kind = MethodKind(setting, setting, lambda _: Product(settings))
    return judge(first, kind).to_dict()


def left_out(figures: Sequence[Mapping[str, Any]]) -> list[LeftOut]:
    """Choose for each log by the others; an empty list for fewer than two logs.

    figures: as ``judge_setting`` gives them, for every log and setting.
    """
    pins: dict[str, dict[str, float]] = {}
    for each in figures:
        pins.setdefault(each["log"], {})[each["method"]] = each["pin_runs"]
    if len(pins) < 2:
        return []
    found = []
    for name, own in pins.items():
        others = [of for other, of in pins.items() if other != name]
        means = {
            setting: exp(sum(log(of[setting]) for of in others) / len(others)) for setting in own
        }
        found.append(LeftOut(name, own, min(means, key=means.__getitem__)))
    return found


def left_out_table(found: Sequence[LeftOut]) -> Table:
    """A row per log."""
    title = f"Settings chosen on the other logs: pin over runs, first {LEFT_OUT_RUNS:,} runs"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    table.add_column("log", no_wrap=True)
    for setting in SETTINGS:
        table.add_column(setting, justify="right")
    table.add_column("chosen on the others")
    table.add_column("lost by that", justify="right")
    for each in found:
        table.add_row(
            escape(each.log),
            *(f"{each.pins[setting]:.4f}" for setting in SETTINGS),
            each.chosen,
            f"{each.lost:.1%}",
        )
    return table
