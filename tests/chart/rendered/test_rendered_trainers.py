"""Rounds of trainings in the chart: off unless asked for, and a Job that the controller can use."""

from __future__ import annotations

from typing import Any, Final

import pytest
import yaml
from deploy.chart.rendering import NAME

from plimsoll_operator.training.round_job import JobTemplate
from tests.chart.helm import Document, Helm, named

TRAINERS: Final = f"{NAME}-trainers"
ON: Final[dict[str, Any]] = {
    "trainers": {"enabled": True, "parallelism": 3, "priorityClassName": "low"},
    "database": {"existingSecret": "db"},
    "networkPolicies": {"enabled": True},
}


def template_of(documents: list[Document]) -> str:
    return str(named(documents, "ConfigMap", TRAINERS)["data"]["job.yaml"])


def test_none_is_made_unless_asked_for(helm: Helm) -> None:
    rendered = str(helm.render({"database": {"existingSecret": "db"}}, kinds=True))
    assert "train-shard" not in rendered
    assert "PLIMSOLL_TRAINING_JOB" not in rendered


def test_the_controller_can_make_a_round_of_the_template(helm: Helm) -> None:
    documents = helm.render(ON)
    template = JobTemplate.parse(template_of(documents))
    assert template.parallelism == 3
    job = template.job("round-1", shards=12)
    assert (job["spec"]["completions"], job["spec"]["parallelism"]) == (12, 3)
    pod = job["spec"]["template"]["spec"]
    (worker,) = pod["containers"]
    assert worker["args"] == [
        "train-shard",
        *("--budget", "60", "--memory-mib", "1024", "--round", "round-1"),
    ]
    assert (pod["restartPolicy"], pod["priorityClassName"]) == ("Never", "low")
    assert pod["automountServiceAccountToken"] is False
    assert worker["securityContext"]["readOnlyRootFilesystem"] is True
    assert worker["env"][0]["valueFrom"]["secretKeyRef"] == {"name": "db", "key": "url"}
    controller = named(documents, "Deployment", f"{NAME}-controller")
    (container,) = controller["spec"]["template"]["spec"]["containers"]
    told = {each["name"]: each.get("value") for each in container["env"]}
    (mount,) = [each for each in container["volumeMounts"] if each["name"] == "trainers"]
    assert told["PLIMSOLL_TRAINING_JOB"] == f"{mount['mountPath']}/job.yaml"


@pytest.mark.parametrize(("values", "tries"), [({}, 3), ({"backoffLimitPerIndex": 0}, 0)])
def test_a_share_that_fails_is_tried_again_as_often_as_the_values_say(
    helm: Helm, values: dict[str, int], tries: int
) -> None:
    documents = helm.render({**ON, "trainers": {**ON["trainers"], **values}})
    job = JobTemplate.parse(template_of(documents)).job("round-1", shards=12)
    assert job["spec"]["backoffLimitPerIndex"] == tries


def test_more_tries_of_a_share_than_make_sense_are_refused(helm: Helm) -> None:
    said = helm.refusal({**ON, "trainers": {"enabled": True, "backoffLimitPerIndex": 101}})
    assert "backoffLimitPerIndex" in said
    assert "maximum" in said


def test_it_may_make_jobs_in_its_own_namespace_alone(helm: Helm) -> None:
    documents = helm.render(ON)
    role = named(documents, "Role", f"{NAME}-controller")
    (rule,) = [rule for rule in role["rules"] if rule["resources"] == ["jobs"]]
    assert rule["verbs"] == ["get", "create", "delete"]
    cluster_role = named(documents, "ClusterRole", f"{NAME}-controller")
    elsewhere = [rule["verbs"] for rule in cluster_role["rules"] if "jobs" in rule["resources"]]
    assert elsewhere == []


def test_trainers_reach_the_database_and_nothing_reaches_them(helm: Helm) -> None:
    policy = named(helm.render(ON), "NetworkPolicy", TRAINERS)["spec"]
    template = yaml.safe_load(template_of(helm.render(ON)))
    labels = template["spec"]["template"]["metadata"]["labels"]
    assert policy["podSelector"]["matchLabels"].items() <= labels.items()
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    assert "ingress" not in policy
    assert [each["port"] for rule in policy["egress"] for each in rule["ports"]] == [5432, 53, 53]


