"""Draws the dashboard without Grafana: ``picture.py PROMETHEUS_URL OUT.html [MINUTES [END]]``.

For the documentation, in the style of Plimsoll's own page: the same rows, panels, queries and
legends as in Grafana, read from a running Prometheus. It needs nothing beyond Plimsoll itself.
"""

from __future__ import annotations

import json
import math
import re
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from deploy.grafana.panel_kinds import Kind, Panel
from deploy.grafana.panels import ROWS
from markupsafe import Markup

from plimsoll_operator.web.plots import svg
from plimsoll_operator.web.plots.axes import Scale
from plimsoll_predictor.core.units import words_for_bytes

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 340, 150, 62, 8, 18
STEPS: Final = 120
MOST_LEGENDS: Final = 6
STYLE: Final = Path(svg.__file__).parent / "templates" / "style.css"
COLOURS: Final = ("allocation", "need", "good", "kill", "request", "edge")
OWN_STYLE: Final = """
body { max-width: 1180px; }
.row { display: grid; grid-template-columns: repeat(6, 1fr); gap: 12px; }
.row section { margin: 0; padding: 10px 12px; grid-column: span 2; }
.row section.stat { grid-column: span 1; }
.row section.table { grid-column: span 6; }
h2 { margin: 22px 0 8px; }
h3 { margin: 0 0 6px; font-size: 13.5px; }
.stat b { font-size: 24px; font-weight: 600; }
ul.legend { list-style: none; margin: 4px 0 0; padding: 0; display: flex; flex-wrap: wrap; }
.legend li { margin-right: 12px; font-size: 12px; color: var(--soft); }
.legend i { display: inline-block; width: 10px; height: 3px; margin-right: 5px; }
.legend i { vertical-align: middle; }
svg { width: 100%; height: auto; }
path { fill: none; stroke-width: 1.4; }
.axis { stroke: var(--grid); }
text { fill: var(--soft); font-size: 11px; }
"""


@dataclass(frozen=True, slots=True)
class Line:
    """One series. points: Unix seconds and values, finite ones only."""

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Source:
    """A Prometheus, and the stretch of time to draw."""

    url: str
    start_s: float
    end_s: float

    def lines(self, panel: Panel) -> list[Line]:
        """All series of a panel's queries."""
        found = []
        for query in panel.queries:
            for series in self._ask(query.promql):
                values = ((float(at), float(value)) for at, value in series["values"])
                points = tuple(point for point in values if math.isfinite(point[1]))
                if points:
                    found.append(Line(_filled(query.legend, series["metric"]), points))
        return found

    def _ask(self, promql: str) -> list[dict[str, Any]]:
        asked = {
            "query": promql.replace("$namespace", ".*").replace("$__rate_interval", "1m"),
            "start": f"{self.start_s}",
            "end": f"{self.end_s}",
            "step": f"{(self.end_s - self.start_s) / STEPS:.3f}",
        }
        url = f"{self.url.rstrip('/')}/api/v1/query_range?{urllib.parse.urlencode(asked)}"
        with urllib.request.urlopen(url, timeout=30) as answer:
            found: list[dict[str, Any]] = json.load(answer)["data"]["result"]
        return found


def page(source: Source) -> str:
    """The whole page."""
    rows = svg.joined(_row(title, panels, source) for title, panels in ROWS)
    style = Markup(STYLE.read_text(encoding="utf-8") + OWN_STYLE)
    return Markup(
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Plimsoll</title>'
        "<style>{}</style><header><h1>Plimsoll</h1><p>The Grafana dashboard's panels, drawn by"
        " Plimsoll itself from the same questions to Prometheus.</p></header>{}</html>\n"
    ).format(style, rows)


def _row(title: str, panels: Sequence[Panel], source: Source) -> Markup:
    inside = svg.joined(_panel(panel, source.lines(panel)) for panel in panels)
    return Markup('<h2>{}</h2><div class="row">{}</div>').format(title, inside)


