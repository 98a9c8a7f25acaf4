"""Admission dead, hanging, or back before its controller: pods are admitted in all cases."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import orjson
import pytest

from plimsoll_operator.processes.run_webhook import TIMEOUT_S
from tests.apiserver.controllers import Shop, until
from tests.conftest import Cluster
from tests.e2e.plimsolls import ADMISSION, CONTROLLER, Plimsoll, wait_for_admission
from tests.e2e.seeing import WITHIN_S, create, decision_of, memory_of, sizes_in_mode
from tests.e2e.workloads import a_pod, an_airflow_try

pytestmark = [pytest.mark.node, pytest.mark.asyncio(loop_scope="module")]

GIVES_UP_S = 9.0


def failed_open(cluster: Cluster) -> int:
    """How often the API server continued without our webhook's answer, by its own count."""
    pattern = r'webhook_fail_open_count\{.*name="size\.plimsoll\.dev".*\} (\d+)'
    found = re.search(pattern, cluster.kubectl("get", "--raw", "/metrics"))
    return int(found[1]) if found else 0


def left_alone(pod: Any) -> bool:
    return decision_of(pod) == {} and memory_of(pod) == ("64Mi", "64Mi")


async def test_without_admission_pods_are_created_as_they_were_written(
    shop: Shop, plimsoll: Plimsoll, cluster: Cluster
) -> None:
    counted, before = failed_open(cluster), plimsoll.pid(ADMISSION)
    with plimsoll.without(ADMISSION):
        assert left_alone(await create(shop, a_pod("unsized", "eat 8")))
        assert failed_open(cluster) == counted + 1
    await plimsoll.back(ADMISSION, before)
    # Its snapshot may be older than the namespace's policy, until it has heard the feed.
    await sizes_in_mode(shop, "enforce")
    assert decision_of(await create(shop, a_pod("sized", "eat 8")))["mode"] == "enforce"


async def test_a_hanging_admission_costs_no_more_than_the_webhooks_timeout(
    shop: Shop, plimsoll: Plimsoll, cluster: Cluster
) -> None:
    wait_for_admission(cluster, TIMEOUT_S)
    try:
        await sizes_in_mode(shop, "enforce")  # the API server reads the change while it asks
        counted = failed_open(cluster)
        with plimsoll.hanging(ADMISSION):
            # If the API server waits for longer, the client gives up and the test fails: it waits
            # ten seconds for a webhook without a timeout.
            created = shop.core.create_namespaced_pod(
                shop.namespace, a_pod("patient", "eat 8"), _request_timeout=GIVES_UP_S
            )
            assert left_alone(await created)
            assert failed_open(cluster) == counted + 1
    finally:
        wait_for_admission(cluster)
    await until("admission answers again", lambda: plimsoll.serves(ADMISSION), WITHIN_S)
    assert decision_of(await create(shop, a_pod("after", "eat 8")))["mode"] == "enforce"


async def test_admission_restarted_without_its_controller_lifts_from_its_snapshot(
    shop: Shop, plimsoll: Plimsoll
) -> None:
    await create(shop, an_airflow_try(1, "eat 90", task="known"))
    snapshot = plimsoll.state / "snapshot"
    await until("in the snapshot", lambda: lifts_in(snapshot, shop), WITHIN_S)
    with plimsoll.hanging(CONTROLLER):
        await plimsoll.killed(ADMISSION)
        pod = await create(shop, an_airflow_try(2, "eat 90", task="known"))
        assert decision_of(pod)["reason"] == "lifted"
        assert memory_of(pod) == ("128Mi", "128Mi")
    await until("the controller answers again", lambda: plimsoll.serves(CONTROLLER), WITHIN_S)


def lifts_in(snapshot: Path, shop: Shop) -> dict[str, Any]:
    """The lifts of the task "known" in a snapshot."""
    if not snapshot.exists():
        return {}
    entries = [orjson.loads(line) for line in snapshot.read_bytes().splitlines()]
    name = str(shop.task("known"))
    return next((e["data"]["lifts"] for e in entries if e.get("name") == name), {})
