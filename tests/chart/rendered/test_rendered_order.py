"""The chart's option for pods that wait: few rights, by default none, and a hook at the end."""

from __future__ import annotations

from pathlib import Path

import pytest
from deploy.chart.rendering import NAME

from plimsoll_operator.admission.settings import AdmissionSettings
from plimsoll_operator.names.labels import ORDER_GATE, WAITS
from plimsoll_operator.ordering.leader_sight import LEADS_S
from tests.chart.helm import Document, Helm, documents_in, named, pod_specs
from tests.chart.rendered.empty_clusters import Objects, a_cluster_with

ADMISSION, RELEASE = f"{NAME}-admission", f"{NAME}-release"
WHO_WAITS = (
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "patch"]},
    {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["list", "patch"]},
)
OF_THE_ORDER: Objects = {"ClusterRole": [{"metadata": {"name": ADMISSION}}]}
A_FAILED_HOOK: Objects = {"Job": [{"metadata": {"name": RELEASE, "namespace": NAME}}]}
SWITCHED_OFF = "post-upgrade,post-rollback"


@pytest.fixture(scope="module")
def ordered(helm: Helm) -> list[Document]:
    return helm.render({"order": {"enabled": True}, "networkPolicies": {"enabled": True}})


def rules(documents: list[Document], kind: str, name: str) -> list[Document]:
    found: list[Document] = named(documents, kind, name)["rules"]
    return found


def test_without_it_admission_has_neither_rights_nor_a_token(helm: Helm) -> None:
    documents = helm.render({})
    assert pod_specs(documents)[ADMISSION]["automountServiceAccountToken"] is False
    roles = [each for each in documents if each["kind"] in ("ClusterRole", "Role")]
    assert ADMISSION not in [each["metadata"]["name"] for each in roles]


def test_with_it_admission_lists_and_patches_who_waits_and_reads_one_lease(
    ordered: list[Document],
) -> None:
    assert rules(ordered, "ClusterRole", ADMISSION) == [*WHO_WAITS]
    assert rules(ordered, "Role", ADMISSION) == [
        {
            "apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"],
            "resourceNames": [f"{NAME}-controller"],
            "verbs": ["get"],
        }
    ]
    spec = pod_specs(ordered)[ADMISSION]
    assert spec["automountServiceAccountToken"] is True
    told = {each["name"]: each.get("value") for each in spec["containers"][0]["env"]}
    assert told["PLIMSOLL_LEASE"] == f"{NAME}-controller"
    assert "PLIMSOLL_NAMESPACE" in told
    assert {"lease", "namespace"} <= AdmissionSettings.model_fields.keys()


@pytest.mark.parametrize(("name", "mark"), [(ADMISSION, ORDER_GATE), (f"{ADMISSION}-jobs", WAITS)])
def test_only_admission_is_bound_to_the_one_patch(
    ordered: list[Document], name: str, mark: str
) -> None:
    spec = named(ordered, "ValidatingAdmissionPolicy", name)["spec"]
    (condition,) = spec["matchConditions"]
    assert condition["expression"] == (
        f"request.userInfo.username == 'system:serviceaccount:{NAME}:{ADMISSION}'"
    )
    assert mark in spec["validations"][0]["expression"]
    binding = named(ordered, "ValidatingAdmissionPolicyBinding", name)["spec"]
    assert binding == {"policyName": name, "validationActions": ["Deny"]}


