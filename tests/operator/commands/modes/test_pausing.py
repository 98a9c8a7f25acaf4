"""Paused: pods stay as written, whatever they say; their needs are still learned."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.controller.hub.hub import PolicyChanged
from plimsoll_operator.controller.tasks.bounds import ClusterBounds
from plimsoll_operator.controller.tasks.nodes import ClusterNodes
from plimsoll_operator.feed.applying import BadEntry, apply
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.feed.wire import ChangeKind, decode_message
from plimsoll_operator.late_binding.resizing import Left, resize_for
from plimsoll_operator.names.labels import CRITICAL, MODE, RETRY
from plimsoll_operator.policy.policy_levels import PausedBy
from plimsoll_operator.policy.policy_resolution import resolve
from plimsoll_operator.sizing.pod_sizing import size
from plimsoll_operator.sizing.sized import Treatment
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.task import TaskId
from tests.builders.controller.books import Books, books
from tests.builders.controller.ledgers import a_train, an_inside, decided, killed
from tests.builders.pods import a_pod
from tests.rigs.servers.admission_servers import (
    TRAIN,
    a_server,
    knowledge_of,
    patch_in,
    until_true,
)

POD = a_pod().asking("4Gi").limited("4Gi")
KEEN = POD.annotated({MODE: "enforce", RETRY: "auto", CRITICAL: "false"})
WAITING = a_pod().named("train-1").asking("4Gi").limited("4Gi").with_status(phase="Pending")


def policy_object(name: str, namespace: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": namespace}, "spec": spec}


def a_cluster() -> tuple[Books, FeedBoard]:
    """A book with two tasks, neither of which was published again yet."""
    made, board = books(), FeedBoard("epoch")
    for namespace in ("shop", "farm"):
        made.book.get(TaskId(namespace, "train"))
    bounds = ClusterBounds(board, made.policies, ClusterNodes())
    made.hub.subscribe(PolicyChanged, bounds.policy_changed)
    made.published.clear()
    return made, board


def state_of(**changes: Any) -> AdmissionState:
    known = knowledge_of()
    return AdmissionState(tasks={known.task: known}, **changes)


PAUSED_TASK = AdmissionState(tasks={TRAIN: knowledge_of(paused=True)})
PAUSED_CLUSTER = state_of(paused=True)


@pytest.mark.parametrize(
    "state",
    [
        pytest.param(PAUSED_TASK, id="the task"),
        pytest.param(PAUSED_CLUSTER, id="the cluster"),
        pytest.param(AdmissionState(paused=True), id="the cluster, a task nobody knows"),
    ],
)
@pytest.mark.parametrize("pod", [POD, KEEN], ids=["a pod", "a pod that says enforce"])
def test_a_paused_pod_is_left_as_it_is_written(state: AdmissionState, pod: Any) -> None:
    sized = size(pod.built(), state)
    assert (sized.treatment, sized.patch, sized.note) == (Treatment.PAUSED, [], None)


def test_the_same_pod_is_sized_where_nothing_is_paused() -> None:
    assert size(KEEN.built(), state_of()).treatment is Treatment.ENFORCED


def test_a_waiting_pod_is_not_resized_while_paused() -> None:
    waiting = WAITING.patched(size(WAITING.built(), AdmissionState()).patch).in_mode("enforce")
    for state in (PAUSED_TASK, PAUSED_CLUSTER):
        assert resize_for(waiting.built(), state) == Left("it is paused")


@pytest.mark.parametrize(
    ("namespace", "profile", "paused"),
    [
        pytest.param({"paused": True}, {"paused": False}, True, id="false resumes nothing"),
        pytest.param({"paused": True}, None, True, id="by the namespace"),
        pytest.param(None, {"paused": True}, True, id="by the task"),
        pytest.param({"paused": False}, {}, False, id="by nobody"),
        pytest.param({"paused": "yes"}, None, False, id="text is no truth, and is ignored"),
    ],
)
def test_what_a_level_pauses_no_lower_level_resumes(
    namespace: dict[str, Any] | None, profile: dict[str, Any] | None, paused: bool
) -> None:
    assert resolve(Policy(), namespace, profile).policy.paused is paused


def test_a_cluster_wide_pause_is_one_entry_of_the_feed_whatever_the_number_of_tasks() -> None:
    cluster, board = a_cluster()
    before = board.revision
    cluster.policies.see(policy_object("cluster", "plimsoll", paused=True), gone=False)
    message = decode_message(board.message(before, "epoch"))
    assert message.defaults is not None
    assert message.defaults["paused"] is True
    assert (message.tasks, cluster.published, cluster.policies.paused) == ({}, [], True)
    assert cluster.policies.paused_by(TaskId("shop", "train")) is PausedBy.CLUSTER


def test_resuming_or_deleting_the_clusters_policy_ends_the_pause() -> None:
    for document, gone in (
        (policy_object("cluster", "plimsoll", paused=False), False),
        (policy_object("cluster", "plimsoll", paused=True), True),
    ):
        cluster, board = a_cluster()
        cluster.policies.see(policy_object("cluster", "plimsoll", paused=True), gone=False)
        cluster.policies.see(document, gone=gone)
        defaults = decode_message(board.message(0, None)).defaults
        assert (cluster.policies.paused, (defaults or {})["paused"]) == (False, False)


def test_the_clusters_policy_is_the_default_of_all_namespaces() -> None:
    cluster, board = a_cluster()
    cluster.policies.see(policy_object("default", "farm", maxLifts=1), gone=False)
    cluster.policies.see(
        policy_object("cluster", "plimsoll", mode="enforce", maxLifts=2), gone=False
    )
    for task in cluster.book:
        cluster.book.resolve_again(task)
    shop, farm = (cluster.book.look(TaskId(name, "train")).policy for name in ("shop", "farm"))
    assert (shop.mode, shop.max_lifts) == (Mode.ENFORCE, 2)
    assert (farm.mode, farm.max_lifts) == (Mode.ENFORCE, 1)
    told = decode_message(board.message(0, None))
    assert (told.defaults or {})["policy"]["mode"] == "enforce"
    assert told.namespaces["farm"]["policy"]["max_lifts"] == 1


def test_a_policy_named_cluster_elsewhere_holds_for_nobody() -> None:
    cluster, _ = a_cluster()
    cluster.policies.see(policy_object("cluster", "shop", paused=True, mode="enforce"), gone=False)
    assert not cluster.policies.paused
    assert cluster.published == []
    assert [cluster.book.look(task).policy for task in cluster.book] == [Policy(), Policy()]


def test_a_pause_by_the_namespace_or_the_task_says_who_it_is() -> None:
    cluster, _ = a_cluster()
    shop, farm = TaskId("shop", "train"), TaskId("farm", "train")
    cluster.policies.see(policy_object("default", "shop", paused=True), gone=False)
    cluster.policies.set_profile_spec("farm", "train", {"paused": True})
    assert cluster.policies.paused_by(shop) is PausedBy.NAMESPACE
    assert cluster.policies.paused_by(farm) is PausedBy.TASK
    cluster.policies.set_profile_spec("farm", "train", {})
    assert cluster.policies.paused_by(farm) is None


def test_a_pause_that_is_no_truth_leaves_the_state_as_it_was() -> None:
    state = AdmissionState(paused=True)
    with pytest.raises(BadEntry):
        apply(
            state,
            ChangeKind.DEFAULTS,
            "",
            {"policy": Policy().to_dict(), "paused": "no"},
        )
    assert state.paused


@pytest.mark.slow
async def test_admission_counts_what_it_left_alone_and_keeps_the_pause_over_a_restart(
    tmp_path: Path,
) -> None:
    async with a_server(tmp_path, knowledge_of()) as (caller, server, board):
        assert patch_in(await caller.review(KEEN))
        board.set_defaults(Policy(), paused=True)
        await until_true(lambda: server.state.paused)
        assert patch_in(await caller.review(KEEN)) == []
        paused = server.metrics.registry.get_sample_value(
            "plimsoll_admission_pods_total", {"outcome": "paused", "reason": "paused"}
        )
        assert paused == 1
        snapshot = tmp_path / "snapshot.jsonl"
        await until_true(lambda: snapshot.exists() and '"paused":true' in snapshot.read_text())


@pytest.mark.slow
async def test_a_kill_while_paused_is_learned_and_never_retried(tmp_path: Path) -> None:
    paused = policy_object("cluster", "plimsoll", paused=True)
    async with an_inside(tmp_path) as inside:
        await inside.controller.watch.see_policy(paused, gone=False)
        await inside.see(killed(decided(a_train())))
        assert inside.known.lifts == {}
        assert inside.known.max_need_bytes is not None
        assert len(inside.store.observations.of_task(TRAIN)) == 1
    # Resumed, and seen again after a restart: it is not run again unexpectedly.
    async with an_inside(tmp_path) as inside:
        await inside.see(killed(decided(a_train())))
        assert inside.store.retries.waiting() == []
        await inside.see(killed(decided(a_train("train-2"))))
        assert len(inside.store.retries.waiting()) == 1


def test_a_policy_from_a_newer_version_is_read_as_far_as_it_is_known() -> None:
    policy = replace(Policy(), paused=True, max_lifts=5)
    data = policy.to_dict()
    newer = {**data, "fromTomorrow": 1, "cpu": {**data["cpu"], "fromTomorrow": 1}}
    assert Policy.from_dict(newer) == policy
