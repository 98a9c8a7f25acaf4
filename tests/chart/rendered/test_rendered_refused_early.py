"""Values that the API server would refuse in the middle of an installation: Helm refuses them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from deploy.chart.generated import GOLDEN
from deploy.chart.rendering import NAME

from tests.chart.helm import Helm, documents_in, nested, pod_specs

TRAINERS = {"enabled": True}
DATABASE = {"existingSecret": "db"}
RANGES = "networkPolicies.apiServerCidrs"


@pytest.mark.parametrize(
    "cidr",
    [
        *("10.0.0.0/33", "10.0.0.0/99", "10.0.0/8", "10.0.0.256/32", "1.2.3.4.5/8", "10.0.0.0/"),
        *("fd00::/129", "fd00/8", "fd00:12345::/32", "::/999"),
    ],
)
def test_what_is_no_range_of_addresses_is_refused(helm: Helm, cidr: str) -> None:
    said = helm.refusal(nested(RANGES, [cidr]))
    assert f'{RANGES}[0]: "{cidr}" is no range of addresses' in said


@pytest.mark.parametrize(
    "cidr",
    [
        *("0.0.0.0/0", "10.0.0.0/8", "255.255.255.255/32", "192.168.199.9/31"),
        *("::/0", "fd00::/8", "2001:db8::1/128", "1:2:3:4:5:6:7:8/100", "::ffff:10.0.0.1/104"),
    ],
)
def test_a_range_of_addresses_is_taken(helm: Helm, cidr: str) -> None:
    assert cidr in str(
        helm.render({"networkPolicies": {"enabled": True, "apiServerCidrs": [cidr]}})
    )


@pytest.mark.parametrize(
    ("process", "request_", "default_limit"),
    [
        ("admission", {"memory": "385Mi"}, "384Mi"),
        ("controller", {"memory": "4Gi"}, "1792Mi"),
        ("trainers", {"memory": 2**31}, "1536Mi"),
        ("agent", {"memory": "0.2Gi"}, "128Mi"),
        ("extender", {"memory": "1G"}, "384Mi"),
        ("hooks", {"cpu": "1100m"}, "1"),
    ],
)
def test_a_request_above_its_limit_is_refused(
    helm: Helm, process: str, request_: dict[str, Any], default_limit: str
) -> None:
    ((resource, amount),) = request_.items()
    said = helm.refusal(nested(f"{process}.resources.requests", request_))
    assert f"{process}.resources.requests.{resource} is {amount}" in said
    assert f"its limit {default_limit}: raise the limit or lower the request" in said


def test_a_request_at_its_limit_or_without_one_is_taken(helm: Helm) -> None:
    same = {"cpu": "1500m", "memory": "2048Mi", "ephemeral-storage": "1Gi"}
    limits = {"cpu": 1.5, "memory": "2Gi"}
    helm.render({"controller": {"resources": {"requests": same, "limits": limits}}})


@pytest.mark.parametrize(
    "field",
    ["labels", "agent.podLabels", "trainers.nodeSelector", "monitoring.rules.labels"],
)
@pytest.mark.parametrize(
    ("label", "words"),
    [
        ({"team": "batch and ml"}, '"batch and ml" of team is no label\'s value'),
        ({"team": "x" * 64}, "of team is no label's value"),
        ({"team": "-ml"}, '"-ml" of team is no label\'s value'),
        ({"Bad Key": "a"}, '"Bad Key" is no label\'s key'),
    ],
)
def test_a_label_that_kubernetes_does_not_take_is_refused(
    helm: Helm, field: str, label: dict[str, str], words: str
) -> None:
    said = helm.refusal(nested(field, label))
    assert f"{field}: " in said
    assert words in said


def test_labels_that_kubernetes_takes_are_taken(helm: Helm) -> None:
    taken = {"team": "", "example.com/team": "x" * 63, "A_b.c": "v1.2_3-x"}
    helm.render({"labels": taken, "controller": {"nodeSelector": taken}})


def _own_settings() -> Iterator[tuple[str, str]]:
    """Process and name of each variable that the chart sets by default."""
    for name, spec in pod_specs(documents_in((GOLDEN / "default.yaml").read_text())).items():
        process = name.removeprefix(f"{NAME}-")
        if process in ("admission", "controller", "agent"):
            for each in spec["containers"][0]["env"]:
                yield process, each["name"]
    yield "trainers", "PLIMSOLL_STORE_URL"
    yield "extender", "PLIMSOLL_FEED_URL"


@pytest.mark.parametrize(("process", "name"), sorted(_own_settings()))
def test_a_variable_that_the_chart_sets_itself_is_refused(
    helm: Helm, process: str, name: str
) -> None:
    values: dict[str, Any] = {"database": DATABASE, "trainers": TRAINERS, "extender": TRAINERS}
    env = [{"name": "HTTPS_PROXY", "value": "x"}, {"name": name, "value": "x"}]
    values[process] = {**values.get(process, {}), "env": env}
    assert f"{process}.env: the chart sets {name} itself: leave it out" in helm.refusal(values)


def test_a_variable_that_the_chart_would_set_for_an_option_that_is_off_is_taken(
    helm: Helm,
) -> None:
    env = [{"name": "PLIMSOLL_MLFLOW_URL", "value": "http://mlflow.example"}]
    (container,) = pod_specs(helm.render({"controller": {"env": env}}))[f"{NAME}-controller"][
        "containers"
    ]
    assert container["env"][-1] == env[0]
