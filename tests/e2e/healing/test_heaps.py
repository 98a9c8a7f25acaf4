"""Programs that size themselves by their limit and end if it is too small, on the real node."""

from __future__ import annotations

from typing import Any

import pytest

from plimsoll_predictor.core.record import Outcome
from plimsoll_predictor.core.units import MIB
from tests.apiserver.controllers import Shop, until
from tests.e2e.plimsolls import Plimsoll
from tests.e2e.seeing import (
    WITHIN_S,
    create,
    decision_of,
    end_of,
    ended,
    memory_of,
    retried,
    retries_of,
    told,
)
from tests.e2e.workloads import a_pod

pytestmark = [pytest.mark.node, pytest.mark.asyncio(loop_scope="module")]

WRITTEN = "192Mi"


async def lowered(shop: Shop, name: str, command: str) -> Any:
    """A pod whose task has already learned that it needs less than was written."""
    task = name.partition("-")[0]

    async def is_lowered() -> bool:
        probe = await create(shop, a_pod("probe", command, task=task, memory=WRITTEN), dry_run=True)
        return memory_of(probe) != (WRITTEN, WRITTEN)

    await until(f"{task} is lowered", is_lowered, WITHIN_S)
    return await create(shop, a_pod(name, command, task=task, memory=WRITTEN))


async def test_a_run_that_fails_by_itself_at_a_lower_size_gets_through_as_written(
    shop: Shop, plimsoll: Plimsoll
) -> None:
    command = "heap 100"
    await create(shop, a_pod("heap-1", command, task="heap", memory=WRITTEN))
    assert (await ended(shop, "heap-1")).status.phase == "Succeeded"

    failed = await lowered(shop, "heap-2", command)
    assert end_of(await ended(shop, "heap-2")) == ("Error", 1)
    retry = await retried(shop, failed.metadata.uid)
    assert (retry.status.phase, memory_of(retry)) == ("Succeeded", (WRITTEN, WRITTEN))
    assert decision_of(retry)["attempt"] == 2
    await told(shop, "heap-2", "Lifted")

    def floored() -> bool:
        seen = [each.outcome for each in plimsoll.observations(shop.task("heap"))]
        return seen == [Outcome.SUCCEEDED, Outcome.FAILED, Outcome.SUCCEEDED]

    await until("all three observed", floored, WITHIN_S)
    failed_bytes = int(str(memory_of(failed)[1]).removesuffix("Mi")) * MIB

    async def above() -> bool:
        probe = await create(
            shop, a_pod("probe", command, task="heap", memory=WRITTEN), dry_run=True
        )
        return int(str(memory_of(probe)[1]).removesuffix("Mi")) * MIB > failed_bytes

    await until("the next run gets more than what failed", above, WITHIN_S)


async def test_a_run_that_fails_as_written_too_is_tried_again_once(shop: Shop) -> None:
    await create(shop, a_pod("own-1", "heap 1", task="own", memory=WRITTEN))
    assert (await ended(shop, "own-1")).status.phase == "Succeeded"
    failed = await lowered(shop, "own-2", "heap 4000")
    again = await retried(shop, failed.metadata.uid)
    assert (again.status.phase, memory_of(again)) == ("Failed", (WRITTEN, WRITTEN))
    assert await retries_of(shop, again.metadata.uid) == []


async def test_a_cache_that_fills_its_limit_lives_at_a_lower_one(shop: Shop) -> None:
    for name in ("cache-1", "cache-2", "cache-3"):
        command = "cache 50"
        await create(shop, a_pod(name, command, task="cache", memory=WRITTEN))
        assert (await ended(shop, name)).status.phase == "Succeeded"
