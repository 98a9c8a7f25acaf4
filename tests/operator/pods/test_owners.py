"""Pods whose owner Plimsoll does not know, and bare pods whose maker polls them."""

from __future__ import annotations

import pytest

from plimsoll_operator.names import labels
from plimsoll_operator.pods.identity import Retrier, RunIdentity, identify
from tests.builders.pods import JOB_UID, POD_UID, APod, a_pod

TORCH = a_pod().named("bert-worker-0").owned_by("PyTorchJob", "bert", version="kubeflow.org/v1")
NIGHTLY = {labels.RUN: "nightly", labels.ITEM: "all"}


def identified(pod: APod) -> RunIdentity:
    found = identify(pod.built())
    assert found is not None
    return found


def test_the_next_pod_of_an_unknown_owner_is_the_same_run_by_its_name() -> None:
    again = TORCH.named("bert-worker-0", uid="another")
    assert identified(TORCH).run == identified(again).run == f"owner:{JOB_UID}:bert-worker-0"
    assert identified(TORCH.named("bert-worker-1")).run != identified(TORCH).run
    at_admission = TORCH.named("bert-worker-0", uid=None)
    assert identified(at_admission).run == identified(TORCH).run


def with_prefix(pod: APod, prefix: str) -> APod:
    built = pod.built()
    built["metadata"]["generateName"] = prefix
    return APod(built)


def test_a_stateful_sets_ordinal_is_a_name_and_a_generated_one_is_none() -> None:
    owned = a_pod().owned_by("StatefulSet", "web", version="apps/v1")
    ordinal = with_prefix(owned.named("web-0"), "web-")
    assert identified(ordinal).run == f"owner:{JOB_UID}:web-0"
    ray = a_pod().owned_by("RayCluster", "ray", version="ray.io/v1")
    generated = with_prefix(ray.named("ray-worker-bcdfg"), "ray-worker-")
    assert identified(generated).run == f"pod:{POD_UID}"
    assert identified(ray.generated_from("ray-worker-")).run is None
    long = "x" * 63
    cut = with_prefix(ray.named(f"{long[:58]}bcdfg"), long)
    assert identified(cut).run == f"pod:{POD_UID}"


def test_a_name_that_looks_generated_is_not_the_next_pods() -> None:
    assert identified(TORCH.named("bert-x7k2p")).run == f"pod:{POD_UID}"


def test_a_run_without_item_does_not_fold_the_pods_of_an_unknown_owner_into_one() -> None:
    written = TORCH.annotated({labels.RUN: "wf-9"})
    assert identified(written).run == f"owner:{JOB_UID}:bert-worker-0"


@pytest.mark.parametrize(
    ("kind", "version", "retrier"),
    [
        pytest.param("Job", "batch/v1", Retrier.JOB, id="Kubernetes' Job"),
        pytest.param("Job", "batch.volcano.sh/v1alpha1", Retrier.OWNER, id="Volcano's Job"),
        pytest.param("StatefulSet", "apps/v1", Retrier.REMAKER, id="a StatefulSet"),
        pytest.param("PyTorchJob", "kubeflow.org/v1", Retrier.REMAKER, id="a PyTorchJob"),
        pytest.param("PyTorchJob", "example.org/v1", Retrier.OWNER, id="a namesake of it"),
        pytest.param("ReplicaSet", "apps/v1", Retrier.OWNER, id="a ReplicaSet"),
        pytest.param("RayCluster", "ray.io/v1", Retrier.OWNER, id="a RayCluster"),
    ],
)
def test_who_makes_the_next_pod_depends_on_kind_and_group(
    kind: str, version: str, retrier: Retrier
) -> None:
    found = identified(a_pod().named("x-0").owned_by(kind, "x", version=version))
    assert found.retrier is retrier
    assert (found.run == f"job:{JOB_UID}") is (retrier is Retrier.JOB)


