"""What every value set promises of the pods, the rights and the webhook."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from deploy.chart.generated import CHART
from deploy.chart.rendering import NAME, VALUE_SETS

from plimsoll_operator.commands.past_runs.history_files import MOST_HELD_BYTES
from plimsoll_operator.names import labels
from plimsoll_operator.names.quantity import parse_bytes
from plimsoll_operator.processes.run_webhook import webhook_configuration
from plimsoll_predictor.core.units import MIB
from tests.chart.helm import Document, Helm, named, pod_specs

SETS = list(VALUE_SETS)
INSTANCE = "app.kubernetes.io/instance"
LARGEST_REQUESTS = {"cpu": 0.5, "memory": 600 * 2**20}


@pytest.fixture(scope="module", params=SETS)
def rendered(request: pytest.FixtureRequest, helm: Helm) -> list[Document]:
    file = VALUE_SETS[request.param]
    values = {} if file is None else yaml.safe_load(file.read_text())
    return helm.render(values, kinds=True)


def _containers(documents: list[Document]) -> list[tuple[str, Document]]:
    return [
        (name, container)
        for name, spec in pod_specs(documents).items()
        for container in spec["containers"]
    ]


def test_files_that_people_import_fill_half_of_the_controllers_tmp_at_most(
    rendered: list[Document],
) -> None:
    """The kubelet evicts a pod that fills it, and a training has files of its own there."""
    pod = next(
        spec
        for spec in pod_specs(rendered).values()
        if spec["containers"][0]["name"] == "controller"
    )
    [tmp] = [each for each in pod["volumes"] if each["name"] == "tmp"]
    assert parse_bytes(tmp["emptyDir"]["sizeLimit"]) >= 2 * MOST_HELD_BYTES


def test_every_container_satisfies_what_restricted_asks_and_more(rendered: list[Document]) -> None:
    for name, container in _containers(rendered):
        security = container["securityContext"]
        assert security == {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        }, name
    for name, spec in pod_specs(rendered).items():
        assert spec["securityContext"]["runAsNonRoot"] is True, name
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        assert not {"hostNetwork", "hostPID", "hostIPC"} & spec.keys(), name


def test_the_agent_alone_sees_something_of_the_node_and_only_to_read(
    rendered: list[Document],
) -> None:
    host_paths = {
        (name, volume["name"])
        for name, spec in pod_specs(rendered).items()
        for volume in spec["volumes"]
        if "hostPath" in volume
    }
    assert host_paths == {("plimsoll-agent", "cgroup")}
    (agent,) = pod_specs(rendered)["plimsoll-agent"]["containers"]
    (mount,) = (each for each in agent["volumeMounts"] if each["name"] == "cgroup")
    assert mount["readOnly"] is True
    assert mount["recursiveReadOnly"] == "IfPossible"


def test_only_who_has_rights_gets_a_token_of_the_api_server(rendered: list[Document]) -> None:
    """The controller; and where pods may wait for their turn, admission and the releasing hook."""
    bound = {
        subject["name"]
        for document in rendered
        if document["kind"] in ("ClusterRoleBinding", "RoleBinding")
        for subject in document["subjects"]
    }
    assert {f"{NAME}-controller"} <= bound
    for name, spec in pod_specs(rendered).items():
        assert (spec.get("automountServiceAccountToken") is False) == (name not in bound)


def test_no_rule_names_a_wildcard(rendered: list[Document]) -> None:
    for document in rendered:
        for rule in document.get("rules", []) if "Role" in document["kind"] else []:
            assert "*" not in [*rule["verbs"], *rule["resources"], *rule["apiGroups"]]


@pytest.mark.parametrize("template", ["controller-rights", "people-rights"])
def test_every_rule_or_role_says_what_it_is_for(template: str) -> None:
    lines = (CHART / "templates" / f"{template}.yaml").read_text().splitlines()
    rules = [n for n, line in enumerate(lines) if line.lstrip().startswith("- apiGroups:")]
    assert rules
    for number in rules:
        before = lines[number - 1].strip()
        starts_of_role = [n for n in range(number) if lines[n].startswith("# ")]
        assert before.startswith("#") or (before == "rules:" and starts_of_role), number + 1


def test_secrets_are_read_by_name_alone(rendered: list[Document]) -> None:
    rules = [
        rule
        for document in rendered
        if document["kind"] in ("Role", "ClusterRole")
        for rule in document["rules"]
        if "secrets" in rule["resources"]
    ]
    assert rules
    for rule in rules:
        assert rule["verbs"] == ["create"] or rule["resourceNames"]
    assert not any(
        "secrets" in rule["resources"]
        for document in rendered
        if document["kind"] == "ClusterRole"
        for rule in document["rules"]
    )


def test_nothing_secret_is_rendered(rendered: list[Document]) -> None:
    assert not [each for each in rendered if each["kind"] == "Secret"]
    assert "caBundle" not in str(rendered).replace("# caBundle", "")


PATHS = ("/unlabelled", "/unlabelled", "/size", "/job", "/unlabelled-job", "/unlabelled-job")


def test_the_webhook_is_the_one_of_plimsoll_run_but_for_how_it_is_reached(helm: Helm) -> None:
    chart = named(helm.render({}), "MutatingWebhookConfiguration", "plimsoll")["webhooks"]
    run = webhook_configuration("https://x", b"")["webhooks"]
    service = {"namespace": "plimsoll", "name": "plimsoll-admission", "port": 443}
    assert [each.pop("clientConfig") for each in chart] == [
        {"service": {**service, "path": path}} for path in PATHS
    ]
    assert [each.pop("clientConfig")["url"] for each in run] == [
        f"https://x{path}" for path in PATHS
    ]
    assert chart == run


def test_excluded_namespaces_are_the_same_for_webhooks_and_processes(helm: Helm) -> None:
    values = {"webhook": {"excludedNamespaces": ["monitoring"]}, "agent": {"namespace": "agents"}}
    documents = helm.render(values)
    webhooks = named(documents, "MutatingWebhookConfiguration", "plimsoll")["webhooks"]
    expected = ["kube-system", "plimsoll", "agents", "monitoring"]
    for each in webhooks:
        rule, *opted_in = each["namespaceSelector"]["matchExpressions"]
        assert rule["values"] == expected
        assert bool(opted_in) is each["name"].startswith("recognise")
    for name in ("plimsoll-admission", "plimsoll-controller"):
        (container,) = pod_specs(documents)[name]["containers"]
        given = {each["name"]: each.get("value") for each in container["env"]}
        assert given["PLIMSOLL_EXCLUDED_NAMESPACES"] == ",".join(expected)


def test_what_it_asks_by_default_is_little(helm: Helm) -> None:
    documents = helm.render({})
    total: dict[str, float] = {"cpu": 0.0, "memory": 0.0}
    for name in ("plimsoll-admission", "plimsoll-controller"):
        deployment = named(documents, "Deployment", name)
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        requests = container["resources"]["requests"]
        total["cpu"] += deployment["spec"]["replicas"] * int(requests["cpu"].rstrip("m")) / 1000
        total["memory"] += deployment["spec"]["replicas"] * parse_bytes(requests["memory"])
    assert {key: value <= LARGEST_REQUESTS[key] for key, value in total.items()} == {
        "cpu": True,
        "memory": True,
    }


def test_no_replica_of_admission_ends_before_another_serves(rendered: list[Document]) -> None:
    deployment = named(rendered, "Deployment", "plimsoll-admission")["spec"]
    assert deployment["replicas"] >= 2
    assert deployment["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    assert (
        named(rendered, "PodDisruptionBudget", "plimsoll-admission")["spec"]["maxUnavailable"] == 1
    )


@pytest.mark.parametrize("models_mi", [80, 1000, 65536])
def test_admission_has_room_for_all_models_in_each_file_it_keeps(
    helm: Helm, models_mi: int
) -> None:
    """Its snapshot, a newer one that it writes beside it, and one that it put aside as damaged."""
    memory = {"limits": {"memory": f"{3 * models_mi + 144}Mi"}}
    values = {"admission": {"modelsMi": models_mi, "resources": memory}}
    spec = pod_specs(helm.render(values))["plimsoll-admission"]
    (state,) = (each["emptyDir"] for each in spec["volumes"] if each["name"] == "state")
    assert parse_bytes(state["sizeLimit"]) >= 3 * models_mi * MIB + 256 * MIB


def _controller(helm: Helm, values: dict[str, Any]) -> Document:
    spec: Document = named(helm.render(values), "Deployment", "plimsoll-controller")["spec"]
    return spec


def test_sqlite_has_one_controller_at_a_time(helm: Helm) -> None:
    spec = _controller(helm, {})
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})


def test_a_database_comes_from_its_secret_and_needs_no_volume(helm: Helm) -> None:
    spec = _controller(helm, {"database": {"existingSecret": "db"}, "controller": {"replicas": 2}})
    (container,) = spec["template"]["spec"]["containers"]
    (url,) = (each for each in container["env"] if each["name"] == "PLIMSOLL_STORE_URL")
    assert url["valueFrom"] == {"secretKeyRef": {"name": "db", "key": "url"}}
    assert spec["strategy"]["type"] == "RollingUpdate"
    assert "persistentVolumeClaim" not in str(spec)


OTHER_NAMES = [
    pytest.param({}, id="the chart's own names"),
    pytest.param({"fullnameOverride": "sizer"}, id="another full name"),
    pytest.param({"nameOverride": "load-line"}, id="another name"),
    pytest.param({"agent": {"namespace": "agents"}}, id="agents elsewhere"),
]
SERVICE = re.compile(r"\$\((?P<name>[A-Z0-9_]+)_SERVICE_HOST\)")


@pytest.mark.parametrize("values", OTHER_NAMES)
def test_an_address_is_that_of_a_service_beside_the_pod(helm: Helm, values: dict[str, Any]) -> None:
    documents = helm.render(values)
    services = {
        (each["metadata"]["namespace"], each["metadata"]["name"].upper().replace("-", "_"))
        for each in documents
        if each["kind"] == "Service"
    }
    asked = {
        (each["metadata"]["namespace"], found["name"])
        for each in documents
        for found in SERVICE.finditer(str(each.get("spec")))
    }
    assert asked
    assert asked <= services


def test_the_leader_is_reached_also_while_its_store_keeps_it_from_being_ready(helm: Helm) -> None:
    published = {
        each["metadata"]["name"]: each["spec"].get("publishNotReadyAddresses", False)
        for each in helm.render({"leases": {"enabled": True}})
        if each["kind"] == "Service"
    }
    assert {name for name, so in published.items() if so} == {
        *("plimsoll-controller", "plimsoll-leases", "plimsoll-page")
    }
    assert "plimsoll-admission" in published


def _asks_at(documents: list[Document]) -> dict[str, str]:
    """Where the pods of each process look for the controller."""
    return {
        name: setting["value"]
        for name, spec in pod_specs(documents).items()
        for setting in spec["containers"][0].get("env", [])
        if setting["name"] in ("PLIMSOLL_FEED_URL", "PLIMSOLL_CONTROLLER_URL")
    }


def test_a_fixed_address_of_the_controller_is_in_the_pods_that_ask_it(helm: Helm) -> None:
    """A Service that is made anew has another: then these pods have to be made anew, too."""
    values: dict[str, Any] = {"extender": {"enabled": True}}
    chosen = _asks_at(helm.render(values))
    fixed = _asks_at(helm.render({**values, "controller": {"clusterIP": "10.96.0.81"}}))
    assert set(chosen.values()) == {"http://$(PLIMSOLL_CONTROLLER_SERVICE_HOST):8081"}
    assert set(fixed.values()) == {"http://10.96.0.81:8081"}
    assert (
        set(chosen)
        == set(fixed)
        == {f"plimsoll-{each}" for each in ("admission", "agent", "extender")}
    )


@pytest.mark.parametrize("values", OTHER_NAMES)
def test_a_secret_that_is_mounted_is_one_the_controller_is_told_to_make_and_may(
    helm: Helm, values: dict[str, Any]
) -> None:
    documents = helm.render(values)
    (controller,) = (
        spec["containers"][0] for name, spec in pod_specs(documents).items() if "controller" in name
    )
    settings = {each["name"]: each.get("value") for each in controller["env"]}
    made = {
        settings["PLIMSOLL_FEED_TOKEN_SECRET"],
        settings["PLIMSOLL_PEAKS_TOKEN_SECRET"],
        f"plimsoll/{settings['PLIMSOLL_TLS_SECRET']}",
    }
    mounted = {
        f"{each['metadata']['namespace']}/{volume['secret']['secretName']}"
        for each in documents
        for spec in pod_specs([each]).values()
        for volume in spec["volumes"]
        if "secret" in volume
    }
    allowed = {
        f"{each['metadata']['namespace']}/{name}"
        for each in documents
        if each["kind"] == "Role"
        for rule in each["rules"]
        if "secrets" in rule["resources"]
        for name in rule.get("resourceNames", [])
    }
    assert mounted == made == allowed


@pytest.mark.parametrize("mode", ["self", "cert-manager"])
@pytest.mark.parametrize("values", OTHER_NAMES)
def test_the_controller_knows_the_webhook_configuration_by_its_name(
    helm: Helm, values: dict[str, Any], mode: str
) -> None:
    documents = helm.render({**values, "certificates": {"mode": mode}})
    (configuration,) = (
        each for each in documents if each["kind"] == "MutatingWebhookConfiguration"
    )
    (controller,) = (
        spec["containers"][0] for name, spec in pod_specs(documents).items() if "controller" in name
    )
    settings = {each["name"]: each.get("value") for each in controller["env"]}
    assert settings["PLIMSOLL_WEBHOOK"] == configuration["metadata"]["name"]
    assert ("PLIMSOLL_TLS_SECRET" in settings) is (mode == "self")


@pytest.mark.parametrize("values", OTHER_NAMES)
def test_commands_find_every_object_that_they_look_for_by_its_labels(
    helm: Helm, values: dict[str, Any]
) -> None:
    documents = helm.render({**values, "labels": {"team": "platform"}}, kinds=True)
    for each in documents:
        assert _is_found(each["metadata"]["labels"]), each["metadata"]["name"]
        if each["kind"] in ("Deployment", "DaemonSet"):
            template = each["spec"]["template"]["metadata"]["labels"]
            assert _is_found(template)
            # A Deployment's selector cannot change: an upgrade must find the same one.
            selected = each["spec"]["selector"]["matchLabels"]
            assert selected.keys() == {labels.NAME, labels.COMPONENT, INSTANCE}
            assert selected[labels.NAME] == values.get("nameOverride", NAME)


def _is_found(of: dict[str, str]) -> bool:
    name, _, product = labels.PRODUCT.partition("=")
    return (of[name] == product) != (labels.RENAMED in of)


def test_no_proxy_of_a_mesh_keeps_a_pod_from_its_end(helm: Helm) -> None:
    documents = helm.render({"labels": {"sidecar.istio.io/inject": "true"}})
    ended = [named(documents, "Pod", f"{NAME}-test")]
    ended.append(named(documents, "Job", f"{NAME}-release")["spec"]["template"])
    for each in ended:
        assert each["metadata"]["labels"]["sidecar.istio.io/inject"] == "false"
        assert each["metadata"]["annotations"]["linkerd.io/inject"] == "disabled"


@pytest.mark.parametrize("address", ["0.0.0.0", "::"])
def test_agents_serve_their_metrics_where_the_others_do(helm: Helm, address: str) -> None:
    specs = pod_specs(helm.render({"listenAddress": address}))
    (agent,) = specs["plimsoll-agent"]["containers"]
    given = {each["name"]: each.get("value") for each in agent["env"]}
    assert given["PLIMSOLL_METRICS_LISTEN_HOST"] == address


@pytest.mark.parametrize("values", OTHER_NAMES)
def test_a_service_account_that_is_used_is_made(helm: Helm, values: dict[str, Any]) -> None:
    documents = helm.render(values)
    accounts = {
        (each["metadata"]["namespace"], each["metadata"]["name"])
        for each in documents
        if each["kind"] == "ServiceAccount"
    }
    used = {
        (each["metadata"]["namespace"], spec["serviceAccountName"])
        for each in documents
        for spec in pod_specs([each]).values()
        if each["kind"] != "Pod"
    }
    assert used == accounts


def test_every_pod_runs_on_linux_nodes_only(rendered: list[Document]) -> None:
    for name, spec in pod_specs(rendered).items():
        assert spec.get("nodeSelector", {}).get("kubernetes.io/os") == "linux", name


@pytest.mark.parametrize("process", ["admission", "controller", "agent"])
def test_a_node_selector_is_added_to_and_wins(helm: Helm, process: str) -> None:
    for wanted in ({"pool": "system"}, {"kubernetes.io/os": "other"}):
        rendered = helm.render({process: {"nodeSelector": wanted}})
        selector = pod_specs(rendered)[f"plimsoll-{process}"]["nodeSelector"]
        assert selector == {"kubernetes.io/os": "linux", **wanted}
