"""A retry of a pod with more in it than one container, and the names that retries get."""

from __future__ import annotations

from typing import Any

import pytest

from plimsoll_operator.attempts.retry_pod import (
    NextAttempt,
    next_attempt,
    retry_name,
)
from plimsoll_operator.names import labels
from plimsoll_predictor.core.units import GIB
from tests.builders.pods import APod, a_pod, memory_of

FOLLOWING = NextAttempt("train-1-a2-x", "main", 2 * GIB, '{"attempt":2}')
TOKEN = {"name": "kube-api-access-x", "mountPath": "/var/run/secrets/token"}
DATA = {"name": "data", "mountPath": "/data"}


def killed() -> APod:
    return a_pod().named("train-1", uid="u1").asking("1Gi").limited("1Gi")


def copy_of(pod: APod) -> APod:
    return APod(next_attempt(pod.built(), FOLLOWING))


def mounts_of(container: dict[str, Any]) -> list[dict[str, Any]]:
    mounts: list[dict[str, Any]] = container["volumeMounts"]
    return mounts


def test_only_the_container_that_was_killed_is_lifted() -> None:
    beside = killed().with_container("proxy").asking("64Mi", of="proxy").limited("96Mi", of="proxy")
    copied = copy_of(beside)
    assert memory_of(copied, "main") == ("2Gi", "2Gi")
    assert memory_of(copied, "proxy") == ("64Mi", "96Mi")


def test_what_kueue_wrote_when_it_admitted_the_first_pod_is_not_on_the_copy() -> None:
    # Of a real Kueue 0.15.2, which never starts a copy that names another admission.
    by_author = {"kueue.x-k8s.io/queue-name": "shop", "kueue.x-k8s.io/managed": "true"}
    labelled = killed().with_labels({**by_author, "kueue.x-k8s.io/podset": "main", "zone": "a"})
    pod: dict[str, Any] = labelled.annotated(
        {
            "kueue.x-k8s.io/role-hash": "ab9066ef",
            "kueue.x-k8s.io/workload": "pod-train-48d86",
            "autoscaling.x-k8s.io/consume-provisioning-request": "pod-train-48d86-nodes-1",
        }
    ).built()
    checked: dict[str, Any] = {"f:autoscaling.x-k8s.io/consume-provisioning-request": {}}
    pod["metadata"]["managedFields"] = [
        {"manager": "kueue", "fieldsV1": {"f:metadata": {"f:annotations": checked}}},
        {
            "manager": "kubectl",
            "fieldsV1": {
                "f:metadata": {"f:labels": {"f:zone": {}}},
                "f:spec": {"f:containers": {'k:{"name":"main"}': {".": {}, "f:name": {}}}},
            },
        },
        {"manager": "kueue", "subresource": "status", "fieldsV1": {"f:status": {}}},
    ]
    copied = copy_of(APod(pod)).built()["metadata"]
    ours = {key: value for key, value in copied["labels"].items() if "plimsoll" not in key}
    assert ours == {**by_author, "zone": "a"}
    kept = [key for key in copied["annotations"] if "plimsoll.dev/" not in key]
    assert kept == ["kueue.x-k8s.io/role-hash"]


def writing(manager: str, *names: str, **entry: object) -> dict[str, Any]:
    """The API server's record of the annotations that one manager wrote."""
    annotations: dict[str, Any] = {f"f:{name}": {} for name in names}
    fields = {"f:metadata": {"f:annotations": {".": {}, **annotations}}}
    return {"manager": manager, "operation": "Update", "fieldsV1": fields, **entry}


def creating(manager: str, *names: str, **entry: object) -> dict[str, Any]:
    """The same of the manager that made the pod."""
    record = writing(manager, *names, **entry)
    record["fieldsV1"]["f:spec"] = {"f:containers": {'k:{"name":"main"}': {"f:name": {}}}}
    return record


