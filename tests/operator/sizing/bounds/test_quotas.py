"""Which quotas count a pod: Kubernetes' rules for scopes."""

from __future__ import annotations

from typing import Any

import pytest

from plimsoll_operator.sizing.bounds.quotas import MEMORY, Quota, counts, read_quota
from plimsoll_predictor.core.units import GIB
from tests.builders.pods import a_pod


def by_class(operator: str, *values: str) -> dict[str, Any]:
    expression = {"scopeName": "PriorityClass", "operator": operator, "values": list(values)}
    return {"scopeSelector": {"matchExpressions": [expression]}}


def affine(kind: str, **term: Any) -> dict[str, Any]:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    return {"affinity": {kind: {required: [{"topologyKey": "zone", **term}]}}}


PREFERRED = {
    "affinity": {
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "podAffinityTerm": {"namespaces": ["bank"]}}
            ]
        }
    }
}
URGENT = {"priorityClassName": "high"}
DEADLINE = {"activeDeadlineSeconds": 60}
OTHERS = {"scopes": ["CrossNamespacePodAffinity"]}


@pytest.mark.parametrize(
    ("quota", "spec", "expected"),
    [
        pytest.param({}, {}, True, id="a plain quota counts every pod"),
        pytest.param({"scopes": ["BestEffort"]}, {}, False, id="of BestEffort pods"),
        pytest.param({"scopes": ["NotBestEffort"]}, {}, True, id="of all others"),
        pytest.param({"scopes": ["Terminating"]}, {}, False, id="Terminating: no deadline"),
        pytest.param({"scopes": ["Terminating"]}, DEADLINE, True, id="Terminating: a deadline"),
        pytest.param({"scopes": ["NotTerminating"]}, DEADLINE, False, id="Not: a deadline"),
        pytest.param({"scopes": ["NotTerminating"]}, {}, True, id="Not: no deadline"),
        pytest.param({"scopes": ["PriorityClass"]}, {}, False, id="any class: the pod has none"),
        pytest.param({"scopes": ["PriorityClass"]}, URGENT, True, id="any class: it has one"),
        pytest.param(by_class("In", "high"), URGENT, True, id="In: its class"),
        pytest.param(by_class("In", "low"), URGENT, False, id="In: another's"),
        pytest.param(by_class("In", "low"), {}, False, id="In: no class"),
        pytest.param(by_class("NotIn", "high"), URGENT, False, id="NotIn: its class"),
        pytest.param(by_class("NotIn", "low"), URGENT, True, id="NotIn: another's"),
        pytest.param(by_class("NotIn", "low"), {}, True, id="NotIn: no class"),
        pytest.param(by_class("Exists"), URGENT, True, id="Exists: a class"),
        pytest.param(by_class("Exists"), {}, False, id="Exists: no class"),
        pytest.param(by_class("DoesNotExist"), URGENT, False, id="DoesNotExist: a class"),
        pytest.param(by_class("DoesNotExist"), {}, True, id="DoesNotExist: no class"),
        pytest.param(
            {"scopes": ["Terminating"], **by_class("In", "high")}, URGENT, False, id="only one met"
        ),
        pytest.param(
            {"scopes": ["Terminating"], **by_class("In", "high")},
            {**URGENT, **DEADLINE},
            True,
            id="both met",
        ),
        pytest.param(OTHERS, {}, False, id="no affinity"),
        pytest.param(OTHERS, affine("podAffinity"), False, id="affinity to pods beside it"),
        pytest.param(OTHERS, affine("podAffinity", namespaces=["bank"]), True, id="to others"),
        pytest.param(OTHERS, affine("podAntiAffinity", namespaceSelector={}), True, id="to all"),
        pytest.param(OTHERS, PREFERRED, True, id="preferred to others"),
        pytest.param({"scopes": ["VolumeAttributesClass"]}, {}, False, id="of claims"),
        pytest.param({"scopes": ["OfALaterKubernetes"]}, {}, True, id="unknown: it may count"),
        pytest.param({"scopeSelector": {"matchExpressions": "x"}, "scopes": 3}, {}, True, id="odd"),
    ],
)
def test_a_quota_counts_the_pods_of_its_scopes(
    quota: dict[str, Any], spec: dict[str, Any], *, expected: bool
) -> None:
    read = read_quota({"spec": {"hard": {"memory": "1Gi"}, **quota}}, MEMORY)
    assert counts(read, a_pod().with_spec(**spec).built()) is expected


def test_the_tighter_of_two_names_for_requests_counts() -> None:
    hard = {"memory": "6Gi", "requests.memory": "8Gi", "limits.memory": "3Gi"}
    assert read_quota({"spec": {"hard": hard}}, MEMORY) == Quota((), 6 * GIB, 3 * GIB)
