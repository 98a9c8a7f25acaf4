"""Which pods are over before their phase says so."""

from __future__ import annotations

from typing import Any

import pytest

from plimsoll_operator.attempts.over import is_decided, is_over
from plimsoll_operator.pods.queue_managers import MANAGED
from tests.builders.pods import APod, a_pod

ENDED = {"state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}
WENT_WELL = {"state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}
RUNS: dict[str, Any] = {"state": {"running": {}}}


def of(pod: APod, phase: str = "Running", **states: dict[str, Any]) -> APod:
    """A pod whose containers are in these states; those of names with an i are init containers."""
    statuses = [{"name": name, **state} for name, state in states.items()]
    return pod.with_status(
        phase=phase,
        containerStatuses=[each for each in statuses if not each["name"].startswith("i")],
        initContainerStatuses=[each for each in statuses if each["name"].startswith("i")],
    )


NEVER = a_pod().restarting("Never")
PLACED = NEVER.with_spec(nodeName="node-1")
"""By a scheduler, as no writer of its node is noted."""


def pinned() -> APod:
    """A pod whose author names its node."""
    built = PLACED.built()
    built["metadata"]["managedFields"] = [{"fieldsV1": {"f:spec": {"f:nodeName": {}}}}]
    return APod(built)


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(of(NEVER, main=ENDED), id="its only container has ended"),
        pytest.param(of(NEVER.with_container("log"), main=ENDED, log=ENDED), id="all have"),
        pytest.param(of(NEVER.with_sidecar("i"), main=ENDED, i=ENDED), id="its sidecar, too"),
        pytest.param(of(NEVER, phase="Failed"), id="its phase says so"),
        pytest.param(of(NEVER.with_labels({MANAGED: "true"}), "Failed"), id="and Kueue's"),
        pytest.param(of(PLACED, main=ENDED), id="a scheduler chose its node"),
        pytest.param(of(pinned(), "Failed", main=ENDED), id="its author did, and its phase says"),
        pytest.param(of(a_pod().restarting("Always"), "Succeeded"), id="whatever its policy"),
    ],
)
def test_over_is_a_pod_of_which_nothing_runs(pod: APod) -> None:
    assert is_over(pod.built())


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(of(NEVER, main=RUNS), id="its container runs"),
        pytest.param(of(NEVER), id="nothing is known of it"),
        pytest.param(of(NEVER.with_container("log"), main=ENDED, log=RUNS), id="another runs"),
        pytest.param(of(NEVER.with_container("log"), main=ENDED), id="another may start"),
        pytest.param(of(NEVER.with_sidecar("i"), main=ENDED, i=RUNS), id="its sidecar runs"),
        pytest.param(of(a_pod().restarting("OnFailure"), main=ENDED), id="it is restarted"),
        pytest.param(of(NEVER.with_labels({MANAGED: "true"}), main=ENDED), id="Kueue counts it"),
        pytest.param(of(pinned(), main=ENDED), id="its author's node counts it"),
        pytest.param(
            of(NEVER.with_container("log", restartPolicy="Always"), main=ENDED, log=ENDED),
            id="a container of it is",
        ),
    ],
)
def test_not_over_is_one_of_which_something_runs_or_may(pod: APod) -> None:
    assert not is_over(pod.built())


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(of(NEVER, main=ENDED), id="its only container failed"),
        pytest.param(of(NEVER.with_container("log"), main=WENT_WELL, log=ENDED), id="one failed"),
        pytest.param(of(NEVER, "Succeeded", main=WENT_WELL), id="its phase says that it succeeded"),
        pytest.param(of(NEVER, "Failed", main=WENT_WELL), id="its phase says that it failed"),
    ],
)
def test_decided_is_a_pod_whose_result_is_known(pod: APod) -> None:
    assert is_decided(pod.built())


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(of(NEVER, main=WENT_WELL), id="it went well, and its phase follows"),
        pytest.param(
            of(NEVER.with_sidecar("i"), main=WENT_WELL, i=ENDED), id="a sidecar was killed"
        ),
        pytest.param(of(NEVER.with_container("log"), main=ENDED, log=RUNS), id="another runs"),
        pytest.param(of(NEVER, main=RUNS), id="its container runs"),
    ],
)
def test_undecided_is_one_that_runs_or_went_well_so_far(pod: APod) -> None:
    assert not is_decided(pod.built())
