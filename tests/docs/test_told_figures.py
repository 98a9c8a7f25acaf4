"""Figures and code that pages tell are those of the code: people act by them."""

from __future__ import annotations

import re
import sys
from math import comb
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import yaml

from plimsoll_predictor.experts.drift import BEFORE, LATEST, LATEST_AFTER_A_CHANGE, Drift
from plimsoll_predictor.training import boosting
from tests.docs.pages import ROOT, Page

ALERTS: dict[str, dict[str, Any]] = {
    rule["alert"]: rule
    for group in yaml.safe_load((ROOT / "helm/plimsoll/files/alerts.yaml").read_text())["groups"]
    for rule in group["rules"]
}
NUMBERS = {"seven": 7, "ten": 10}
PAGES = [
    "README.md",
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md")),
]


def words_of(page: str) -> str:
    return " ".join(Page(page).text.split())


def the_hook() -> Any:
    [block] = [each for each in Page("docs/airflow.md").blocks("python") if "hook" in each.text]
    names: dict[str, Any] = {}
    exec(block.text, names)
    return names["pod_mutation_hook"]


def a_context() -> dict[str, Any]:
    return {"ti": SimpleNamespace(max_tries=2)}


def nobody_runs() -> dict[str, Any]:
    raise RuntimeError("Current context was requested but no context was found!")


@pytest.mark.parametrize(
    ("module", "context", "labels"),
    [
        pytest.param("airflow.sdk", a_context, {"max_tries": "2"}, id="Airflow 3"),
        pytest.param("airflow.operators.python", a_context, {"max_tries": "2"}, id="Airflow 2"),
        pytest.param("airflow.operators.python", nobody_runs, None, id="the executor's own pod"),
        pytest.param(None, None, None, id="neither"),
    ],
)
def test_the_function_for_airflow_never_keeps_a_pod_from_being_made(
    module: str | None,
    context: Any,
    labels: dict[str, str] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("airflow", "airflow.operators"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    for name in ("airflow.sdk", "airflow.operators.python"):
        made = ModuleType(name)
        made.get_current_context = context  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, name, made if name == module else None)
    pod = SimpleNamespace(metadata=SimpleNamespace(labels=None))
    the_hook()(pod)
    assert pod.metadata.labels == labels


def test_the_page_says_how_soon_a_shift_is_seen_and_how_often_by_chance() -> None:
    text = words_of("docs/drift.md")
    for latest, before in ((LATEST, BEFORE), (LATEST, LATEST), (4, LATEST_AFTER_A_CHANGE)):
        times = comb(latest + before, latest) // 2
        told = times if times < 10_000 else times // 1000 * 1000
        assert f"once in {told:,} times for {latest} after {before}" in text
    young, changed = Drift(), Drift(since_change=LATEST_AFTER_A_CHANGE)
    assert young.shifted([100.0] * LATEST + [200.0] * LATEST) == LATEST
    assert changed.shifted([100.0] * 4 + [200.0] * 4) == LATEST_AFTER_A_CHANGE
    assert Drift().shifted([100.0] * (LATEST - 1) + [200.0] * LATEST) is None


def test_the_readme_says_from_how_many_runs_on_boosted_quantiles_bid() -> None:
    assert f"once {boosting.LEAST_RUNS} are known, boosted quantiles" in words_of("README.md")


@pytest.mark.parametrize("alert", ["PlimsollFeedStale", "PlimsollExtenderStale"])
def test_the_runbook_counts_the_time_until_an_alert_fires(alert: str) -> None:
    section = Page("docs/operations.md").text.partition(f"### {alert}\n")[2].partition("\n### ")[0]
    [told] = re.findall(r"has not heard the controller for (\w+) minutes", section)
    rule = ALERTS[alert]
    [age_s] = re.findall(r"> (\d+)", rule["expr"])
    assert NUMBERS[told] == int(age_s) / 60 + int(rule["for"].removesuffix("m"))


@pytest.mark.parametrize("page", PAGES)
def test_a_value_that_yaml_would_not_read_as_text_is_in_quotes(page: str) -> None:
    text = Page(page).text
    bare = r"(?:plimsoll\.dev/[\w-]+: (?:true|false|off|on|\d+)\b|\bmode: off\b|# off \|)"
    assert re.findall(bare, text) == []
