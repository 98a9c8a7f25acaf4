"""Plots of a Job over items: its time, and a pod's memory, by the number of a pod's items. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from markupsafe import Markup

from plimsoll_operator.views.splitting_facts import SplittingFacts
from plimsoll_operator.web.plots import svg
from plimsoll_operator.web.plots.axes import Frame, Scale
from plimsoll_operator.web.plots.bands import (
    ROOM,
    banded,
    columns_of_items,
    rows_of_bytes,
    rows_of_times,
    steps,
)
from plimsoll_predictor.core.durations import words_for_duration
from plimsoll_predictor.core.units import counted, words_for_bytes
from plimsoll_predictor.splitting.chunk_runs import ChunkRun
from plimsoll_predictor.splitting.peaks import Peaks
from plimsoll_predictor.splitting.proposing import Plan

SIZE: Final = (460, 260)
MOST_DOTS: Final = 200


def time_plot(facts: SplittingFacts, size: tuple[int, int] = SIZE) -> Markup:
    """Draw how long the Job takes; the dots are its written cut and its best cut."""
    points = [
        (float(plan.largest), plan.makespan.mean_s, plan.makespan.low_s, plan.makespan.high_s)
        for plan in facts.plans
    ]
    marks = _marks(facts)
    times = [each for _, mean, low, high in points for each in (mean, low, high)]
    times += [plan.makespan.mean_s for plan, _, _ in marks]
    sizes = [items for items, *_ in points] + [float(plan.largest) for plan, _, _ in marks]
    frame = Frame.inside(size)
    x = frame.x(min(sizes) / ROOM, max(sizes) * ROOM, log=True)
    y = frame.y(max(min(times), 0.1) / ROOM, max(times) * ROOM, log=True)
    parts = [
        *columns_of_items(frame, x),
        *rows_of_times(frame, y),
        *banded(points, x, y),
        *(
            svg.dot(
                (x(plan.largest), y(plan.makespan.mean_s)),
                5,
                class_,
                f"{words}, {words_for_duration(plan.makespan.mean_s)}",
            )
            for plan, class_, words in marks
        ),
        *frame.names("the Job", "items a pod"),
    ]
    return svg.picture(*size, "How long the Job takes", parts, _time_words(facts))


def memory_plot(facts: SplittingFacts, size: tuple[int, int] = SIZE) -> Markup | None:
    """Draw what a pod needs; dots are chunks that succeeded, crosses those killed for memory.

    The large dots are the Job's written cut and its best cut.
    """
    peaks = facts.learned.peaks
    seen = [each for each in facts.chunks if each.peak_bytes or each.killed_bytes][-MOST_DOTS:]
    if peaks is None or not seen:
        return None
    marks = _marks(facts)
    sizes = [each.items for each in seen] + [plan.largest for plan in facts.plans]
    sizes += [plan.largest for plan, _, _ in marks]
    low, high = min(sizes) / ROOM, max(sizes) * ROOM
    items = steps(low, high)
    points = [(each, peaks.mean_bytes(each), *peaks.interval_bytes(each)) for each in items]
    bytes_seen = [float(each.peak_bytes or each.killed_bytes or 1) for each in seen]
    around = [*bytes_seen, *(value for _, *values in points for value in values)]
    frame = Frame.inside(size)
    x = frame.x(low, high, log=True)
    y = frame.y(max(1.0, min(around)) / ROOM, max(around) * ROOM, log=True)
    parts = [
        *columns_of_items(frame, x),
        *rows_of_bytes(frame, y),
        *banded(points, x, y),
        *(_chunk(each, x, y) for each in seen),
        *(
            svg.dot((x(plan.largest), y(needs)), 5, class_, f"{words}, {words_for_bytes(needs)}")
            for plan, class_, words in marks
            for needs in (peaks.mean_bytes(plan.largest),)
        ),
        *frame.names("a pod", "items a pod"),
    ]
    return svg.picture(*size, "What a pod needs", parts, _memory_words(peaks, seen))


def _marks(facts: SplittingFacts) -> list[tuple[Plan, str, str]]:
    """Return the Job's written cut and its best cut: plan, class, words."""
    proposal = facts.cut.proposal
    named = ((proposal.usual, "short", "as written"), (proposal.plan, "run", "best cut"))
    return [
        (plan, class_, f"{words}: {counted(facts.pods(plan), 'pod')} of {facts.items_words(plan)}")
        for plan, class_, words in named
        if plan is not None
    ]


def _chunk(chunk: ChunkRun, x: Scale, y: Scale) -> Markup:
    if chunk.killed_bytes is not None:
        title = f"killed at {words_for_bytes(chunk.killed_bytes)} with {chunk.items:,}"
        return svg.cross((x(chunk.items), y(chunk.killed_bytes)), 4, "kill", title)
    peak = chunk.peak_bytes or 0
    return svg.dot(
        (x(chunk.items), y(peak)), 3, "need", f"{words_for_bytes(peak)}: {chunk.items:,}"
    )


def _time_words(facts: SplittingFacts) -> str:
    if not facts.plans:
        return "No other cut is known."
    each = [
        f"{counted(facts.pods(plan), 'pod')} {words_for_duration(plan.makespan.mean_s)}"
        for plan in (facts.plans[0], facts.plans[-1])
    ]
    return f"From {each[0]} to {each[1]}."


def _memory_words(peaks: Peaks, seen: Sequence[ChunkRun]) -> str:
    needs = [peaks.mean_bytes(each.items) for each in seen]
    return (
        f"{counted(len(seen), 'chunk')}; from {words_for_bytes(min(needs))}"
        f" to {words_for_bytes(max(needs))}."
    )
