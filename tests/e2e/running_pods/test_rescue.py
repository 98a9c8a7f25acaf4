"""Running pods on the real node that get more before they reach their limit."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from plimsoll_operator.names import labels
from plimsoll_operator.names.quantity import parse_bytes
from plimsoll_predictor.core.record import Outcome
from plimsoll_predictor.core.units import MIB
from tests.apiserver.controllers import Shop, a_shop, until
from tests.conftest import Cluster
from tests.e2e.plimsolls import CONTROLLER, Plimsoll
from tests.e2e.seeing import WITHIN_S, create, end_of, ended, memory_of, sizes_in_mode, told
from tests.e2e.workloads import a_pod

pytestmark = [pytest.mark.node, pytest.mark.asyncio(loop_scope="module")]

ASKED = "160Mi"
SLOWLY = "heed 96 4 140 10240 3"
"""It holds 96 MiB, then grows by 10 MiB a second to 236, which is above its limit. Near the limit
it grows more slowly, because a busy machine rescues later."""
STEADILY = SLOWLY.replace("heed", "pace")
"""It grows by 10 MiB a second to the end, so a rescue has to come within seconds."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def rescuing(plimsoll: Plimsoll, cluster: Cluster) -> AsyncIterator[Shop]:
    """A namespace whose pods may be rescued, and get no next attempt."""
    async with a_shop(cluster.kubeconfig) as made:
        await made.enforce(rescue="auto", retry="never")
        await sizes_in_mode(made, "enforce")
        yield made


@pytest.mark.parametrize(
    ("name", "grows"),
    [
        pytest.param("grower", SLOWLY, id="slower near its limit"),
        pytest.param("steady", STEADILY, id="at one pace", marks=pytest.mark.alone),
    ],
)
async def test_a_pod_that_grows_beyond_its_size_lives(
    rescuing: Shop, plimsoll: Plimsoll, name: str, grows: str
) -> None:
    await create(rescuing, a_pod(name, grows, task=name, memory=ASKED))
    pod = await ended(rescuing, name)
    assert (pod.status.phase, end_of(pod)) == ("Succeeded", ("Completed", 0))
    request, limit = memory_of(pod)
    assert request == limit
    assert parse_bytes(limit) > 236 * MIB
    note = json.loads(pod.metadata.annotations[labels.RESCUED])
    assert (note["request"], note["limit"]) == (ASKED, ASKED)
    await told(rescuing, name, "Rescued")
    (found,) = await until(
        "an observation", lambda: plimsoll.observations(rescuing.task(name)), WITHIN_S
    )
    # Its observation has its need and its author's request.
    assert found.outcome is Outcome.SUCCEEDED
    assert found.request_bytes == 160 * MIB
    assert found.allocation_bytes == parse_bytes(limit)


async def test_page_cache_is_no_reason_to_give_more(rescuing: Shop) -> None:
    await create(rescuing, a_pod("filler", "fill 200 3", task="filler", memory="64Mi"))
    pod = await ended(rescuing, "filler")
    assert pod.status.phase == "Succeeded"
    assert memory_of(pod) == ("64Mi", "64Mi")


async def test_another_controller_goes_on_rescuing(rescuing: Shop, plimsoll: Plimsoll) -> None:
    await create(rescuing, a_pod("passed-on", SLOWLY, task="passed-on", memory="128Mi"))

    async def raised() -> bool:
        pod = (await rescuing.pods())["passed-on"]
        return parse_bytes(memory_of(pod)[1]) > 128 * MIB

    await until("it is raised once", raised, WITHIN_S)
    await plimsoll.killed(CONTROLLER)
    pod = await ended(rescuing, "passed-on")
    note = json.loads(pod.metadata.annotations[labels.RESCUED])
    # Even if the new leader came too late, it knows what the pod had.
    assert (note["limit"], note["uid"]) == ("128Mi", pod.metadata.uid)


async def test_a_pod_of_a_policy_without_a_word_on_rescue_dies_at_its_limit(
    shop: Shop, rescuing: Shop
) -> None:
    manifest: dict[str, Any] = a_pod(
        "left", SLOWLY, task="left", memory="128Mi", annotated={labels.RETRY: "never"}
    )
    await create(shop, manifest)
    pod = await ended(shop, "left")
    assert end_of(pod) == ("OOMKilled", 137)
    assert memory_of(pod) == ("128Mi", "128Mi")
