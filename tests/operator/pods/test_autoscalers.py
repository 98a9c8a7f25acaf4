"""VerticalPodAutoscalers, read and matched with pods."""

from __future__ import annotations

from typing import Any

import pytest

from plimsoll_operator.pods.autoscalers import (
    CPU,
    MEMORY,
    Autoscaler,
    Autoscalers,
    autoscaler_of,
    by_target,
    read_autoscaler,
    updates_on,
)
from tests.builders.kubernetes.autoscalers import a_vpa, updated
from tests.builders.pods import APod, a_pod


def of(*documents: dict[str, Any]) -> Autoscalers:
    return by_target([each for each in map(read_autoscaler, documents) if each is not None])


def read(document: dict[str, Any]) -> Autoscaler:
    found = read_autoscaler(document)
    assert found is not None
    return found


@pytest.mark.parametrize(
    "mode", [None, "Auto", "Initial", "Recreate", "InPlaceOrRecreate", "InPlace", "yet to come"]
)
def test_it_changes_pods_unless_its_mode_is_off(mode: str | None) -> None:
    assert read(a_vpa(mode=mode)).sets(MEMORY, "main")
    assert read_autoscaler(a_vpa(mode="Off")) is None


def a_policy(name: str, **fields: Any) -> dict[str, Any]:
    return {"containerName": name, **fields}


@pytest.mark.parametrize(
    ("containers", "memory", "cpu"),
    [
        pytest.param(None, True, True, id="no policy: both"),
        pytest.param([a_policy("*", minAllowed={"cpu": "1"})], True, True, id="one without words"),
        pytest.param([a_policy("side", mode="Off")], True, True, id="another container is off"),
        pytest.param([a_policy("main", mode="Off")], False, False, id="this container is off"),
        pytest.param(
            [a_policy("*", mode="Off"), a_policy("main")], True, True, id="all others are off"
        ),
        pytest.param(
            [a_policy("main", controlledResources=["cpu"])], False, True, id="only its CPU"
        ),
        pytest.param(
            [a_policy("*", controlledResources=["memory"])], True, False, id="only memory"
        ),
    ],
)
def test_it_sets_what_its_policy_for_the_container_says(
    containers: list[dict[str, Any]] | None, memory: bool, cpu: bool
) -> None:
    found = read(a_vpa(containers=containers))
    assert (found.sets(MEMORY, "main"), found.sets(CPU, "main")) == (memory, cpu)
    assert Autoscaler.from_document(found.to_document()) == found


def test_one_whose_containers_are_all_off_changes_nothing() -> None:
    assert read_autoscaler(a_vpa(containers=[a_policy("*", mode="Off")])) is None


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(None, id="no spec"),
        pytest.param({"targetRef": {"kind": "CronJob"}}, id="no name of a target"),
        pytest.param({"targetRef": {"kind": "CronJob", "name": "x" * 254}}, id="too long"),
        pytest.param({"targetRef": {"kind": 3, "name": "report"}}, id="a number for a kind"),
        pytest.param({"targetRef": ["CronJob", "report"]}, id="a list for a target"),
    ],
)
def test_one_without_a_target_is_not_read(spec: object) -> None:
    assert read_autoscaler({**a_vpa(), "spec": spec}) is None


@pytest.mark.parametrize("policies", ["x", [3], [{"containerName": 3}], [{"mode": "Off"}]])
def test_policies_that_make_no_sense_count_as_absent(policies: Any) -> None:
    assert read(a_vpa(containers=policies)).controls == {}


REPLICA = a_pod().owned_by("ReplicaSet", "web-5d6b48d64f", version="apps/v1")


@pytest.mark.parametrize(
    ("pod", "document"),
    [
        pytest.param(a_pod().owned_by_job("load"), a_vpa("Job", "load"), id="its Job"),
        pytest.param(a_pod().owned_by_job("report-29391234"), a_vpa(), id="the CronJob of its Job"),
        pytest.param(
            a_pod().owned_by("PyTorchJob", "bert", version="kubeflow.org/v1"),
            a_vpa("PyTorchJob", "bert", version="kubeflow.org/v1"),
            id="an owner of another kind",
        ),
        pytest.param(
            REPLICA.with_labels({"pod-template-hash": "5d6b48d64f"}),
            a_vpa("Deployment", "web", version="apps/v1"),
            id="the Deployment of its ReplicaSet",
        ),
    ],
)
def test_it_is_found_by_who_made_the_pod(pod: APod, document: dict[str, Any]) -> None:
    assert autoscaler_of(pod.built(), of(document)) == read(document)


@pytest.mark.parametrize(
    ("pod", "document"),
    [
        pytest.param(a_pod(), a_vpa("Pod", "train-1"), id="a bare pod"),
        pytest.param(a_pod().owned_by_job("load"), a_vpa("Job", "other"), id="another Job"),
        pytest.param(a_pod().owned_by_job("load"), a_vpa("CronJob", "load"), id="another kind"),
        pytest.param(
            a_pod().owned_by_job("report-20261120"), a_vpa(), id="a date is no CronJob's minute"
        ),
        pytest.param(REPLICA, a_vpa("Deployment", "web"), id="a ReplicaSet without a hash"),
        pytest.param(
            a_pod().owned_by("Job", "load", version="batch.volcano.sh/v1alpha1"),
            a_vpa("CronJob", "load"),
            id="a Job of Volcano has no CronJob",
        ),
        pytest.param(
            a_pod().owned_by("CronJob", "report", controls=False), a_vpa(), id="no controller"
        ),
    ],
)
def test_it_is_not_found_for_other_pods(pod: APod, document: dict[str, Any]) -> None:
    assert autoscaler_of(pod.built(), of(document)) is None


def test_of_two_for_one_target_the_first_counts() -> None:
    pod = a_pod().owned_by_job("report-29391234").built()
    found = autoscaler_of(pod, of(a_vpa(name="a"), a_vpa(name="b")))
    assert found is not None
    assert found.name == "a"


def test_what_it_did_is_read_from_the_pod() -> None:
    pod = updated(a_pod().received(), "3Gi").with_container("side")
    updates = updates_on(pod.built())
    assert updates is not None
    assert updates.name == "report-vpa"
    assert updates.sets(MEMORY, 0)
    assert updates.sets(CPU, 0)
    assert not updates.sets(MEMORY, 1)


def test_memory_of_another_container_does_not_count() -> None:
    said = "Pod resources updated by v: container 0: cpu request; container 10: memory request"
    updates = updates_on(a_pod().annotated({"vpaUpdates": said}).built())
    assert updates is not None
    assert [updates.sets(MEMORY, index) for index in (0, 1, 10)] == [False, False, True]


@pytest.mark.parametrize(
    "said",
    [
        pytest.param("", id="empty"),
        pytest.param(7, id="a number"),
        pytest.param("updated", id="other words"),
        pytest.param("Pod resources updated by : container 0: memory request", id="nobody"),
        pytest.param("Pod resources updated by v: " + "x" * 5000, id="too long"),
    ],
)
def test_what_no_autoscaler_would_write_does_not_count(said: Any) -> None:
    assert updates_on(a_pod().annotated({"vpaUpdates": said}).built()) is None


def test_what_the_author_copied_does_not_count() -> None:
    assert updates_on(updated(a_pod(), "3Gi").received().built()) is None
