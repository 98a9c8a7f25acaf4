"""The alerts, by promtool: each fires, is quiet on a quiet Plimsoll, and says what to do."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
FILES = ROOT / "helm/plimsoll/files"
ALERTS: list[dict[str, Any]] = [
    rule
    for group in yaml.safe_load((FILES / "alerts.yaml").read_text())["groups"]
    for rule in group["rules"]
]
NAMES = [alert["alert"] for alert in ALERTS]


def promtool(*words: str, folder: Path = FILES) -> str:
    done = subprocess.run(
        ["promtool", *words], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_rules_fire_and_stay_quiet_as_they_should() -> None:
    promtool("check", "rules", "alerts.yaml")
    assert "SUCCESS" in promtool("test", "rules", "alerts_test.yaml")


def test_every_alert_is_fired_by_a_test() -> None:
    text = (FILES / "alerts_test.yaml").read_text()
    fired = set(re.findall(r'alertname="(\w+)"\}\', value: [1-9]', text))
    cases = [test.get("alert_rule_test", []) for test in yaml.safe_load(text)["tests"]]
    fired |= {each["alertname"] for case in cases for each in case if each["exp_alerts"]}
    assert fired == set(NAMES)


def test_a_rule_that_is_broken_is_told(tmp_path: Path) -> None:
    for name in ("alerts.yaml", "alerts_test.yaml"):
        broken = (FILES / name).read_text().replace("plimsoll_leaking_tasks) > 0", "leaking) > 0")
        (tmp_path / name).write_text(broken)
    with pytest.raises(AssertionError, match="PlimsollTasksLeaking"):
        promtool("test", "rules", "alerts_test.yaml", folder=tmp_path)


@pytest.mark.parametrize("alert", ALERTS, ids=NAMES)
def test_an_alert_says_what_is_wrong_and_where_to_read_on(alert: dict[str, Any]) -> None:
    words = alert["annotations"]
    assert words["summary"]
    assert words["description"].endswith(".")
    assert alert["labels"]["severity"] in ("critical", "warning")
    page, _, anchor = words["runbook"].partition("#")
    headings = re.findall(r"^### (\w+)$", (ROOT / page).read_text(), flags=re.MULTILINE)
    assert anchor == alert["alert"].lower()
    assert alert["alert"] in headings


def test_every_metric_that_an_alert_asks_for_exists() -> None:
    documented = (ROOT / "docs/metrics.md").read_text()
    for alert in ALERTS:
        for name in re.findall(r"plimsoll_\w+", alert["expr"]):
            metric = name.removesuffix("_bucket").removesuffix("_count")
            assert f"`{metric}`" in documented, (alert["alert"], name)
