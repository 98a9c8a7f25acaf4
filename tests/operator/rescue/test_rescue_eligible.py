"""Which running pods may be rescued, and what their node answers."""

from __future__ import annotations

import pytest

from plimsoll_operator.attempts.watched_pod import read_pod
from plimsoll_operator.names.labels import LENT, MODE
from plimsoll_operator.pods.queue_managers import MANAGED
from plimsoll_operator.rescue.eligible import other_containers, why_not
from plimsoll_predictor.core.policy import Mode, Policy, Rescue
from plimsoll_predictor.knowledge.knowledge import Knowledge
from tests.builders.controller.ledgers import decided
from tests.builders.pods import RUNNING, APod, a_pod

POLICY = Policy(mode=Mode.ENFORCE, rescue=Rescue.AUTO)
RUNS = (
    a_pod()
    .named("train-1")
    .asking("1Gi")
    .limited("2Gi")
    .with_spec(nodeName="node-1")
    .with_status(phase="Running", containerStatuses=[RUNNING])
)


def why(pod: APod, policy: Policy = POLICY, *, paused: bool = False) -> str | None:
    watched = read_pod(pod.built(), lambda task: Knowledge(task=task, policy=policy))
    assert watched is not None
    return why_not(pod.built(), watched, policy, paused=paused)


def with_resize_policy(policy: str) -> APod:
    pod = RUNS.built()
    pod["spec"]["containers"][0]["resizePolicy"] = [
        {"resourceName": "memory", "restartPolicy": policy}
    ]
    return APod(pod)


def test_a_running_pod_may_be_rescued_if_its_policy_says_so() -> None:
    assert why(RUNS) is None
    assert why(with_resize_policy("NotRequired")) is None
    assert why(RUNS, Policy(mode=Mode.ENFORCE)) == "its policy's rescue is never"
    assert why(RUNS, paused=True) == "it is paused"


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(RUNS.limited(None), id="it has no limit"),
        pytest.param(RUNS.in_mode("recommend"), id="its own mode is recommend"),
        pytest.param(with_resize_policy("RestartContainer"), id="a resize would restart it"),
        pytest.param(RUNS.with_spec(overhead={"memory": "100Mi"}), id="it is in a sandbox"),
        pytest.param(RUNS.annotated({LENT: "{}"}), id="it lends"),
        pytest.param(RUNS.with_labels({MANAGED: "true"}), id="Kueue counted it"),
        pytest.param(
            RUNS.with_status(phase="Running", containerStatuses=[{**RUNNING, "restartCount": 1}]),
            id="it was killed and restarted: its pod keeps the old limit",
        ),
    ],
)
def test_a_pod_is_left_alone_if(pod: APod) -> None:
    assert why(pod) is not None


def test_a_pod_may_turn_off_what_its_policy_allows() -> None:
    assert why(RUNS.annotated({MODE: "off"})) is not None


def test_a_newer_policy_counts_and_its_decision_can_only_lower_it() -> None:
    watched = read_pod(RUNS.built(), lambda task: Knowledge(task=task, policy=POLICY))
    assert watched is not None
    off = Policy(mode=Mode.OFF, rescue=Rescue.AUTO)
    assert why_not(RUNS.built(), watched, off, paused=False) == "its mode is not enforce"
    recommended = decided(RUNS, mode=Mode.RECOMMEND)
    assert why(recommended) == "its mode is not enforce"


def test_the_containers_beside_the_sized_one_are_known_by_their_ids() -> None:
    pod = RUNS.with_status(
        containerStatuses=[RUNNING, {"name": "side", "containerID": "containerd://side"}],
        initContainerStatuses=[{"name": "main", "containerID": "containerd://init"}, "junk"],
    )
    assert other_containers(pod.built(), "main") == {"side", "init", ""}
