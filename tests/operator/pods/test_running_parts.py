"""What is held of a running pod, and how much memory that takes."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest

from plimsoll_operator.names.labels import DECISION
from plimsoll_operator.pods.other_namespaces import reaches_other_namespaces
from plimsoll_operator.pods.resizes import failed_resize, granted_memory
from plimsoll_operator.pods.running_parts import held_bytes, running_parts
from plimsoll_operator.pods.spec import SizedContainer as Sized
from plimsoll_operator.pods.spec import other_memory_bytes, overhead_of, qos_of, sized_container
from plimsoll_predictor.core.units import MIB
from tests.builders.controller.ledgers import decided
from tests.builders.pods import RUNNING, APod, a_pod

FULL = (
    decided(a_pod().named("train-1", "uid-train-1").asking("1Gi").limited("2Gi"))
    .with_container("side", resources={"requests": {"memory": "64Mi"}})
    .with_sidecar("proxy", resources={"limits": {"memory": "32Mi"}})
    .owned_by_job()
    .with_spec(nodeName="node-1", overhead={"memory": "1Mi"}, priorityClassName="high")
    .with_status(
        phase="Running",
        containerStatuses=[{**RUNNING, "resources": {"limits": {"memory": "1Gi"}}}],
        conditions=[
            {
                "type": "PodResizeInProgress",
                "status": "True",
                "reason": "Error",
                "message": "no room",
            }
        ],
    )
)


def test_what_is_read_of_a_running_pod_is_the_same_in_its_parts() -> None:
    pod, parts = FULL.built(), running_parts(FULL.built())
    container = sized_container(pod)
    assert isinstance(container, Sized)
    assert sized_container(parts) == container
    assert other_memory_bytes(parts, container) == other_memory_bytes(pod, container)
    assert (qos_of(parts), overhead_of(parts)) == (qos_of(pod), overhead_of(pod))
    assert granted_memory(parts, "main", "limits") == 1024 * MIB
    assert failed_resize(parts) == "no room"
    assert parts["spec"]["priorityClassName"] == "high"
    assert parts["metadata"]["annotations"][DECISION] == pod["metadata"]["annotations"][DECISION]
    assert parts["metadata"]["ownerReferences"] == pod["metadata"]["ownerReferences"]


LARGE = "x" * MIB


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(FULL.annotated({"junk": LARGE}), id="an annotation"),
        pytest.param(FULL.running_with(*[LARGE[:1000]] * 1000), id="arguments"),
        pytest.param(
            FULL.with_environment({f"V{i}": "x" * 100 for i in range(9000)}), id="variables"
        ),
        pytest.param(
            FULL.with_spec(volumes=[{"name": f"v{i}"} for i in range(9000)]), id="volumes"
        ),
        pytest.param(
            FULL.with_spec(tolerations=[{"key": f"k{i}"} for i in range(9000)]), id="tolerations"
        ),
    ],
)
def test_a_pod_of_a_megabyte_is_held_in_a_few_kilobytes(pod: APod) -> None:
    assert held_bytes(running_parts(pod.built())) < 24 * 1024


def test_what_cannot_be_left_out_is_counted() -> None:
    pod = FULL.with_labels({f"label-{i}": "x" * 60 for i in range(10_000)})
    text = json.dumps(pod.built())
    tracemalloc.start()
    parts = running_parts(json.loads(text))
    taken_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken_bytes < held_bytes(parts)


SMALL = 20_000


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(FULL.with_spec(nodeSelector={f"k{i}": "" for i in range(SMALL)}), id="texts"),
        pytest.param(
            FULL.with_spec(readinessGates=[{"conditionType": f"{i}"} for i in range(SMALL)]),
            id="objects",
        ),
        pytest.param(FULL.with_spec(schedulingGates=[{}] * SMALL), id="empty objects"),
        pytest.param(FULL.with_spec(resourceClaims=[[]] * SMALL), id="empty lists"),
        pytest.param(FULL.with_spec(securityContext={"groups": list(range(SMALL))}), id="numbers"),
        pytest.param(FULL.with_spec(hostname="x\U0001f600" + "x" * SMALL), id="wide characters"),
        pytest.param(
            FULL.with_status(conditions=[{"type": f"{i}"} for i in range(SMALL)]), id="conditions"
        ),
    ],
)
def test_many_small_objects_take_no_more_than_is_counted(pod: APod) -> None:
    text = json.dumps(pod.built())
    tracemalloc.start()
    parts = running_parts(json.loads(text))
    taken_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken_bytes < held_bytes(parts)


def test_terms_that_nobody_reads_are_not_kept() -> None:
    terms = [{"podAffinityTerm": {"topologyKey": "x"}, "weight": 1}] * SMALL
    affinity = {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}
    pod = FULL.with_spec(affinity=affinity, ephemeralContainers=[{"name": "x"}] * SMALL)
    assert held_bytes(running_parts(pod.built())) < 24 * 1024


@pytest.mark.parametrize("term", [{"namespaces": ["bank"]}, {"namespaceSelector": {}}])
def test_whether_affinities_reach_other_namespaces_is_kept_for_quotas(term: dict[str, Any]) -> None:
    terms = [{"podAffinityTerm": {"topologyKey": "x", **term}, "weight": 1}] * SMALL
    affinity = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}
    parts = running_parts(FULL.with_spec(affinity=affinity).built())
    assert reaches_other_namespaces(parts["spec"])
    assert held_bytes(parts) < 24 * 1024
    assert not reaches_other_namespaces(running_parts(FULL.built())["spec"])


def test_an_ordinary_pod_takes_no_more_than_is_counted() -> None:
    text = json.dumps(FULL.built())
    tracemalloc.start()
    parts = [running_parts(json.loads(text)) for _ in range(100)]
    taken_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken_bytes < sum(map(held_bytes, parts))
    assert held_bytes(parts[0]) < 18 * 1024


def test_a_pod_of_another_shape_is_held_as_far_as_it_can_be_read() -> None:
    strange = {"metadata": [], "spec": {"containers": "none"}, "status": {"conditions": {}}}
    assert held_bytes(running_parts(strange)) > 0
    assert held_bytes(running_parts(FULL.with_spec(nodeName="\ud800").built())) > 0
