"""What LimitRanges, quotas and nodes allow a pod."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from plimsoll_operator.names.quantity import parse_bytes
from plimsoll_operator.sizing.bounds.caps import PodAmounts, bounds_for, bounds_of_lift
from plimsoll_operator.sizing.bounds.namespaces import UNBOUNDED, NamespaceBounds, read_namespace
from plimsoll_operator.sizing.bounds.nodes import NO_NODES, Nodes
from plimsoll_predictor.core.decision import Bounds
from plimsoll_predictor.core.units import GIB, MIB
from tests.builders.nodes import a_node, nodes_of
from tests.builders.pods import a_pod


def a_limit_range(kind: str = "Container", **fields: dict[str, str]) -> dict[str, Any]:
    return {"spec": {"limits": [{"type": kind, **fields}]}}


def a_quota(
    hard: dict[str, str], used: dict[str, str] | None = None, **spec: Any
) -> dict[str, Any]:
    return {"spec": {"hard": hard, **spec}, "status": {"hard": hard, "used": used or {}}}


def bounds_of(
    *objects: dict[str, Any],
    quotas: tuple[dict[str, Any], ...] = (),
    memory: PodAmounts | None = None,
    node: str | None = None,
    overhead: object = None,
) -> Bounds:
    namespace = read_namespace(list(objects), list(quotas))
    nodes = NO_NODES if node is None else nodes_of(a_node(node))
    amounts = memory or PodAmounts(request=GIB, limit=GIB)
    pod = a_pod() if overhead is None else a_pod().with_spec(overhead=overhead)
    return bounds_for(pod.built(), amounts, namespace, nodes)


def nothing_but(written_bytes: int | None = GIB, **bounds: int) -> Bounds:
    return Bounds(room_of="", room_remedy="", written_bytes=written_bytes, **bounds)


def test_an_empty_namespace_bounds_nothing() -> None:
    assert bounds_of() == nothing_but()


def test_the_tightest_of_several_limit_ranges_counts() -> None:
    found = bounds_of(
        a_limit_range(min={"memory": "64Mi"}, max={"memory": "8Gi"}),
        a_limit_range(min={"memory": "128Mi"}, max={"memory": "4Gi"}),
    )
    assert found == nothing_but(floor_bytes=128 * MIB, cap_bytes=4 * GIB)


def test_a_limit_range_of_cpu_or_volumes_does_not_count() -> None:
    found = bounds_of(
        a_limit_range(max={"cpu": "2"}),
        a_limit_range("PersistentVolumeClaim", max={"storage": "1Gi"}),
    )
    assert found == nothing_but()


def test_a_pods_maximum_is_shared_with_what_runs_beside() -> None:
    memory = PodAmounts(request=GIB, other_limit=GIB)
    found = bounds_of(a_limit_range("Pod", max={"memory": "4Gi"}), memory=memory)
    assert found.cap_bytes == 3 * GIB


def test_a_pods_requests_may_not_be_above_its_maximum_either() -> None:
    """A proxy of a mesh requests memory, and has no limit."""
    memory = PodAmounts(request=GIB, limit=3 * GIB, other_request=2 * GIB)
    found = bounds_of(a_limit_range("Pod", max={"memory": "4Gi"}), memory=memory)
    # The limit that was written is allowed, so it is no cap.
    assert (found.room_bytes, found.cap_bytes) == (2 * GIB, 4 * GIB)
    assert found.room_of == "the LimitRange's maximum for the pod"


def test_the_largest_node_is_shared_with_daemons_and_what_runs_beside() -> None:
    memory = PodAmounts(request=GIB, other_request=GIB)
    found = bounds_of(memory=memory, node="20Gi")
    assert (found.room_bytes, found.cap_bytes) == (17 * GIB, None)


def test_a_kept_limit_must_not_become_too_large_a_multiple_of_the_request() -> None:
    kept = PodAmounts(request=4 * GIB, limit=4 * GIB, sets_limit=False)
    limit_range = a_limit_range(maxLimitRequestRatio={"memory": "2"})
    assert bounds_of(limit_range, memory=kept).floor_bytes == 2 * GIB
    assert bounds_of(limit_range).floor_bytes is None


def test_a_pods_minimum_is_held_together_with_what_runs_beside() -> None:
    memory = PodAmounts(request=4 * GIB, other_request=GIB, other_limit=2 * GIB)
    assert bounds_of(a_limit_range("Pod", min={"memory": "3Gi"}), memory=memory).floor_bytes == (
        2 * GIB
    )
    unbounded = bounds_of(a_limit_range("Pod", min={"memory": "1Gi"}), memory=memory)
    assert unbounded == nothing_but(None)


def test_a_pods_limits_must_reach_its_minimum_too() -> None:
    memory = PodAmounts(request=4 * GIB, limit=4 * GIB, other_request=2 * GIB)
    limit_range = a_limit_range("Pod", min={"memory": "3Gi"})
    assert bounds_of(limit_range, memory=memory).floor_bytes == 3 * GIB
    kept = replace(memory, sets_limit=False)
    assert bounds_of(limit_range, memory=kept).floor_bytes == GIB


def test_a_pods_kept_limits_must_not_become_too_large_a_multiple_of_its_requests() -> None:
    limit_range = a_limit_range("Pod", maxLimitRequestRatio={"memory": "2"})
    memory = PodAmounts(
        request=4 * GIB,
        limit=4 * GIB,
        sets_limit=False,
        other_request=GIB,
        other_limit=2 * GIB,
    )
    assert bounds_of(limit_range, memory=memory).floor_bytes == 2 * GIB
    assert bounds_of(limit_range).floor_bytes is None


def a_floor_beside_an_init_container(
    *, init: dict[str, str], sidecar: str | None = None, request_bytes: int = 4 * GIB
) -> int | None:
    """The floor of a main container beside an init container with these limits, by a ratio of 2."""
    pod = a_pod().with_init_container("init", resources={"limits": init})
    beside = 0
    if sidecar is not None:
        beside = parse_bytes(sidecar)
        pod = pod.with_sidecar("proxy", resources={"limits": {"memory": sidecar}})
    memory = PodAmounts(
        request=request_bytes, limit=request_bytes, other_request=beside, other_limit=beside
    )
    namespace = read_namespace([a_limit_range("Pod", maxLimitRequestRatio={"memory": "2"})], [])
    return bounds_for(pod.built(), memory, namespace, NO_NODES).floor_bytes


def test_an_init_containers_limit_must_not_become_too_large_a_multiple_of_the_request() -> None:
    """The API server counts the containers together, or an init container that has more."""
    assert a_floor_beside_an_init_container(init={"memory": "2Gi"}) == GIB
    assert a_floor_beside_an_init_container(init={"memory": "2Gi"}, sidecar="512Mi") == (
        (1024 + 256 - 512) * MIB
    )
    assert a_floor_beside_an_init_container(init={"memory": "2Gi"}, request_bytes=GIB // 2) == (
        GIB // 2
    )
    assert a_floor_beside_an_init_container(init={"cpu": "1"}) is None
    assert a_floor_beside_an_init_container(init={"memory": "rubbish"}) is None


def test_a_first_attempt_asks_for_no_more_than_its_author_where_a_quota_counts_it() -> None:
    """Even if much is free: it belongs to the pods that come next."""
    asked = PodAmounts(request=GIB, limit=2 * GIB)
    for hard, room_bytes, of in (
        ("requests.memory", GIB, "its request (a quota counts it)"),
        ("memory", GIB, "its request (a quota counts it)"),
        ("limits.memory", 2 * GIB, "its limit (a quota counts it)"),
    ):
        found = bounds_of(quotas=(a_quota({hard: "100Gi"}),), memory=asked)
        assert (found.room_bytes, found.room_of, found.cap_bytes) == (room_bytes, of, None)
    assert bounds_of(quotas=(a_quota({"requests.cpu": "8"}),), memory=asked).room_bytes is None


def test_a_pod_whose_author_names_its_node_asks_for_no_more_until_it_was_killed_as_written() -> (
    None
):
    """If that is not free, the kubelet fails it as OutOfmemory: no scheduler has looked."""
    pinned = a_pod().asking("1Gi").with_spec(nodeName="node-1").built()
    for killed, room_bytes in ((None, GIB), (GIB // 2, GIB), (GIB, GIB), (2 * GIB, None)):
        memory = PodAmounts(request=GIB, limit=2 * GIB, killed=killed)
        found = bounds_for(pinned, memory, read_namespace([], []), NO_NODES)
        assert found.room_bytes == room_bytes
    pinned["metadata"]["resourceVersion"] = "7"  # its node may be the scheduler's choice
    there = bounds_for(pinned, PodAmounts(request=GIB), read_namespace([], []), NO_NODES)
    assert there.room_bytes is None


def test_a_pod_that_kueue_counts_asks_for_no_more_until_it_was_killed_as_written() -> None:
    """Its queue may never have more, and Kueue would delete it if the raise were given back."""
    counted = a_pod().with_labels({"kueue.x-k8s.io/managed": "true"}).built()
    first = bounds_for(counted, PodAmounts(request=GIB, limit=2 * GIB), UNBOUNDED, NO_NODES)
    assert (first.room_bytes, first.room_of) == (GIB, "its request (Kueue counts it)")
    killed = PodAmounts(request=GIB, limit=2 * GIB, killed=2 * GIB)
    assert bounds_for(counted, killed, UNBOUNDED, NO_NODES).room_bytes is None
    for below in (
        PodAmounts(request=GIB, limit=2 * GIB, killed=GIB // 2),
        PodAmounts(request=GIB, limit=2 * GIB, killed=GIB),
        PodAmounts(request=GIB, killed=GIB),
    ):
        assert bounds_of_lift(counted, below, UNBOUNDED, NO_NODES).room_bytes == GIB
    of_a_job = a_pod().with_labels({"kueue.x-k8s.io/queue-name": "shop"}).built()
    assert bounds_for(of_a_job, PodAmounts(request=GIB), UNBOUNDED, NO_NODES).room_bytes is None


def test_what_is_used_of_a_quota_changes_nothing() -> None:
    quota = a_quota({"requests.memory": "8Gi"}, {"requests.memory": "8Gi"})
    assert bounds_of(quotas=(quota,), memory=PodAmounts(request=5 * GIB)).room_bytes == 5 * GIB


def test_a_lifted_attempt_waits_for_quota_rather_than_be_killed_again() -> None:
    quota = a_quota({"requests.memory": "8Gi"}, {"requests.memory": "7Gi"})
    memory = PodAmounts(request=GIB, limit=GIB, other_request=GIB, killed=GIB)
    found = bounds_of(quotas=(quota,), memory=memory)
    assert (found.room_bytes, found.room_of) == (7 * GIB, "its quota")
    assert found.room_remedy == "raise the quota"
    small = bounds_of(node="4Gi")
    assert (small.room_of, small.room_remedy) == (
        "nine tenths of the largest node for it",
        "add a larger node",
    )


def test_a_lift_from_below_the_request_waits_for_no_more_than_the_request() -> None:
    namespace = read_namespace([], [a_quota({"requests.memory": "8Gi"})])
    pod = a_pod().asking("2Gi").with_container("proxy").asking("1Gi", of="proxy").built()
    below, at = (
        PodAmounts(request=2 * GIB, limit=2 * GIB, killed=killed) for killed in (GIB, 2 * GIB)
    )
    assert bounds_of_lift(pod, below, namespace, NO_NODES).room_bytes == 2 * GIB
    assert bounds_of_lift(pod, at, namespace, NO_NODES).room_bytes == 7 * GIB


@pytest.mark.parametrize(
    ("limit", "killed", "room"),
    [
        pytest.param(16 * GIB, 4 * GIB, 4 * GIB, id="at the request"),
        pytest.param(16 * GIB, 15 * GIB, 4 * GIB, id="between the request and the limit"),
        pytest.param(16 * GIB, 16 * GIB, 20 * GIB, id="at the limit: it needs more"),
        pytest.param(None, 4 * GIB, 4 * GIB, id="at the request, and no limit was written"),
        pytest.param(None, 18 * GIB, 4 * GIB, id="above it, and no limit was written"),
    ],
)
def test_a_lift_requests_no_more_of_a_quota_until_its_run_was_killed_at_all_that_was_written(
    limit: int | None, killed: int, room: int
) -> None:
    """As written, the run might have succeeded within its request of the quota."""
    quota = a_quota({"requests.memory": "20Gi"})
    memory = PodAmounts(request=4 * GIB, limit=limit, killed=killed)
    assert bounds_of(quotas=(quota,), memory=memory).room_bytes == room


def test_where_a_quota_counts_limits_a_lift_without_a_written_one_waits_for_the_quota() -> None:
    """As written, the quota would have refused the pod."""
    quota = a_quota({"limits.memory": "20Gi"})
    memory = PodAmounts(request=4 * GIB, killed=4 * GIB)
    assert bounds_of(quotas=(quota,), memory=memory).room_bytes == 20 * GIB


def test_a_lift_from_below_the_limit_waits_for_no_more_than_the_limit() -> None:
    quota = a_quota({"limits.memory": "100Gi"})
    memory = PodAmounts(request=GIB, limit=8 * GIB, killed=6 * GIB)
    assert bounds_of(quotas=(quota,), memory=memory).room_bytes == 8 * GIB


def test_a_lift_is_bounded_by_the_quotas_and_nodes_of_its_own_pod() -> None:
    high = {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}
    scoped = a_quota({"requests.memory": "2Gi"}, scopeSelector={"matchExpressions": [high]})
    namespace = read_namespace([], [scoped])
    nodes = nodes_of(a_node("10Gi", labels={"pool": "small"}), a_node("80Gi"))
    killed = PodAmounts(request=GIB, limit=GIB, killed=GIB)

    def room(nodes: Nodes, written: dict[str, Any] | None = None, **spec: Any) -> int | None:
        pod = a_pod().with_spec(nodeName="node-1", **spec).built()
        fields = {"fieldsType": "FieldsV1", "fieldsV1": {"f:spec": written or {}}}
        pod["metadata"].update(resourceVersion="7", managedFields=[fields])
        return bounds_of_lift(pod, killed, namespace, nodes).room_bytes

    assert room(nodes) == 72 * GIB
    assert room(nodes, nodeSelector={"pool": "small"}) == 9 * GIB
    assert room(nodes, priorityClassName="high") == 2 * GIB
    assert room(nodes, {"f:nodeName": {}}) is None  # the next attempt goes to the same node


def test_a_best_effort_pod_gets_no_size_where_a_quota_counts_those_that_have_one() -> None:
    """The quota does not count it as written; with a size it could be refused, or need a CPU."""
    quota = a_quota({"pods": "5", "requests.cpu": "2"}, scopes=["NotBestEffort"])
    assert bounds_of(quotas=(quota,), memory=PodAmounts()).room_bytes == 0
    assert bounds_of(quotas=(quota,), memory=PodAmounts(request=GIB)).room_bytes is None
    plain = a_quota({"pods": "5"})
    assert bounds_of(quotas=(plain,), memory=PodAmounts()).room_bytes is None


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        {"spec": None},
        {"spec": {"limits": "all", "hard": "all"}},
        {"spec": {"limits": [None, {"type": "Container", "max": {"memory": "lots"}}]}},
        {
            "spec": {
                "limits": [{"type": "Container", "maxLimitRequestRatio": {"memory": "often"}}],
                "hard": {"memory": "-1"},
                "scopes": 3,
                "scopeSelector": {"matchExpressions": ["x"]},
            }
        },
    ],
)
def test_what_cannot_be_read_bounds_nothing(document: Any) -> None:
    namespace = read_namespace([document], [document])
    assert bounds_for({}, PodAmounts(request=None), namespace, NO_NODES) == nothing_but(None)
    assert (namespace.least, namespace.max_ratio) == (None, None)


def test_rooms_never_fall_below_nothing() -> None:
    memory = PodAmounts(request=GIB, other_request=64 * GIB)
    nodes = nodes_of(a_node("1Gi"))
    assert bounds_for({}, memory, NamespaceBounds(), nodes).room_bytes == 0


def test_a_limit_that_stays_is_no_reason_to_leave_a_pod_as_written() -> None:
    asked = PodAmounts(request=GIB, limit=None, sets_limit=False)
    assert bounds_of(memory=asked).written_bytes == 0
    assert bounds_of(memory=PodAmounts(request=GIB, limit=None)).written_bytes is None


SANDBOX = {"memory": "1Gi", "cpu": "250m"}
"""What a RuntimeClass adds to a pod."""


def test_a_node_and_a_quota_are_shared_with_a_sandbox() -> None:
    memory = PodAmounts(request=GIB, other_request=GIB)
    assert bounds_of(memory=memory, node="20Gi", overhead=SANDBOX).room_bytes == 16 * GIB
    killed = PodAmounts(request=GIB, limit=GIB, killed=GIB)
    quota = a_quota({"requests.memory": "8Gi"})
    found = bounds_of(quotas=(quota,), memory=killed, overhead=SANDBOX)
    assert found.room_bytes == 7 * GIB


def test_a_limit_range_does_not_count_a_sandbox() -> None:
    both = a_limit_range("Pod", min={"memory": "2Gi"}, max={"memory": "4Gi"})
    found = bounds_of(both, overhead=SANDBOX)
    assert (found.floor_bytes, found.cap_bytes) == (2 * GIB, 4 * GIB)


@pytest.mark.parametrize("overhead", [{}, {"cpu": "1"}, {"memory": "much"}, "1Gi", []])
def test_an_overhead_that_says_nothing_of_memory_takes_nothing(overhead: object) -> None:
    assert bounds_of(node="20Gi", overhead=overhead).room_bytes == 18 * GIB
