"""Events as the real API server accepts and shows them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from plimsoll_operator.profile.event_manifests import event_for
from plimsoll_operator.wording import event_words
from plimsoll_operator.wording.event_words import Happening, Regarding
from plimsoll_predictor.core.units import GIB, MIB
from tests.apiserver.crds import a_namespace, answer
from tests.builders.reports import START_S
from tests.conftest import Cluster

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def namespace(cluster: Cluster) -> Iterator[str]:
    with a_namespace(cluster) as name:
        yield name


@pytest.mark.parametrize(
    "happening",
    [
        pytest.param(event_words.sized(512 * MIB, 4 * GIB, "bin 1 of 3"), id="sized"),
        pytest.param(event_words.lifted(512 * MIB, GIB, 2), id="lifted"),
        pytest.param(event_words.retried("train-2", 2, GIB), id="retried"),
        pytest.param(event_words.leaking("lifted 3 times", "job:9"), id="leaking"),
        pytest.param(event_words.sized(GIB, GIB, "·" * 5000), id="longer than any event may be"),
    ],
)
def test_an_event_is_accepted_once_and_never_doubled(
    happening: Happening, cluster: Cluster, namespace: str
) -> None:
    pod = Regarding(kind="Pod", namespace=namespace, name="train-1", uid="u-1")
    event = event_for(happening, pod, at_s=START_S, instance="controller-0")
    again = event_for(happening, pod, at_s=START_S + 5, instance="controller-1")
    assert "created" in answer(cluster, event, "create")
    assert "AlreadyExists" in answer(cluster, again, "create")


def test_kubectl_shows_an_event_on_its_pod(cluster: Cluster, namespace: str) -> None:
    pod = Regarding(kind="Pod", namespace=namespace, name="shown", uid="u-2")
    happening = event_words.lifted(512 * MIB, GIB, 2)
    answer(cluster, event_for(happening, pod, at_s=START_S, instance="c"), "create")
    text = cluster.kubectl("get", "events", "-n", namespace, "--field-selector", "reason=Lifted")
    [row] = [line for line in text.splitlines() if "pod/shown" in line]
    assert "Warning" in row
    assert "attempt 2 of this run gets 1Gi" in row
