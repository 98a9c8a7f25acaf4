"""A process's settings, by flags or by its environment, and their faults in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from plimsoll_operator.admission.settings import AdmissionSettings
from plimsoll_operator.controller.settings import ControllerSettings
from plimsoll_operator.processes.logs import words_for
from plimsoll_predictor.core.policy import Mode

IN_A_POD = {
    "STORE_URL": "postgresql://somewhere/plimsoll",
    "LISTEN_HOST": "0.0.0.0",
    "LISTEN_PORT": "8081",
    "PAGE_HOST": "127.0.0.1",
    "PAGE_PORT": "8082",
    "MODE": "enforce",
    "NAMESPACE": "right-sizing",
    "INSTANCE": "plimsoll-controller-7d9f-x2x",
    "LEASE": "plimsoll-controller",
    "LEASE_S": "12",
    "TLS_SECRET": "plimsoll-admission-tls",
    "TLS_NAMES": "plimsoll-admission.right-sizing.svc, plimsoll-admission.right-sizing",
    "TLS_LIFETIME_S": "600",
    "WEBHOOK": "plimsoll",
    "FEED_TOKEN_SECRET": "right-sizing/plimsoll-feed-token",
    "PEAKS_TOKEN_SECRET": "agents/plimsoll-peaks-token",
    "TRAINING_BUDGET_S": "30",
    "TRAINING_MEMORY_MIB": "2048",
    "LATE_BINDINGS_PER_S": "0",
    "FEED_MODELS_MIB": "200",
}


def told(monkeypatch: pytest.MonkeyPatch, **environment: str) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(f"PLIMSOLL_{name}", value)


def test_a_database_is_the_same_if_its_secret_was_made_from_a_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told(monkeypatch, STORE_URL="postgresql://somewhere/plimsoll\n")
    assert ControllerSettings().store_url == "postgresql://somewhere/plimsoll"


def test_a_controller_takes_all_from_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    told(monkeypatch, **IN_A_POD)
    settings = ControllerSettings()
    for name, value in IN_A_POD.items():
        found = getattr(settings, name.lower())
        if name == "TLS_NAMES":
            assert found == (
                "plimsoll-admission.right-sizing.svc",
                "plimsoll-admission.right-sizing",
            )
        else:
            assert type(found)(value) == found, name


def test_a_flag_is_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    told(monkeypatch, MODE="enforce", LISTEN_PORT="1")
    settings = ControllerSettings(mode=Mode.OFF)
    assert (settings.mode, settings.listen_port) == (Mode.OFF, 1)


def test_what_is_empty_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    told(monkeypatch, LEASE="", TLS_SECRET="", MODE="")
    settings = ControllerSettings()
    assert (settings.lease, settings.tls_secret, settings.mode) == (None, None, Mode.RECOMMEND)


def test_what_kubernetes_sets_for_services_is_no_wrong_port(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told(monkeypatch, PAGE_PORT="tcp://10.96.3.4:8082", CONTROLLER_PORT="tcp://10.96.3.5:8081")
    assert ControllerSettings().page_port == 8082


WRONG = {
    "LISTEN_PORT": ("70000", "less than or equal to 65535"),
    "PAGE_PORT": ("page", "valid integer"),
    "MODE": ("always", "'off', 'recommend' or 'enforce'"),
    "TRAINING_BUDGET_S": ("0", "greater than 0"),
    "TRAINING_MEMORY_MIB": ("10", "greater than or equal to 300"),
    "LATE_BINDINGS_PER_S": ("-1", "greater than or equal to 0"),
    "FEED_MODELS_MIB": ("0", "greater than or equal to 1"),
    "MLFLOW_PREFIX": ("x" * 201, "at most 200 characters"),
    "NAMESPACE": ("x" * 64, "at most 63 characters"),
    "INSTANCE": ("x" * 254, "at most 253 characters"),
    "LEASE_S": ("1", "greater than or equal to 3"),
    "TLS_LIFETIME_S": ("60", "greater than or equal to 120"),
    "TASK_METRICS": ("100000", "less than or equal to"),
    "LEASE": ("My Lease", "no name in Kubernetes"),
    "WEBHOOK": ("plim/soll", "no name in Kubernetes"),
    "TLS_NAMES": ("admission.svc,bücher.svc", "no host"),
    "TLS_SECRET": ("/tls", "NAME or NAMESPACE/NAME"),
    "FEED_TOKEN_SECRET": ("a/b/c", "NAME or NAMESPACE/NAME"),
    "PEAKS_TOKEN_SECRET": ("peaks token", "NAME or NAMESPACE/NAME"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_value_is_named_with_what_would_be_right(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    value, words = WRONG[name]
    told(monkeypatch, **{name: value})
    with pytest.raises(ValidationError) as raised:
        ControllerSettings()
    said = words_for(raised.value)
    assert said is not None
    assert said.startswith(f"{name.lower()} (PLIMSOLL_{name}): ")
    assert words in said
    assert "\n" not in said


def test_a_password_in_a_wrong_setting_is_not_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    told(monkeypatch, LISTEN_PORT="s3cret", STORE_URL="postgresql://u:s3cret@h/d")
    with pytest.raises(ValidationError) as raised:
        ControllerSettings()
    assert "s3cret" not in f"{raised.value} {words_for(raised.value)}"


def test_a_certificate_for_nobody_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    told(monkeypatch, TLS_SECRET="plimsoll-admission-tls", TLS_NAMES=" , ")
    with pytest.raises(ValidationError, match="PLIMSOLL_TLS_NAMES"):
        ControllerSettings()


def admission_settings(**changes: Any) -> AdmissionSettings:
    given: dict[str, Any] = {
        "certificate_file": Path("tls.crt"),
        "key_file": Path("tls.key"),
        "feed_url": "http://10.96.0.7:8081",
        "feed_token_file": Path("token"),
    }
    return AdmissionSettings(**{**given, **changes})


def test_admission_asks_a_service_of_any_kind_of_address() -> None:
    assert admission_settings().feed_url == "http://10.96.0.7:8081"
    assert admission_settings(feed_url="http://fd00::7:8081").feed_url == "http://[fd00::7]:8081"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("listen_port", 65_536),
        ("metrics_listen_port", -1),
        ("snapshot_every_s", 0),
        ("max_feed_age_s", 0),
        ("unheard_s", -1),
        ("drain_s", "long"),
        ("grace_s", -0.5),
    ],
)
def test_admission_names_a_wrong_value(name: str, value: Any) -> None:
    with pytest.raises(ValidationError) as raised:
        admission_settings(**{name: value})
    said = words_for(raised.value)
    assert said is not None
    assert said.startswith(f"{name} (PLIMSOLL_{name.upper()}): Input should be ")


def test_admission_refuses_a_feed_that_is_no_address() -> None:
    with pytest.raises(ValidationError, match="feed_url"):
        admission_settings(feed_url="http://:8081")
