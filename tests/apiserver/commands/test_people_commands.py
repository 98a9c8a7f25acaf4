"""`plimsoll status`, `pause`, `enforce` and the kubectl plugin against the real API server."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.crds import a_namespace
from tests.apiserver.people import Person, a_person_who_may, an_admin
from tests.builders.kubernetes.cluster_status import a_deployment, a_lease, a_profile, a_webhook
from tests.conftest import Cluster

pytestmark = pytest.mark.cluster

OURS = {"app.kubernetes.io/name": "plimsoll"}


@pytest.fixture
def namespace(knowing_cluster: Cluster) -> Iterator[str]:
    with a_namespace(knowing_cluster) as name:
        yield name


@pytest.fixture
def admin(knowing_cluster: Cluster, program: Path) -> Person:
    return an_admin(knowing_cluster, program)


def put_profile(cluster: Cluster, namespace: str, name: str, **status: Any) -> None:
    profile = a_profile(name, namespace, **status)
    kind = {"apiVersion": "plimsoll.dev/v1alpha1", "kind": "TaskProfile"}
    cluster.apply({**kind, **profile, "status": {}})
    cluster.apply({**kind, **profile}, "--server-side", "--force-conflicts", "--subresource=status")


def spec_of(cluster: Cluster, kind: str, name: str, namespace: str) -> Any:
    return cluster.get(kind, name, "-n", namespace).get("spec")


def test_a_namespace_is_paused_and_resumed_and_keeps_the_rest_of_its_policy(
    knowing_cluster: Cluster, admin: Person, namespace: str
) -> None:
    assert admin.plimsoll("enforce", "-n", namespace, "--yes").status == 0
    assert admin.plimsoll("pause", "-n", namespace).status == 0
    policy = ("sizingpolicy", "default", namespace)
    assert spec_of(knowing_cluster, *policy) == {"mode": "enforce", "paused": True}
    told = admin.plimsoll("status", "-n", namespace, "-o", "json").document
    assert told["namespaces"] == [], "no task is known there yet"
    assert admin.plimsoll("resume", "-n", namespace).status == 0
    assert spec_of(knowing_cluster, *policy) == {"mode": "enforce"}


def test_a_task_is_paused_by_a_profile_that_is_made_for_it(
    knowing_cluster: Cluster, admin: Person, namespace: str
) -> None:
    assert admin.plimsoll("pause", f"{namespace}/Train_A").status == 0
    [profile] = knowing_cluster.get("taskprofiles", "-n", namespace)["items"]
    assert profile["spec"] == {"task": "Train_A", "paused": True}
    told = admin.plimsoll("status", "-n", namespace, "-o", "json").document
    assert told["tasks"][0]["task"] == f"{namespace}/Train_A"
    assert told["tasks"][0]["paused"] is True


def test_the_cluster_is_paused_in_plimsolls_own_namespace(
    knowing_cluster: Cluster, admin: Person, namespace: str
) -> None:
    assert admin.plimsoll("pause", "--installed-in", namespace).status == 0
    assert spec_of(knowing_cluster, "sizingpolicy", "cluster", namespace) == {"paused": True}
    told = admin.plimsoll("status", "--installed-in", namespace, "-o", "json").document
    [sizing] = [each for each in told["checks"] if each["name"] == "sizing"]
    assert sizing["level"] == "warning"
    assert sizing["todo"] == "plimsoll resume"


def test_nothing_is_enforced_while_nobody_says_yes(
    knowing_cluster: Cluster, admin: Person, namespace: str
) -> None:
    put_profile(knowing_cluster, namespace, "train", wouldSaveGbH=2.5, wouldKill=1, wouldRuns=40)
    asked = admin.plimsoll("enforce", "-n", namespace)
    assert asked.status == 2
    assert "it would have saved 2.5 GB·h, and killed 1 of 40 runs" in asked.out
    assert "nothing was changed" in asked.err
    assert knowing_cluster.get("sizingpolicies", "-n", namespace)["items"] == []


def test_a_task_gets_a_mode_of_its_own_and_off_is_not_taken_for_false(
    knowing_cluster: Cluster, admin: Person, namespace: str
) -> None:
    assert admin.plimsoll("off", f"{namespace}/train", "--yes").status == 0
    assert spec_of(knowing_cluster, "taskprofile", "train", namespace) == {"mode": "off"}
    again = admin.plimsoll("off", f"{namespace}/train", "--yes")
    assert "has mode off already" in again.out


def test_an_installation_is_told_healthy_or_what_is_wrong_with_it(
    knowing_cluster: Cluster, admin: Person, namespace: str
) -> None:
    install(knowing_cluster, namespace)
    put_profile(knowing_cluster, namespace, "train", runs=40, oomKills=3)
    try:
        told = admin.plimsoll("status", "--installed-in", namespace, "-n", namespace, "-o", "json")
        checks = {each["name"]: each for each in told.document["checks"]}
        assert checks["leader"]["level"] == "bad", "the Lease was last renewed long ago"
        assert checks["webhook"]["level"] == "good"
        assert checks["controller"]["words"] == "0 of 1 replicas ready"
        assert told.status == 1
        assert told.document["tasks"][0]["oom_kills"] == 3
        table = admin.plimsoll("status", "--installed-in", namespace, "-n", namespace)
        assert f"Plimsoll in {namespace} is not healthy" in table.out
    finally:
        knowing_cluster.kubectl("delete", "mutatingwebhookconfiguration", f"test-{namespace}")


def test_who_may_see_one_namespace_is_shown_it_and_told_what_is_hidden(
    knowing_cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    put_profile(knowing_cluster, namespace, "train", runs=7)
    ours = ["taskprofiles", "sizingpolicies"]
    rules = [{"apiGroups": ["plimsoll.dev"], "resources": ours, "verbs": ["get", "list"]}]
    somebody = a_person_who_may(knowing_cluster, namespace, rules, tmp_path)
    told = somebody.plimsoll("status", "-n", namespace, "-o", "json")
    assert (told.status, told.document["healthy"]) == (1, None), "nobody may take it for healthy"
    assert [task["runs"] for task in told.document["tasks"]] == [7]
    assert "is forbidden" in str(told.document["unseen"])
    everywhere = somebody.plimsoll("status")
    assert "name a namespace of yours with -n" in " ".join(everywhere.out.split())
    assert "you may not see" in everywhere.out
    refused = somebody.plimsoll("pause", "-n", namespace)
    assert refused.status == 1
    assert "is forbidden" in refused.err
    assert "Traceback" not in refused.err


def test_kubectl_runs_plimsoll_as_its_plugin_and_completes_names_of_tasks(
    knowing_cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    put_profile(knowing_cluster, namespace, "train-demand")
    kubectl = next(word for word in knowing_cluster.handle.kubectl() if word.endswith("kubectl"))
    (tmp_path / "kubectl").symlink_to(kubectl)
    scripts = str(Path(sys.executable).parent)
    assert shutil.which("kubectl-plimsoll", path=scripts), "pip install --editable . makes it"
    person = an_admin(knowing_cluster, PATH=f"{tmp_path}:{scripts}:/usr/bin:/bin")
    told = person.run(["kubectl", "plimsoll", "status", "-n", namespace, "-o", "json"])
    assert [task["task"] for task in told.document["tasks"]] == [f"{namespace}/train-demand"]
    usage = person.run(["kubectl", "plimsoll", "pause", "--help"]).out
    assert "Usage: kubectl plimsoll pause" in usage
    completed = person.run(["kubectl", "__complete", "plimsoll", "explain", f"{namespace}/"]).out
    assert completed.splitlines()[0] == f"{namespace}/train-demand"


def install(cluster: Cluster, namespace: str) -> None:
    """A chart's objects in the API, without running processes."""
    for component in ("admission", "controller"):
        made = a_deployment(component)
        selected = {"app.kubernetes.io/component": component}
        container = {"name": component, "image": "localhost/none:1"}
        template = {"metadata": {"labels": selected}, "spec": {"containers": [container]}}
        made["metadata"]["namespace"] = namespace
        made["spec"] |= {"selector": {"matchLabels": selected}, "template": template}
        made["spec"]["template"]["spec"]["schedulerName"] = "nobody"
        cluster.apply({"apiVersion": "apps/v1", "kind": "Deployment", **made, "status": {}})
    lease = a_lease()["spec"]
    times = {key: lease[key].replace("+00:00", ".000000Z") for key in ("renewTime", "acquireTime")}
    cluster.apply(
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "plimsoll-controller", "namespace": namespace},
            "spec": {**lease, **times},
        }
    )
    hook = a_webhook()["webhooks"][0]
    hook["clientConfig"]["url"] = "https://127.0.0.1:1/size"
    matching_nothing = {"matchLabels": {"plimsoll.dev/task": "none-of-these"}}
    cluster.apply(
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": f"test-{namespace}", "labels": OURS},
            "webhooks": [
                {
                    **hook,
                    "name": "size.plimsoll.dev",
                    "admissionReviewVersions": ["v1"],
                    "sideEffects": "None",
                    "objectSelector": matching_nothing,
                    "rules": [
                        {
                            "apiGroups": [""],
                            "apiVersions": ["v1"],
                            "operations": ["CREATE"],
                            "resources": ["pods"],
                        }
                    ],
                }
            ],
        }
    )
