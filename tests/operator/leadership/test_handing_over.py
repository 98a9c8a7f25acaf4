"""A leader without its store goes on, unless a candidate says that it reaches the store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from plimsoll_operator.kube.errors import Changed, NotFound
from plimsoll_operator.kube.own_objects import OwnObjects
from plimsoll_operator.leadership import election as election_module
from plimsoll_operator.leadership.election import HANDS_OVER_AFTER_S, Election, Terms
from plimsoll_operator.names.labels import STORE_REACHED_BY

LEASE_S = 10.0
TERM_S = LEASE_S / 5
TURN_S = 0.25
SETTLED_S = 10 * LEASE_S
_turn = asyncio.sleep


@dataclass
class Reach:
    """How one controller reaches the store."""

    away: str | None = None
    refused: str | None = None

    def unfit_to_compete(self) -> str | None:
        return self.refused or self.away

    def unfit_to_lead(self) -> str | None:
        return self.refused

    def would_hand_over(self) -> str | None:
        return self.refused or self.away

    unanswered = would_hand_over


@dataclass
class Server:
    """An API server with one Lease, and the clock of all.

    answers_after_s: how long each call takes. conflicts: marks that come too late.
    """

    now_s: float = 100.0
    answers_after_s: float = 0.0
    kept: dict[str, Any] | None = None
    marks: list[str | None] = field(default_factory=list)
    conflicts: int = 0

    async def lease(self, _name: str, _within_s: float) -> dict[str, Any]:
        await self.sleep(self.answers_after_s)
        if self.kept is None:
            raise NotFound("there is none")
        return self.kept

    async def put_lease(
        self, _name: str, spec: Mapping[str, Any], version: str | None, _within_s: float
    ) -> dict[str, Any]:
        await self.sleep(self.answers_after_s)
        return self._write(version, spec=dict(spec))

    async def mark_lease(
        self, _name: str, value: str | None, version: str, _within_s: float
    ) -> dict[str, Any]:
        await self.sleep(self.answers_after_s)
        if self.conflicts:
            self.conflicts -= 1
            raise Changed("another was faster")
        document = self._write(
            version, annotations={} if value is None else {STORE_REACHED_BY: value}
        )
        self.marks.append(value)
        return document

    def mark(self) -> str | None:
        assert self.kept is not None
        found: str | None = self.kept["metadata"]["annotations"].get(STORE_REACHED_BY)
        return found

    def _write(
        self, version: str | None, *, spec: Any = None, annotations: Any = None
    ) -> dict[str, Any]:
        before = self.kept or {"metadata": {"resourceVersion": None, "annotations": {}}, "spec": {}}
        if before["metadata"]["resourceVersion"] != version:
            raise Changed("it has another version by now")
        old = before["metadata"]["annotations"]
        meta = {
            "resourceVersion": str(int(version or 0) + 1),
            "annotations": old if annotations is None else annotations,
        }
        self.kept = {"metadata": meta, "spec": before["spec"] if spec is None else spec}
        return self.kept

    async def sleep(self, pause_s: float) -> None:
        until_s = self.now_s + pause_s
        while self.now_s < until_s:
            await _turn(0)

    async def passes(self, seconds: float) -> None:
        for _ in range(round(seconds / TURN_S)):
            self.now_s += TURN_S
            for _ in range(10):
                await _turn(0)


@dataclass
class Watching:
    """A watchdog on the server's clock that looks only when a renewal was answered."""

    server: Server
    patience_s: float
    end: Callable[[str], None]
    renewed_s: float | None = None

    def renewed(self, at_s: float) -> None:
        if self.renewed_s is not None and self.server.now_s - self.renewed_s > self.patience_s:
            self.end("the lease was not renewed")
        self.renewed_s = at_s

    def stop(self) -> None:
        pass


@dataclass
class Candidate:
    name: str
    reach: Reach
    election: Election
    ended: list[str]
    lives: asyncio.Task[None]

    @property
    def leads(self) -> bool:
        return self.election.leads and not self.ended