def _panel(panel: Panel, lines: Sequence[Line]) -> Markup:
    if panel.kind is Kind.STAT:
        last = _words(lines[0].points[-1][1], panel.unit) if lines else "–"
        body = Markup("<b>{}</b>").format(last)
    elif panel.kind is Kind.TABLE:
        body = _table(lines)
    else:
        body = Markup("{}{}").format(_plot(panel, lines), _legend(lines))
    return Markup('<section class="{}" title="{}"><h3>{}</h3>{}</section>').format(
        {Kind.STAT: "stat", Kind.TABLE: "table"}.get(panel.kind, "plot"),
        panel.words,
        panel.title,
        body,
    )


def _plot(panel: Panel, lines: Sequence[Line]) -> Markup:
    drawn = lines[:MOST_LEGENDS]
    highest = max((value for line in drawn for _, value in line.points), default=0.0) or 1.0
    times = [at for line in drawn for at, _ in line.points] or [0.0, 1.0]
    across = Scale(low=min(times), high=max(times), start=LEFT, end=WIDTH - 4)
    up = Scale(low=0.0, high=highest * 1.05, start=HEIGHT - BOTTOM, end=TOP)
    parts: list[Markup] = []
    for share in (0.0, 0.5, 1.0):
        at = up(highest * share)
        parts.append(svg.line((LEFT, at), (WIDTH - 4, at), "axis"))
        words = _words(highest * share, panel.unit)
        parts.append(svg.text((LEFT - 5, at + 4), words, anchor="end"))
    for at_s in (min(times), max(times)):
        clock = time.strftime("%H:%M", time.gmtime(at_s))
        anchor = "start" if at_s == min(times) else "end"
        parts.append(svg.text((across(at_s), HEIGHT - 3), clock, anchor=anchor))
    for place, line in enumerate(drawn):
        parts.append(
            svg.element("path", d=_drawn(line, across, up), style=f"stroke: {_colour(place)}")
        )
    return svg.picture(WIDTH, HEIGHT, panel.title, parts, panel.words)


def _drawn(line: Line, across: Scale, up: Scale) -> str:
    return "M" + "L".join(f"{across(at):g} {up(value):g}" for at, value in line.points)


def _legend(lines: Sequence[Line]) -> Markup:
    entries = [
        Markup('<li><i style="background: {}"></i>{}</li>').format(_colour(place), line.name)
        for place, line in enumerate(lines[:MOST_LEGENDS])
    ]
    if len(lines) > MOST_LEGENDS:
        entries.append(Markup("<li>{} more</li>").format(len(lines) - MOST_LEGENDS))
    return Markup('<ul class="legend">{}</ul>').format(svg.joined(entries))


def _table(lines: Sequence[Line]) -> Markup:
    last = sorted(((line.points[-1][1], line.name) for line in lines), reverse=True)
    rows = svg.joined(
        Markup('<tr><td>{}</td><td class="n">{}</td></tr>').format(name, _words(value, "bytes"))
        for value, name in last
    )
    return Markup("<table><tbody>{}</tbody></table>").format(rows)


def _filled(legend: str, labels: dict[str, str]) -> str:
    """A legend as Grafana fills it in; without one, all labels."""
    if not legend:
        return "/".join(labels.values())
    return re.sub(r"\{\{(\w+)\}\}", lambda found: labels.get(found[1], ""), legend).strip()


def _colour(place: int) -> str:
    return f"var(--{COLOURS[place % len(COLOURS)]})"


def _words(value: float, unit: str) -> str:
    if unit in ("bytes", "decbytes", "Bps"):
        return words_for_bytes(value) if value >= 1024 else f"{value:.0f} B"
    if unit == "percentunit":
        return f"{value:.0%}"
    if unit == "s":
        return next(_spans(value))
    return f"{value:.0f}" if unit == "none" else f"{value:.3g}"


def _spans(value_s: float) -> Iterator[str]:
    """A span of time in the largest unit that it fills."""
    units = (("d", 86_400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3), ("µs", 1e-6))
    for name, seconds in units:
        if abs(value_s) >= seconds:
            yield f"{value_s / seconds:.3g} {name}"
    yield "0"


if __name__ == "__main__":
    address, out, *span = sys.argv[1:]
    drawn_s = 60.0 * float(span[0] if span else 15)
    until_s = float(span[1]) if len(span) > 1 else time.time()
    text = page(Source(address, until_s - drawn_s, until_s))
    Path(out).write_text(text, encoding="utf-8")
