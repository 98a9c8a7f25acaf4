"""Draws a report as one HTML file that needs nothing from elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from plimsoll_operator.conditions import cut
from plimsoll_operator.figure_words import number_words, words_for_gb_h, words_for_share
from plimsoll_operator.report import plots
from plimsoll_operator.report.groups import NAMED_TASKS
from plimsoll_operator.report.records import Figures, ReportData, TaskReport, total
from plimsoll_operator.report.search_plot import search_plot
from plimsoll_operator.report.thinning import points_per_plot, thin
from plimsoll_operator.report.wording import words_for_minute, words_for_outcome, words_for_size
from plimsoll_predictor.knowledge import Expert
from plimsoll_predictor.savings import Resource, words_for_amount

MAX_TEXT: Final = 512
"""Of any text that came from outside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One task's own section: the report, its drawn plots, and what they left out."""

    anchor: str
    report: TaskReport
    timeline: Markup
    diagonal: Markup
    histogram: Markup
    thinned: str | None


def render(pages: ReportData, now_s: float) -> str:
    """The whole page. now_s: Unix seconds, when it was made."""
    detailed = [report for report in pages.tasks if report.detail is not None]
    room = points_per_plot(len(detailed))
    sections = [_section(report, place, room) for place, report in enumerate(detailed)]
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            pages=pages,
            total=total([report.figures for report in pages.tasks]),
            sections=sections,
            anchors={section.report.task: section.anchor for section in sections},
            now_s=now_s,
        )
    )


def _section(report: TaskReport, place: int, room: int) -> Section:
    points = report.detail.points if report.detail else ()
    model = report.detail.model if report.detail else None
    thinned = thin(points, room)
    needs = [point.need_bytes for point in points if point.need_bytes and not point.killed]
    return Section(
        anchor=f"task-{place}",
        report=report,
        timeline=plots.timeline(thinned),
        diagonal=plots.diagonal(thinned),
        histogram=plots.histogram(needs, model.ceilings_bytes if model else ()),
        thinned=thinned.words,
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("plimsoll_operator.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        size=words_for_size,
        gb_h=words_for_gb_h,
        number=number_words,
        percent=lambda share: f"{100 * share:.1f}%",
        when=words_for_minute,
        ended=words_for_outcome,
        short=lambda text: cut(str(text), MAX_TEXT),
        sentence=lambda text: cut(str(text)[:1].upper() + str(text)[1:], MAX_TEXT),
        saved=_saved,
        search_plot=search_plot,
        amount=_amount,
    )
    # Our own file, not anyone's input; it must reach the page as it is.
    style = files("plimsoll_operator.report").joinpath("templates/style.css").read_text("utf-8")
    environment.globals.update(style=Markup(style), Expert=Expert, named=NAMED_TASKS)
    return environment


def _amount(amount: float | None, resource: Resource) -> str:
    return "-" if amount is None else words_for_amount(resource, amount)


def _saved(figures: Figures) -> str:
    return words_for_share(figures.saved_gb_h, figures.requested_gb_h)
