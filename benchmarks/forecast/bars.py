"""The bars of forecasts, and whether they hold. Pure: figures in, lines of a table out.

A figure is the result of one method on one log, as `plimsoll replay --runtime --json` writes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.bar import Bar, below

OWN: Final = "plimsoll"
LLNL, HPC2N, RICC = "runtime-llnl-thunder", "runtime-hpc2n", "runtime-ricc"
NFCORE: Final = "nf-core"
ARCHIVE: Final = (LLNL, HPC2N, RICC)
KNOWN_LOGS: Final = (*ARCHIVE, NFCORE)
NFCORE_FILES: Final = (
    "nfcore-methylseq",
    "nfcore-eager",
    "nfcore-mag",
    "nfcore-rnaseq",
    "cluster-mag",
)
"""They form one log: the published figures are of the three runs on a cluster, too."""

REPRODUCED_WITHIN: Final = 0.02
GAIN_PER_TASK: Final = 0.19
US_PER_FORECAST: Final = 120.0
BYTES_PER_TASK: Final = 4096.0
MAY_MISS: Final = 0.02
"""How much accuracy labels by posterior may lose against the previous shape."""
MB_OF_100_000_TASKS: Final = 1000.0

Pair = tuple[float, float]
"""Pin over runs and over tasks; skill at 2 and 10 times the usual."""


@dataclass(frozen=True, slots=True)
class Aim:
    """The bar of the product on a log."""

    pin: Pair
    p95_coverage: Pair
    skill: Pair


AIMS: Final[Mapping[str, Aim]] = {
    LLNL: Aim((0.250, 0.303), (0.94, 0.96), (0.32, 0.42)),
    HPC2N: Aim((0.465, 0.581), (0.94, 0.96), (0.38, 0.47)),
    RICC: Aim((0.365, 0.537), (0.94, 0.96), (0.11, 0.26)),
    NFCORE: Aim((0.110, 0.338), (0.94, 0.96), (0.24, 0.20)),
}
# Pin over runs and tasks: found by an earlier program.
PUBLISHED: Final[Mapping[str, Mapping[str, Pair]]] = {
    "requested-time": {LLNL: (0.655, 0.660), HPC2N: (0.677, 0.661), RICC: (0.660, 0.859)},
    "last-20": {
        LLNL: (0.365, 0.569),
        HPC2N: (0.600, 0.771),
        RICC: (0.503, 0.691),
        NFCORE: (0.183, 0.332),
    },
    "own-history": {
        LLNL: (0.388, 0.570),
        HPC2N: (0.559, 0.771),
        RICC: (0.395, 0.683),
        NFCORE: (0.167, 0.331),
    },
    "shapes-8": {
        LLNL: (0.340, 0.338),
        HPC2N: (0.629, 0.665),
        RICC: (0.430, 0.596),
        NFCORE: (0.175, 0.351),
    },
}
LIGHTGBM: Final[Mapping[str, float]] = {LLNL: 0.279, HPC2N: 0.550, RICC: 0.431}
"""Published pin over runs of gradient-boosted quantiles."""
BOOSTED: Final = "boosted-quantiles"

Figure = Mapping[str, Any]
Figures = Mapping[tuple[str, str], Figure]
"""(log, method) -> figure."""


def by_log_and_method(figures: Sequence[Figure]) -> Figures:
    """The figures by log and method."""
    return {(each["log"], each["method"]): each for each in figures}


def bars(figures: Figures) -> list[Bar]:
    """The lines of all logs that were replayed."""
    logs = dict.fromkeys(log for log, _ in figures)
    lines = [line for log in KNOWN_LOGS if log in logs for line in _aimed(log, figures)]
    lines += [line for log in ARCHIVE if log in logs for line in _rivals(log, figures)]
    lines += [line for method in PUBLISHED for line in _reproduced(method, figures)]
    lines += [line for log in logs for line in _cheap(log, figures)]
    return lines


def shape_bars(judged: Sequence[Figure]) -> list[Bar]:
    """Bars on the next window's shape: the posterior against the previous shape.

    judged: as shapes/logs.py writes them, one per log and normalisation.
    """
    gains = {
        f"{each['log']}, {each['normalisation']}": window["posterior"] - window["same"]
        for each in judged
        # The other rows are the bars of shapes/logs.py itself, which these repeat.
        if "next_window" in each and (window := each["next_window"])["posterior"] is not None
    }
    lines = [
        at_least(
            f"{which}: shape by posterior, above the same as before", gain, -MAY_MISS, "{:+.3f}"
        )
        for which, gain in gains.items()
    ]
    mean = sum(gains.values()) / len(gains) if gains else None
    return [*lines, at_least("the same, on average", mean, 0.0, "{:+.3f}")]


def at_least(what: str, measured: float | None, least: float, form: str) -> Bar:
    """A figure that must not be lower; if it is None, the bar does not hold."""
    return Bar(
        what=what,
        measured="none" if measured is None else form.format(measured),
        bar=f"≥ {form.format(least)}",
        holds=measured is not None and measured >= least,
    )


def _aimed(log: str, figures: Figures) -> Iterator[Bar]:
    figure, aim = figures.get((log, OWN)), AIMS[log]
    if figure is None:
        return
    # As printed: the aims have three decimals.
    yield below(f"{log}: pin over runs", round(figure["pin_runs"], 3), aim.pin[0], "{:.3f}")
    yield below(f"{log}: pin over tasks", round(figure["pin_tasks"], 3), aim.pin[1], "{:.3f}")
    low, high = aim.p95_coverage
    measured = figure["p95_coverage"]
    yield Bar(
        what=f"{log}: runs within P95",
        measured=f"{measured:.3f}",
        bar=f"{low:.2f}–{high:.2f}",
        holds=low <= measured <= high,
    )
    for name, least in zip(("2x", "10x"), aim.skill, strict=True):
        words = f"{log}: skill at > {name.replace('x', '×')}"
        yield at_least(words, figure[f"skill_{name}"], least, "{:.3f}")


def _rivals(log: str, figures: Figures) -> Iterator[Bar]:
    own, history = figures.get((log, OWN)), figures.get((log, "own-history"))
    if own is None:
        return
    if history is not None:
        gain = 1 - own["pin_tasks"] / history["pin_tasks"]
        yield at_least(f"{log}: below own history, per task", gain, GAIN_PER_TASK, "{:.3f}")
    words = f"{log}: pin over runs, below LightGBM's"
    yield below(f"{words} as published", own["pin_runs"], LIGHTGBM[log], "{:.4f}")
    boosted = figures.get((log, BOOSTED))
    if boosted is not None:
        words = f"{log}: pin over runs, below that of our own {BOOSTED}"
        yield below(words, own["pin_runs"], boosted["pin_runs"], "{:.4f}")


def _reproduced(method: str, figures: Figures) -> Iterator[Bar]:
    for log, published in PUBLISHED[method].items():
        figure = figures.get((log, method))
        if figure is None:
            continue
        for key, at in zip(("pin_runs", "pin_tasks"), published, strict=True):
            off = figure[key] / at - 1
            yield Bar(
                what=f"{log}: {method}, {key.replace('_', ' over ')} as published, {at:.3f}",
                measured=f"{figure[key]:.4f} ({off:+.1%})",
                bar=f"± {REPRODUCED_WITHIN:.0%}",
                holds=abs(off) <= REPRODUCED_WITHIN,
            )


def _cheap(log: str, figures: Figures) -> Iterator[Bar]:
    figure = figures.get((log, OWN))
    if figure is None:
        return
    yield below(f"{log}: µs a forecast", figure["us_per_forecast"], US_PER_FORECAST, "{:.1f}")
    kept = figure["bytes_per_task"]
    yield below(f"{log}: bytes a task", kept, BYTES_PER_TASK, "{:.0f}")
