"""The controller's promises, against the real API server."""

from __future__ import annotations

import asyncio
import random
import signal
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from plimsoll_operator.names import labels
from plimsoll_predictor.core.record import Outcome
from tests.apiserver.controllers import Shop, a_controller, observed, until
from tests.apiserver.sentinels import a_later_kill_is_retried, retries_of
from tests.conftest import Cluster

pytestmark = pytest.mark.cluster


async def test_a_finished_pod_is_observed_once_across_restarts(
    shop: Shop, cluster: Cluster, tmp_path: Path
) -> None:
    for number in range(20):
        await shop.pod(f"run-{number}")
        await shop.end(f"run-{number}", "succeeded")
    for _ in range(2):
        async with a_controller(cluster.kubeconfig, tmp_path):
            await until("all observed", lambda: len(observed(tmp_path, shop.task())) == 20)
    uids = {pod.metadata.uid for pod in (await shop.pods()).values()}
    assert {each.attempt_uid for each in observed(tmp_path, shop.task())} == uids


async def test_a_bare_pod_killed_while_the_controller_was_down_is_retried_once(
    shop: Shop, cluster: Cluster, tmp_path: Path
) -> None:
    await shop.enforce()
    uid = await shop.pod("heavy")
    await shop.end("heavy", "killed")
    async with a_controller(cluster.kubeconfig, tmp_path):
        await until("a retry", lambda: retries_of(shop, uid))
    async with a_controller(cluster.kubeconfig, tmp_path):
        await until("the restart", lambda: _started(tmp_path, 2))
        await a_later_kill_is_retried(cluster)
    (retry,) = await retries_of(shop, uid)
    container = retry.spec.containers[0]
    assert container.resources.requests["memory"] == container.resources.limits["memory"] == "256Mi"
    assert retry.metadata.annotations[labels.RUN_OF] == uid


async def test_a_pod_killed_days_ago_is_learned_from_and_not_run_again(
    shop: Shop, cluster: Cluster, tmp_path: Path
) -> None:
    await shop.enforce()
    uid = await shop.pod("old")
    await shop.end("old", "killed", ago=timedelta(days=2))
    fresh = await shop.pod("fresh")
    await shop.end("fresh", "killed")
    async with a_controller(cluster.kubeconfig, tmp_path):
        await until("the fresh one's retry", lambda: retries_of(shop, fresh))
        await until("both observed", lambda: len(observed(tmp_path, shop.task())) == 2)
        assert await retries_of(shop, uid) == []


async def test_a_pod_of_which_nothing_runs_is_retried_once_before_its_phase_says_so(
    shop: Shop, cluster: Cluster, tmp_path: Path
) -> None:
    await shop.enforce()
    uid = await shop.pod("heavy")
    async with a_controller(cluster.kubeconfig, tmp_path):
        await shop.end("heavy", "killed", phase="Running")
        await until("a retry", lambda: retries_of(shop, uid))
        await shop.end("heavy", "killed")
        await a_later_kill_is_retried(cluster)
        assert len(await retries_of(shop, uid)) == 1


async def test_a_deleted_retry_is_not_made_again(
    shop: Shop, cluster: Cluster, tmp_path: Path
) -> None:
    await shop.enforce()
    uid = await shop.pod("heavy")
    await shop.end("heavy", "killed")
    async with a_controller(cluster.kubeconfig, tmp_path):
        (retry,) = await until("a retry", lambda: retries_of(shop, uid))
        await shop.core.delete_namespaced_pod(
            retry.metadata.name, shop.namespace, grace_period_seconds=0
        )
    async with a_controller(cluster.kubeconfig, tmp_path):
        await until("the restart", lambda: _started(tmp_path, 2))
        await a_later_kill_is_retried(cluster)
    assert await retries_of(shop, uid) == []


