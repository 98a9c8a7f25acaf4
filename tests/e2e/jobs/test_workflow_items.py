"""A workflow of two tasks over many items: upstream's needs size downstream."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

import pytest

from plimsoll_operator.attempts.peaks import PeakReport
from plimsoll_operator.names import labels
from plimsoll_operator.names.quantity import parse_bytes
from plimsoll_predictor.core.documents import to_document
from plimsoll_predictor.core.item_needs import EARLIER, UPSTREAM
from plimsoll_predictor.core.units import MIB
from tests.apiserver.controllers import Shop, until
from tests.e2e.plimsolls import Plimsoll
from tests.e2e.seeing import create, decision_of, memory_of
from tests.e2e.workloads import a_pod

pytestmark = [pytest.mark.node, pytest.mark.asyncio(loop_scope="module")]

NEEDS = (50, 100, 200, 400, 800)
"""MiB that the upstream task needs, by item; downstream needs twice as much."""
ITEMS = 25
FROM_ALIGN = f"{UPSTREAM}align"


def a_step(task: str, item: int, run: str = "r1") -> dict[str, Any]:
    """A pod that no scheduler takes: the test writes its end."""
    work = {labels.RUN: run, labels.ITEM: f"s{item}"}
    pod = a_pod(f"{task}-{run}-{item}", "eat 1", task=task, memory="8Gi", annotated=work)
    pod["spec"]["schedulerName"] = "nobody"
    return pod


def align_mib(item: int) -> int:
    return NEEDS[item % len(NEEDS)]


async def has_needed(shop: Shop, plimsoll: Plimsoll, pod: Any, need_mib: int) -> None:
    """The pod succeeds, and an agent has reported its peak."""
    final = PeakReport(
        pod_uid=str(pod.metadata.uid),
        container_id=None,
        need_peak_bytes=need_mib * MIB,
        kernel_peak_bytes=need_mib * MIB,
        working_set_peak_bytes=need_mib * MIB,
        anon_peak_bytes=need_mib * MIB,
        cpu_s=1.0,
        limit_bytes=None,
        final=True,
        measured_s=time.time() + 60,
    )
    await asyncio.to_thread(plimsoll.store.peaks.put, [to_document(final)])
    await shop.end(pod.metadata.name, "succeeded")


async def context_of(shop: Shop, pod: dict[str, Any]) -> Mapping[str, float]:
    """What admission now knows about the pod's item."""
    found: Mapping[str, float] = decision_of(await create(shop, pod, dry_run=True)).get(
        "context", {}
    )
    return found


async def ran(shop: Shop, plimsoll: Plimsoll, task: str, times: int) -> None:
    """All items of one step: created, ended, known to admission."""
    for item in range(ITEMS):
        pod = await create(shop, a_step(task, item))
        await has_needed(shop, plimsoll, pod, times * align_mib(item))

    async def known() -> bool:
        known_items = [await context_of(shop, a_step(task, item, "r2")) for item in range(ITEMS)]
        return all(EARLIER in context for context in known_items)

    await until(f"{task} known", known)


async def test_the_downstream_task_of_a_new_item_is_sized_from_its_need_upstream(
    shop: Shop, plimsoll: Plimsoll
) -> None:
    await ran(shop, plimsoll, "align", times=1)
    await ran(shop, plimsoll, "call", times=2)
    for observation in plimsoll.observations(shop.task("call")):
        assert observation.item is not None
        need_bytes = align_mib(int(observation.item[1:])) * MIB
        assert observation.features == {FROM_ALIGN: float(need_bytes)}
        assert observation.workflow_run == "r1"

    for item in (ITEMS + 1, ITEMS + 4):  # new ones, small and large
        upstream = await create(shop, a_step("align", item))
        before = decision_of(await create(shop, a_step("call", item), dry_run=True))
        await has_needed(shop, plimsoll, upstream, align_mib(item))
        await until("upstream known", lambda at=item: context_of(shop, a_step("call", at)))
        pod = await create(shop, a_step("call", item))
        need_bytes = 2 * align_mib(item) * MIB
        note, (request, _) = decision_of(pod), memory_of(pod)
        assert "context" not in before
        assert note["context"] == {FROM_ALIGN: need_bytes // 2}
        assert request == note["allocation"]
        assert need_bytes <= parse_bytes(note["allocation"]) < 1.6 * need_bytes, note