@pytest.mark.parametrize(
    ("records", "kept"),
    [
        pytest.param(
            [
                creating("kubectl-create", "mine"),
                writing("ovnk-controller", "k8s.ovn.org/pod-networks", subresource="status"),
            ],
            {"mine", "by-a-webhook"},
            id="another's, and as if it were a status",
        ),
        pytest.param(
            [
                writing("vpc-resource-controller", "k8s.ovn.org/pod-networks", "mine"),
                creating("kubectl-create", "mine"),
                writing("kubectl-create", "by-a-webhook"),
            ],
            {"mine", "by-a-webhook"},
            id="another's, in any order, and both wrote one of them",
        ),
        pytest.param(
            [
                creating("python", "mine"),
                writing("python", "k8s.ovn.org/pod-networks", subresource="status"),
                creating("scaler", "k8s.ovn.org/pod-networks", subresource="resize"),
            ],
            {"mine", "by-a-webhook"},
            id="of a subresource, whoever it was",
        ),
        pytest.param(
            [
                creating("python", "by-a-webhook"),
                writing("kubectl-annotate", "mine"),
                writing("multus", "k8s.ovn.org/pod-networks"),
            ],
            {"mine", "by-a-webhook"},
            id="a network's, and not what people wrote with kubectl",
        ),
        pytest.param(
            [creating("python", "by-a-webhook"), writing("gpu-scheduler", "mine")],
            {"by-a-webhook", "k8s.ovn.org/pod-networks"},
            id="a controller's, also where it overwrote the maker's",
        ),
        pytest.param(
            [creating("python"), writing("kubectl-patch", "mine", subresource="status")],
            {"by-a-webhook", "k8s.ovn.org/pod-networks"},
            id="of a subresource, also by kubectl",
        ),
        pytest.param(
            [writing("ovnk-controller", "k8s.ovn.org/pod-networks")],
            {"mine", "by-a-webhook", "k8s.ovn.org/pod-networks"},
            id="nobody noted who made the pod",
        ),
        pytest.param(
            None, {"mine", "by-a-webhook", "k8s.ovn.org/pod-networks"}, id="nobody noted anything"
        ),
        pytest.param(
            [None, {"manager": [], "fieldsV1": "x"}, creating("kubectl-create", "mine")],
            {"mine", "by-a-webhook", "k8s.ovn.org/pod-networks"},
            id="any shape",
        ),
    ],
)
def test_what_others_wrote_on_the_first_pod_later_is_not_on_the_copy(
    records: object, kept: set[str]
) -> None:
    """OVN-Kubernetes finds no room for an address of another node, and the copy never starts."""
    written = {"mine": "x", "by-a-webhook": "x", "k8s.ovn.org/pod-networks": "{}"}
    copied = copy_of(managed(killed().annotated(written), records)).built()["metadata"]
    assert {key for key in copied["annotations"] if "plimsoll.dev/" not in key} == kept


def test_a_label_that_people_wrote_with_kubectl_is_on_the_copy() -> None:
    """Among them is what keeps an autoscaler away, or asks it to."""
    pod = killed().with_labels({"team": "ml", "gpu-assigned": "true"})
    by_people, by_others = writing("kubectl-label"), writing("gpu-scheduler")
    by_people["fieldsV1"]["f:metadata"]["f:labels"] = {"f:team": {}}
    by_others["fieldsV1"]["f:metadata"]["f:labels"] = {"f:gpu-assigned": {}}
    records = [creating("python"), by_people, by_others]
    copied = copy_of(managed(pod, records)).built()["metadata"]
    assert copied["labels"] == {labels.TASK: "train", "team": "ml"}


def test_a_label_that_a_scheduler_wrote_is_not_on_the_copy_but_plimsolls_own_are() -> None:
    for_plimsoll = {labels.MODE: "enforce", labels.ATTEMPTS: "3"}
    later = {"gpu-assigned": "true", **for_plimsoll}
    pod = killed().with_labels({"team": "ml", **later}).annotated({labels.RUN_OF: "u0"})
    others = writing("gpu-scheduler", labels.RUN_OF)
    others["fieldsV1"]["f:metadata"]["f:labels"] = {f"f:{name}": {} for name in later}
    copied = copy_of(managed(pod, [creating("kubectl-create"), others])).built()["metadata"]
    assert copied["annotations"][labels.RUN_OF] == "u0"
    assert copied["labels"] == {labels.TASK: "train", "team": "ml", **for_plimsoll}


def test_every_container_keeps_its_mounts_and_leaves_its_token_to_the_cluster() -> None:
    pod = killed().with_container("proxy", volumeMounts=[TOKEN, DATA])
    pod = pod.with_init_container("fetch", volumeMounts=[DATA, TOKEN])
    spec = copy_of(pod).built()["spec"]
    assert mounts_of(spec["containers"][0]) == []
    assert mounts_of(spec["containers"][1]) == [DATA]
    assert mounts_of(spec["initContainers"][0]) == [DATA]


def root_of(pod: APod) -> str:
    """A retry's name without its ending: -a, the attempt, and ten digits of a hash."""
    return retry_name(pod.built(), 2)[: -len("-a2-0123456789")]