async def test_killed_at_any_moment_nothing_is_lost_or_doubled(
    shop: Shop, cluster: Cluster, tmp_path: Path
) -> None:
    await shop.enforce()
    uids = [await shop.pod(f"heavy-{number}") for number in range(12)]
    moments = random.Random(7)
    for number in range(12):
        await shop.end(f"heavy-{number}", "killed")
    for _ in range(4):
        async with a_controller(cluster.kubeconfig, tmp_path) as controller:
            await asyncio.sleep(moments.uniform(2.0, 4.0))
            await controller.end(signal.SIGKILL)
    async with a_controller(cluster.kubeconfig, tmp_path):
        for uid in uids:
            await until("a retry", lambda uid=uid: retries_of(shop, uid))
    retried = Counter(
        (pod.metadata.annotations or {}).get(labels.RETRY_OF)
        for pod in (await shop.pods()).values()
    )
    assert [retried[uid] for uid in uids] == [1] * len(uids)
    assert sorted(each.attempt_uid for each in observed(tmp_path, shop.task())) == sorted(uids)


async def test_recommend_mode_observes_a_kill_and_changes_nothing(
    shop: Shop, cluster: Cluster, tmp_path: Path
) -> None:
    uid = await shop.pod("heavy")
    await shop.end("heavy", "killed")
    async with a_controller(cluster.kubeconfig, tmp_path):
        await until("observed", lambda: observed(tmp_path, shop.task()))
        await a_later_kill_is_retried(cluster)
    assert await retries_of(shop, uid) == []
    assert observed(tmp_path, shop.task())[0].outcome is Outcome.OOM_KILLED


async def test_a_run_beyond_lifting_is_given_up_and_its_task_leaking(
    shop: Shop, cluster: Cluster, tmp_path: Path
) -> None:
    await shop.enforce(maxLifts=1)
    await shop.pod("heavy")
    await shop.end("heavy", "killed")
    async with a_controller(cluster.kubeconfig, tmp_path):
        retry = await until("a retry", lambda: _second_pod(shop, "heavy"))
        await shop.end(retry, "killed")
        await until("leaking", lambda: _phase_is(shop, "train", "Leaking"))
        assert len(await shop.pods()) == 2
        assert await until("an event", lambda: shop.events("Leaking"))


async def test_a_pod_switched_off_is_not_touched(
    shop: Shop, cluster: Cluster, tmp_path: Path
) -> None:
    await shop.enforce()
    off = await shop.pod("off", annotations={labels.MODE: "off"})
    on = await shop.pod("on")
    await shop.end("off", "killed")
    await shop.end("on", "killed")
    async with a_controller(cluster.kubeconfig, tmp_path):
        await until("the other's retry", lambda: retries_of(shop, on))
        assert await retries_of(shop, off) == []
        assert [each.attempt_uid for each in observed(tmp_path, shop.task())] == [on]


async def test_a_profile_tells_what_happened(shop: Shop, cluster: Cluster, tmp_path: Path) -> None:
    await shop.enforce()
    await shop.pod("heavy")
    await shop.end("heavy", "killed")
    async with a_controller(cluster.kubeconfig, tmp_path):
        await until("the kill", lambda: _status_has(shop, "train", "oomKills", 1))
        status = (await shop.profile("train"))["status"]
        assert status["phase"] == "ColdStart"
        assert status["mode"] == "enforce"

        async def is_told() -> bool:
            return any("OOM" in note or "killed" in note for note in await shop.events("Lifted"))

        await until("it is told", is_told)


async def _second_pod(shop: Shop, first: str) -> str | None:
    return next((name for name in await shop.pods() if name != first), None)


async def _phase_is(shop: Shop, task: str, phase: str) -> bool:
    return await _status_has(shop, task, "phase", phase)


async def _status_has(shop: Shop, task: str, field: str, value: object) -> bool:
    return ((await shop.profile(task)).get("status") or {}).get(field) == value


def _started(folder: Path, times: int) -> bool:
    return (folder / "controller.log").read_text().count("controller started") >= times
