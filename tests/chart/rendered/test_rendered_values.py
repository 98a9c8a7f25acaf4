"""Each value, set wrong once: refused with words that name it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from deploy.chart.generated import CHART
from deploy.chart.values_comments import read_values

from tests.chart.helm import Helm, nested

LONG = "x" * 300
MAP_OF_NUMBERS = {"a": 1}
WRONG: dict[str, tuple[Any, str]] = {
    "nameOverride": ("Not_A_Name", "no name of Kubernetes"),
    "fullnameOverride": ("x" * 41, "maxLength"),
    "labels": (MAP_OF_NUMBERS, "want string"),
    "annotations": (MAP_OF_NUMBERS, "want string"),
    "image.repository": ("", "minLength"),
    "image.tag": (1.0, "want string"),
    "image.digest": ("latest", "no digest"),
    "image.pullPolicy": ("Sometimes", "one of 'Always', 'IfNotPresent', 'Never'"),
    "image.pullSecrets": (["My Secret"], "no name of Kubernetes"),
    "runAsUser": (0, "minimum"),
    "listenAddress": ("10.0.0.1", "one of '0.0.0.0', '::'"),
    "policy.mode": ("aggressive", "one of 'off', 'recommend', 'enforce'"),
    "webhook.timeoutSeconds": (30, "maximum"),
    "webhook.excludedNamespaces": (["kube system"], "no name of Kubernetes"),
    "certificates.mode": ("none", "one of 'self', 'cert-manager'"),
    "certificates.lifetimeSeconds": (10, "minimum"),
    "certificates.certManager.issuerName": ("letsencrypt", "certificates.mode is self"),
    "certificates.certManager.issuerKind": ("Authority", "one of 'Issuer', 'ClusterIssuer'"),
    "certificates.certManager.duration": ("90 days", "is no time"),
    "certificates.certManager.renewBefore": ("a month", "is no time"),
    "database.existingSecret": ("postgresql://u:p@h/db", "no name of Kubernetes"),
    "database.key": ("", "minLength"),
    "database.tlsSecret": ("authority", "name the Secret with its URL"),
    "persistence.enabled": ("yes", "want boolean"),
    "persistence.existingClaim": ("My Claim", "no name of Kubernetes"),
    "persistence.size": ("2 GB", "no quantity"),
    "persistence.storageClassName": ("Fast SSD", "no name of Kubernetes"),
    "persistence.accessMode": ("ReadOnly", "one of 'ReadWriteOnce'"),
    "persistence.keep": (1, "want boolean"),
    "admission.replicas": (0, "minimum"),
    "admission.drainSeconds": (-1, "minimum"),
    "admission.maxFeedAgeSeconds": (1, "minimum"),
    "admission.modelsMi": (81, "raise the one or lower the other"),
    "admission.maxSilenceSeconds": (0, "minimum"),
    "controller.replicas": (2, "set database.existingSecret to a Secret with a PostgreSQL URL"),
    "controller.leaseSeconds": (1, "minimum"),
    "controller.lateBindingsPerSecond": (-1, "minimum"),
    "controller.training.budgetSeconds": (0, "minimum"),
    "controller.training.memoryMi": (4096, "raise the one or lower the other"),
    "controller.exposePage": ("public", "want boolean"),
    "controller.clusterIP": ("plimsoll.example", "no address"),
    "agent.enabled": ("auto", "want boolean"),
    "agent.namespace": ("kube-system", "is there already"),
    "agent.createNamespace": (0, "want boolean"),
    "agent.controllerUrl": ("plimsoll-controller:8081", "is no URL"),
    "agent.intervalSeconds": (0, "minimum"),
    "agent.cgroupRoot": ("sys/fs/cgroup", "no absolute path"),
    "campaigns.enabled": ("later", "want boolean"),
    "campaigns.namespaces": (["my shop"], "no name of Kubernetes"),
    "leases.enabled": ("later", "want boolean"),
    "order.enabled": ("later", "want boolean"),
    "rescue.byAgent": ("later", "want boolean"),
    "trainers.enabled": ("later", "want boolean"),
    "trainers.parallelism": (0, "minimum"),
    "trainers.backoffLimitPerIndex": (-1, "minimum"),
    "extender.enabled": ("later", "want boolean"),
    "extender.replicas": (0, "minimum"),
    "extender.clusterIP": ("plimsoll.example", "no address"),
    "extender.schedulerName": ("My Scheduler", "no name of Kubernetes"),
    "extender.weight": (0, "minimum"),
    "extender.nodeCacheCapable": ("yes", "want boolean"),
    "extender.percentageOfNodesToScore": (101, "want 100"),
    "hooks.resources": ({"limits": {"memory": "lots"}}, "no quantity"),
    "networkPolicies.schedulerCidrs": (["10.0.0.1"], "no range of addresses"),
    "networkPolicies.enabled": ("on-ish", "want boolean"),
    "networkPolicies.apiServerCidrs": (["10.0.0.1"], "no range of addresses"),
    "networkPolicies.webhookCidrs": (["10.0.0.1"], "no range of addresses"),
    "networkPolicies.apiServerPorts": ([], "minItems"),
    "networkPolicies.databaseCidrs": (["db.example"], "no range of addresses"),
    "networkPolicies.databasePort": (70000, "maximum"),
    "networkPolicies.metricsNamespaces": (["Monitoring!"], "no name of Kubernetes"),
    "networkPolicies.controllerEgress": ("all", "want array"),
    "monitoring.taskMetrics": (5000, "maximum"),
    "monitoring.serviceMonitor.enabled": ("true", "want boolean"),
    "monitoring.serviceMonitor.interval": ("often", "is no time"),
    "monitoring.serviceMonitor.labels": ([], "want object"),
    "monitoring.rules.enabled": ("no", "want boolean"),
    "monitoring.rules.labels": (MAP_OF_NUMBERS, "want string"),
    "monitoring.dashboard.enabled": (2, "want boolean"),
    "monitoring.dashboard.labels": ("grafana", "want object"),
    "mlflow.existingSecret": (LONG, "maxLength"),
    "mlflow.urlKey": ("", "minLength"),
    "mlflow.tokenKey": ("token", "name the Secret, or leave out the key"),
    "mlflow.prefix": ("", "minLength"),
    "rbac.aggregate": ("all", "want boolean"),
    "crds.install": ("once", "want boolean"),
    "crds.keep": ("maybe", "want boolean"),
    **{
        f"{process}.{field}": wrong
        for process in ("admission", "controller", "agent", "extender", "trainers")
        for field, wrong in {
            "resources": ({"limits": {"memory": "lots"}}, "no quantity"),
            "podLabels": (MAP_OF_NUMBERS, "want string"),
            "podAnnotations": (MAP_OF_NUMBERS, "want string"),
            "env": ([{"value": "nameless"}], "missing property 'name'"),
            "nodeSelector": ({"gpu": True}, "want string"),
            "tolerations": ([{"operator": "Maybe"}], "one of 'Exists', 'Equal'"),
            "affinity": ([], "want object"),
            "priorityClassName": ("Very High", "no name of Kubernetes"),
        }.items()
    },
}
SECTIONS = ["", *sorted({each.partition(".")[0] for each in WRONG if "." in each})]
SCHEMAS_WORDS = (
    *("want ", "one of ", "missing property", "minimum", "maximum"),
    *("minLength", "maxLength", "minItems"),
)
"""The schema's words begin so; all others are those of the chart's own checks."""
BY_SCHEMA = sorted(path for path, (_, words) in WRONG.items() if words.startswith(SCHEMAS_WORDS))
"""Values that the schema refuses. It names all of them at once; the checks name only the first."""
ALONE = {"admission.env", "admission.replicas", "image.tag", "mlflow.existingSecret", "policy.mode"}
"""The ones of them that are set wrong without any other, too: a mistake of each kind."""
UNKNOWN = "additional properties 'replicaz' not allowed"
_REFUSAL = re.compile(r"^ *- at '(?P<path>[^']*)': (?P<words>.+)$", re.MULTILINE)


def refusals(said: str) -> list[tuple[str, str]]:
    """The path of each value that the schema refuses, and why. Helm writes ``- at '/a/b': why``."""
    return [
        (found["path"].strip("/").replace("/", "."), found["words"])
        for found in _REFUSAL.finditer(said)
    ]


def together(values: Mapping[str, Any]) -> dict[str, Any]:
    """``{"a.b": 1, "a.c": 2}`` gives {a: {b: 1, c: 2}}."""
    document: dict[str, Any] = {}
    for path, value in values.items():
        *sections, last = path.split(".")
        inside = document
        for each in sections:
            inside = inside.setdefault(each, {})
        inside[last] = value
    return document


def _objects(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    if "properties" in schema:
        yield path, schema
    for key, inner in schema.get("properties", {}).items():
        yield from _objects(inner, f"{path}.{key}".lstrip("."))
    if "items" in schema:
        yield from _objects(schema["items"], f"{path}[]")


def _leaves(schema: dict[str, Any], known: set[str], path: str = "") -> Iterator[str]:
    for key, inner in schema["properties"].items():
        here = f"{path}.{key}".lstrip(".")
        if here in known or "properties" not in inner:
            yield here
        else:
            yield from _leaves(inner, known, here)


SCHEMA = json.loads((CHART / "values.schema.json").read_text())


@pytest.fixture(scope="module")
def refused(helm: Helm) -> list[tuple[str, str]]:
    """What the schema says of all that it refuses, set wrong together."""
    return refusals(helm.refusal(together({path: WRONG[path][0] for path in BY_SCHEMA})))


@pytest.fixture(scope="module")
def unknown(helm: Helm) -> list[tuple[str, str]]:
    """What the schema says of a value that nobody knows in every section, and beside them."""
    return refusals(
        helm.refusal(together({f"{each}.replicaz".lstrip("."): 3 for each in SECTIONS}))
    )


@pytest.mark.parametrize("path", BY_SCHEMA)
def test_among_many_each_wrong_value_is_named(refused: list[tuple[str, str]], path: str) -> None:
    _, words = WRONG[path]
    said = [why for at, why in refused if f"{at}.".startswith(f"{path}.")]
    assert any(words in why for why in said), said


@pytest.mark.parametrize("path", sorted(WRONG.keys() - set(BY_SCHEMA) | ALONE))
def test_a_wrong_value_is_refused_by_name(helm: Helm, path: str) -> None:
    value, words = WRONG[path]
    said = helm.refusal(nested(path, value))
    assert words in said
    assert path in said or "/" + path.replace(".", "/") in said


def test_every_value_is_set_wrong_once() -> None:
    values = read_values((CHART / "values.yaml").read_text())
    assert set(WRONG) == {each.path for each in values}


@pytest.mark.parametrize("section", SECTIONS)
def test_among_many_each_value_nobody_knows_is_named(
    unknown: list[tuple[str, str]], section: str
) -> None:
    assert (section, UNKNOWN) in unknown


def test_a_value_nobody_knows_is_refused(helm: Helm) -> None:
    assert UNKNOWN in helm.refusal(nested("admission.replicaz", 3))


def test_what_is_rendered_without_our_kinds_lacks_nothing_else(helm: Helm) -> None:
    everything = helm.render({}, kinds=True)
    without = [each for each in everything if each["kind"] != "CustomResourceDefinition"]
    assert len(without) < len(everything)
    assert helm.render({}) == without


def test_what_a_test_changes_in_a_rendered_chart_stays_its_own(helm: Helm) -> None:
    before, changed = helm.render({}), helm.render({})
    changed[0].clear()
    assert helm.render({}) == before


def test_every_object_of_the_schema_lists_all_it_may_hold() -> None:
    open_ones = [path for path, each in _objects(SCHEMA) if each["additionalProperties"]]
    assert open_ones == []


def test_the_schema_knows_just_the_values_of_values_yaml() -> None:
    known = {each.path for each in read_values((CHART / "values.yaml").read_text())}
    # Helm itself puts `global` into the values of a chart that is part of another.
    assert set(_leaves(SCHEMA, known)) == known | {"global"}


def test_a_namespace_named_by_a_number_stays_a_text(helm: Helm) -> None:
    documents = helm.render(
        {
            "webhook": {"excludedNamespaces": ["2023"]},
            "agent": {"namespace": "2024"},
            "campaigns": {"enabled": True, "namespaces": ["2025"]},
            "networkPolicies": {"enabled": True, "metricsNamespaces": ["2022"]},
            "rescue": {"byAgent": True},
            "monitoring": {
                "serviceMonitor": {"enabled": True},
                "rules": {"enabled": True},
                "dashboard": {"enabled": True},
            },
            "certificates": {"mode": "cert-manager"},
            "database": {"existingSecret": "plimsoll-database"},
            "extender": {"enabled": True},
            "order": {"enabled": True},
            "trainers": {"enabled": True},
        },
        namespace="2026",
        kinds=True,
    )
    years = set(range(2022, 2027))
    assert not years & set(_numbers(documents))


def test_names_that_are_numbers_or_words_of_yaml_stay_texts(helm: Helm) -> None:
    priorities = {
        process: {"priorityClassName": "2020"}
        for process in ("admission", "controller", "agent", "extender", "trainers")
    }
    documents = helm.render(
        {
            "nameOverride": "2021",
            "fullnameOverride": "plimsoll",
            "image": {"pullSecrets": ["2022"]},
            "database": {"existingSecret": "2023", "key": "true", "tlsSecret": "2029"},
            "mlflow": {"existingSecret": "2024", "urlKey": "yes", "tokenKey": "null"},
            "certificates": {"mode": "cert-manager", "certManager": {"issuerName": "2025"}},
            **priorities,
            "extender": {"enabled": True, "schedulerName": "2026", **priorities["extender"]},
            "trainers": {"enabled": True, **priorities["trainers"]},
            "monitoring": {"serviceMonitor": {"enabled": True}},
        },
        kinds=True,
    )
    documents += helm.render({"persistence": {"existingClaim": "2027"}})
    documents += helm.render({"persistence": {"storageClassName": "2028"}})
    assert not set(range(2020, 2030)) & set(_numbers(documents))
    refs = [each for document in documents for each in _under(document, "secretKeyRef")]
    assert {each["key"] for each in refs} == {"true", "yes"}
    secrets = [each for document in documents for each in _under(document, "secret")]
    [mlflow] = [each for each in secrets if each["secretName"] == "2024"]
    assert mlflow["items"] == [{"key": "null", "path": "token"}]
    selectors = [each for document in documents for each in _under(document, "matchLabels")]
    assert "2021" in {each.get("app.kubernetes.io/name") for each in selectors}


def _under(value: Any, key: str) -> Iterator[Any]:
    """What stands under a key, at whatever depth."""
    if isinstance(value, dict):
        yield from (inner for name, inner in value.items() if name == key)
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _under(each, key)


@pytest.mark.parametrize(
    ("values", "begins"),
    [
        pytest.param({"fullnameOverride": "a.b"}, "a.b", id="a dot"),
        pytest.param({"fullnameOverride": "1abc"}, "1abc", id="a digit first"),
        pytest.param({"fullnameOverride": "true"}, "true", id="a word of YAML"),
        pytest.param({"nameOverride": "a.b"}, "plimsoll-a.b", id="a dot behind the release's name"),
    ],
)
def test_a_name_that_no_service_may_have_is_refused(
    helm: Helm, values: dict[str, str], begins: str
) -> None:
    said = helm.refusal(values)
    assert f'"{begins}"' in said
    assert "set fullnameOverride" in said


def test_the_name_of_a_release_that_no_service_may_have_can_be_replaced(helm: Helm) -> None:
    words = ("template", "1.plimsoll", str(CHART), "--namespace", "plimsoll")
    refused = helm.run(*words)
    assert refused.returncode != 0
    assert "set fullnameOverride" in refused.stderr
    helm.do(*words, "--set", "fullnameOverride=plimsoll-1")


def test_a_digit_that_does_not_come_first_is_taken(helm: Helm) -> None:
    helm.render({"nameOverride": "1abc"})


@pytest.mark.parametrize("field", ["labels", "controller.podLabels", "trainers.podLabels"])
@pytest.mark.parametrize("label", ["name", "instance", "component"])
def test_a_label_by_which_pods_are_selected_is_refused(helm: Helm, field: str, label: str) -> None:
    key = f"app.kubernetes.io/{label}"
    said = helm.refusal(nested(field, {key: "ml"}))
    assert f"{field}: the label {key} is the chart's own" in said


def test_labels_that_say_what_the_chart_says_are_taken(helm: Helm) -> None:
    """Charts that have this one as a part give the same labels to all their objects."""
    own = {"app.kubernetes.io/name": "plimsoll", "app.kubernetes.io/instance": "plimsoll"}
    helm.render({"labels": own | {"app.kubernetes.io/part-of": "ml"}})


def _numbers(value: Any) -> Iterator[int]:
    if isinstance(value, int):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _numbers(each)


def test_the_least_memory_for_the_models_of_admission_is_taken(helm: Helm) -> None:
    memory = {"limits": {"memory": "1344Mi"}}
    helm.render({"admission": {"modelsMi": 400, "resources": memory}})
    said = helm.refusal({"admission": {"modelsMi": 401, "resources": memory}})
    assert "admission.resources.limits.memory is 1344Mi" in said


def test_who_leaves_the_models_as_they_are_may_give_admission_less(helm: Helm) -> None:
    """Small clusters have few models, and such values were taken before."""
    helm.render({"admission": {"resources": {"limits": {"memory": "256Mi"}}}})


def test_the_namespace_of_everything_else_is_refused(helm: Helm) -> None:
    assert "--namespace plimsoll --create-namespace" in helm.refusal({}, namespace="default")
