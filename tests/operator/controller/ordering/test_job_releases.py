"""The controller resumes suspended Jobs in their turn, beside pods behind gates."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from plimsoll_operator.controller.ordering import waiting_jobs
from plimsoll_operator.controller.ordering.waiting_jobs import (
    ABLE_FOR_S,
    IDLE_EVERY_S,
    LIST_EVERY_S,
    LONGEST_PAUSE_S,
    WaitingJobs,
)
from plimsoll_operator.kube.api_server import ApiServer
from plimsoll_operator.names import labels
from plimsoll_operator.ordering.longest_wait import MOST_WAIT_S
from plimsoll_operator.sizing.node_hint import PREFERRED
from tests.builders.controller.turns import CPU, Queueing, a_queue, runs, waits

QUEUE = "kueue.x-k8s.io/queue-name"


@pytest_asyncio.fixture
async def queueing() -> AsyncIterator[Queueing]:
    async with a_queue() as made:
        yield made


async def test_jobs_and_pods_have_one_queue_and_go_where_they_get_along(
    queueing: Queueing,
) -> None:
    queueing.has_job("first", created=1)
    queueing.see(waits("second"), created=2)
    queueing.has_job("third", created=3)
    await queueing.look(LIST_EVERY_S)
    assert queueing.server.suspended == {"third"}
    assert queueing.server.held == set()
    job = queueing.server.jobs["first"]
    affinity = job["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
    assert list(affinity) == [PREFERRED]
    assert labels.WAITS not in job["metadata"]["labels"]
    assert ("Held", "Job first") in queueing.told
    assert ("Released", "Job first") in queueing.told


@pytest.mark.slow
async def test_a_job_waits_until_there_is_room_for_all_of_its_pods(queueing: Queueing) -> None:
    queueing.has_job("three", parallelism=3)
    await queueing.look(LIST_EVERY_S)
    assert queueing.server.suspended == {"three"}
    queueing.see(runs("computes", "node-1").with_status(phase="Succeeded"))
    await queueing.look(LIST_EVERY_S)
    assert queueing.server.suspended == set()
    # No node is the best for all of them.
    assert "affinity" not in queueing.server.jobs["three"]["spec"]["template"]["spec"]
    # Until they exist, they take that room.
    queueing.see(waits("behind"), created=5)
    await queueing.look()
    assert queueing.server.held == {"behind"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spec", "hinted"),
    [
        ({}, True),
        ({"parallelism": 1}, True),
        ({"completions": 1}, True),
        ({"completions": 1, "parallelism": 5}, True),
        pytest.param({"completions": 1000}, False, id="one after another for days"),
        pytest.param({"parallelism": 2}, False, id="workers of a queue"),
    ],
)
async def test_nodes_that_are_best_now_are_for_a_job_that_makes_one_pod(
    queueing: Queueing, spec: dict[str, Any], *, hinted: bool
) -> None:
    queueing.has_job("train", **spec)
    await queueing.look(LIST_EVERY_S)
    assert queueing.server.suspended == set()
    template = queueing.server.jobs["train"]["spec"]["template"]
    assert ("affinity" in template["spec"]) is hinted
    assert (labels.HINT in template["metadata"].get("annotations", {})) is hinted


async def test_a_job_that_can_never_start_at_once_is_left_to_the_scheduler(
    queueing: Queueing,
) -> None:
    queueing.has_job("hundred", parallelism=100)
    await queueing.look(LIST_EVERY_S)
    assert queueing.server.suspended == set()


@pytest.mark.slow
async def test_no_job_waits_for_longer_than_may_be(queueing: Queueing) -> None:
    queueing.has_job("large", cpu="2")
    await queueing.look(LIST_EVERY_S)
    await queueing.look(MOST_WAIT_S - 60.0)
    assert queueing.server.suspended == {"large"}
    await queueing.look(60.0)
    assert queueing.server.suspended == set()


@pytest.mark.parametrize("spec", [None, {"order": "never"}, {"order": "enforce", "paused": True}])
async def test_where_nobody_wants_an_order_all_are_resumed(
    queueing: Queueing, spec: dict[str, object] | None
) -> None:
    queueing.has_job("large", cpu="2")
    await queueing.look(LIST_EVERY_S)
    assert queueing.server.suspended == {"large"}
    queueing.policies.set_namespace_spec("shop", spec)
    await queueing.look()
    assert queueing.server.suspended == set()


@pytest.mark.slow
async def test_jobs_of_an_order_that_ended_before_a_restart_are_found(queueing: Queueing) -> None:
    queueing.policies.set_namespace_spec("shop", None)
    queueing.has_job("forgotten", cpu="2")
    await queueing.look(IDLE_EVERY_S)
    assert queueing.server.suspended == set()


@pytest.mark.slow
async def test_whose_label_somebody_took_away_is_resumed(queueing: Queueing) -> None:
    queueing.has_job("large", cpu="2")
    await queueing.look(LIST_EVERY_S)
    job = queueing.server.jobs["large"]
    job["metadata"] = {**job["metadata"], "labels": {}, "resourceVersion": "9"}
    await queueing.look(LIST_EVERY_S)
    assert queueing.server.suspended == set()


def suspended_anew(queueing: Queueing, name: str, *, edits: int) -> None:
    """Have the Job lose its label, and its spec be changed as often as this."""
    meta = queueing.server.jobs[name]["metadata"]
    generation = meta.get("generation", 1) + edits
    queueing.server.jobs[name]["metadata"] = {
        **meta,
        "labels": {},
        "resourceVersion": "9",
        "generation": generation,
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("edits", "theirs"),
    [
        pytest.param(1, False, id="only its label was removed, and its pods changed"),
        pytest.param(2, True, id="it was resumed and suspended between two looks"),
    ],
)
async def test_what_somebody_suspended_between_two_looks_is_theirs(
    queueing: Queueing, edits: int, *, theirs: bool
) -> None:
    queueing.has_job("large", cpu="2")
    queueing.server.jobs["large"]["metadata"]["generation"] = 1
    await queueing.look(LIST_EVERY_S)
    suspended_anew(queueing, "large", edits=edits)
    await queueing.look(LIST_EVERY_S)
    await queueing.look(MOST_WAIT_S)
    assert queueing.server.suspended == ({"large"} if theirs else set())
    assert len(queueing.releases.held) == 0


@pytest.mark.slow
async def test_what_somebody_suspended_before_our_release_is_theirs(queueing: Queueing) -> None:
    queueing.has_job("large", cpu="2")
    queueing.server.jobs["large"]["metadata"]["generation"] = 1
    await queueing.look(LIST_EVERY_S)
    suspended_anew(queueing, "large", edits=2)
    queueing.policies.set_namespace_spec("shop", None)
    await queueing.look()  # it is not time to list Jobs
    await queueing.look(IDLE_EVERY_S)
    assert queueing.server.suspended == {"large"}
    assert len(queueing.releases.held) == 0


@pytest.mark.slow
async def test_a_job_that_came_to_a_queue_is_the_queues(queueing: Queueing) -> None:
    queueing.has_job("large", cpu="2")
    await queueing.look(LIST_EVERY_S)
    job = queueing.server.jobs["large"]
    mine = {**job["metadata"]["labels"], QUEUE: "team"}
    job["metadata"] = {**job["metadata"], "labels": mine, "resourceVersion": "9"}
    await queueing.look(LIST_EVERY_S)
    await queueing.look(MOST_WAIT_S)
    assert queueing.server.suspended == {"large"}
    assert queueing.server.jobs["large"]["metadata"]["labels"] == {QUEUE: "team"}


@pytest.mark.slow
async def test_what_somebody_resumed_and_suspends_again_is_theirs(queueing: Queueing) -> None:
    queueing.has_job("large", cpu="2")
    await queueing.look(LIST_EVERY_S)
    queueing.server.jobs["large"]["spec"]["suspend"] = False
    await queueing.look(LIST_EVERY_S)
    assert labels.WAITS not in queueing.server.jobs["large"]["metadata"]["labels"]
    queueing.server.jobs["large"]["spec"]["suspend"] = True
    await queueing.look(MOST_WAIT_S)
    assert queueing.server.suspended == {"large"}


@pytest.mark.slow
async def test_who_suspends_it_as_soon_as_the_label_is_gone_keeps_it_suspended(
    queueing: Queueing, monkeypatch: pytest.MonkeyPatch
) -> None:
    queueing.has_job("large", cpu="2")
    await queueing.look(LIST_EVERY_S)
    queueing.server.jobs["large"]["spec"]["suspend"] = False
    patch = ApiServer.patch

    async def patched(api: ApiServer, path: str, body: Any) -> dict[str, Any]:
        answered = await patch(api, path, body)
        if "spec" not in body:  # the label is gone, and nothing else
            queueing.server.jobs["large"]["spec"]["suspend"] = True
        return answered

    monkeypatch.setattr(ApiServer, "patch", patched)
    await queueing.look(LIST_EVERY_S)
    assert queueing.server.patched == ["large"]
    assert queueing.server.suspended == {"large"}
    assert len(queueing.releases.held) == 0


@pytest.mark.slow
async def test_a_job_that_went_is_forgotten(queueing: Queueing) -> None:
    queueing.has_job("large", cpu="2")
    await queueing.look(LIST_EVERY_S)
    assert len(queueing.releases.held) == 1
    del queueing.server.jobs["large"]
    await queueing.look(LIST_EVERY_S)
    assert len(queueing.releases.held) == 0


@pytest.mark.slow
async def test_a_job_that_cannot_be_left_now_keeps_no_others_unseen(queueing: Queueing) -> None:
    queueing.has_job("taken", cpu="2")
    queueing.server.jobs["taken"]["metadata"].update(
        namespace="lab", labels={labels.WAITS: "true", QUEUE: "team"}
    )
    queueing.server.failing.add("lab")
    queueing.has_job("first")
    await queueing.look(LIST_EVERY_S)
    assert queueing.server.suspended == {"taken"}
    queueing.server.failing.clear()
    await queueing.look(LIST_EVERY_S)
    assert queueing.server.suspended == {"taken"}
    assert labels.WAITS not in queueing.server.jobs["taken"]["metadata"]["labels"]


@pytest.mark.slow
async def test_a_job_whose_namespace_does_not_answer_keeps_no_others_waiting(
    queueing: Queueing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting_jobs, "UNMARK_WITHIN_S", 0.1)
    queueing.has_job("taken", cpu="2")
    queueing.server.jobs["taken"]["metadata"].update(
        namespace="lab", labels={labels.WAITS: "true", QUEUE: "team"}
    )
    queueing.server.delayed_s["lab"] = 60.0
    for name in ("first", "second"):
        queueing.has_job(name)
        async with asyncio.timeout(10.0):
            await queueing.look(LIST_EVERY_S)
        assert queueing.server.suspended == {"taken"}
    queueing.releases.jobs.stop()


async def test_one_list_that_took_long_hides_jobs_for_half_a_minute_only(
    queueing: Queueing, monkeypatch: pytest.MonkeyPatch
) -> None:
    items, took_s = ApiServer.items, [10.0]

    async def slowly(api: ApiServer, *of: Any) -> list[dict[str, Any]]:
        queueing.clock[0] += took_s.pop() if took_s else 0.0
        return await items(api, *of)

    monkeypatch.setattr(ApiServer, "items", slowly)
    await queueing.look(LIST_EVERY_S)
    queueing.has_job("first")
    await queueing.look(LONGEST_PAUSE_S - 10.0)
    assert queueing.server.suspended == set()
    assert queueing.orders_jobs


async def test_where_lists_come_late_no_more_jobs_are_suspended(queueing: Queueing) -> None:
    jobs = queueing.releases.jobs
    await queueing.look(LIST_EVERY_S)
    jobs._took_s = 10.0
    queueing.clock[0] += 2 * LONGEST_PAUSE_S
    assert jobs.are_resumed()
    queueing.clock[0] += 1.0
    assert not jobs.are_resumed()


@pytest.mark.slow
async def test_a_job_that_changes_under_its_release_is_looked_at_again(
    queueing: Queueing,
) -> None:
    queueing.has_job("first")
    queueing.server.meddle = 2
    await queueing.look(LIST_EVERY_S)
    assert queueing.server.suspended == set()


@pytest.mark.slow
async def test_pods_of_a_higher_class_than_a_jobs_come_first(queueing: Queueing) -> None:
    queueing.server.classes = [
        {"metadata": {"name": "high"}, "value": 1000},
        {"metadata": {"name": "polite"}, "value": 500, "preemptionPolicy": "Never"},
    ]
    for name, node in (("third", "node-2"), ("fourth", "node-1")):
        queueing.see(runs(name, node))  # the scheduler would take their room for a higher class
    queueing.has_job("low", created=1)
    queueing.has_job("high", created=2)
    queueing.server.jobs["high"]["spec"]["template"]["spec"]["priorityClassName"] = "high"
    await queueing.look(LIST_EVERY_S)
    assert queueing.server.suspended == {"low"}
    # A pod that may not preempt could be overtaken while it waits.
    queueing.has_job("polite", created=3)
    queueing.server.jobs["polite"]["spec"]["template"]["spec"]["priorityClassName"] = "polite"
    await queueing.look(LIST_EVERY_S)
    assert queueing.server.suspended == {"low"}


@pytest.mark.slow
async def test_who_may_not_resume_jobs_has_none_suspended(queueing: Queueing) -> None:
    told = []
    for forbidden, after_s in ((set[str](), 2.0), ({"jobs"}, ABLE_FOR_S + 1.0), (set[str](), 2.0)):
        queueing.server.forbidden = forbidden
        await queueing.look(after_s)
        told.append(queueing.orders_jobs)
        assert queueing.ordered >= {str(CPU)}
    assert told == [True, False, True]


@pytest.mark.slow
async def test_where_no_job_may_be_listed_none_is_asked_for(queueing: Queueing) -> None:
    jobs = WaitingJobs(queueing.releases.api, lambda: queueing.server.now_s)
    told = []
    for forbidden in ({"jobs"}, {"jobs"}, set[str]()):
        queueing.server.forbidden = forbidden
        queueing.server.now_s += IDLE_EVERY_S
        assert await jobs.look(wanted=False) == []
        told.append(jobs.are_resumed())
    assert told == [False, False, True], "the right came with an upgrade"
    assert queueing.server.refused == []


@pytest.mark.slow
async def test_who_may_list_jobs_no_more_has_none_suspended(queueing: Queueing) -> None:
    told = []
    for forbidden in (set[str](), {"jobs"}, {"jobs"}, {"jobs"}):
        queueing.server.forbidden = forbidden
        await queueing.look(ABLE_FOR_S + 1.0)
        told.append(queueing.orders_jobs)
    assert told == [True, False, False, False]
    assert len(queueing.server.refused) == 1


@pytest.mark.slow
async def test_where_pods_wait_behind_gates_alone_jobs_are_seldom_listed(
    queueing: Queueing,
) -> None:
    queueing.policies.set_namespace_spec("shop", {"order": "enforce"})
    queueing.server.listed.clear()
    for _ in range(10):
        await queueing.look(LIST_EVERY_S)
    assert queueing.server.listed.count("/apis/batch/v1/jobs") == 0
    await queueing.look(IDLE_EVERY_S)
    assert queueing.server.listed.count("/apis/batch/v1/jobs") == 1
