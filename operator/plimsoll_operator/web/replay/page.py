"""Draws a replay as one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup

from plimsoll_operator.web.replay import plots
from plimsoll_operator.web.report.environment import file_environment
from plimsoll_predictor.replay.sizes.playing import Played
from plimsoll_predictor.replay.sizes.sizer import UNASKED_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One trace: how each policy did, and its drawn plots.

    least_gb_h: the least waste of all policies. clouds: each policy's allocations against needs.
    """

    played: Sequence[Played]
    least_gb_h: float
    curve: Markup
    logarithmic: bool
    frontier: Markup | None
    knobs: str
    clouds: Sequence[Markup]


def render(played: Sequence[Played], now_s: float) -> str:
    """The whole page, a section for each trace. now_s: Unix seconds, when it was made."""
    by_trace = groupby(played, key=lambda each: id(each.trace))
    sections = [_section(list(group)) for _, group in by_trace]
    environment = file_environment("plimsoll_operator.web.replay", "replay.css")
    template = environment.get_template("replay.html.j2")
    return template.render(
        sections=sections,
        setting=played[0].setting if played else None,
        now_s=now_s,
        unasked_gb=UNASKED_BYTES / 1e9,
    )


def _section(played: list[Played]) -> Section:
    bounds_bytes = plots.cloud_bounds_bytes(played)
    return Section(
        played=played,
        least_gb_h=min(each.totals.waste_gb_h for each in played),
        curve=plots.waste_over_time(played),
        logarithmic=plots.logarithmic(played),
        knobs=_knobs(played),
        frontier=plots.frontiers(played) if any(each.frontier for each in played) else None,
        clouds=[plots.allocation_against_need(each, bounds_bytes) for each in played],
    )


def _knobs(played: Sequence[Played]) -> str:
    """The values of each knob, once for the policies that share it."""
    names: dict[str, list[str]] = {}
    for each in played:
        if each.frontier:
            values = ", ".join(f"{point.strictness:g}" for point in each.frontier)
            names.setdefault(f"{each.policy.knob} {values}", []).append(each.policy.name)
    return " ".join(f"{', '.join(shared)}: {knob}." for knob, shared in names.items())
