"""Floods, malice and roles that lack rights: bounded, harmless to others, and reported."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from kubernetes_asyncio import client

from plimsoll_operator.controller.announcing.events_budget import OF_A_TASK
from plimsoll_operator.controller.controller import Controller
from plimsoll_operator.controller.profiles.profiles import UNKNOWN_KEPT_S
from plimsoll_operator.controller.settings import ControllerSettings
from plimsoll_operator.kube.api_server import MERGE_PATCH
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.names import labels
from plimsoll_operator.names.profile_names import profile_name
from plimsoll_operator.training.spawning import Spawner
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import Store
from tests.apiserver.controllers import Shop, a_controller, a_shop, observed, store_url, until
from tests.apiserver.sentinels import a_later_kill_is_retried, attempts_are_counted
from tests.apiserver.waiting import RESIZING, ROLE, a_role, logged, metric, teach
from tests.conftest import Cluster

pytestmark = pytest.mark.cluster

FLOOD = round(OF_A_TASK.burst + 8 * OF_A_TASK.per_minute)
"""More than the budget gives while a test waits."""
SOAK_FLOOD, SOAK_ROUNDS = 1000, 50
"""Of `make soak-cluster`."""
AT_ONCE = 20
GROUP = ("plimsoll.dev", "v1alpha1")


async def in_turns(calls: list[Any]) -> None:
    for start in range(0, len(calls), AT_ONCE):
        await asyncio.gather(*calls[start : start + AT_ONCE])


async def test_a_flood_of_kills_of_one_task_is_all_observed_and_told_of_within_bounds(
    shop: Shop, cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str], rounds: int
) -> None:
    flood = SOAK_FLOOD if rounds >= SOAK_ROUNDS else FLOOD
    await shop.enforce(retry="never")
    names = [f"heavy-{number:04}" for number in range(flood)]
    await in_turns([shop.pod(name) for name in names])
    await in_turns([shop.end(name, "killed") for name in names])
    began_s = time.monotonic()
    async with a_controller(cluster.kubeconfig, tmp_path):
        await until("all observed", lambda: len(observed(tmp_path, shop.task())) == flood)
        await until("told, or not", lambda: _told_or_not(tmp_path, flood))
        suppressed = await metric(tmp_path, 'plimsoll_events_total{result="suppressed"}')
        minutes = (time.monotonic() - began_s) / 60
    found = await client.EventsV1Api(shop.core.api_client).list_namespaced_event(shop.namespace)
    ours = [each for each in found.items if each.reporting_controller == "plimsoll.dev/controller"]
    with capsys.disabled():
        print(f"\n{flood} kills: {len(ours)} Events, {suppressed:.0f} suppressed")
    assert len(ours) <= OF_A_TASK.burst + OF_A_TASK.per_minute * (minutes + 1)
    assert len(ours) + suppressed >= flood


async def _told_or_not(folder: Path, kills: int) -> bool:
    name = 'plimsoll_events_total{{result="{}"}}'
    sent, suppressed = [await metric(folder, name.format(each)) for each in ("sent", "suppressed")]
    return sent + suppressed >= kills


async def test_a_role_that_lacks_something_shows_on_every_profile_until_it_is_given(
    shop: Shop, cluster: Cluster, tmp_path: Path
) -> None:
    rbac = client.RbacAuthorizationV1Api(shop.core.api_client)
    pods, *others = ROLE["rules"]
    fewer = {**pods, "verbs": [verb for verb in pods["verbs"] if verb != "create"]}
    async with a_role(shop, cluster, tmp_path) as kubeconfig:
        body = {"metadata": {"name": shop.namespace}, "rules": [fewer, *others, RESIZING]}
        await rbac.replace_cluster_role(shop.namespace, body)
        async with a_controller(kubeconfig, tmp_path):
            await shop.pod("one")
            await shop.end("one", "succeeded")
            found = await until("it shows", lambda: _degraded_as(shop, "Forbidden"))
            assert 'lacks the verb "create" on pods' in found["message"]
            assert "killed bare pods are not run again" in found["message"]
            body = {"metadata": {"name": shop.namespace}, "rules": [*ROLE["rules"], RESIZING]}
            await rbac.replace_cluster_role(shop.namespace, body)
            await until("it is given", lambda: _degraded_as(shop, "AllWell"))


async def _degraded_as(shop: Shop, reason: str) -> dict[str, Any] | None:
    status = (await shop.profile("train")).get("status") or {}
    for each in status.get("conditions") or ():
        if each["type"] == "Degraded" and each["reason"] == reason:
            return dict(each)
    return None


@asynccontextmanager
async def keepers(cluster: Cluster, folder: Path, *times_s: float) -> AsyncIterator[Any]:
    """Keepers of profiles as in a controller, each with its own time of day."""
    store = Store.open(store_url(folder))
    kube = await Kube.connect(str(cluster.kubeconfig), None)
    spawner = Spawner(store_url="", command=("false",))
    controllers = [
        Controller(ControllerSettings(), kube, store, spawner, lambda now_s=now_s: now_s)  # type: ignore[misc]
        for now_s in times_s
    ]
    try:
        yield [controller.profiles for controller in controllers]
    finally:
        for controller in controllers:
            await controller.close()
        await kube.close()
        store.close()


async def test_a_profile_of_which_nothing_is_known_goes_and_peoples_own_stay(
    shop: Shop, cluster: Cluster, tmp_path: Path
) -> None:
    mine = {
        "apiVersion": "/".join(GROUP),
        "kind": "TaskProfile",
        "metadata": {"name": "by-people"},
        "spec": {},
    }
    where, random = (*GROUP, shop.namespace, "taskprofiles"), _profile_of("Random_2")
    now_s = time.time()
    async with keepers(cluster, tmp_path, now_s, now_s + UNKNOWN_KEPT_S + 60) as (now, later):
        for name in ("random-1", "Random_2", "written"):
            await now._create(shop.task(name), _profile_of(name))
        await shop.custom.create_namespaced_custom_object(*where, mine)
        await shop.custom.patch_namespaced_custom_object(
            *where, "written", {"spec": {"max": "4Gi"}}, _content_type=MERGE_PATCH
        )
        await now.remove(shop.task("random-1"))
        assert await _profiles(shop) == {"random-1", random, "written", "by-people"}
        for name in ("random-1", "Random_2", "written", "by-people", "never-there"):
            await later.remove(shop.task(name))
        assert await _profiles(shop) == {"written", "by-people"}


def _profile_of(name: str) -> str:
    return profile_name(TaskId("any", name))


async def _profiles(shop: Shop) -> set[str]:
    found = await shop.custom.list_namespaced_custom_object(
        *(*GROUP, shop.namespace, "taskprofiles")
    )
    return {each["metadata"]["name"] for each in found["items"]}


async def test_a_malicious_author_changes_nothing_for_another_namespace(
    shop: Shop, cluster: Cluster, tmp_path: Path
) -> None:
    await shop.enforce(minRuns=1)
    async with a_shop(cluster.kubeconfig) as evil:
        await evil.enforce()
        async with a_controller(cluster.kubeconfig, tmp_path):
            await until("it starts", lambda: logged(tmp_path, "controller started"))
            await teach(shop, tmp_path)
            status = await until("sized", lambda: _known(shop, 2))
            victim = next(iter((await shop.pods()).values())).metadata.uid
            for number, annotations in enumerate(_malice(victim)):
                await evil.pod(f"evil-{number}", annotations=annotations, memory="64Mi")
                await evil.end(f"evil-{number}", "killed")
            count = len(_malice(victim))
            await until("all observed", lambda: len(observed(tmp_path, evil.task())) == count)
            await attempts_are_counted(evil, count)
            await a_later_kill_is_retried(cluster)
            assert _lasting(await _known(shop, 2)) == _lasting(status)
            told = (await evil.profile("train"))["status"]
            assert status["maxNeed"] == "100Mi"
            assert "100Mi" not in str(told)
            assert shop.namespace not in str(told)
            assert len(await shop.pods()) == 2
        log = (tmp_path / "controller.log").read_text()
        assert "Traceback" not in log


def _malice(victim_uid: str) -> list[dict[str, str]]:
    return [
        {labels.DECISION: "{" * 200_000},
        {labels.DECISION: '{"task":"shop/train","attempt":1000,"mode":"enforce"}'},
        {labels.RUN_OF: victim_uid, labels.RETRY_OF: victim_uid},
        {labels.RUN: "r7", labels.ITEM: "💥" * 100},
        {f"{labels.FEATURE_PREFIX}{'x' * 63}": "9" * 100_000},
        {f"{labels.FEATURE_PREFIX}f{number}": "1e308" for number in range(500)},
        {labels.MODE: "enforce\x00", labels.RETRY: "auto; rm", labels.CRITICAL: "perhaps"},
    ]


async def _known(shop: Shop, runs: int) -> dict[str, Any] | None:
    status = dict((await shop.profile("train")).get("status") or {})
    # Runs are known at once, the store counts attempts a moment later, and experts are judged by
    # them after that.
    counted = status.get("runs") == status.get("observations") == runs
    return status if counted and status.get("expertCosts") else None


def _lasting(status: dict[str, Any] | None) -> dict[str, Any]:
    """Without fields that change with time alone."""
    passing = ("conditions", "cpu", "observedGeneration", "about")
    return {name: value for name, value in (status or {}).items() if name not in passing}


async def test_without_a_watch_on_pods_the_controller_lives_says_so_and_goes_on_once_it_has_it(
    shop: Shop, cluster: Cluster, tmp_path: Path
) -> None:
    rbac = client.RbacAuthorizationV1Api(shop.core.api_client)
    pods, *others = ROLE["rules"]
    fewer = {**pods, "verbs": ["get", "create", "delete", "patch"]}
    await shop.custom.create_namespaced_custom_object(
        *(*GROUP, shop.namespace, "taskprofiles"),
        {
            "apiVersion": "/".join(GROUP),
            "kind": "TaskProfile",
            "metadata": {"name": "train"},
            "spec": {"max": "4Gi"},
        },
    )
    async with a_role(shop, cluster, tmp_path) as kubeconfig:
        body = {"metadata": {"name": shop.namespace}, "rules": [fewer, *others]}
        await rbac.replace_cluster_role(shop.namespace, body)
        async with a_controller(kubeconfig, tmp_path) as controller:
            found = await until("it shows", lambda: _degraded_as(shop, "Forbidden"))
            assert 'lacks the verb "watch" on pods: no pod is seen' in found["message"]
            await asyncio.sleep(10)
            assert controller.process.returncode is None
            body = {"metadata": {"name": shop.namespace}, "rules": ROLE["rules"]}
            await rbac.replace_cluster_role(shop.namespace, body)
            await shop.pod("one")
            await shop.end("one", "succeeded")
            await until("observed", lambda: observed(tmp_path, shop.task()))
