"""Boundaries of what people may write: policies, quantities and the index of a Job's pod."""

from __future__ import annotations

import pytest

from plimsoll_operator.names.quantity import parse_bytes, parse_millicores
from plimsoll_operator.pods.identity import identify
from plimsoll_operator.policy.policy_resolution import BadPolicy, policy_from_spec, resolve
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.units import GIB, MIB
from tests.builders.pods import JOB_UID, APod, a_pod

WHERE = "TaskProfile shop/train"
INDEX = "batch.kubernetes.io/job-completion-index"


def test_of_two_bounds_that_contradict_each_other_the_cap_holds_and_the_floor_is_ignored() -> None:
    base = Policy(min_bytes=64 * MIB)
    found = resolve(base, None, {"min": "4Gi", "max": "1Gi"})
    assert (found.policy.min_bytes, found.policy.max_bytes) == (64 * MIB, GIB)
    assert len(found.problems) == 1
    assert "min 4Gi is larger than max 1Gi" in found.problems[0]


def test_a_bound_of_one_mebibyte_is_taken() -> None:
    assert policy_from_spec(Policy(), {"min": "1Mi"}, WHERE).min_bytes == MIB


def test_a_bound_one_byte_below_a_mebibyte_is_refused() -> None:
    with pytest.raises(BadPolicy, match="is below 1Mi"):
        policy_from_spec(Policy(), {"min": str(MIB - 1)}, WHERE)


def features(count: int) -> dict[str, object]:
    return {"features": {f"f{place}": {"env": "ROWS"} for place in range(count)}}


def test_sixty_four_features_are_read() -> None:
    assert len(policy_from_spec(Policy(), features(64), WHERE).feature_sources) == 64


def test_one_feature_more_is_refused() -> None:
    with pytest.raises(BadPolicy, match="has 65 features; at most 64 are read"):
        policy_from_spec(Policy(), features(65), WHERE)


def test_the_features_of_all_levels_together_are_bounded() -> None:
    of_namespace = features(63)
    more = {"one": {"label": "one"}, "two": {"label": "two"}}
    resolved = resolve(Policy(), of_namespace, {"features": more})
    assert len(resolved.policy.feature_sources) == 63
    (problem,) = resolved.problems
    assert "features are 65 with those of the levels above; at most 64 are read" in problem
    fitting = resolve(Policy(), of_namespace, {"features": {"one": {"label": "one"}}})
    assert len(fitting.policy.feature_sources) == 64
    assert fitting.problems == ()


@pytest.mark.parametrize(
    ("pod", "run"),
    [
        pytest.param(a_pod().owned_by_job(), f"job:{JOB_UID}", id="a Job without an index"),
        pytest.param(a_pod().owned_by_job(index=3), f"job:{JOB_UID}:3", id="an annotation"),
        pytest.param(
            a_pod().owned_by_job().with_labels({INDEX: "4"}), f"job:{JOB_UID}:4", id="a label"
        ),
        pytest.param(
            a_pod().owned_by_job(index=3).with_labels({INDEX: "4"}),
            f"job:{JOB_UID}:3",
            id="the annotation before the label",
        ),
    ],
)
def test_each_index_of_a_job_is_a_run_of_its_own(pod: APod, run: str) -> None:
    found = identify(pod.built())
    assert found is not None
    assert found.run == run


@pytest.mark.parametrize("zeros", [27, 28, 40, 60])
def test_the_smallest_part_of_a_byte_counts_as_a_whole_one(zeros: int) -> None:
    assert parse_bytes(f"1.{'0' * zeros}1") == 2
    assert parse_millicores(f"1.{'0' * zeros}1") == 1001
