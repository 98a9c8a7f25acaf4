"""A controller killed (-9) while hundreds of pods end: every end is observed and counted once."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import Store
from tests.apiserver.controllers import Shop, a_controller, observed, store_url, until
from tests.conftest import Cluster

pytestmark = pytest.mark.cluster

PODS: Final = 240
AT_ONCE: Final = 12
TASKS: Final = ("load", "train", "score")
KINDS: Final = ("succeeded", "succeeded", "failed", "killed")


async def test_ends_before_and_after_a_kill_of_the_controller_are_each_observed_once(
    shop: Shop, cluster: Cluster, tmp_path: Path
) -> None:
    names = [f"run-{number:03}" for number in range(PODS)]
    uids: dict[str, str] = {}

    async def begin(number: int, name: str) -> None:
        uids[name] = await shop.pod(name, task=TASKS[number % len(TASKS)])

    for start in range(0, PODS, AT_ONCE):
        some = list(enumerate(names))[start : start + AT_ONCE]
        await asyncio.gather(*(begin(*each) for each in some))
    half = PODS // 2
    async with a_controller(cluster.kubeconfig, tmp_path) as first:
        ending = asyncio.create_task(_end(shop, names[:half]))
        await until("some ends", lambda: len(_observed(shop, tmp_path)) >= half // 4)
        await first.end(signal.SIGKILL)
        await ending
    ending = asyncio.create_task(_end(shop, names[half:]))
    async with a_controller(cluster.kubeconfig, tmp_path):
        await ending
        await until("the rest", lambda: len(_observed(shop, tmp_path)) >= PODS)
        # The controller sees this pod after all others, so no other event is still on its way.
        uids["last"] = await shop.pod("last", task=TASKS[0])
        await shop.end("last", "succeeded")
        await until("the last", lambda: uids["last"] in _observed(shop, tmp_path))
        assert _observed(shop, tmp_path) == Counter(uids.values())
        assert _counted(shop, tmp_path) == PODS + 1


async def _end(shop: Shop, names: list[str]) -> None:
    for start in range(0, len(names), AT_ONCE):
        some = names[start : start + AT_ONCE]
        await asyncio.gather(
            *(shop.end(name, KINDS[number % len(KINDS)]) for number, name in enumerate(some))
        )


def _observed(shop: Shop, folder: Path) -> Counter[str]:
    """How often each pod was observed, by its UID."""
    return Counter(each.attempt_uid for task in TASKS for each in observed(folder, shop.task(task)))


def _counted(shop: Shop, folder: Path) -> int:
    """Number of attempts in the tasks' sums."""
    store = Store.open(store_url(folder))
    try:
        sums = store.totals.by_task()
        return sum(sums[TaskId(shop.namespace, task)].observations for task in TASKS)
    finally:
        store.close()
