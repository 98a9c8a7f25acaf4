"""Pods that Kueue counts one by one, and those of Jobs, which it counts by their template."""

from __future__ import annotations

import pytest

from plimsoll_operator.pods.queue_managers import MANAGED, is_counted_by_kueue
from tests.builders.pods import APod, a_pod

# From a real Kueue 0.15.2: a pod that its webhook let in, and one of a Deployment that it stops.
QUEUED = a_pod().with_labels({"kueue.x-k8s.io/queue-name": "shop", MANAGED: "true"})


def with_finalizers(*names: str) -> APod:
    pod = a_pod().built()
    pod["metadata"]["finalizers"] = list(names)
    return APod(pod)


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(QUEUED, id="its label"),
        pytest.param(with_finalizers("example.com/mine", MANAGED), id="its finalizer"),
        pytest.param(
            a_pod().with_spec(schedulingGates=[{"name": "kueue.x-k8s.io/admission"}]),
            id="its gate",
        ),
    ],
)
def test_a_pod_that_kueue_admits_by_itself_is_counted_by_kueue(pod: APod) -> None:
    assert is_counted_by_kueue(pod.built())


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(a_pod(), id="nobody's"),
        pytest.param(a_pod().with_labels({"kueue.x-k8s.io/podset": "main"}), id="a Job's"),
        pytest.param(
            a_pod().with_labels({"kueue.x-k8s.io/queue-name": "shop"}),
            id="a queue's label, where Kueue looks after Jobs only",
        ),
        pytest.param(a_pod().with_spec(schedulingGates=[{"name": "example.com/g"}]), id="a gate"),
        pytest.param(a_pod().with_spec(schedulingGates="kueue.x-k8s.io/"), id="no list of gates"),
        pytest.param(with_finalizers("batch.kubernetes.io/job-tracking"), id="a finalizer"),
    ],
)
def test_others_are_not(pod: APod) -> None:
    assert not is_counted_by_kueue(pod.built())
