"""A Job that waits suspended: marked, read as a waiting pod, resumed, and left to others."""

from __future__ import annotations

from typing import Any

import jsonpatch
import pytest

from plimsoll_operator.names import labels
from plimsoll_operator.ordering.gate import is_held
from plimsoll_operator.ordering.longest_wait import MOST_WAIT_S, is_overdue, most_wait_s
from plimsoll_operator.ordering.suspended_jobs import (
    pods_at_once,
    resume_to,
    resuming,
    stand_in_for,
    suspending,
    unmarking,
    waits_for_turn,
)
from plimsoll_operator.pods.identity import identify
from plimsoll_operator.pods.status import read_time
from tests.builders.kubernetes.gate_servers import a_job
from tests.builders.pods import a_pod

CREATED = "2026-11-24T12:00:00Z"
CREATED_S = read_time(CREATED) or 0.0
QUEUE = "kueue.x-k8s.io/queue-name"


def a_waiting_job(**spec: Any) -> dict[str, Any]:
    job = a_job("train", **spec)
    job["metadata"].update(uid="uid-train", resourceVersion="7", creationTimestamp=CREATED)
    applied: dict[str, Any] = jsonpatch.apply_patch(job, suspending(job))
    return applied


@pytest.mark.parametrize("without", [(), ("labels",), ("labels", "annotations")])
def test_a_new_job_is_suspended_and_marked_beside_what_it_has(without: tuple[str, ...]) -> None:
    job = a_job("train", labels={"team": "shop"})
    job["metadata"]["annotations"] = {"note": "mine"}
    for part in without:
        del job["metadata"][part]
    after = jsonpatch.apply_patch(job, suspending(job))
    assert waits_for_turn(after)
    assert most_wait_s(after) == MOST_WAIT_S
    for part in ("labels", "annotations"):
        assert job["metadata"].get(part, {}).items() <= after["metadata"][part].items()


def test_it_is_resumed_and_nothing_else_changes() -> None:
    waits = a_waiting_job()
    after = jsonpatch.apply_patch(waits, resuming(waits))
    assert after["spec"] == {**waits["spec"], "suspend": False}
    assert labels.WAITS not in after["metadata"]["labels"]
    assert not waits_for_turn(after)


def test_whoever_resumed_or_took_it_meanwhile_is_not_overruled() -> None:
    waits = a_waiting_job()
    patch = resuming(waits)
    for changed in (
        {**waits, "spec": {**waits["spec"], "suspend": False}},
        {**waits, "metadata": {**waits["metadata"], "labels": {labels.WAITS: "false"}}},
        # Given to a queue, or resumed and suspended again by its author.
        {**waits, "metadata": {**waits["metadata"], "resourceVersion": "8"}},
    ):
        with pytest.raises(jsonpatch.JsonPatchTestFailed):
            jsonpatch.apply_patch(changed, patch)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"labels": {labels.WAITS: "true", QUEUE: "team"}}, id="a queue took it"),
        pytest.param({"labels": {}}, id="it has no mark"),
        pytest.param({"annotations": {QUEUE: "team"}}, id="a queue's annotation"),
    ],
)
def test_what_others_hold_does_not_wait_for_us(change: dict[str, Any]) -> None:
    job = a_waiting_job()
    job["metadata"].update(change)
    assert not waits_for_turn(job)
    assert resuming(job) == []


def test_a_job_that_is_left_keeps_its_suspension() -> None:
    patch = unmarking(a_waiting_job())
    assert "spec" not in patch
    assert patch["metadata"] == {"resourceVersion": "7", "labels": {labels.WAITS: None}}


@pytest.mark.parametrize(
    ("spec", "pods"),
    [
        ({}, 1),
        ({"parallelism": 4}, 4),
        ({"parallelism": 4, "completions": 3}, 3),
        ({"completions": 9}, 1),
        ({"parallelism": 0}, 0),
        ({"parallelism": "4"}, 1),
        ({"parallelism": True}, 1),
        ({"parallelism": -2}, 1),
    ],
)
def test_all_pods_that_a_job_starts_with_start_together(spec: dict[str, Any], pods: int) -> None:
    assert pods_at_once(a_job("train", **spec)) == pods


def test_the_queue_reads_it_as_a_pod_that_waits() -> None:
    job = a_waiting_job(parallelism=2, pod=a_pod().labelled("train").asking("2Gi"))
    stand_in = stand_in_for(job, 1000)
    assert is_held(stand_in)
    assert (stand_in["podsAtOnce"], stand_in["spec"]["priority"]) == (2, 1000)
    assert stand_in["podsInAll"] == 2
    assert stand_in["metadata"]["uid"] == "uid-train"
    identity = identify(stand_in)
    assert identity is not None
    assert str(identity.task) == "shop/train"
    assert not is_overdue(stand_in, CREATED_S + MOST_WAIT_S - 1)
    assert is_overdue(stand_in, CREATED_S + MOST_WAIT_S)
    resumed = jsonpatch.apply_patch(job, resuming(job))
    assert not is_held(stand_in_for(resumed, 0))


def test_hosts_are_preferred_beside_what_the_author_prefers() -> None:
    job = a_waiting_job()
    mine = {"weight": 1, "preference": {"matchExpressions": []}}
    affinity = {
        "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [mine]},
    }
    job["spec"]["template"]["spec"]["affinity"] = affinity
    patch = resume_to(stand_in_for(job, 0), ["host-1"])
    assert patch["metadata"] == {"resourceVersion": "7", "labels": {labels.WAITS: None}}
    of_nodes = patch["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
    first, *ours = of_nodes["preferredDuringSchedulingIgnoredDuringExecution"]
    assert first == mine
    assert ours
    assert "requiredDuringSchedulingIgnoredDuringExecution" not in of_nodes
    assert resume_to(job, ())["spec"] == {"suspend": False}
