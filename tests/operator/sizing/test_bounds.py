"""What LimitRanges, quotas and nodes allow a pod."""

from __future__ import annotations

from typing import Any

import pytest

from plimsoll_operator.sizing.bounds import NamespaceBounds, PodAmounts, bounds_for, read_namespace
from plimsoll_predictor.core.decision import Bounds
from plimsoll_predictor.core.units import GIB, MIB
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
    node_bytes: int | None = None,
    **spec: Any,
) -> Bounds:
    pod = a_pod().with_spec(**spec).built()
    namespace = read_namespace(list(objects), list(quotas))
    return bounds_for(pod, memory or PodAmounts(request=GIB), namespace, node_bytes)


def test_an_empty_namespace_bounds_nothing() -> None:
    assert bounds_of() == Bounds()


def test_the_tightest_of_several_limit_ranges_counts() -> None:
    found = bounds_of(
        a_limit_range(min={"memory": "64Mi"}, max={"memory": "8Gi"}),
        a_limit_range(min={"memory": "128Mi"}, max={"memory": "4Gi"}),
    )
    assert found == Bounds(floor_bytes=128 * MIB, cap_bytes=4 * GIB)


def test_a_limit_range_of_cpu_or_volumes_does_not_count() -> None:
    found = bounds_of(
        a_limit_range(max={"cpu": "2"}),
        a_limit_range("PersistentVolumeClaim", max={"storage": "1Gi"}),
    )
    assert found == Bounds()


def test_a_pods_maximum_is_shared_with_what_runs_beside() -> None:
    memory = PodAmounts(request=GIB, other_limit=GIB)
    found = bounds_of(a_limit_range("Pod", max={"memory": "4Gi"}), memory=memory)
    assert found.cap_bytes == 3 * GIB


def test_the_largest_node_is_shared_with_what_runs_beside() -> None:
    memory = PodAmounts(request=GIB, other_request=GIB)
    assert bounds_of(memory=memory, node_bytes=16 * GIB).cap_bytes == 15 * GIB


def test_a_kept_limit_must_not_become_too_large_a_multiple_of_the_request() -> None:
    kept = PodAmounts(request=4 * GIB, fixed_limit=4 * GIB)
    limit_range = a_limit_range(maxLimitRequestRatio={"memory": "2"})
    assert bounds_of(limit_range, memory=kept).floor_bytes == 2 * GIB
    assert bounds_of(limit_range).floor_bytes is None


def test_a_pods_minimum_is_held_together_with_what_runs_beside() -> None:
    memory = PodAmounts(request=4 * GIB, other_request=GIB, other_limit=2 * GIB)
    assert bounds_of(a_limit_range("Pod", min={"memory": "3Gi"}), memory=memory).floor_bytes == (
        2 * GIB
    )
    assert bounds_of(a_limit_range("Pod", min={"memory": "1Gi"}), memory=memory) == Bounds()


def test_a_pods_kept_limits_must_not_become_too_large_a_multiple_of_its_requests() -> None:
    limit_range = a_limit_range("Pod", maxLimitRequestRatio={"memory": "2"})
    memory = PodAmounts(
        request=4 * GIB,
        fixed_limit=4 * GIB,
        other_request=GIB,
        other_limit=2 * GIB,
    )
    assert bounds_of(limit_range, memory=memory).floor_bytes == 2 * GIB
    assert bounds_of(limit_range).floor_bytes is None


def test_no_more_than_the_quota_has_is_asked_for() -> None:
    assert bounds_of(quotas=(a_quota({"requests.memory": "8Gi"}),)).cap_bytes == 8 * GIB
    assert bounds_of(quotas=(a_quota({"memory": "6Gi", "requests.memory": "8Gi"}),)).cap_bytes == (
        6 * GIB
    )
    assert bounds_of(quotas=(a_quota({"limits.memory": "3Gi"}),)).cap_bytes == 3 * GIB


def test_used_quota_keeps_a_raise_within_what_is_free() -> None:
    quota = a_quota({"requests.memory": "8Gi"}, {"requests.memory": "6Gi"})
    assert bounds_of(quotas=(quota,)).cap_bytes == 2 * GIB


def test_of_two_names_for_requests_the_one_with_less_left_counts() -> None:
    hard = {"requests.memory": "8Gi", "memory": "8Gi"}
    quota = a_quota(hard, {"requests.memory": "6Gi", "memory": "5Gi"})
    assert bounds_of(quotas=(quota,)).cap_bytes == 2 * GIB


def test_used_quota_lowers_nothing_that_the_user_asked() -> None:
    quota = a_quota({"requests.memory": "8Gi"}, {"requests.memory": "8Gi"})
    memory = PodAmounts(request=5 * GIB)
    assert bounds_of(quotas=(quota,), memory=memory).cap_bytes == 5 * GIB


def test_a_lifted_attempt_waits_for_quota_rather_than_be_killed_again() -> None:
    quota = a_quota({"requests.memory": "8Gi"}, {"requests.memory": "7Gi"})
    memory = PodAmounts(request=GIB, may_wait=True)
    assert bounds_of(quotas=(quota,), memory=memory).cap_bytes == 8 * GIB


@pytest.mark.parametrize(
    ("quota", "spec", "counts"),
    [
        pytest.param({"scopes": ["BestEffort"]}, {}, False, id="of BestEffort pods"),
        pytest.param({"scopes": ["NotBestEffort"]}, {}, True, id="of all others"),
        pytest.param({"scopes": ["Terminating"]}, {}, False, id="of pods with a deadline"),
        pytest.param(
            {"scopes": ["Terminating"]}, {"activeDeadlineSeconds": 60}, True, id="with a deadline"
        ),
        pytest.param(
            {"scopes": ["NotTerminating"]},
            {"activeDeadlineSeconds": 60},
            False,
            id="of pods without a deadline",
        ),
        pytest.param(
            {
                "scopeSelector": {
                    "matchExpressions": [
                        {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}
                    ]
                }
            },
            {"priorityClassName": "low"},
            False,
            id="of another priority class",
        ),
        pytest.param(
            {
                "scopeSelector": {
                    "matchExpressions": [
                        {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}
                    ]
                }
            },
            {"priorityClassName": "high"},
            True,
            id="of its priority class",
        ),
    ],
)
def test_only_a_quota_that_counts_the_pod_bounds_it(
    quota: dict[str, Any], spec: dict[str, Any], *, counts: bool
) -> None:
    found = bounds_of(quotas=(a_quota({"requests.memory": "2Gi"}, **quota),), **spec)
    assert found.cap_bytes == (2 * GIB if counts else None)


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
    assert bounds_for({}, PodAmounts(request=None), namespace, None) == Bounds()
    assert (namespace.least, namespace.max_ratio) == (None, None)


def test_caps_never_fall_below_nothing() -> None:
    memory = PodAmounts(request=GIB, other_request=64 * GIB)
    assert bounds_for({}, memory, NamespaceBounds(), GIB).cap_bytes == 0
