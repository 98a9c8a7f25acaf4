"""A controller's facts for a status include the store's knowledge of Jobs over items."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.controller.building import ControllerParts
from plimsoll_operator.controller.profiles.splitting_known import LOOKED_EVERY_S
from plimsoll_operator.controller.settings import ControllerSettings
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.profile.status import changed, status_of
from plimsoll_predictor.store import Store
from tests.builders.splitting.taught_chunks import a_taught, chunks_of
from tests.builders.stores import NOON_S, TRAIN


@dataclass(slots=True)
class Controller:
    """A whole controller that watches nothing. now_s: its clock, long after all pods' ends."""

    store: Store
    now_s: float = NOON_S + 1e6

    async def status(self, parts: ControllerParts) -> tuple[dict[str, Any], bool]:
        facts, awaited = await parts.profiles._gatherer.gather(TRAIN, None)
        return status_of(facts, now_s=NOON_S), awaited


@pytest.fixture
def controller(tmp_path: Path) -> Controller:
    return Controller(Store.open(f"sqlite:///{tmp_path}/plimsoll.db"))


@pytest.fixture
async def parts(controller: Controller) -> AsyncIterator[ControllerParts]:
    nobody: Any = None  # no API server and no trainer: neither is asked
    kube, now_s = Kube(nobody), lambda: controller.now_s
    made = ControllerParts(ControllerSettings(), kube, controller.store, nobody, now_s)
    yield made
    await made.writer.close()
    controller.store.close()


@pytest.mark.slow
async def test_the_status_has_both_ways_of_a_tasks_jobs(
    controller: Controller, parts: ControllerParts
) -> None:
    controller.store.observations.record(chunks_of("one"))
    controller.store.leased_jobs.close("shop/train/run-1", TRAIN, a_taught())
    status, awaited = await controller.status(parts)
    assert not awaited
    assert "less time" in status["splitting"]["cut"]["verdict"]
    assert status["splitting"]["leased"]["lastJob"].startswith("3,990 items of 4,000 done")


async def test_a_task_without_such_jobs_has_no_such_field(
    controller: Controller, parts: ControllerParts
) -> None:
    status, awaited = await controller.status(parts)
    assert status["splitting"] is None
    assert not awaited


async def test_what_is_new_waits_for_the_next_look_and_comes_then(
    controller: Controller, parts: ControllerParts
) -> None:
    store = controller.store
    store.leased_jobs.close("shop/train/run-1", TRAIN, a_taught())
    first, _ = await controller.status(parts)
    store.leased_jobs.close("shop/train/run-2", TRAIN, a_taught(item_s=9.0))
    controller.now_s += 1
    soon, awaited = await controller.status(parts)
    assert awaited, "the profile is gathered again"
    assert not changed(first, soon), "and not written until then"
    controller.now_s += LOOKED_EVERY_S
    later, awaited = await controller.status(parts)
    assert later["splitting"]["leased"]["itemSeconds"] == 9.0
    assert not awaited