def test_what_stands_in_a_cronjobs_template_does_not_make_all_nights_one_run() -> None:
    def of(job: str, uid: str) -> str | None:
        owned = a_pod().owned_by("Job", job, uid=uid, version="batch/v1")
        return identified(owned.annotated(NIGHTLY)).run

    assert of("report-29391234", "monday") == "run:nightly/all@monday"
    assert of("report-29392674", "tuesday") == "run:nightly/all@tuesday"
    assert of("call-na12878", "first") == of("call-na12878-again", "second") == "run:nightly/all"
    assert of("report-20261120", "x") == "run:nightly/all", "a date, not a CronJob's minute"


def test_the_indexes_of_a_job_are_runs_of_their_own_whatever_its_template_says() -> None:
    runs = {identified(a_pod().owned_by_job(index=i).annotated(NIGHTLY)).run for i in range(3)}
    assert runs == {f"run:nightly/all:{index}" for index in range(3)}


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(a_pod().labelled(dag_id="nightly"), id="Airflow, without its run"),
        pytest.param(a_pod().labelled(kubernetes_pod_operator="True"), id="Airflow's operator"),
        pytest.param(a_pod().labelled(airflow_version="3.3.2"), id="Airflow's version"),
        pytest.param(a_pod().annotated({"job.runner.gitlab.com/id": "3"}), id="GitLab"),
        pytest.param(a_pod().labelled(**{"job.runner.gitlab.com/pod": "r"}), id="GitLab's label"),
        pytest.param(
            a_pod().named("runner-lvpqhqhw-project-1-concurrent-0-oi5so634"), id="GitLab's name"
        ),
        pytest.param(a_pod().labelled(**{"jenkins/label": "agent"}), id="Jenkins"),
        pytest.param(a_pod().annotated({"buildUrl": "http://ci/1"}), id="Jenkins' build"),
        pytest.param(a_pod().labelled(component="singleuser-server"), id="JupyterHub"),
        pytest.param(a_pod().labelled(**{"hub.jupyter.org/username": "a"}), id="JupyterHub's user"),
        pytest.param(a_pod().labelled(**{"created-by-prow": "true"}), id="Prow"),
        pytest.param(a_pod().labelled(**{"dask.org/cluster-name": "d"}), id="Dask"),
        pytest.param(a_pod().labelled(**{"spark-role": "driver"}), id="Spark, without its app"),
    ],
)
def test_a_bare_pod_that_its_maker_polls_is_left_to_its_maker(pod: APod) -> None:
    assert identified(pod).retrier is Retrier.MAKER
    assert identified(pod.restarting("OnFailure")).retrier is Retrier.KUBELET


@pytest.mark.parametrize("kind", ["RayCluster", "Workflow", "ReplicaSet"])
def test_a_container_that_restarts_in_place_is_the_kubelets_unless_its_owner_replaces_the_pod(
    kind: str,
) -> None:
    owned = a_pod().named("x-0").restarting("OnFailure").owned_by(kind, "x", version="v1")
    assert identified(owned).retrier is Retrier.KUBELET
    assert identified(TORCH.restarting("Always")).retrier is Retrier.REMAKER
    assert identified(TORCH.named("bert-x7k2p")).retrier is Retrier.OWNER


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(a_pod().labelled(component="trainer"), id="another component"),
        pytest.param(a_pod().named("runner-of-project-1"), id="a name of people"),
        pytest.param(a_pod().annotated({"build": "http://ci/1"}), id="another annotation"),
    ],
)
def test_other_bare_pods_are_plimsolls_to_make_again(pod: APod) -> None:
    assert identified(pod).retrier is Retrier.PLIMSOLL


def test_a_label_that_anybody_may_write_does_not_make_a_bare_pod_an_engines() -> None:
    """Flyte's labels have plain names; a bare pod with one of them is still retried."""
    pod = a_pod().labelled(**{"execution-id": "7"})
    found = identify(pod.built())
    assert found is not None
    assert found.retrier is Retrier.PLIMSOLL
