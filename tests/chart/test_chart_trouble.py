"""What an admin meets after forgetting something, or when removing Plimsoll."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from deploy.chart.generated import CHART
from deploy.chart.rendering import NAME

from plimsoll_operator.names import labels
from tests.apiserver.crds import install_crds
from tests.chart.creating import is_decided
from tests.chart.helm import UNTIL_READY, Helm
from tests.chart.installing import Release, a_place, a_release, chart_values, install, until
from tests.chart.our_kinds import CRD_NAMES
from tests.conftest import Cluster
from tests.e2e.workloads import a_pod
from tests.rigs.images.eater import load_eater

pytestmark = [pytest.mark.cluster, pytest.mark.node]

SHOP = "chart-shop"
SECRET = "plimsoll-database"
LONG = "--timeout=600s"


@pytest.fixture
def shop(cluster: Cluster) -> Iterator[str]:
    load_eater(cluster.handle.layout)
    cluster.kubectl("delete", "namespace", SHOP, "--ignore-not-found")
    cluster.kubectl("create", "namespace", SHOP)
    yield SHOP
    cluster.kubectl("delete", "namespace", SHOP, "--wait=false")


def test_a_missing_database_secret_is_named_and_waited_for(
    cluster_helm: Helm, cluster: Cluster, image: str, shop: str
) -> None:
    values = chart_values(image, database={"existingSecret": SECRET})
    file = cluster.handle.layout.home / "values.json"
    file.write_text(json.dumps(values))
    with a_place(cluster):
        notes = cluster_helm.do("install", NAME, str(CHART), "-n", NAME, "--values", str(file))
        assert f"MISSING: Secret {SECRET}" in notes
        assert f"kubectl create secret generic {SECRET} -n {NAME}" in notes

        def complaint() -> bool:
            found = cluster.kubectl("get", "events", "-n", NAME)
            return f'secret "{SECRET}" not found' in found

        until("the kubelet names the Secret", complaint)
        url = "--from-literal=url=sqlite:////var/lib/plimsoll/plimsoll.db"
        cluster.kubectl("create", "secret", "generic", SECRET, "-n", NAME, url)
        rolled = ["rollout", "status", "-n", NAME, f"deployment/{NAME}-controller"]
        cluster.kubectl(*rolled, LONG)
        upgraded = cluster_helm.do("upgrade", NAME, str(CHART), "-n", NAME, "--values", str(file))
        assert "MISSING" not in upgraded


def test_taken_away_it_leaves_pods_running_policies_kept_and_creation_working(
    cluster_helm: Helm, cluster: Cluster, image: str, shop: str
) -> None:
    values = chart_values(image, policy={"mode": "enforce"})
    with a_release(cluster_helm, cluster, values) as release:
        running = a_pod("running", "eat 8 600", task="running")
        cluster.apply(running, "-n", shop)
        cluster.kubectl("wait", "--for=condition=Ready", "pod/running", "-n", shop, LONG)
        policy = {
            "apiVersion": "plimsoll.dev/v1alpha1",
            "kind": "SizingPolicy",
            "metadata": {"name": "default"},
            "spec": {"mode": "enforce"},
        }
        cluster.apply(policy, "-n", shop)
        assert is_decided(cluster, SHOP, "before")
        before = cluster.get("pod", "running", "-n", shop)

        _the_webhooks_pods_go_first(release)
        assert not is_decided(cluster, SHOP, "without-pods")

        cluster_helm.do("uninstall", NAME, "-n", NAME, *UNTIL_READY)
        assert not is_decided(cluster, SHOP, "without-plimsoll")
        after = cluster.get("pod", "running", "-n", shop)
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
        assert after["status"]["containerStatuses"][0]["restartCount"] == 0
        assert cluster.get("sizingpolicy", "default", "-n", shop)["spec"]["mode"] == "enforce"
        left = cluster.kubectl("get", "mutatingwebhookconfigurations,clusterroles", "-o", "name")
        assert NAME not in left

        install(cluster_helm, cluster, values)
        until("pods are decided again", lambda: is_decided(cluster, SHOP, "again"))


def _the_webhooks_pods_go_first(release: Release) -> None:
    scale = ["scale", f"deployment/{NAME}-admission", "-n", NAME, "--replicas=0"]
    release.cluster.kubectl(*scale)
    selector = "app.kubernetes.io/component=admission"
    release.cluster.kubectl("wait", "--for=delete", "pod", "-n", NAME, "-l", selector, LONG)


def test_definitions_made_by_kubectl_are_taken_over(
    cluster_helm: Helm, cluster: Cluster, image: str
) -> None:
    file = cluster.handle.layout.home / "values.json"
    file.write_text(json.dumps(chart_values(image)))
    words = ["install", NAME, str(CHART), "-n", NAME, "--values", str(file), "--dry-run=server"]
    with a_place(cluster, kinds_too=True):
        install_crds(cluster)
        assert "invalid ownership metadata" in cluster_helm.run(*words).stderr
        assert "Plimsoll" in cluster_helm.do(*words, "--take-ownership")
        # The way of docs/install.md for a Helm that cannot do that.
        release = [f"meta.helm.sh/release-{each}={NAME}" for each in ("name", "namespace")]
        cluster.kubectl("label", "crd", *CRD_NAMES, "app.kubernetes.io/managed-by=Helm")
        cluster.kubectl("annotate", "crd", *CRD_NAMES, *release)
        assert "--take-ownership" in cluster_helm.do(*words)


def test_a_cluster_without_a_place_for_the_store_is_told_at_once(
    cluster_helm: Helm, cluster: Cluster
) -> None:
    with a_place(cluster):
        cluster.kubectl("delete", "persistentvolume", f"{NAME}-store", LONG)
        refused = cluster_helm.run("install", NAME, str(CHART), "-n", NAME, "--wait")
        assert "the cluster has no default StorageClass" in refused.stderr
        assert cluster_helm.do("list", "-n", NAME, "--all", "--short") == ""


def test_who_waits_for_a_turn_is_let_go_when_the_order_is_switched_off_or_gone_back_from(
    cluster_helm: Helm, cluster: Cluster, image: str, shop: str
) -> None:
    values = chart_values(image, order={"enabled": True})
    with a_release(cluster_helm, cluster, values) as release:
        # Neither sees the waiting Job: the upgrade removes the rights to resume it.
        for each in ("controller", "admission"):
            cluster.kubectl("scale", "-n", NAME, f"deployment/{NAME}-{each}", "--replicas=0")
            cluster.kubectl(
                *("wait", "-n", NAME, "--for=delete", "pod", LONG),
                *("-l", f"app.kubernetes.io/component={each}"),
            )
        _waits(cluster, shop, "first")
        release.upgrade("--set", "order.enabled=false")
        assert _is_let_go(cluster, shop, "first")
        left = cluster.kubectl("get", "clusterroles", "-o", "name")
        assert f"{NAME}-release" not in left
        # The next upgrade finds no trace of an order, and releases nothing.
        _waits(cluster, shop, "later")
        release.upgrade("--set", "admission.drainSeconds=6")
        assert not _is_let_go(cluster, shop, "later")
        # A rollback cannot know what was on before, so it releases.
        cluster_helm.do("rollback", NAME, "3", "-n", NAME, *UNTIL_READY)
        assert _is_let_go(cluster, shop, "later")
        left = cluster.kubectl("get", "clusterroles", "-o", "name")
        assert f"{NAME}-release" not in left


def _waits(cluster: Cluster, namespace: str, name: str) -> None:
    pod = a_pod(name, "eat 8 1", task=name)
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": {labels.WAITS: "true"}},
        "spec": {"suspend": True, "template": {"spec": pod["spec"]}},
    }
    cluster.apply(job, "-n", namespace)
    assert not _is_let_go(cluster, namespace, name)


def _is_let_go(cluster: Cluster, namespace: str, name: str) -> bool:
    job = cluster.get("job", name, "-n", namespace)
    marked = labels.WAITS in job["metadata"].get("labels", {})
    assert job["spec"]["suspend"] is marked
    return not marked
