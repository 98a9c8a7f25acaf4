"""Draws a report as one self-contained HTML file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from plimsoll_operator.views.report.records import (
    AttemptPoint,
    ReportData,
    TaskReport,
)
from plimsoll_operator.views.report.thinning import points_per_plot, thin
from plimsoll_operator.web.plots import size_plots as plots
from plimsoll_operator.web.report.environment import file_environment

TABLED_SHARE: Final = 20
"""The table beside has the newest attempts: one for this many that may be drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One task's section: the report, its drawn plots, and how they were thinned.

    timeline: for wide screens; narrow: the same for a phone's.
    tabled: the newest attempts, newest first, for people who do not see the plots.
    """

    anchor: str
    report: TaskReport
    timeline: Markup
    narrow: Markup
    diagonal: Markup
    histogram: Markup
    thinned: str | None
    tabled: tuple[AttemptPoint, ...]


def render(pages: ReportData, now_s: float) -> str:
    """The whole page. now_s: Unix seconds, when it was made."""
    detailed = [report for report in pages.tasks if report.detail is not None]
    room = points_per_plot(len(detailed))
    sections = [section_of(report, f"task-{n}", room) for n, report in enumerate(detailed)]
    template = file_environment("plimsoll_operator.web.report").get_template("page.html.j2")
    return template.render(
        pages=pages,
        total=pages.kept,
        sections=sections,
        anchors={section.report.task: section.anchor for section in sections},
        now_s=now_s,
    )


def section_of(report: TaskReport, anchor: str, room: int) -> Section:
    """A task with its plots. room: the most attempts to draw in one of them."""
    points = report.detail.points if report.detail else ()
    model = report.detail.model if report.detail else None
    thinned = thin(points, room)
    needs = [point.need_bytes for point in points if point.need_bytes and not point.killed]
    return Section(
        anchor=anchor,
        report=report,
        timeline=plots.timeline(thinned),
        narrow=plots.timeline(thin(points, min(room, plots.NARROW_POINTS)), plots.NARROW),
        diagonal=plots.diagonal(thinned),
        histogram=plots.histogram(needs, model.bins.ceilings_bytes if model else ()),
        thinned=thinned.words,
        tabled=tuple(reversed(points[-max(1, room // TABLED_SHARE) :])),
    )