def test_only_with_it_the_controller_may_resume_jobs(helm: Helm, ordered: list[Document]) -> None:
    jobs = {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get", "list", "patch"]}
    assert jobs in rules(ordered, "ClusterRole", f"{NAME}-controller")
    assert jobs not in rules(helm.render({}), "ClusterRole", f"{NAME}-controller")


def test_with_it_admission_reaches_the_api_server(ordered: list[Document]) -> None:
    egress = named(ordered, "NetworkPolicy", ADMISSION)["spec"]["egress"]
    assert [[port["port"] for port in rule["ports"]] for rule in egress] == [[8081], [443, 6443]]


def test_before_it_is_deleted_all_are_let_go(ordered: list[Document]) -> None:
    job = named(ordered, "Job", RELEASE)
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-delete"
    spec = job["spec"]["template"]["spec"]
    assert spec["serviceAccountName"] == RELEASE
    assert spec["containers"][0]["args"] == ["release", "--without-webhook", NAME]
    assert rules(ordered, "ClusterRole", RELEASE) == [
        *WHO_WAITS,
        {
            "apiGroups": ["admissionregistration.k8s.io"],
            "resources": ["mutatingwebhookconfigurations"],
            "resourceNames": [NAME],
            "verbs": ["get", "delete"],
        },
    ]
    for kind, name in (("ServiceAccount", RELEASE), ("ClusterRoleBinding", RELEASE)):
        annotations = named(ordered, kind, name)["metadata"]["annotations"]
        assert (annotations["helm.sh/hook"], annotations["helm.sh/hook-weight"]) == (
            "pre-delete",
            "-1",
        )


@pytest.mark.parametrize("enabled", [True, False])
def test_a_chart_that_kubectl_applies_lets_go_nobody_and_deletes_no_webhook(
    helm: Helm, *, enabled: bool
) -> None:
    """kubectl does not know hooks: it would run the Job of ``helm uninstall`` at once."""
    values = {"order": {"enabled": enabled}}
    documents = helm.render_for_kubectl(values)
    assert named(documents, "MutatingWebhookConfiguration", NAME)
    assert RELEASE not in str(documents)
    assert [each for each in documents if each["kind"] == "Job"] == []
    installed = helm.render(values, kinds=True)
    only_installed = [each for each in installed if each not in documents]
    assert [each["metadata"]["name"] for each in only_installed] == [RELEASE] * 4


@pytest.mark.parametrize(
    ("there", "way", "hooks"),
    [
        pytest.param(OF_THE_ORDER, ["--is-upgrade"], SWITCHED_OFF, id="switched off"),
        pytest.param(A_FAILED_HOOK, ["--is-upgrade"], SWITCHED_OFF, id="and tried again"),
        pytest.param({}, ["--is-upgrade"], "post-rollback", id="it never was on"),
        pytest.param(OF_THE_ORDER, [], "post-rollback", id="another installation of that name"),
    ],
)
def test_without_it_all_are_let_go_where_it_was_on_before(
    helm: Helm, tmp_path: Path, there: Objects, *, way: list[str], hooks: str
) -> None:
    """A rollback runs only hooks of the revision that it goes back to, so each needs the hook."""
    with a_cluster_with(tmp_path, there) as kubeconfig:
        done = helm.against(kubeconfig, {"persistence": {"enabled": False}}, *way)
    assert done.returncode == 0, done.stderr
    of_release = [each for each in documents_in(done.stdout) if each["metadata"]["name"] == RELEASE]
    assert [each["metadata"]["annotations"]["helm.sh/hook"] for each in of_release] == [hooks] * 4
    assert rules(of_release, "ClusterRole", RELEASE) == list(WHO_WAITS), "no webhook goes"
    spec = pod_specs(of_release)[RELEASE]
    assert (spec["serviceAccountName"], spec["automountServiceAccountToken"]) == (RELEASE, True)
    command, option, seconds = spec["containers"][0]["args"]
    assert (command, option) == ("release", "--quiet-for")
    assert float(seconds) > LEADS_S, "for so long, replicas from before may suspend Jobs"


def test_an_upgrade_that_leaves_it_on_lets_go_nobody(helm: Helm, tmp_path: Path) -> None:
    values = {"order": {"enabled": True}, "persistence": {"enabled": False}}
    with a_cluster_with(tmp_path, OF_THE_ORDER) as kubeconfig:
        done = helm.against(kubeconfig, values, "--is-upgrade")
    assert done.returncode == 0, done.stderr
    job = named(documents_in(done.stdout), "Job", RELEASE)
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-delete"


@pytest.mark.parametrize("enabled", [True, False])
def test_who_lets_go_has_rights_and_an_account_before_it_starts(
    helm: Helm, *, enabled: bool
) -> None:
    documents = helm.render({"order": {"enabled": enabled}})
    of_release = [each for each in documents if each["metadata"]["name"] == RELEASE]
    weights = {
        each["kind"]: int(each["metadata"]["annotations"]["helm.sh/hook-weight"])
        for each in of_release
    }
    assert weights.pop("Job") > max(weights.values())
    assert set(weights) == {"ServiceAccount", "ClusterRole", "ClusterRoleBinding"}
    policies = {
        each["metadata"]["annotations"]["helm.sh/hook-delete-policy"] for each in of_release
    }
    # Remains of a failed hook must not block the next one.
    assert policies == {"before-hook-creation,hook-succeeded"}