@pytest.mark.parametrize(
    ("pod", "root"),
    [
        pytest.param(killed().named("train-all", uid="u1"), "train-all", id="no retry yet"),
        pytest.param(
            killed().named("train-a2-0123456789", uid="u2").annotated({labels.RETRY_OF: "u1"}),
            "train",
            id="a retry's own retry",
        ),
        pytest.param(
            killed().named("renamed", uid="u2").annotated({labels.RETRY_OF: "u1"}),
            "renamed",
            id="a retry that somebody made under another name",
        ),
        pytest.param(
            killed().named(f"{'x' * 48}-{'y' * 14}", uid="u1"), "x" * 48, id="cut after a dash"
        ),
        pytest.param(
            killed().named(f"{'x' * 48}.{'y' * 14}", uid="u1"), "x" * 48, id="cut after a dot"
        ),
    ],
)
def test_a_retry_is_named_after_its_runs_first_pod(pod: APod, root: str) -> None:
    assert root_of(pod) == root


def test_a_long_name_is_cut_to_just_the_length_of_a_hostname() -> None:
    name = retry_name(killed().named("x" * 63, uid="u1").built(), 2)
    assert len(name) == labels.MAX_LABEL_CHARS == 63


PLACED = {
    "nodeSelector": {"pool": "batch"},
    "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}},
    "tolerations": [{"key": "batch", "operator": "Exists"}],
    "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone"}],
    "schedulerName": "packer",
    "priorityClassName": "batch",
    "runtimeClassName": "sandboxed",
    "hostname": "worker",
    "subdomain": "workers",
    "readinessGates": [{"conditionType": "example.com/ready"}],
    "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}],
}
WRITTEN_AT_CREATION = {"manager": "kubectl", "operation": "Update", "fieldsType": "FieldsV1"}


def created_with(*fields: str) -> list[dict[str, Any]]:
    """The API server's record of the fields that a pod's author wrote."""
    return [{**WRITTEN_AT_CREATION, "fieldsV1": {"f:spec": {f"f:{name}": {} for name in fields}}}]


def managed(pod: APod, records: object) -> APod:
    body = pod.built()
    body["metadata"]["managedFields"] = records
    return APod(body)


def test_the_copy_keeps_what_placed_the_first_pod() -> None:
    spec = copy_of(killed().with_spec(**PLACED)).built()["spec"]
    assert {field: spec.get(field) for field in PLACED} == PLACED


def test_the_copy_goes_to_the_node_that_its_author_named() -> None:
    pod = managed(killed().with_spec(nodeName="node-7"), created_with("containers", "nodeName"))
    copied = copy_of(pod).built()
    assert copied["spec"]["nodeName"] == "node-7"
    assert "managedFields" not in copied["metadata"]


@pytest.mark.parametrize(
    "records",
    [
        pytest.param(created_with("containers"), id="its author named none"),
        pytest.param(None, id="nobody recorded it"),
        pytest.param([None, {"fieldsV1": None}, {"fieldsV1": {"f:spec": "x"}}], id="any shape"),
    ],
)
def test_the_copy_is_placed_anew_if_a_scheduler_placed_the_first_pod(records: object) -> None:
    pod = managed(killed().with_spec(nodeName="node-7"), records)
    assert "nodeName" not in copy_of(pod).built()["spec"]


def test_the_copy_leaves_to_the_cluster_what_classes_set() -> None:
    overhead, policy = {"memory": "160Mi", "cpu": "250m"}, "PreemptLowerPriority"
    pod = killed().with_spec(**PLACED, overhead=overhead, preemptionPolicy=policy, priority=5)
    spec = copy_of(pod).built()["spec"]
    assert not {"overhead", "preemptionPolicy", "priority"} & set(spec)
    assert (spec["runtimeClassName"], spec["priorityClassName"]) == ("sandboxed", "batch")


def test_the_copy_waits_for_nobody_who_waited_for_the_first_pod() -> None:
    pod = killed().built()
    pod["metadata"]["finalizers"] = ["batch.kubernetes.io/job-tracking", "example.com/collect"]
    assert "finalizers" not in next_attempt(pod, FOLLOWING)["metadata"]


def test_the_copy_has_its_authors_affinity_and_not_the_first_pods_hint() -> None:
    apart: dict[str, Any] = {
        "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": []}
    }
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    terms = [
        {
            "weight": weight,
            "preference": {
                "matchExpressions": [
                    {"key": "kubernetes.io/hostname", "operator": "In", "values": nodes}
                ]
            },
        }
        for weight, nodes in ((60, ["n1"]), (40, ["n1", "n2"]))
    ]
    hinted = killed().annotated({labels.HINT: '{"nodes":["n1","n2"],"gain":0.4}'})
    hinted = hinted.with_spec(affinity={**apart, "nodeAffinity": {preferred: terms}})
    copied = copy_of(hinted).built()
    assert copied["spec"]["affinity"] == apart
    assert labels.HINT not in copied["metadata"]["annotations"]
