"""The controller's rights are taken away: it waits, says so, and loses nothing."""

from __future__ import annotations

import asyncio
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from kubernetes_asyncio import client

from tests.apiserver.controllers import Shop, a_controller, observed, until
from tests.apiserver.sentinels import a_later_kill_is_retried
from tests.apiserver.waiting import ROLE, a_role, logged
from tests.conftest import Cluster

pytestmark = pytest.mark.cluster


async def may(shop: Shop, rules: list[dict[str, Any]]) -> None:
    rbac = client.RbacAuthorizationV1Api(shop.core.api_client)
    body = {"metadata": {"name": shop.namespace}, "rules": rules}
    await rbac.replace_cluster_role(shop.namespace, body)


async def readiness(folder: Path) -> tuple[int, str]:
    (serves, *_) = await until("it serves", lambda: logged(folder, "controller serves"))
    return await asyncio.to_thread(_get, f"http://127.0.0.1:{serves['port']}/readyz")


def _get(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


@pytest.mark.parametrize("resource", ["nodes", "limitranges", "resourcequotas"])
async def test_who_may_not_list_what_bounds_sizes_waits_for_it_and_then_starts(
    shop: Shop, cluster: Cluster, tmp_path: Path, resource: str
) -> None:
    pods, bounds, *others = ROLE["rules"]
    fewer = {**bounds, "resources": [each for each in bounds["resources"] if each != resource]}
    async with a_role(shop, cluster, tmp_path) as kubeconfig:
        await may(shop, [pods, fewer, *others])
        async with a_controller(kubeconfig, tmp_path) as controller:
            waits = "waiting for the API server"
            (said, *_) = await until("it says so", lambda: logged(tmp_path, waits))
            assert f'cannot list resource "{resource}"' in said["error"]
            status, words = await readiness(tmp_path)
            assert (status, words) == (503, "starting: waiting for the API server\n")
            assert controller.process.returncode is None
            await may(shop, ROLE["rules"])
            await until("it starts", lambda: logged(tmp_path, "controller started"))
    assert "Traceback" not in (tmp_path / "controller.log").read_text()


async def test_of_all_that_is_taken_away_while_it_runs_each_is_said_and_a_kill_is_retried_once(
    shop: Shop, cluster: Cluster, tmp_path: Path
) -> None:
    await shop.enforce()
    async with a_role(shop, cluster, tmp_path) as kubeconfig:
        async with a_controller(kubeconfig, tmp_path) as controller:
            await until("it starts", lambda: logged(tmp_path, "controller started"))
            await shop.pod("before")
            await shop.end("before", "succeeded")
            await until("observed", lambda: observed(tmp_path, shop.task()))
            await may(shop, [])
            await until("it says so", lambda: _all_said(tmp_path))
            await shop.pod("killed")
            await shop.end("killed", "killed")
            await until("it is refused", lambda: logged(tmp_path, "retry refused"))
            assert controller.process.returncode is None
            assert len(await shop.pods()) == 2
            await may(shop, ROLE["rules"])
            await until("retried", lambda: _pods_are(shop, 3))
            await a_later_kill_is_retried(cluster)
            assert await _pods_are(shop, 3)
            assert len(observed(tmp_path, shop.task())) == 2
        assert "Traceback" not in (tmp_path / "controller.log").read_text()


def _said(folder: Path, what: str) -> bool:
    return any(f" on {what}" in str(each["found"]) for each in logged(folder, "trouble"))


def _all_said(folder: Path) -> bool:
    kinds = ("resourcequotas", "pods", "nodes", "limitranges", "sizingpolicies", "taskprofiles")
    return all(_said(folder, each) for each in kinds)


async def _pods_are(shop: Shop, count: int) -> bool:
    return len(await shop.pods()) == count
