"""The chart on the real cluster: installed, tested, upgraded, its certificate renewed."""

from __future__ import annotations

import json
import re
import socket
import ssl
import time
from base64 import b64decode
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from deploy.chart.generated import CHART
from deploy.chart.rendering import NAME

from plimsoll_operator.credentials.certificate_steps import RENEWED_AT
from plimsoll_operator.names import labels
from plimsoll_operator.names.quantity import parse_bytes, parse_millicores
from tests.apiserver.crds import answer_to, read_at
from tests.chart.creating import Creations, creating
from tests.chart.figures import FIGURES
from tests.chart.helm import Helm
from tests.chart.installing import AGENTS, RESTRICTED, Release, a_release, chart_values, until
from tests.conftest import Cluster
from tests.e2e.plimsolls import wait_for_admission
from tests.e2e.workloads import a_pod
from tests.rigs.images.eater import load_eater

pytestmark = [pytest.mark.cluster, pytest.mark.node]

READY_WITHIN_S = 30.0
MOST_MILLICORES, MOST_BYTES = 500, 600 * 2**20
LIFETIME_S = 300
PATIENT_S = 5
"""The longest timeout that the chart accepts: a busy machine then leaves fewer pods undecided."""
SHOP = "chart-shop"
OURS = f"/apis/plimsoll.dev/v1alpha1/namespaces/{SHOP}"


@pytest.fixture(scope="module")
def release(admins_helm: Helm, cluster: Cluster, image: str) -> Iterator[Release]:
    load_eater(cluster.handle.layout)
    values = chart_values(
        image,
        policy={"mode": "enforce"},
        certificates={"lifetimeSeconds": LIFETIME_S},
        webhook={"timeoutSeconds": PATIENT_S},
    )
    cluster.kubectl("delete", "namespace", SHOP, "--ignore-not-found")
    cluster.kubectl("create", "namespace", SHOP)
    try:
        with a_release(admins_helm, cluster, values, kinds_too=True) as made:
            yield made
    finally:
        cluster.kubectl("delete", "namespace", SHOP, "--wait=false")


@pytest.fixture(scope="module")
def creations(release: Release) -> Iterator[Creations]:
    """While the tests of this file run, pods are created all the time."""
    with creating(release.cluster, SHOP) as counted:
        yield counted


@pytest.fixture(scope="module", autouse=True)
def first_certificate(release: Release, creations: Creations) -> str:
    return release.certificate()


@pytest.mark.alone
def test_it_is_ready_within_half_a_minute(release: Release) -> None:
    words = f"{release.ready_after_s:.1f} (at most {READY_WITHIN_S:.0f})"
    FIGURES.note("chart.install_to_ready_s", words)
    assert release.ready_after_s <= READY_WITHIN_S


def test_what_its_pods_ask_is_little(release: Release) -> None:
    asked = [
        container["resources"]["requests"]
        for component in ("admission", "controller")
        for pod in release.pods(component)
        for container in pod["spec"]["containers"]
    ]
    millicores = sum(parse_millicores(each["cpu"]) for each in asked)
    memory_bytes = sum(parse_bytes(each["memory"]) for each in asked)
    FIGURES.note("chart.requests_cpu", f"{millicores / 1000} (at most 0.5)")
    FIGURES.note("chart.requests_memory_MiB", f"{memory_bytes / 2**20:.0f} (at most 600)")
    assert len(asked) == 3
    assert millicores <= MOST_MILLICORES
    assert memory_bytes <= MOST_BYTES


def test_its_namespace_enforces_restricted_and_the_agents_alone_does_not(release: Release) -> None:
    def enforced(namespace: str) -> str:
        return str(release.cluster.get("namespace", namespace)["metadata"]["labels"][RESTRICTED])

    def where(component: str) -> set[str]:
        return {pod["metadata"]["namespace"] for pod in release.pods(component)}

    assert (enforced(NAME), enforced(AGENTS)) == ("restricted", "privileged")
    assert where("admission") == where("controller") == {NAME}
    assert where("agent") == {AGENTS}


