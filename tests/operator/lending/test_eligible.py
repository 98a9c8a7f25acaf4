"""Which running pods may lend."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from plimsoll_operator.attempts.watched_pod import WatchedPod, read_pod
from plimsoll_operator.lending.eligible import (
    is_granted,
    is_known,
    is_running,
    why_not_by_pod,
    why_not_held,
)
from plimsoll_operator.names.labels import CRITICAL, MODE
from plimsoll_operator.pods.queue_managers import MANAGED
from plimsoll_operator.sizing.bounds.namespaces import UNBOUNDED, read_namespace
from plimsoll_predictor.core.policy import Lending, Mode, Policy
from plimsoll_predictor.core.units import GIB
from plimsoll_predictor.knowledge.knowledge import Knowledge
from tests.builders.controller.ledgers import TRAIN, decided
from tests.builders.pods import RUNNING, APod, a_pod

POLICY = Policy(mode=Mode.ENFORCE, lending=Lending.AUTO)
RUNS = (
    a_pod()
    .named("train-1")
    .asking("4Gi")
    .limited("4Gi")
    .with_spec(nodeName="node-1")
    .with_status(phase="Running", containerStatuses=[RUNNING])
)


def watched(pod: APod) -> WatchedPod:
    found = read_pod(pod.built(), lambda task: Knowledge(task=task, policy=POLICY))
    assert found is not None
    return found


def why(pod: APod) -> str | None:
    return why_not_by_pod(pod.built(), watched(pod))


def with_resize_policy(policy: str) -> APod:
    pod = RUNS.built()
    pod["spec"]["containers"][0]["resizePolicy"] = [
        {"resourceName": "memory", "restartPolicy": policy}
    ]
    return APod(pod)


def test_a_burstable_pod_that_runs_for_the_first_time_may_lend() -> None:
    assert is_running(watched(RUNS))
    assert why(RUNS) is None
    assert why(with_resize_policy("NotRequired")) is None


@pytest.mark.parametrize(
    ("pod", "words"),
    [
        pytest.param(RUNS.with_cpu("1", "1"), "Guaranteed", id="Guaranteed"),
        pytest.param(RUNS.asking(None).limited(None), "no memory request", id="BestEffort"),
        pytest.param(RUNS.limited(None), "no memory limit", id="no limit"),
        pytest.param(with_resize_policy("RestartContainer"), "restarts it", id="resizePolicy"),
        pytest.param(RUNS.with_spec(overhead={"memory": "1Mi"}), "sandbox", id="sandbox"),
        pytest.param(
            RUNS.with_status(containerStatuses=[{**RUNNING, "restartCount": 1}]),
            "restarted",
            id="restarted",
        ),
        pytest.param(decided(RUNS, attempt=2), "first attempt", id="a second attempt"),
        pytest.param(RUNS.with_labels({MANAGED: "true"}), "Kueue", id="Kueue counted it"),
        pytest.param(
            RUNS.with_status(conditions=[{"type": "PodResizePending", "reason": "Deferred"}]),
            "being resized",
            id="a resize under way",
        ),
    ],
)
def test_a_pod_may_not_lend(pod: APod, words: str) -> None:
    assert words in str(why(pod))


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(RUNS.with_status(phase="Pending"), id="pending"),
        pytest.param(RUNS.with_status(phase="Succeeded"), id="over"),
        pytest.param(
            RUNS.with_status(containerStatuses=[{**RUNNING, "state": {"waiting": {}}}]),
            id="its container waits",
        ),
    ],
)
def test_a_pod_whose_container_does_not_run_uses_nothing_to_speak_of(pod: APod) -> None:
    assert not is_running(watched(pod))


def held(pod: APod = RUNS, policy: Policy = POLICY, quota: dict[str, str] | None = None) -> Any:
    quotas = [] if quota is None else [{"spec": {"hard": quota}}]
    bounds = read_namespace([], quotas) if quotas else UNBOUNDED
    return why_not_held(pod.built(), watched(pod), policy, bounds)


def test_nobody_lends_without_a_word_of_the_policy() -> None:
    assert held() is None
    assert "never" in held(policy=Policy(mode=Mode.ENFORCE))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        pytest.param({"policy": replace(POLICY, mode=Mode.RECOMMEND)}, "enforce", id="recommend"),
        pytest.param({"policy": replace(POLICY, paused=True)}, "paused", id="paused"),
        pytest.param({"policy": replace(POLICY, critical=True)}, "critical", id="critical"),
        pytest.param({"pod": RUNS.annotated({MODE: "recommend"})}, "enforce", id="its own mode"),
        pytest.param({"pod": RUNS.annotated({CRITICAL: "true"})}, "critical", id="its own word"),
        pytest.param({"pod": decided(RUNS, mode=Mode.RECOMMEND)}, "enforce", id="was recommended"),
        pytest.param({"quota": {"requests.memory": "64Gi"}}, "ResourceQuota", id="a quota"),
        pytest.param({"quota": {"memory": "64Gi"}}, "ResourceQuota", id="a quota by its old name"),
    ],
)
def test_people_and_quotas_can_speak_against_it(changed: dict[str, Any], words: str) -> None:
    assert words in held(**changed)


def test_a_quota_on_something_else_does_not_count() -> None:
    assert held(quota={"limits.memory": "64Gi", "pods": "10"}) is None


def test_a_task_with_a_known_need_is_sized_and_lends_nothing() -> None:
    assert not is_known(Knowledge(task=TRAIN, policy=POLICY))
    assert is_known(Knowledge(task=TRAIN, policy=POLICY, runs=1))


def test_a_node_has_granted_what_the_status_shows() -> None:
    def granted(memory: str) -> bool:
        resources = {"requests": {"memory": memory}}
        pod = RUNS.with_status(containerStatuses=[{**RUNNING, "resources": resources}])
        return is_granted(pod.built(), "main", 4 * GIB)

    assert granted("4Gi")
    assert not granted("300Mi")
    assert not is_granted(RUNS.built(), "main", 4 * GIB)
