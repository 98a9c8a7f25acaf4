"""The dashboard's file: current, by Grafana's schema, and laid out without overlaps."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from deploy.grafana.dashboard import COLUMNS, WHERE, dashboard, text
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

ROOT = Path(__file__).parents[2]
register_default_plugins()


def unknown_to_grafana(document: dict[str, Any]) -> list[str]:
    """Parts that Grafana's own types read back differently than written."""
    read = Dashboard.from_json(copy.deepcopy(document))
    return list(_differences(document, json.loads(JSONEncoder().encode(read)), ""))


def _differences(written: Any, read: Any, where: str) -> Iterator[str]:
    if isinstance(written, dict) and isinstance(read, dict):
        for key, value in written.items():
            if key in read:
                yield from _differences(value, read[key], f"{where}/{key}")
            else:
                yield f"{where}/{key}"
    elif isinstance(written, list) and isinstance(read, list) and len(written) == len(read):
        for index, (one, other) in enumerate(zip(written, read, strict=True)):
            yield from _differences(one, other, f"{where}/{index}")
    elif written != read:
        yield where


def test_the_file_is_what_the_panels_say() -> None:
    assert WHERE.read_text() == text(), "run python3 deploy/grafana/dashboard.py"


def test_grafana_knows_every_field() -> None:
    assert unknown_to_grafana(dashboard()) == []


@pytest.mark.parametrize("field", ["gridPos", "fieldConfig", "targets", "options"])
def test_a_field_that_grafana_does_not_know_is_found(field: str) -> None:
    document = dashboard()
    panel = next(each for each in document["panels"] if each["type"] == "timeseries")
    panel[f"{field}s"] = panel.pop(field)
    place = document["panels"].index(panel)
    assert f"/panels/{place}/{field}s" in unknown_to_grafana(document)


def test_panels_have_numbers_of_their_own_and_do_not_overlap() -> None:
    panels = dashboard()["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    for one, other in combinations([panel["gridPos"] for panel in panels], 2):
        apart = (
            one["x"] + one["w"] <= other["x"]
            or other["x"] + other["w"] <= one["x"]
            or one["y"] + one["h"] <= other["y"]
            or other["y"] + other["h"] <= one["y"]
        )
        assert apart, (one, other)
    assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= COLUMNS for panel in panels)


def test_bytes_times_seconds_are_shown_as_bytes_only_over_a_time_or_as_a_share() -> None:
    for panel in dashboard()["panels"]:
        for target in panel.get("targets", []):
            if "byte_seconds" in target["expr"]:
                unit = panel["fieldConfig"]["defaults"]["unit"]
                is_rate = "increase(" not in target["expr"] and "rate(" in target["expr"]
                assert unit in (("bytes",) if is_rate else ("percentunit",)), panel["title"]


def test_every_panel_says_what_it_shows_and_asks_only_for_what_is_documented() -> None:
    documented = (ROOT / "docs/metrics.md").read_text()
    for panel in dashboard()["panels"]:
        assert panel["type"] == "row" or panel["description"].endswith(".")
        for target in panel.get("targets", []):
            for name in re.findall(r"plimsoll_\w+", target["expr"]):
                assert f"`{name.removesuffix('_bucket')}`" in documented, name