def test_without_a_database_of_its_own_it_is_refused(helm: Helm) -> None:
    assert "SQLite's file has one writer" in helm.refusal({"trainers": {"enabled": True}})


def test_a_worker_too_small_for_a_training_is_refused(helm: Helm) -> None:
    small = {"enabled": True, "resources": {"limits": {"memory": "1Gi"}}}
    said = helm.refusal({**ON, "trainers": small})
    assert "trainers.resources.limits.memory is 1Gi" in said


@pytest.mark.parametrize(
    ("values", "label", "annotation"),
    [
        ({}, "false", "disabled"),
        ({"podLabels": {"sidecar.istio.io/inject": "true"}}, "true", "disabled"),
        ({"podAnnotations": {"linkerd.io/inject": "enabled"}}, "false", "enabled"),
    ],
)
def test_no_proxy_of_a_mesh_keeps_a_worker_from_its_end_unless_asked_for(
    helm: Helm, values: dict[str, Any], label: str, annotation: str
) -> None:
    trainers = {**ON["trainers"], **values}
    documents = helm.render({**ON, "trainers": trainers, "labels": {"team": "ml"}})
    pod = yaml.safe_load(template_of(documents))["spec"]["template"]["metadata"]
    assert pod["labels"]["sidecar.istio.io/inject"] == label
    assert pod["labels"]["team"] == "ml"
    assert pod["annotations"] == {"linkerd.io/inject": annotation}


@pytest.mark.parametrize("memory", [1610612736, "1610612736"])
def test_memory_may_be_a_number_of_bytes(helm: Helm, memory: int | str) -> None:
    resources = {"requests": {"cpu": 1, "memory": 134217728}, "limits": {"memory": memory}}
    documents = helm.render({**ON, "trainers": {**ON["trainers"], "resources": resources}})
    (worker,) = JobTemplate.parse(template_of(documents)).job("r", 1)["spec"]["template"]["spec"][
        "containers"
    ]
    assert worker["resources"]["limits"]["memory"] == memory


def test_too_few_bytes_for_a_training_are_refused(helm: Helm) -> None:
    small = {"enabled": True, "resources": {"limits": {"memory": 1073741824}}}
    said = helm.refusal({**ON, "trainers": small})
    assert "trainers.resources.limits.memory is 1073741824" in said


TLS_FOLDER: Final = "/etc/plimsoll/database"


def _who_asks_the_database(helm: Helm, database: dict[str, str]) -> list[Document]:
    documents = helm.render({**ON, "database": database})
    job = JobTemplate.parse(template_of(documents)).job("round-1", shards=1)
    controller = named(documents, "Deployment", f"{NAME}-controller")
    return [each["spec"]["template"]["spec"] for each in (controller, job)]


def test_the_databases_certificates_are_files_of_the_controller_and_the_trainers(
    helm: Helm,
) -> None:
    for pod in _who_asks_the_database(helm, {"existingSecret": "db", "tlsSecret": "ca"}):
        (volume,) = [each for each in pod["volumes"] if each["name"] == "database"]
        # libpq refuses a key of root that others than root and its group may read.
        assert volume["secret"] == {"secretName": "ca", "defaultMode": 0o440}
        (container,) = pod["containers"]
        (mount,) = [each for each in container["volumeMounts"] if each["name"] == "database"]
        assert mount == {"name": "database", "mountPath": TLS_FOLDER, "readOnly": True}


def test_without_certificates_nothing_is_mounted_for_the_database(helm: Helm) -> None:
    for pod in _who_asks_the_database(helm, {"existingSecret": "db"}):
        assert TLS_FOLDER not in str(pod)


def test_certificates_are_named_by_a_secret_not_by_a_file(helm: Helm) -> None:
    said = helm.refusal({"database": {"existingSecret": "db", "tlsSecret": "/etc/ca.crt"}})
    assert 'database.tlsSecret: "/etc/ca.crt" is no name of Kubernetes' in said
