"""The picture of docs/splitting.md: time and memory by the chunk, as learned from one run.

PYTHONPATH=. .venv/bin/python -P -m benchmarks.split.picture [docs/images/split.svg]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.split.memory import JOB, MB, MEDIAN_S, SIGMA
from benchmarks.split.plays import FIRST_JUDGED, Kind
from plimsoll_operator.web.plots import svg
from plimsoll_operator.web.plots.axes import Scale
from plimsoll_predictor.replay.splitting.memory import Container, Need, play_leased
from plimsoll_predictor.replay.splitting.playing import even_s, lognormal_items, play
from plimsoll_predictor.splitting.costs import Costs
from plimsoll_predictor.splitting.jobs import Job
from plimsoll_predictor.splitting.makespans import even_chunks, expected
from plimsoll_predictor.splitting.peaks import Peaks
from plimsoll_predictor.splitting.sizes import even_candidates
from plimsoll_predictor.splitting.strategies.guided import Guided
from plimsoll_predictor.splitting.strategies.planned import Planned
from plimsoll_predictor.splitting.strategies.strategy import Cut

WIDTH: Final = 900
HEIGHT: Final = 320
TIMED: Final = Kind(5.0, 1.0, 2_000, 16)
NEED: Final = Need(60 * MB, 2.6 * MB, 0.05)
DRAWN: Final = 20
_STYLE: Final = (
    "svg{background:#fff;font:12px system-ui,sans-serif}text{fill:#5b6675}"
    ".name{fill:#1d2530;font-weight:600}.grid{stroke:#eceef0}"
    ".band{fill:#c9d8ec}.line{stroke:#1f63b5;stroke-width:2;fill:none}.dot{fill:#1d2530}"
    ".mark{stroke:#a85b00;stroke-dasharray:4 3}"
)


Place = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class Panel:
    """A plot. points: chunk, expected, from, to. seen: chunk, measured.

    marks: a chunk, and its words. unit: of the values.
    """

    title: str
    unit: str
    points: Sequence[tuple[float, float, float, float]]
    seen: Sequence[tuple[float, float]]
    marks: Sequence[tuple[float, str]]


def time_panel() -> Panel:
    """Times of even chunks, as learned from the first run in shares."""
    job, planned = TIMED.job(Cut.BEFORE), Planned()
    play(planned, job, _items(TIMED.items, 0), Cut.BEFORE)
    costs = planned.past.costs()
    if costs is None:
        raise RuntimeError("a run tells costs")
    sizes = list(even_candidates(job))
    points = [_expected(job, costs, items) for items in sizes]
    drawn = [_items(TIMED.items, 1 + run) for run in range(DRAWN)]
    seen = [
        (float(items), float(np.mean([even_s(job, times, items) for times in drawn])))
        for items in sizes
    ]
    best = min(points, key=lambda point: point[1])[0]
    marks = [(float(job.share), "share"), (best, "best even")]
    return Panel(f"seconds: {TIMED.name}, each a pod", "s", points, seen, marks)


def memory_panel() -> Panel:
    """Peaks of chunks, as learned from a leased run with half of the share's memory."""
    half = round(NEED.base_bytes + JOB.share * NEED.slope_bytes) // 2
    guided = Guided(half)
    times = lognormal_items(JOB.items, MEDIAN_S, SIGMA, FIRST_JUDGED)
    play_leased(guided, JOB, times, Container(half, NEED, FIRST_JUDGED))
    peaks = guided.past.memory()
    if peaks is None:
        raise RuntimeError("a run tells peaks")
    sizes = [float(items) for items in range(1, JOB.share + 1)]
    points = [_needed(peaks, items) for items in sizes]
    draw = np.random.default_rng(FIRST_JUDGED)
    seen = [(items, NEED.peak_bytes(round(items), draw) / MB) for items in sizes[::4]]
    marks = [(float(peaks.largest), "largest seen")]
    return Panel(
        "MB: what a chunk needs, from a run in half of the memory", "MB", points, seen, marks
    )


def _expected(job: Job, costs: Costs, items: int) -> tuple[float, float, float, float]:
    found = expected(even_chunks(job, items), job, costs, 1)
    return float(items), found.mean_s, found.low_s, found.high_s


def _needed(peaks: Peaks, items: float) -> tuple[float, float, float, float]:
    low, high = peaks.interval_bytes(items)
    return items, peaks.mean_bytes(items) / MB, low / MB, high / MB


def _items(items: int, run: int) -> np.ndarray:
    return lognormal_items(items, TIMED.median_s, TIMED.sigma, FIRST_JUDGED + run)


def picture(panels: Sequence[Panel]) -> str:
    """Return the picture."""
    width = WIDTH / len(panels)
    parts = [part for place, panel in enumerate(panels) for part in _drawn(panel, place * width)]
    label = "Time and memory by the size of a chunk, with what one run foretold"
    opened, _, rest = str(svg.picture(WIDTH, HEIGHT, label, parts)).partition(">")
    return f'{opened} xmlns="http://www.w3.org/2000/svg"><style>{_STYLE}</style>{rest}\n'


def _drawn(panel: Panel, left: float) -> Iterator[object]:
    sizes = [point[0] for point in panel.points]
    ends = (left + 52, left + WIDTH / 2 - 18)
    x = Scale(low=min(sizes), high=max(sizes), start=ends[0], end=ends[1], log=True)
    top = max(*(point[3] for point in panel.points), *(value for _, value in panel.seen))
    y = Scale(low=0, high=top, start=HEIGHT - 46, end=44)
    yield svg.text((left + 14, 20), panel.title, "name")
    step = 10 ** np.floor(np.log10(top / 3))
    step *= max(factor for factor in (1, 2, 5) if factor * step <= top / 3)
    for value in np.arange(0, top, step):
        yield svg.line((ends[0], y(value)), (ends[1], y(value)), "grid")
        yield svg.text((ends[0] - 6, y(value) + 4), f"{value:g}", anchor="end")
    for size in _powers(min(sizes), max(sizes)):
        yield svg.text((x(size), HEIGHT - 28), f"{size:g}", anchor="middle")
    yield svg.text((sum(ends) / 2, HEIGHT - 8), "items a chunk", "name", "middle")
    yield from _curve(panel, x, y)
    for size, words in panel.marks:
        yield svg.line((x(size), 44), (x(size), HEIGHT - 46), "mark")
        yield svg.text((x(size) - 4, 54), words, anchor="end")


def _curve(
    panel: Panel, x: Callable[[float], float], y: Callable[[float], float]
) -> Iterator[object]:
    there = [(x(size), y(low)) for size, _, low, _ in panel.points]
    back = [(x(size), y(high)) for size, _, _, high in reversed(panel.points)]
    yield svg.path([_to(there + back), "Z"], "band")
    yield svg.path([_to([(x(size), y(mean)) for size, mean, _, _ in panel.points])], "line")
    for size, value in panel.seen:
        yield svg.dot((x(size), y(value)), 3, "dot", f"{size:g} items: {value:.0f} {panel.unit}")


def _to(places: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in places)


def _powers(low: float, high: float) -> list[float]:
    values = [float(factor * 10**power) for power in range(5) for factor in (1, 2, 5)]
    return [value for value in values if low <= value <= high]


def main(arguments: Sequence[str]) -> None:
    """Write the picture."""
    path = Path(arguments[0] if arguments else "docs/images/split.svg")
    path.write_text(picture([time_panel(), memory_panel()]), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
