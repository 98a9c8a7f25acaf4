"""Two controllers on PostgreSQL; the leader is lost in the middle of a burst of OOM kills."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pytest

from plimsoll_operator.leadership.lease import read_lease
from plimsoll_predictor.store import Store
from tests.apiserver.controllers import PATIENCE_S, Shop, until
from tests.apiserver.leading.candidates import (
    LEASE,
    LOST,
    Candidate,
    a_candidate,
    environment,
    own_objects,
)
from tests.conftest import Cluster
from tests.ha.figures import FIGURES
from tests.ha.leading.bursts import Burst
from tests.ha.leading.proxies import Network, a_network, kubeconfig_through
from tests.rigs.servers.databases import PostgreSQL
from tests.rigs.speed import Speed

pytestmark = [pytest.mark.node]

PODS = 12
OVER_S = 10
LEASE_S = 10
"""The default."""
TAKES_OVER_WITHIN_S = 20.0


@dataclass(slots=True)
class Pair:
    """Two controllers, each behind networks of its own: to the API server and to the database."""

    candidates: dict[str, Candidate]
    networks: dict[str, Network]
    ways_to_store: dict[str, Network]
    store: Store

    async def roles(self) -> tuple[Candidate, Candidate]:
        """The leader, and the one that stands by."""

        async def found() -> tuple[Candidate, Candidate] | None:
            one, two = self.candidates.values()
            for leader, other in ((one, two), (two, one)):
                if await leader.leads() and await other.stands_by():
                    return leader, other
            return None

        roles: tuple[Candidate, Candidate] = await until("one leads, one stands by", found)
        return roles


@contextlib.asynccontextmanager
async def a_pair(
    own: Shop, node: Cluster, postgresql: PostgreSQL, folder: Path
) -> AsyncIterator[Pair]:
    url = postgresql.url(postgresql.new_database(), "127.0.0.1")
    async with contextlib.AsyncExitStack() as stack:
        candidates, networks, ways_to_store = {}, {}, {}
        for name in ("one", "two"):
            network = networks[name] = await stack.enter_async_context(a_network())
            kubeconfig = await kubeconfig_through(network, node, folder / f"{name}.kubeconfig")
            way = ways_to_store[name] = await stack.enter_async_context(a_network())
            port = await way.way_to("127.0.0.1", postgresql.port)
            told = environment(
                own,
                folder,
                STORE_URL=url.replace(f":{postgresql.port}/", f":{port}/"),
                LEASE_S=str(LEASE_S),
            )
            for left_out in ("PLIMSOLL_TLS_SECRET", "PLIMSOLL_TLS_NAMES"):
                del told[left_out]
            candidates[name] = await stack.enter_async_context(
                a_candidate(kubeconfig, folder, name, told)
            )
        store = Store.open(url)
        stack.callback(store.close)
        yield Pair(candidates, networks, ways_to_store, store)


def at_s(record: dict[str, str]) -> float:
    return datetime.fromisoformat(record["timestamp"]).timestamp()


@pytest.mark.timed
async def test_each_kill_is_retried_once_when_the_leader_is_killed_in_a_burst(
    own: Shop, shop: Shop, node: Cluster, postgresql: PostgreSQL, tmp_path: Path, speed: Speed
) -> None:
    async with a_pair(own, node, postgresql, tmp_path) as pair:
        leader, other = await pair.roles()
        burst = Burst(shop, "killed")
        await burst.begin(PODS, OVER_S)
        await until("some are over", burst.some_are_over)
        lost_s = datetime.now().timestamp()
        await leader.end(signal.SIGKILL)
        (started,) = await until("another leads", lambda: other.logged("controller started"))
        assert await burst.killed() >= 1
        takes_s = at_s(started) - lost_s
        await burst.nothing_lost_nothing_doubled(pair.store, 2 * LEASE_S / 5)
    words = speed.within("the takeover", takes_s, TAKES_OVER_WITHIN_S)
    FIGURES.note("ha.leader_killed_takeover_s", words)


@pytest.mark.timed
async def test_each_kill_is_retried_once_when_the_leader_is_cut_off_in_a_burst(
    own: Shop, shop: Shop, node: Cluster, postgresql: PostgreSQL, tmp_path: Path, speed: Speed
) -> None:
    async with a_pair(own, node, postgresql, tmp_path) as pair:
        leader, other = await pair.roles()
        burst = Burst(shop, "cut")
        await burst.begin(PODS, OVER_S)
        await until("some are over", burst.some_are_over)
        lost_s = datetime.now().timestamp()
        pair.networks[leader.name].cut()
        pair.ways_to_store[leader.name].cut()
        assert await asyncio.wait_for(leader.process.wait(), PATIENCE_S) == LOST
        ended_s = datetime.now().timestamp() - lost_s
        assert not other.logged("leads")  # never two at once
        (started,) = await until("another leads", lambda: other.logged("controller started"))
        takes_s = at_s(started) - lost_s
        await burst.nothing_lost_nothing_doubled(pair.store, 2 * LEASE_S / 5)
    ends = speed.within("its end", ended_s, LEASE_S)
    FIGURES.note("ha.leader_cut_off_ends_itself_s", ends)
    words = speed.within("the takeover", takes_s, TAKES_OVER_WITHIN_S)
    FIGURES.note("ha.leader_cut_off_takeover_s", words)


async def test_a_leader_that_alone_is_cut_off_from_the_database_hands_over(
    own: Shop, node: Cluster, postgresql: PostgreSQL, tmp_path: Path
) -> None:
    async with a_pair(own, node, postgresql, tmp_path) as pair:
        leader, other = await pair.roles()
        pair.ways_to_store[leader.name].cut()
        assert await asyncio.wait_for(leader.process.wait(), PATIENCE_S) == LOST
        (stepped,) = leader.logged("steps down")
        assert f"{other.name} reaches it" in stepped["why"]
        await until("the other leads", other.leads)


async def test_a_leader_stays_without_the_database_if_no_other_reaches_it_and_saves_what_it_saw(
    own: Shop, shop: Shop, node: Cluster, postgresql: PostgreSQL, tmp_path: Path
) -> None:
    async with (
        a_pair(own, node, postgresql, tmp_path) as pair,
        own_objects(node.kubeconfig, own.namespace) as objects,
    ):

        async def asks() -> bool:
            return read_lease(await objects.lease(LEASE, 5.0)).store_reached_by == ""

        leader, other = await pair.roles()
        burst = Burst(shop, "away")
        with postgresql.away():
            await burst.begin(PODS, OVER_S)
            await until("it asks who reaches the database", asks)

            async def all_killed() -> bool:
                return await burst.killed() == PODS

            await until("all are killed", all_killed)
        await burst.nothing_lost_nothing_doubled(pair.store, 2 * LEASE_S / 5)
        assert await leader.leads()
        assert not other.logged("leads")


async def test_a_controller_whose_database_is_down_waits_for_it_and_says_so(
    shop: Shop, node: Cluster, postgresql: PostgreSQL, tmp_path: Path
) -> None:
    url = postgresql.url(postgresql.new_database(empty=True), "127.0.0.1")
    told = environment(shop, tmp_path, STORE_URL=url)
    with contextlib.ExitStack() as away:
        away.enter_context(postgresql.away())
        async with a_candidate(node.kubeconfig, tmp_path, "early", told) as early:
            await until("it says why it waits", lambda: _says_why(early))
            assert (await early.get("/healthz"))[0] == 200
            assert not early.logged("leads")
            away.close()
            await until("it leads", early.leads)
            assert await early.get("/readyz") == (200, "ok\n")


async def _says_why(candidate: Candidate) -> bool:
    status, words = await candidate.get("/readyz")
    return status == 503 and "does not answer" in words
