"""The namespaces that are left alone: which they are; every process knows the same."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from plimsoll_operator.admission.settings import AdmissionSettings
from plimsoll_operator.controller.settings import ControllerSettings
from plimsoll_operator.names.namespaces import excluded_namespaces, selector_of
from plimsoll_operator.processes.run import RunSettings
from plimsoll_operator.processes.run_webhook import webhook_configuration

NOTHING: dict[str, Any] = {}
"""Everything comes from the environment."""
LISTED = "kube-system,right-sizing,agents,monitoring"


@pytest.mark.parametrize(
    ("names", "own", "expected"),
    [
        pytest.param("", None, {"kube-system"}, id="nothing listed"),
        pytest.param(" a , b,,a", None, {"a", "b", "kube-system"}, id="spaces, twice, empty"),
        pytest.param(["a"], "own", {"a", "own", "kube-system"}, id="one by one, with its own"),
        pytest.param("team.a", None, {"team.a", "kube-system"}, id="a dot, as the chart allows"),
    ],
)
def test_the_names_are_those_listed_and_those_always_left_alone(
    names: str, own: str | None, expected: set[str]
) -> None:
    assert excluded_namespaces(names, own) == expected


@pytest.mark.parametrize("name", ["Shop", "a b", "*", "-a", "x" * 254])
def test_what_cannot_be_a_namespace_is_refused_by_name(name: str) -> None:
    with pytest.raises(ValueError, match="is no namespace"):
        excluded_namespaces(name)
    with pytest.raises(ValidationError, match="is no namespace"):
        ControllerSettings(excluded_namespaces=name)  # type: ignore[arg-type]


def test_both_processes_read_what_the_chart_gives_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("CERTIFICATE_FILE", "KEY_FILE", "FEED_TOKEN_FILE"):
        monkeypatch.setenv(f"PLIMSOLL_{name}", "/x")
    monkeypatch.setenv("PLIMSOLL_FEED_URL", "http://x:1")
    monkeypatch.setenv("PLIMSOLL_NAMESPACE", "right-sizing")
    assert AdmissionSettings(**NOTHING).excluded_namespaces == {"kube-system", "plimsoll"}
    assert ControllerSettings().left_alone == {"kube-system", "right-sizing"}
    monkeypatch.setenv("PLIMSOLL_EXCLUDED_NAMESPACES", LISTED)
    assert AdmissionSettings(**NOTHING).excluded_namespaces == set(LISTED.split(","))
    assert ControllerSettings().left_alone == set(LISTED.split(","))


def test_plimsoll_run_gives_its_webhooks_and_processes_one_list(tmp_path: object) -> None:
    settings = RunSettings(state_dir=tmp_path, excluded_namespaces="monitoring")  # type: ignore[arg-type]
    assert settings.left_alone == {"kube-system", "plimsoll", "monitoring"}
    webhooks = webhook_configuration("https://x", b"", settings.left_alone)["webhooks"]
    left_alone = selector_of(settings.left_alone)["matchExpressions"]
    for each in webhooks:
        assert each["namespaceSelector"]["matchExpressions"][: len(left_alone)] == left_alone
