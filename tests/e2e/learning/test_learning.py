"""Real runs teach a real model, and the next pods are sized by it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from plimsoll_operator.names.quantity import parse_bytes
from plimsoll_predictor.core.units import MIB
from tests.apiserver.controllers import Shop, a_shop, until
from tests.conftest import Cluster
from tests.e2e.plimsolls import Plimsoll
from tests.e2e.seeing import (
    WITHIN_S,
    create,
    decision_of,
    ended,
    job_is,
    memory_of,
    pods_of_job,
    sizes_in_mode,
)
from tests.e2e.workloads import Manifest, a_job, a_pod, features

pytestmark = [pytest.mark.node, pytest.mark.asyncio(loop_scope="module")]

RUNS = 12
FIRST_RUNS = 2
ROWS = (4000, 1000)
"""Needs that come again: nothing can be learned from ever growing ones."""
ASKED = "256Mi"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def trained(plimsoll: Plimsoll, cluster: Cluster) -> AsyncIterator[Shop]:
    """A namespace whose task was trained on real runs that needed what their feature says."""
    async with a_shop(cluster.kubeconfig) as shop:
        await shop.enforce(minRuns=RUNS, min="16Mi")
        await sizes_in_mode(shop, "enforce")
        for number in range(RUNS):
            await create(shop, a_run(f"run-{number}", ROWS[number % len(ROWS)]))
            if number == FIRST_RUNS - 1:
                # Experts that know nothing bid nothing: only later runs tell what would have
                # served.
                await until(
                    "the first runs are known", lambda: knows_runs(shop, FIRST_RUNS), WITHIN_S
                )

        async def is_learned() -> bool:
            status = (await shop.profile("train")).get("status") or {}
            return "modelVersion" in status and status.get("champion") != "request"

        await until("a model, and a champion that learned", is_learned, WITHIN_S)
        yield shop


async def knows_runs(shop: Shop, count: int) -> bool:
    status = (await shop.profile("train")).get("status") or {}
    return int(status.get("runs", 0)) >= count


def a_run(name: str, rows: int) -> Manifest:
    # Memory is held for a while: Kubernetes tells whole seconds, and a run of 0 s saves nothing.
    command = f"eat {needs_mib(rows)} 2"
    return a_pod(name, command, memory=ASKED, annotated=features(rows=rows))


def needs_mib(rows: int) -> int:
    return 12 + 8 * rows // 1000


def is_smaller(memory: tuple[str | None, str | None]) -> bool:
    request, limit = memory
    assert request is not None
    return request == limit and 16 * MIB <= parse_bytes(request) < 128 * MIB


async def test_the_profile_shows_the_model_and_what_it_learned_from(
    trained: Shop, plimsoll: Plimsoll
) -> None:
    status = (await trained.profile("train"))["status"]
    assert status["phase"] == "Sizing"
    assert status["runs"] == status["observations"] == RUNS
    assert status["oomKills"] == 0
    seen = plimsoll.observations(trained.task())
    assert len(seen) == RUNS
    for each in seen:
        needed_bytes = needs_mib(int(float(each.features["rows"]))) * MIB
        assert each.peak_bytes is not None
        assert needed_bytes <= each.peak_bytes <= needed_bytes + 16 * MIB


async def test_the_next_bare_pod_is_sized_below_its_request_and_succeeds(trained: Shop) -> None:
    pod = await create(trained, a_run("next", rows=1000))
    assert is_smaller(memory_of(pod))
    assert (await ended(trained, "next")).status.phase == "Succeeded"


async def test_a_jobs_pod_is_sized_as_well(trained: Shop) -> None:
    job = a_job("sized", "eat 20", task="train", backoff_limit=3, memory=ASKED)
    job["spec"]["template"]["metadata"]["annotations"] = features(rows=1000)
    await create(trained, job)
    await job_is(trained, "sized", "Complete")
    (pod,) = await pods_of_job(trained, "sized")
    assert is_smaller(memory_of(pod))


async def test_a_dry_run_is_answered_and_leaves_nothing_behind(
    trained: Shop, plimsoll: Plimsoll
) -> None:
    dry = await create(trained, a_run("dry", rows=1000), dry_run=True)
    assert is_smaller(memory_of(dry))
    unknown = a_pod("unknown", "eat 8", task="unknown")
    assert decision_of(await create(trained, unknown, dry_run=True))["reason"] == "cold-start"
    # Any effect of the dry runs would have been seen before this pod.
    await create(trained, a_pod("later", "eat 8", task="later"))
    await until("the later pod", lambda: plimsoll.observations(trained.task("later")), WITHIN_S)
    await until("its profile", lambda: trained.profile("later"), WITHIN_S)
    assert await trained.profile("unknown") == {}
    assert trained.task("unknown") not in plimsoll.store.totals.tasks()
    assert "dry" not in await trained.pods()
