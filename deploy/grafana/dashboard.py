"""Writes the Grafana dashboard: ``python3 deploy/grafana/dashboard.py``.

Its content is in panels.py; this module writes it in Grafana's format. Grafana's schema of a
dashboard:
https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from deploy.grafana.panel_kinds import Kind, Panel
from deploy.grafana.panels import ROWS

WHERE: Final = Path(__file__).resolve().parents[2] / "helm/plimsoll/files/dashboard.json"
COLUMNS: Final = 24
SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}
_HEIGHTS: Final = {Kind.STAT: 4, Kind.SERIES: 8, Kind.TABLE: 8}
_WIDTHS: Final = {Kind.STAT: 4, Kind.SERIES: 8, Kind.TABLE: 24}


def dashboard() -> dict[str, Any]:
    """The dashboard as Grafana imports it."""
    return {
        "uid": "plimsoll",
        "title": "Plimsoll",
        "description": "Right-sizing of batch tasks: what it saves, decides, lifts and learns.",
        "tags": ["plimsoll", "kubernetes"],
        "timezone": "browser",
        "editable": True,
        "graphTooltip": 1,
        "schemaVersion": 38,
        "version": 1,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [_source_variable(), _namespace_variable()]},
        "panels": list(_panels()),
    }


def text() -> str:
    """The file's contents."""
    return json.dumps(dashboard(), indent=1) + "\n"


def _panels() -> Iterator[dict[str, Any]]:
    number, top = 0, 0
    for title, panels in ROWS:
        number += 1
        yield _row(number, title, top)
        top += 1
        left = height = 0
        for panel in panels:
            if left + _WIDTHS[panel.kind] > COLUMNS:
                left, top = 0, top + height
            number += 1
            height = _HEIGHTS[panel.kind]
            place = {"h": height, "w": _WIDTHS[panel.kind], "x": left, "y": top}
            yield _panel(number, panel, place)
            left += _WIDTHS[panel.kind]
        top += height


def _row(number: int, title: str, top: int) -> dict[str, Any]:
    place = {"h": 1, "w": COLUMNS, "x": 0, "y": top}
    return {
        "id": number,
        "type": "row",
        "title": title,
        "collapsed": False,
        "gridPos": place,
        "panels": [],
    }


def _panel(number: int, panel: Panel, place: dict[str, int]) -> dict[str, Any]:
    return {
        "id": number,
        "type": panel.kind.value,
        "title": panel.title,
        "description": panel.words,
        "datasource": SOURCE,
        "gridPos": place,
        "targets": [
            {
                "refId": chr(ord("A") + index),
                "datasource": SOURCE,
                "expr": query.promql,
                "legendFormat": query.legend,
                "range": panel.kind is Kind.SERIES,
                "instant": panel.kind is not Kind.SERIES,
                **({"format": "table"} if panel.kind is Kind.TABLE else {}),
            }
            for index, query in enumerate(panel.queries)
        ],
        "fieldConfig": {"defaults": _defaults(panel), "overrides": []},
        "options": _options(panel),
    }


def _defaults(panel: Panel) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [{"color": "green", "value": None}]
    if panel.bad_from is not None:
        steps.append({"color": "red", "value": panel.bad_from})
    if panel.bad_below is not None:
        steps = [{"color": "red", "value": None}, {"color": "green", "value": panel.bad_below}]
    defaults: dict[str, Any] = {
        "unit": panel.unit,
        "thresholds": {"mode": "absolute", "steps": steps},
        "color": {"mode": "thresholds" if panel.kind is Kind.STAT else "palette-classic"},
    }
    if panel.unit == "none":
        defaults["decimals"] = 0  # an increase is extrapolated: 7.01 kills are 7
    if panel.kind is Kind.SERIES:
        defaults["min"] = 0
        defaults["custom"] = {
            "drawStyle": "line",
            "lineWidth": 1,
            "fillOpacity": 25 if panel.stacked else 5,
            "showPoints": "never",
            "stacking": {"mode": "normal" if panel.stacked else "none", "group": "A"},
        }
    return defaults


def _options(panel: Panel) -> dict[str, Any]:
    if panel.kind is Kind.STAT:
        return {
            "colorMode": "value",
            "graphMode": "none",
            "justifyMode": "auto",
            "orientation": "auto",
            "textMode": "auto",
            "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        }
    if panel.kind is Kind.TABLE:
        return {"showHeader": True, "cellHeight": "sm"}
    return {
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
        "tooltip": {"mode": "multi", "sort": "desc"},
    }


def _source_variable() -> dict[str, Any]:
    return {
        "name": "datasource",
        "label": "Data source",
        "type": "datasource",
        "query": "prometheus",
        "hide": 0,
        "includeAll": False,
        "multi": False,
        "refresh": 1,
        "options": [],
    }


def _namespace_variable() -> dict[str, Any]:
    return {
        "name": "namespace",
        "label": "Namespace of Plimsoll",
        "type": "query",
        "datasource": SOURCE,
        "query": "label_values(plimsoll_build_info, namespace)",
        "hide": 0,
        "includeAll": True,
        "allValue": ".*",
        "multi": False,
        "refresh": 2,
        "sort": 1,
        "current": {"selected": True, "text": "All", "value": "$__all"},
        "options": [],
    }


if __name__ == "__main__":
    WHERE.write_text(text(), encoding="utf-8")