def test_the_agent_can_write_nothing_of_the_node(release: Release) -> None:
    script = "import os; print([f'{d}/{n}' for d, _, s in os.walk('/host/cgroup')"
    script += " for n in ('', *s) if os.access(f'{d}/{n}', os.W_OK)])"
    command = ["exec", "-n", AGENTS, f"daemonset/{NAME}-agent", "--", "python", "-c", script]
    assert release.cluster.kubectl(*command).strip() == "[]"


def test_helm_test_passes(release: Release) -> None:
    said = release.helm.do("test", NAME, "-n", NAME, "--logs")
    assert "admission admits" in said
    assert "Phase:          Succeeded" in said


def test_a_labelled_pod_is_decided_measured_and_learned_from(release: Release) -> None:
    pod = a_pod("learned", "eat 20 2", task="learned")
    release.cluster.apply(pod, "-n", SHOP)
    created = release.cluster.get("pod", "learned", "-n", SHOP)
    assert json.loads(created["metadata"]["annotations"][labels.DECISION])["task"].endswith(
        "learned"
    )

    def observed() -> bool:
        # A profile is created first, and has a status a moment later.
        profiles = json.loads(read_at(release.cluster, f"{OURS}/taskprofiles"))["items"]
        learned = [each for each in profiles if each["metadata"]["name"] == "learned"]
        return any(each.get("status", {}).get("observations") == 1 for each in learned)

    until("the run is learned from", observed)


CONTROLLER = f"system:serviceaccount:{NAME}:{NAME}-controller"
IN_OWN, IN_AGENTS = {"namespace": NAME}, {"namespace": AGENTS}
WEBHOOKS = "mutatingwebhookconfigurations.admissionregistration.k8s.io"
MAY = {
    "patch pods": {},
    "patch pods/resize": {},
    "create events.events.k8s.io": {},
    "patch taskprofiles.plimsoll.dev/status": {},
    "list profilingcampaigns.plimsoll.dev": {},
    "patch profilingcampaigns.plimsoll.dev/status": {},
    "get secrets": IN_OWN | {"name": f"{NAME}-feed-token"},
    "update secrets": IN_AGENTS | {"name": f"{NAME}-peaks-token"},
    f"patch {WEBHOOKS}": {"name": NAME},
    "patch leases.coordination.k8s.io": IN_OWN | {"name": f"{NAME}-controller"},
}
MAY_NOT = {
    "get secrets": {},
    "update secrets": IN_OWN | {"name": "another"},
    "list secrets": IN_OWN,
    f"patch {WEBHOOKS}": {"name": "another"},
    f"delete {WEBHOOKS}": {"name": NAME},
    "patch sizingpolicies.plimsoll.dev": {},
    "patch taskprofiles.plimsoll.dev": {},
    "create pods/exec": {},
    "create jobs.batch": {},
    "get configmaps": {},
    "patch nodes": {},
    "update deployments.apps": IN_OWN,
    "create clusterrolebindings.rbac.authorization.k8s.io": {},
}


def _may(cluster: Cluster, account: str, words: str, where: Mapping[str, str]) -> bool:
    """Ask the API server. words: verb and resource.group/subresource."""
    verb, _, what = words.partition(" ")
    what, _, subresource = what.partition("/")
    resource, _, group = what.partition(".")
    asked = {"verb": verb, "group": group, "resource": resource, "subresource": subresource}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": account, "resourceAttributes": {**asked, **where}},
    }
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    return bool(answer_to(cluster, "POST", path, review)["status"]["allowed"])


@pytest.mark.parametrize("words", MAY)
def test_the_controller_may(release: Release, words: str) -> None:
    assert _may(release.cluster, CONTROLLER, words, MAY[words])


@pytest.mark.parametrize("words", MAY_NOT)
def test_the_controller_may_not(release: Release, words: str) -> None:
    assert not _may(release.cluster, CONTROLLER, words, MAY_NOT[words])


@pytest.mark.parametrize("account", [f"{NAME}:{NAME}-admission", f"{AGENTS}:{NAME}-agent"])
def test_admission_and_the_agent_may_nothing(release: Release, account: str) -> None:
    user = f"system:serviceaccount:{account}"
    assert [words for words in MAY if _may(release.cluster, user, words, MAY[words])] == []


