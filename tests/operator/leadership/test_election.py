"""A leader has two thirds of the Lease's duration for a renewal, on a clock that a test sets."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from plimsoll_operator.kube.errors import NotFound, Unreachable
from plimsoll_operator.kube.own_objects import OwnObjects
from plimsoll_operator.leadership import election as election_module
from plimsoll_operator.leadership.election import AlwaysFit, Election, Terms

TERMS = Terms("plimsoll", "one", 10.0)
BEGIN_S, END_S = 100.0, 130.0
_turn = asyncio.sleep


@dataclass
class World:
    """An API server that answers at once, except while it hangs; and the clock of all.

    renewals: when each one that was answered was asked for. calls: when each was.
    """

    hangs_s: tuple[float, float]
    now_s: float = BEGIN_S
    kept: dict[str, Any] | None = None
    renewals: list[float] = field(default_factory=list)
    calls: list[float] = field(default_factory=list)

    async def lease(self, _name: str, within_s: float) -> dict[str, Any]:
        self._answer(within_s)
        if self.kept is None:
            raise NotFound("there is none")
        return self.kept

    async def put_lease(
        self, _name: str, spec: Mapping[str, Any], _version: str | None, within_s: float
    ) -> dict[str, Any]:
        self._answer(within_s)
        version = {"resourceVersion": str(len(self.calls))}
        self.kept = {"metadata": version, "spec": dict(spec)}
        return self.kept

    def _answer(self, within_s: float) -> None:
        self.calls.append(self.now_s)
        begins_s, ends_s = self.hangs_s
        if begins_s <= self.now_s < ends_s:
            self.now_s += within_s
            raise Unreachable("no answer in time")

    async def sleep(self, pause_s: float) -> None:
        self.now_s += pause_s
        await _turn(0)
        if self.now_s > END_S:
            raise asyncio.CancelledError

    # As the watchdog.

    def renewed(self, at_s: float) -> None:
        self.renewals.append(at_s)

    def longest_silence_s(self) -> float:
        """The longest time until an answer came after the call of the renewal before."""
        ends = [*self.renewals[1:], END_S]
        return max(end - begin for begin, end in zip(self.renewals, ends, strict=True))


async def leads_through(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(election_module, "boot_clock_s", lambda: world.now_s)
    monkeypatch.setattr(election_module, "Watchdog", lambda *_, **__: world)
    monkeypatch.setattr(asyncio, "sleep", world.sleep)
    election = Election(cast(OwnObjects, world), TERMS, AlwaysFit(), lambda why: pytest.fail(why))
    await election.stand_by()
    with pytest.raises(asyncio.CancelledError):
        await election.keep()


@pytest.mark.parametrize(
    ("hangs_s", "ends"),
    [
        pytest.param(0.0, False, id="it never hangs"),
        pytest.param(4.2, False, id="it hangs for two renewals"),
        pytest.param(7.0, True, id="it hangs for longer than a leader may"),
    ],
)
async def test_a_leader_outlives_all_but_the_longest_hangs(
    hangs_s: float, ends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World((BEGIN_S + 1.9, BEGIN_S + 1.9 + hangs_s))
    await leads_through(world, monkeypatch)
    assert (world.longest_silence_s() > TERMS.patience_s) == ends


async def test_a_leader_whose_renewals_are_answered_asks_no_more_often_than_it_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World((0.0, 0.0))
    await leads_through(world, monkeypatch)
    began = world.calls[1:]
    assert began == [BEGIN_S + TERMS.renew_every_s * number for number in range(len(began))]
