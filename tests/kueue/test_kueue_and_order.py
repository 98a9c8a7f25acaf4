"""Only Kueue releases what it holds, and only Plimsoll releases what its order holds."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from kubernetes_asyncio import client

from plimsoll_operator.names import labels
from tests.apiserver.controllers import a_shop, until
from tests.apiserver.crds import install_crds
from tests.conftest import Cluster
from tests.e2e.seeing import create, ended, job_is, running
from tests.e2e.workloads import LONG_S, a_pod
from tests.ha.turns.waiting_for_turns import COMPUTES, LONGEST_S
from tests.kueue.ordered import Ordered, a_plimsoll_that_orders
from tests.kueue.quotas import KUEUES_GATE, QUEUE_LABEL, a_queue
from tests.rigs.images.eater import load_eater

pytestmark = [pytest.mark.node, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ordered(
    kueue: None, cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Ordered]:
    load_eater(cluster.handle.layout)
    install_crds(cluster)
    async with (
        a_shop(cluster.kubeconfig) as own,
        a_shop(cluster.kubeconfig) as shop,
        a_queue(shop) as queue,
        a_plimsoll_that_orders(
            *(cluster, shop, own.namespace, queue), tmp_path_factory.mktemp("ordered")
        ) as made,
    ):
        yield made


async def test_a_pod_that_kueue_holds_is_never_let_go_by_plimsoll(ordered: Ordered) -> None:
    queue, shop = ordered.queue, ordered.shop
    await queue.allow("0")
    queued = await create(shop, queue.takes(ordered.pod("queued")))
    kueues = [gate.name for gate in queued.spec.scheduling_gates]
    assert KUEUES_GATE in kueues
    assert labels.ORDER_GATE not in kueues, "who waits in a queue waits for nothing else"
    both = await create(shop, queue.takes(ordered.pod("both", labels.ORDER_GATE)))
    gates = {gate.name for gate in both.spec.scheduling_gates}
    assert gates == {*kueues, labels.ORDER_GATE}

    async def ours_is_gone() -> bool:
        return await ordered.gates("both") == kueues

    await until("Plimsoll removes its own gate", ours_is_gone)
    # There is room: a pod that waits in no queue came later, and ended.
    await create(shop, ordered.pod("later"))
    await ended(shop, "later")
    assert await ordered.gates("queued") == await ordered.gates("both") == kueues
    await queue.allow("1Gi")
    for name in ("queued", "both"):
        assert (await ended(shop, name)).status.phase == "Succeeded"


async def test_a_job_that_kueue_holds_is_never_resumed_by_plimsoll(ordered: Ordered) -> None:
    queue, shop = ordered.queue, ordered.shop
    await queue.allow("0")
    made = await create(shop, queue.takes(ordered.job("queued-job")))
    assert made.spec.suspend
    assert labels.WAITS not in made.metadata.labels
    later = await create(shop, ordered.job("later-job"))
    assert later.metadata.labels[labels.WAITS] == "true"
    await job_is(shop, "later-job", "Complete")
    assert (await ordered.read_job("queued-job")).spec.suspend
    await queue.allow("1Gi")
    await job_is(shop, "queued-job", "Complete")


async def test_a_job_that_comes_to_kueue_while_it_waits_is_kueues(ordered: Ordered) -> None:
    queue, shop = ordered.queue, ordered.shop
    await queue.allow("0")
    await create(shop, a_pod("fills", f"eat 8 {LONG_S}", task=COMPUTES, memory=ordered.large))
    await running(shop, "fills")
    given = await create(shop, ordered.job("given", memory=ordered.large))
    assert given.metadata.labels[labels.WAITS] == "true"
    await client.BatchV1Api(shop.core.api_client).patch_namespaced_job(
        "given",
        shop.namespace,
        {"metadata": {"labels": {QUEUE_LABEL: queue.name}}},
        _content_type="application/merge-patch+json",
    )

    async def is_left() -> bool:
        return labels.WAITS not in (await ordered.read_job("given")).metadata.labels

    await until("Plimsoll leaves it to Kueue", is_left)
    await shop.core.delete_namespaced_pod("fills", shop.namespace, grace_period_seconds=0)
    await create(shop, ordered.job("after"))
    await job_is(shop, "after", "Complete")
    assert (await ordered.read_job("given")).spec.suspend
    await queue.allow(ordered.large)
    await queue.says(given.metadata.uid, "Admitted")
    await job_is(shop, "given", "Complete")


async def test_what_plimsoll_holds_is_let_go_by_plimsoll_though_kueue_has_admitted_it(
    ordered: Ordered,
) -> None:
    queue, shop = ordered.queue, ordered.shop
    await queue.allow("1Gi")
    await ordered.whole.processes["controller"].kill_for_good()
    pod = await create(shop, queue.takes(ordered.pod("admitted", labels.ORDER_GATE)))
    await queue.says(pod.metadata.uid, "Admitted")

    async def kueues_is_gone() -> bool:
        return KUEUES_GATE not in await ordered.gates("admitted")

    await until("Kueue has removed its gate", kueues_is_gone)
    assert await ordered.gates("admitted") == [labels.ORDER_GATE]
    # Admission releases it, because nobody leads.

    async def ours_is_gone() -> bool:
        return not await ordered.gates("admitted")

    await until("admission lets it go", ours_is_gone, LONGEST_S)
    assert (await ended(shop, "admitted")).status.phase == "Succeeded"
