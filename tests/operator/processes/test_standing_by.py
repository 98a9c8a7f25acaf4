"""A standby whose store stays out of reach ends, so that it starts with the settings of today."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from unittest.mock import Mock

import pytest

from plimsoll_operator.controller.settings import ControllerSettings
from plimsoll_operator.processes import controller
from plimsoll_operator.processes.standing_by import StoreOutOfReach, stand_by


@dataclass
class Store:
    """A store that may be out of reach; each look at it takes a minute of its clock.

    back_after: every so many looks, it answers.
    """

    why: str | None = None
    now_s: float = 0.0
    looks: int = 0
    back_after: int | None = None

    def unfit_to_compete(self) -> str | None:
        self.looks += 1
        self.now_s += 60.0
        if self.back_after is not None and self.looks % self.back_after == 0:
            return None
        return self.why

    unfit_to_lead = unfit_to_compete
    would_hand_over = unfit_to_compete
    unanswered = unfit_to_compete


async def never() -> None:
    await asyncio.Event().wait()


async def test_a_store_that_refuses_for_long_ends_the_standby() -> None:
    store = Store(why="password authentication failed")
    with pytest.raises(StoreOutOfReach, match="password authentication failed"):
        await stand_by(never(), store, lambda: store.now_s, pause_s=0.0)
    assert store.now_s > 900.0


@pytest.mark.parametrize(
    "store",
    [
        pytest.param(Store(), id="a store that answers"),
        pytest.param(Store(why="away", back_after=10), id="one that answers now and then"),
    ],
)
async def test_a_standby_stays_as_long_as_it_has_to(store: Store) -> None:
    async def elected() -> None:
        while store.looks < 100:
            await asyncio.sleep(0)

    await stand_by(elected(), store, lambda: store.now_s, pause_s=0.0)
    assert store.looks >= 100


async def test_an_election_that_fails_is_not_hidden() -> None:
    async def broken() -> None:
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        await stand_by(broken(), Store(), lambda: 0.0, pause_s=60.0)


def test_the_process_ends_with_a_status_that_has_it_started_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(controller, "_serve", Mock(side_effect=StoreOutOfReach("away")))
    with pytest.raises(SystemExit) as ended:
        controller.serve(ControllerSettings())
    assert ended.value.code == 75
