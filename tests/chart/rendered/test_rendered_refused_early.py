"""Values that the API server would refuse in the middle of an installation: Helm refuses them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from deploy.chart.generated import CHART
from deploy.chart.rendering import NAME
from deploy.chart.values_comments import read_values

from tests.chart.helm import Helm, documents_in, named, nested, pod_specs

ON = {"enabled": True}
DATABASE = {"existingSecret": "db"}
ALL_ON: dict[str, Any] = {"database": DATABASE, "trainers": ON, "extender": ON}
RANGES = "networkPolicies.apiServerCidrs"


@pytest.mark.parametrize(
    "cidr",
    [
        *("10.0.0.0/33", "10.0.0.0/99", "10.0.0/8", "10.0.0.256/32", "1.2.3.4.5/8", "10.0.0.0/"),
        *("fd00::/129", "fd00/8", "fd00:12345::/32", "::/999", "1:2:3/64", "::::/64", ":1::/64"),
        *("1::2::3/64", "1:2:3:4:5:6:7:8:9/64", "1:2:3:4::5:6:7:8/64", "1:2:3:4:5:6:7/64"),
        *("::999.9.9.9/64", "1:2:3:4:5:6:7:10.0.0.1/64", "1:2:3:4:5:6::10.0.0.1/64", "1::10.0/64"),
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
        *("1:2:3:4:5:6:7::/112", "::2:3:4:5:6:7:8/128", "1:2:3:4:5:6:10.0.0.1/128", "::1.2.3.4/96"),
        *("10.0.0.0/08", "fd00::/064", "1:2::7:8/64", "::1/128", "ABCD:EF01::/32"),
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
        ("hooks", {"cpu": "1100m"}, "200m"),
    ],
)
def test_a_request_above_its_limit_is_refused(
    helm: Helm, process: str, request_: dict[str, Any], default_limit: str
) -> None:
    ((resource, amount),) = request_.items()
    resources = {"resources": {"requests": request_}}
    said = helm.refusal({**ALL_ON, process: {**ALL_ON.get(process, {}), **resources}})
    assert f"{process}.resources.requests.{resource} is {amount}" in said
    assert f"its limit {default_limit}: raise the limit or lower the request" in said


def test_a_request_at_its_limit_or_without_one_is_taken(helm: Helm) -> None:
    same = {"cpu": "1500m", "memory": "2048Mi", "ephemeral-storage": "1Gi"}
    limits = {"cpu": 1.5, "memory": "2Gi"}
    helm.render({"controller": {"resources": {"requests": same, "limits": limits}}})


@pytest.mark.parametrize(
    "field",
    ["labels", "agent.podLabels", "controller.nodeSelector", "admission.podLabels"],
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


@pytest.mark.parametrize("section", ["agent", "extender", "trainers", "monitoring.rules"])
def test_what_is_off_is_not_checked_and_what_is_on_is(helm: Helm, section: str) -> None:
    """Nothing of it is rendered, so the API server would refuse nothing of it."""
    if section.startswith("monitoring"):
        wrong: list[dict[str, Any]] = [{"labels": {"team": "-ml"}}]
    else:
        wrong = [{"resources": {"requests": {"memory": "9Gi"}}}]
        wrong += [{field: {"team": "-ml"}} for field in ("podLabels", "nodeSelector")]
    for each in wrong:
        helm.render(nested(section, {**each, "enabled": False}))
        helm.refusal({"database": DATABASE, **nested(section, {**each, "enabled": True})})


@pytest.mark.parametrize("values", [{"hooks": None}, {"hooks": None, "labels": {"a": "b"}}])
def test_values_of_a_chart_without_hooks_are_answered_by_the_way_to_upgrade(
    helm: Helm, values: dict[str, Any]
) -> None:
    assert "upgrade with --reset-then-reuse-values" in helm.refusal(values)


def test_labels_that_kubernetes_takes_are_taken(helm: Helm) -> None:
    taken = {"team": "", "example.com/team": "x" * 63, "A_b.c": "v1.2_3-x"}
    helm.render({"labels": taken, "controller": {"nodeSelector": taken}})


MADE_FROM_NO_VALUE = {
    *("PLIMSOLL_LISTEN_PORT", "PLIMSOLL_METRICS_LISTEN_PORT", "PLIMSOLL_PAGE_PORT"),
    *("PLIMSOLL_LEASES_PORT", "PLIMSOLL_CERTIFICATE_FILE", "PLIMSOLL_KEY_FILE"),
    *("PLIMSOLL_FEED_TOKEN_FILE", "PLIMSOLL_TOKEN_FILE", "PLIMSOLL_MLFLOW_TOKEN_FILE"),
    *("PLIMSOLL_SNAPSHOT_FILE", "PLIMSOLL_STATE_DIR", "PLIMSOLL_CGROUP_ROOT"),
    *("PLIMSOLL_TRAINING_JOB", "PLIMSOLL_FEED_URL", "PLIMSOLL_LEASES_URL", "PLIMSOLL_API_SERVER"),
    *("PLIMSOLL_INSTANCE", "PLIMSOLL_NODE_NAME", "PLIMSOLL_NAMESPACE", "PLIMSOLL_LEASE"),
    *("PLIMSOLL_FEED_TOKEN_SECRET", "PLIMSOLL_PEAKS_TOKEN_SECRET", "PLIMSOLL_TLS_SECRET"),
    *("PLIMSOLL_TLS_NAMES", "PLIMSOLL_WEBHOOK"),
}
"""What the chart sets to its own ports, files and names: whoever sets it again loses no value."""
PROCESSES = ("admission", "controller", "agent", "extender", "trainers")
OPTIONS: dict[str, Any] = {
    **ALL_ON,
    "leases": ON,
    "rescue": {"byAgent": True},
    "mlflow": {"existingSecret": "mlflow", "tokenKey": "token"},
}


def _own_settings(helm: Helm) -> Iterator[tuple[str, str]]:
    """Process and name of each variable that the chart sets with all options on."""
    documents = helm.render(OPTIONS)
    job = documents_in(named(documents, "ConfigMap", f"{NAME}-trainers")["data"]["job.yaml"])
    for name, spec in pod_specs([*documents, *job]).items():
        for each in spec["containers"][0].get("env", []):
            process = name.removeprefix(f"{NAME}-")
            if process in PROCESSES:
                yield process, each["name"]


def with_env(process: str, *names: str) -> dict[str, Any]:
    """Values with all options on, and these variables for one process."""
    env = [{"name": each, "value": "x"} for each in ("HTTPS_PROXY", *names)]
    return {**OPTIONS, process: {**OPTIONS.get(process, {}), "env": env}}


def test_a_variable_is_refused_where_a_value_of_the_chart_would_do_nothing(helm: Helm) -> None:
    paths = {each.path for each in read_values((CHART / "values.yaml").read_text())}
    found = sorted(set(_own_settings(helm)))
    assert {process for process, _ in found} == set(PROCESSES)
    for process, name in found:
        if name not in MADE_FROM_NO_VALUE:
            said = helm.refusal(with_env(process, name))
            (value,) = re.findall(
                rf"{process}.env: the chart sets {name} itself: .* set (\S+)", said
            )
            assert value in paths, said


def test_a_variable_that_no_value_makes_is_taken(helm: Helm) -> None:
    for process in PROCESSES:
        own = [name for of, name in _own_settings(helm) if of == process]
        helm.render(with_env(process, *sorted(MADE_FROM_NO_VALUE.intersection(own))))


def test_a_variable_that_the_chart_would_set_for_an_option_that_is_off_is_taken(
    helm: Helm,
) -> None:
    env = [{"name": "PLIMSOLL_MLFLOW_URL", "value": "http://mlflow.example"}]
    (container,) = pod_specs(helm.render({"controller": {"env": env}}))[f"{NAME}-controller"][
        "containers"
    ]
    assert container["env"][-1] == env[0]
