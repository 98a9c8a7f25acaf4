"""CPU requests on the real node: the next pod requests what one has used."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from plimsoll_operator.names import labels
from plimsoll_operator.names.quantity import parse_millicores
from plimsoll_predictor.core.record import Observation
from tests.apiserver.controllers import Shop, a_shop, until
from tests.conftest import Cluster
from tests.e2e.plimsolls import Plimsoll
from tests.e2e.seeing import WITHIN_S, create, decision_of, ended, memory_of, sizes_in_mode
from tests.e2e.workloads import Manifest, a_pod

pytestmark = [pytest.mark.node, pytest.mark.asyncio(loop_scope="module")]

HEADROOM = 1.2
ASKED = "1500m"
SPINNING_S = 8


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def enforcing(plimsoll: Plimsoll, cluster: Cluster) -> AsyncIterator[Shop]:
    """A namespace that enforces CPU alone, after one run."""
    async with a_shop(cluster.kubeconfig) as shop:
        await shop.enforce(mode="recommend", cpu={"mode": "enforce", "minRuns": 1})
        await sizes_in_mode(shop, "recommend")
        yield shop


def spinning(
    name: str, limit: str | None = None, annotated: dict[str, str] | None = None
) -> Manifest:
    pod = a_pod(name, f"spin {SPINNING_S}", task="spin", memory="64Mi", annotated=annotated)
    resources = pod["spec"]["containers"][0]["resources"]
    resources["requests"]["cpu"] = ASKED
    if limit is not None:
        resources["limits"]["cpu"] = limit
    return pod


def cpu_of(pod: Any) -> tuple[str | None, str | None]:
    resources = pod.spec.containers[0].resources
    return resources.requests.get("cpu"), resources.limits.get("cpu")


async def seen(plimsoll: Plimsoll, shop: Shop, runs: int) -> list[Observation]:
    """The task's observations, once the CPU of that many is known."""

    def measured() -> list[Observation]:
        found = plimsoll.observations(shop.task("spin"))
        known = [each for each in found if each.cpu_s is not None]
        return known if len(known) == runs else []

    found = await until(f"the CPU of {runs} runs", measured, WITHIN_S)
    assert isinstance(found, list)
    return found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def first(enforcing: Shop, plimsoll: Plimsoll) -> Observation:
    """The first run, with the request as written; admission then knows what it used."""
    made = await create(enforcing, spinning("first"))
    assert cpu_of(made) == (ASKED, None)
    assert (await ended(enforcing, "first")).status.phase == "Succeeded"
    (run,) = await seen(plimsoll, enforcing, 1)

    async def known() -> Any:
        probe = await create(enforcing, spinning("probe"), dry_run=True)
        return decision_of(probe).get("cpu")

    decided = await until("the first run's CPU at admission", known, WITHIN_S)
    assert decided["was"] == ASKED
    return run


async def test_what_a_run_used_is_measured(first: Observation) -> None:
    assert first.mean_cores is not None
    assert first.cpu_s is not None
    # It holds on a busy machine, too, and one thread uses no more than one core.
    assert 0.1 < first.cpu_s < SPINNING_S * 1.5
    assert first.request_cores == first.allocated_cores == 1.5


async def test_the_next_pod_requests_what_was_used_with_headroom(
    first: Observation, enforcing: Shop, plimsoll: Plimsoll
) -> None:
    second = await create(enforcing, spinning("second"))
    request = parse_millicores(cpu_of(second)[0])
    used = (first.mean_cores or 0.0) * HEADROOM * 1000
    assert used - 1 <= request <= used + 10
    assert cpu_of(second)[1] is None
    assert memory_of(second) == ("64Mi", "64Mi")  # that is only recommended here
    assert second.status.qos_class == "Burstable"
    assert (await ended(enforcing, "second")).status.phase == "Succeeded"
    runs = await seen(plimsoll, enforcing, 2)
    assert (runs[-1].request_cores, runs[-1].allocated_cores) == (1.5, request / 1000)


@pytest.mark.usefixtures("first")
async def test_limits_and_classes_stay_as_they_are(enforcing: Shop) -> None:
    guaranteed = await create(enforcing, spinning("guaranteed", limit=ASKED), dry_run=True)
    assert cpu_of(guaranteed) == (ASKED, ASKED)
    assert guaranteed.status.qos_class == "Guaranteed"
    assert "Guaranteed" in decision_of(guaranteed)["cpu"]["why"]
    limited = await create(enforcing, spinning("limited", limit="1600m"), dry_run=True)
    assert cpu_of(limited) == (decision_of(limited)["cpu"]["request"], "1600m")


@pytest.mark.usefixtures("first")
async def test_a_pod_may_have_its_cpu_left_alone(enforcing: Shop) -> None:
    left = await create(
        enforcing, spinning("left", annotated={labels.CPU_MODE: "recommend"}), dry_run=True
    )
    assert cpu_of(left) == (ASKED, None)
    assert decision_of(left)["cpu"]["mode"] == "recommend"


@pytest.mark.usefixtures("first")
async def test_the_profile_shows_the_cpu(enforcing: Shop) -> None:
    async def shown() -> bool:
        cpu = ((await enforcing.profile("spin")).get("status") or {}).get("cpu") or {}
        return cpu.get("mode") == "enforce" and bool(cpu.get("request"))

    await until("CPU in the profile", shown, WITHIN_S)
