"""`plimsoll status --unrecognised` against the real API server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from plimsoll_operator.names import labels
from tests.apiserver.crds import a_namespace
from tests.apiserver.people import an_admin
from tests.builders.engines.all import TASKS
from tests.builders.engines.runs import Chance
from tests.conftest import Cluster

pytestmark = pytest.mark.cluster

LEFT_ALONE = ("jobset", "a TrainJob of the SDK")


@pytest.fixture
def namespace(knowing_cluster: Cluster) -> Iterator[str]:
    with a_namespace(knowing_cluster) as name:
        for task in TASKS:
            if (task.engine, task.name) in {LEFT_ALONE, ("airflow", "a task")}:
                pod = task.make(Chance(3))
                # Without its owner, which does not exist here: the pod would be collected as
                # garbage.
                pod["metadata"].pop("ownerReferences", None)
                pod["metadata"].setdefault("name", "one")
                pod["metadata"]["namespace"] = name
                pod["spec"]["schedulerName"] = "nobody"
                knowing_cluster.apply(pod)
        yield name


def test_a_namespace_is_told_what_would_be_left_alone(
    knowing_cluster: Cluster, namespace: str, program: Path
) -> None:
    admin = an_admin(knowing_cluster, program)
    told = admin.plimsoll("status", "--unrecognised", "-n", namespace, "-o", "json")
    assert told.status == 0
    assert told.document["recognised"] == 1
    (row,) = told.document["unrecognised"]
    assert (row["made_by"], row["pods"], row["pod"]) == (LEFT_ALONE[0], 1, "one")


def test_of_all_namespaces_those_are_read_that_ask_for_it(
    knowing_cluster: Cluster, namespace: str, program: Path
) -> None:
    admin = an_admin(knowing_cluster, program)
    assert namespace not in admin.plimsoll("status", "--unrecognised", "-o", "json").out
    knowing_cluster.kubectl("label", "namespace", namespace, f"{labels.ENABLED}=true")
    assert namespace in admin.plimsoll("status", "--unrecognised", "-o", "json").out


def test_and_those_whose_policy_asks_for_it(
    knowing_cluster: Cluster, namespace: str, program: Path
) -> None:
    policy = {"apiVersion": "plimsoll.dev/v1alpha1", "kind": "SizingPolicy"}
    its = {"name": "default", "namespace": namespace, "labels": {labels.ENABLED: "true"}}
    knowing_cluster.apply({**policy, "metadata": its, "spec": {}})
    told = an_admin(knowing_cluster, program).plimsoll("status", "--unrecognised")
    assert namespace in told.out
