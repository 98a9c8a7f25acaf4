"""The controller watching: policies before pods, status written, refreshed after an import."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.commands.past_runs.import_file import import_command
from tests.apiserver.controllers import Shop, a_controller, store_url, until
from tests.apiserver.sentinels import is_in_force, policy_of
from tests.conftest import Cluster

pytestmark = pytest.mark.cluster

HEADER = "namespace,task,run,finished_s,outcome,allocation_bytes,peak_bytes"


async def test_an_import_beside_a_running_controller_is_taken_up(
    shop: Shop, cluster: Cluster, tmp_path: Path
) -> None:
    await shop.pod("now")
    async with a_controller(cluster.kubeconfig, tmp_path):
        await until("the task is known", lambda: shop.profile("train"))
        for runs in (3, 7):
            _import(shop, tmp_path, runs)
            await until(f"{runs} runs", lambda runs=runs: _runs(shop, runs))


async def test_a_policys_status_says_whether_it_is_in_force(
    shop: Shop, cluster: Cluster, tmp_path: Path
) -> None:
    await shop.enforce()
    async with a_controller(cluster.kubeconfig, tmp_path):
        await until("in force", lambda: is_in_force(shop, "default", "True"))
        await _create_policy(shop, "spare")
        await until("not in force", lambda: is_in_force(shop, "spare", "False"))
        before = await policy_of(shop, "default")
        await shop.custom.patch_namespaced_custom_object(
            "plimsoll.dev",
            "v1alpha1",
            shop.namespace,
            "sizingpolicies",
            "spare",
            {"spec": {"minRuns": 3}},
            _content_type="application/merge-patch+json",
        )
        await until("the change is seen", lambda: _generation(shop, "spare", 2))
        await _create_policy(shop, "later")
        await until("a later one is", lambda: is_in_force(shop, "later", "False"))
        assert await policy_of(shop, "default") == before, "what did not change is not written"


async def test_a_lift_stays_below_a_limit_range_that_was_there_first(
    shop: Shop, cluster: Cluster, tmp_path: Path
) -> None:
    await shop.enforce()
    limits = [{"type": "Container", "max": {"memory": "160Mi"}}]
    await shop.core.create_namespaced_limit_range(
        shop.namespace, {"metadata": {"name": "small"}, "spec": {"limits": limits}}
    )
    await shop.pod("heavy")
    await shop.end("heavy", "killed")
    async with a_controller(cluster.kubeconfig, tmp_path):
        retry = await until("a retry", lambda: _second_pod(shop))
        assert retry.spec.containers[0].resources.limits["memory"] == "160Mi"


def _import(shop: Shop, folder: Path, runs: int) -> None:
    rows = [
        f"{shop.namespace},train,r{number},{1_700_000_000 + number},succeeded,1000000000,500000000"
        for number in range(runs)
    ]
    path = folder / "history.csv"
    path.write_text("\n".join((HEADER, *rows)))
    assert import_command(path, store_url(folder)) == 0


async def _runs(shop: Shop, number: int) -> bool:
    return ((await shop.profile("train")).get("status") or {}).get("runs") == number


async def _create_policy(shop: Shop, name: str) -> None:
    await shop.custom.create_namespaced_custom_object(
        "plimsoll.dev",
        "v1alpha1",
        shop.namespace,
        "sizingpolicies",
        {
            "apiVersion": "plimsoll.dev/v1alpha1",
            "kind": "SizingPolicy",
            "metadata": {"name": name},
            "spec": {"mode": "enforce"},
        },
    )


async def _generation(shop: Shop, name: str, generation: int) -> bool:
    status = (await policy_of(shop, name)).get("status") or {}
    return bool(status.get("observedGeneration") == generation)


async def _second_pod(shop: Shop) -> Any:
    return next((pod for name, pod in (await shop.pods()).items() if name != "heavy"), None)