@asynccontextmanager
async def candidates(server: Server, *names: str) -> AsyncIterator[list[Candidate]]:
    """The first of them leads."""
    made: list[Candidate] = []

    async def live(election: Election) -> None:
        await election.stand_by()
        await election.keep()

    for name in names:
        reach, ended = Reach(), list[str]()
        terms = Terms("plimsoll", name, LEASE_S)
        election = Election(cast(OwnObjects, server), terms, reach, ended.append)
        lives = asyncio.create_task(live(election))
        made.append(Candidate(name, reach, election, ended, lives))
        await server.passes(TERM_S)
    try:
        yield made
    finally:
        for each in made:
            each.lives.cancel()
        await asyncio.gather(*(each.lives for each in made), return_exceptions=True)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    made = Server()
    monkeypatch.setattr(election_module, "boot_clock_s", lambda: made.now_s)
    monkeypatch.setattr(
        election_module, "Watchdog", lambda patience_s, end: Watching(made, patience_s, end)
    )
    monkeypatch.setattr(asyncio, "sleep", made.sleep)
    return made


async def test_a_leader_hands_over_to_a_candidate_that_reaches_the_store(server: Server) -> None:
    async with candidates(server, "one", "two") as (one, two):
        one.reach.away = "the store does not answer"
        while not one.ended:
            await server.passes(TURN_S)
            assert not (one.leads and two.leads)
        assert one.ended == ["the store does not answer; two reaches it"]
        await server.passes(SETTLED_S)
        assert two.leads
        assert server.mark() is None


async def test_a_leader_stays_while_no_candidate_reaches_the_store(server: Server) -> None:
    async with candidates(server, "one", "two") as (one, two):
        one.reach.away = two.reach.away = "the store does not answer"
        await server.passes(SETTLED_S)
        assert (one.leads, two.leads, server.mark()) == (True, False, "")
        one.reach.away = two.reach.away = None
        await server.passes(SETTLED_S)
        assert (one.leads, two.leads, server.mark()) == (True, False, None)


async def test_the_only_controller_stays(server: Server) -> None:
    async with candidates(server, "one") as (one,):
        one.reach.away = "the store does not answer"
        await server.passes(SETTLED_S)
        assert one.leads
        assert server.marks == [""], "it asks once"


async def test_a_leader_that_reaches_the_store_soon_after_another_stays(server: Server) -> None:
    async with candidates(server, "one", "two") as (one, two):
        one.reach.away = "the store does not answer"
        while server.mark() != "two":
            await server.passes(TURN_S)
        await server.passes(HANDS_OVER_AFTER_S - 1)
        one.reach.away = None
        await server.passes(SETTLED_S)
        assert (one.leads, two.leads, server.mark()) == (True, False, None)


async def test_a_leader_that_asks_a_slow_api_server_who_reaches_the_store_stays(
    server: Server,
) -> None:
    async with candidates(server, "one") as (one,):
        server.answers_after_s = TERM_S - TURN_S
        for away in ("the store does not answer", None):
            one.reach.away = away
            await server.passes(SETTLED_S)
        assert one.ended == []
        assert server.marks == ["", None]


async def test_an_answer_that_another_leader_got_is_not_believed(server: Server) -> None:
    async with candidates(server, "one") as (one,):
        assert server.kept is not None
        server.kept["metadata"]["annotations"] = {STORE_REACHED_BY: "two"}
        one.reach.away = "the store does not answer"
        await server.passes(SETTLED_S)
        assert (one.leads, server.mark()) == (True, "")


async def test_a_mark_that_comes_too_late_is_made_again(server: Server) -> None:
    async with candidates(server, "one", "two") as (one, two):
        server.conflicts = 3
        one.reach.away = "the store does not answer"
        await server.passes(SETTLED_S)
        assert (one.leads, two.leads) == (False, True)


async def test_a_leader_whose_password_is_refused_starts_anew_though_it_is_alone(
    server: Server,
) -> None:
    async with candidates(server, "one") as (one,):
        one.reach.refused = "password authentication failed"
        await server.passes(SETTLED_S)
        assert one.ended == ["password authentication failed"]


async def test_while_the_store_is_reached_nobody_writes_more_than_renewals(server: Server) -> None:
    async with candidates(server, "one", "two") as (one, _):
        await server.passes(SETTLED_S)
        assert one.leads
        assert server.marks == []