def test_an_upgrade_rolls_the_pods_and_keeps_the_authority_trusted(
    release: Release, creations: Creations
) -> None:
    authority = release.authority()
    assert authority
    before = {pod["metadata"]["uid"] for pod in release.pods("admission")}
    undecided = len(creations.undecided)
    with creations.often():
        release.upgrade("--set", "admission.drainSeconds=6", "--set", "webhook.timeoutSeconds=4")
    after = release.pods("admission")
    assert not before & {pod["metadata"]["uid"] for pod in after}
    assert release.authority() == authority
    assert creations.refused == []
    assert len(creations.undecided) == undecided


def test_a_definition_of_an_older_version_is_brought_up_to_date(
    release: Release, tmp_path: Path
) -> None:
    kind = "customresourcedefinition"
    name = "sizingpolicies.plimsoll.dev"
    path = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/maxLifts"
    patch = json.dumps([{"op": "remove", "path": path}])
    release.cluster.kubectl("patch", kind, name, "--type=json", f"--patch={patch}")
    policy = {
        "apiVersion": "plimsoll.dev/v1alpha1",
        "kind": "SizingPolicy",
        "metadata": {"name": "default", "namespace": SHOP},
        "spec": {"maxLifts": 2},
    }

    def kept() -> bool:
        release.cluster.apply(policy, "--validate=ignore")
        made = json.loads(read_at(release.cluster, f"{OURS}/sizingpolicies/default"))
        return "maxLifts" in made["spec"]

    until("the older definition drops the field", lambda: not kept() or None)
    release.upgrade("--set", "admission.drainSeconds=5")
    until("the new definition keeps the field", kept)


def test_the_certificate_is_renewed_and_no_pod_goes_undecided(
    release: Release, creations: Creations, first_certificate: str
) -> None:
    service = release.cluster.get("service", f"{NAME}-admission", "-n", NAME)
    address = str(service["spec"]["clusterIP"])

    def served() -> bool:
        try:
            shown = _shown_certificate(address)
        except OSError:
            return False  # a slow TLS handshake is no answer
        return shown.strip() not in b64decode(first_certificate).decode()

    # A late admission is not the subject here. No upgrade follows, which would fail on this change.
    wait_for_admission(release.cluster)
    undecided = len(creations.undecided)
    # It is back-dated, so its end tells when it is due.
    first = x509.load_pem_x509_certificate(b64decode(first_certificate))
    due_s = first.not_valid_after_utc.timestamp() - (1 - RENEWED_AT) * LIFETIME_S
    until("it is due soon", lambda: time.time() > due_s - 5, within_s=LIFETIME_S)
    with creations.often():
        until("another certificate is served", served, within_s=240.0)
        decided = creations.decided
        until("pods are decided on", lambda: creations.decided > decided + 20)
    FIGURES.note("chart.pods_created_meanwhile", str(creations.decided))
    FIGURES.note("chart.slowest_creation_s", f"{creations.slowest_s:.2f}")
    assert creations.refused == []
    assert len(creations.undecided) == undecided


def _shown_certificate(address: str) -> str:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with (
        socket.create_connection((address, 443), timeout=5) as plain,
        context.wrap_socket(plain) as secure,
    ):
        found = secure.getpeercert(binary_form=True)
    assert found is not None
    return ssl.DER_cert_to_PEM_cert(found)


def test_nothing_restarted(release: Release) -> None:
    restarts = {
        pod["metadata"]["name"]: [
            each["restartCount"] for each in pod["status"]["containerStatuses"]
        ]
        for component in ("admission", "controller", "agent")
        for pod in release.pods(component)
    }
    assert all(counts == [0] for counts in restarts.values()), restarts


def test_the_controller_was_refused_nothing_it_asked_for(release: Release) -> None:
    said = release.cluster.kubectl("logs", "-n", NAME, f"deployment/{NAME}-controller")
    assert "controller started" in said
    # As a whole number: a timestamp may contain these digits, too.
    refused = re.compile(r"\b403\b|forbidden", re.IGNORECASE)
    refusals = [line for line in said.splitlines() if refused.search(line)]
    assert refusals == []


def test_the_notes_say_what_comes_next(release: Release) -> None:
    assert "kubectl get taskprofiles -A" in release.notes
    assert f"svc/{NAME}-page 8082" in release.notes
    assert "in mode enforce" in release.notes
    assert yaml.safe_load((CHART / "Chart.yaml").read_text())["appVersion"] in release.notes
