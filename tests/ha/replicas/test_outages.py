"""The chart's pods, when some of them or the database are gone."""

from __future__ import annotations

import asyncio

import pytest
from deploy.chart.rendering import NAME

from tests.apiserver.controllers import until
from tests.ha.figures import FIGURES
from tests.ha.replicas.load import a_load, labelled
from tests.ha.replicas.replicated import SHOP, Replicated
from tests.rigs.speed import Speed

pytestmark = [pytest.mark.node]

LONGEST_S = 1.0
ASKS_WITHIN_S = 40.0
NOT_RENEWED = "the lease was not renewed"


async def test_a_leading_pod_that_is_killed_is_followed_by_the_other(
    replicated: Replicated,
) -> None:
    async with a_load(replicated.cluster, SHOP) as load:
        leader = await until("a leader", replicated.leader)
        await replicated.kubectl("delete", "pod", "-n", NAME, leader, "--force", "--grace-period=0")
        began_s = asyncio.get_running_loop().time()
        assert await load.decides()
        await until("another leads", lambda: replicated.leader() not in (None, leader))
        FIGURES.note(
            "ha.leading_pod_deleted_takeover_s",
            f"{asyncio.get_running_loop().time() - began_s:.1f}",
        )
        await until("it is replaced", lambda: len(replicated.release.pods("controller")) == 2)


@pytest.mark.timed
async def test_admission_decides_on_without_the_database(
    replicated: Replicated, speed: Speed
) -> None:
    async with a_load(replicated.cluster, SHOP) as load:
        leader = await until("a leader", replicated.leader)
        with replicated.database.frozen():  # it takes connections, and never answers
            assert await load.decides()
            began_s = asyncio.get_running_loop().time()
            await until("it is not ready any more", lambda: replicated.leader() is None)
            # Another might reach the database: a leader that cannot asks on the Lease.
            await until("it asks", lambda: replicated.store_reached_by() == "")
            took_s = asyncio.get_running_loop().time() - began_s
            words = speed.within("asking who reaches the database", took_s, ASKS_WITHIN_S)
            FIGURES.note("ha.database_away_asks_s", words)
            assert await load.decides()
        await until("it asks no more", lambda: replicated.store_reached_by() is None)
        # No other could do better, so it stayed, with what it had seen.
        ready = await until("one is ready again", replicated.leader)
        if ready == leader:
            assert replicated.holder() == leader
            return
        # A machine that stands still for seconds ends a leader, whatever its database does.
        assert not speed.alone
        assert NOT_RENEWED in replicated.why_ended(leader)


async def test_admission_serves_without_controllers_and_admits_when_its_knowledge_is_old(
    replicated: Replicated,
) -> None:
    async with a_load(replicated.cluster, SHOP) as load:
        await until("a leader", replicated.leader)
        await replicated.scaled("controller", 0)
        await replicated.only("controller", 0)
        counted = await load.for_s(2.0, labelled())
        assert (counted.refused, counted.undecided) == ([], 0)
        # New replicas know nothing, and nobody tells them: they admit pods unchanged, and are
        # ready.
        await replicated.rolled("admission")
        await replicated.only("admission", 2)
        counted = await load.for_s(2.0, labelled())
        assert (counted.refused, counted.decided) == ([], 0)
        assert counted.creations > 0
        await replicated.scaled("controller", 2)
        await until("decided again", load.decides)


@pytest.mark.timed
async def test_pods_are_created_as_ever_with_the_webhooks_pods_gone(
    replicated: Replicated, speed: Speed
) -> None:
    async with a_load(replicated.cluster, SHOP) as load:
        await replicated.scaled("admission", 0)
        await replicated.only("admission", 0)
        counted = await load.for_s(2.0, labelled())
        assert (counted.refused, counted.decided) == ([], 0)
        words = speed.within("the slowest creation", counted.slowest_s, LONGEST_S)
        FIGURES.note("ha.webhooks_gone_slowest_creation_s", words)
        await replicated.scaled("admission", 2)
        await until("decided again", load.decides)
