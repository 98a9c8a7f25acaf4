"""Pods that wait for their turn are released in it, whatever process is killed."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from plimsoll_operator.names import labels
from plimsoll_operator.ordering.longest_wait import MOST_WAIT_S
from tests.apiserver.controllers import Shop, a_shop, until
from tests.conftest import Cluster
from tests.ha.figures import FIGURES
from tests.ha.turns.flowing import Flow, create_until_gated
from tests.ha.turns.waiting_for_turns import (
    COMPUTES,
    LONGEST_S,
    WAITS,
    Waiting,
    full,
    pods_that_wait,
)
from tests.rigs.speed import Speed

pytestmark = [pytest.mark.node]

SEED = 20261123
MANY_ROUNDS = 50
FEW_GATED, MANY_GATED = 40, 300
GATED_SHARE = 0.5
"""An estimate: the others come while admission is killed, or has not heard the controller."""
FEW_KILLS = 5
BETWEEN_KILLS_S = 5.0


@pytest_asyncio.fixture
async def waiting(node: Cluster, own: Shop, tmp_path: Path) -> AsyncIterator[Waiting]:
    """Both nodes are full: one that computes and one that waits run, each beside a third."""
    async with a_shop(node.kubeconfig) as shop:
        await shop.enforce(order="enforce")
        async with pods_that_wait(node, shop, own.namespace, tmp_path) as made:
            yield made


async def test_admission_may_remove_its_gate_and_nothing_else(waiting: Waiting) -> None:
    await waiting.create("mine", COMPUTES)
    for change in (
        {"spec": {"containers": [{"name": "main", "image": "localhost/evil:1"}]}},
        {"metadata": {"labels": {"a": "b"}}},
        {"spec": {"schedulingGates": None}, "metadata": {"annotations": {"a": "b"}}},
    ):
        assert "may remove" in await waiting.refused("mine", change)


async def test_who_gets_along_comes_first_and_all_come(waiting: Waiting) -> None:
    first = await full(waiting)
    for name, task in (("computes-1", COMPUTES), ("computes-2", COMPUTES), ("waits-3", WAITS)):
        await waiting.create(name, task)
    assert await waiting.held() == {"computes-1", "computes-2", "waits-3"}
    beside_computes = next(
        name for name in ("waits-1", "waits-2") if first[name] == first["computes-0"]
    )
    await waiting.shop.end(beside_computes, "succeeded")
    found = await until("waits-3 has a node", lambda: waiting.node_of("waits-3"))
    assert found == first["computes-0"]
    assert await waiting.held() == {"computes-1", "computes-2"}
    for name in ("computes-0", "waits-0"):
        await waiting.shop.end(name, "succeeded")
    for name in ("computes-1", "computes-2"):
        await until(f"{name} has a node", lambda name=name: waiting.node_of(name))
    pod = (await waiting.shop.pods())["waits-3"]
    terms = pod.spec.affinity.node_affinity
    assert terms.required_during_scheduling_ignored_during_execution is None
    assert labels.HELD in pod.metadata.annotations
    assert await waiting.shop.events("Released")

    # Only Jobs that can wait are held. A Job that cannot would overtake them, so all are released.
    await waiting.create_job("plain")
    plain = await until("the Job has a pod", lambda: waiting.pod_of_job("plain"))
    assert await waiting.held() == {plain}
    await waiting.create_job("hurries", activeDeadlineSeconds=3600)
    hurries = await until("the Job has a pod", lambda: waiting.pod_of_job("hurries"))
    assert hurries not in await waiting.held()
    await until("nobody is held", waiting.none_is_held)


@pytest.mark.timed
async def test_no_pod_waits_for_a_plimsoll_that_is_away(waiting: Waiting, speed: Speed) -> None:
    await full(waiting)
    processes = waiting.whole.processes
    for number in range(6):
        await waiting.create(f"held-{number}", COMPUTES)
    assert len(await waiting.held()) == 6

    # The controller is away: admission releases them.
    await processes["controller"].kill_for_good()
    await waiting.none_held("the controller was killed", speed)
    assert not await waiting.holds()
    processes["controller"].start()
    await until("a new pod would wait again", waiting.holds)

    # Admission is away: no new pod is held, and the controller continues.
    for number in range(3):
        await waiting.create(f"again-{number}", COMPUTES)
    assert len(await waiting.held()) == 3
    await processes["admission"].kill_for_good()
    assert not await waiting.holds()

    # Both are away, and admission comes back alone.
    await processes["controller"].kill_for_good()
    processes["admission"].start()
    await waiting.none_held("admission began without a controller", speed)
    every = {pod.metadata.name for pod in (await waiting.shop.pods()).values()}
    await waiting.all_end_once(every)


@pytest.mark.timed
async def test_all_start_once_whoever_is_killed_at_random(
    node: Cluster, own: Shop, tmp_path: Path, rounds: int, speed: Speed
) -> None:
    few = rounds < MANY_ROUNDS
    kills, gated = (FEW_KILLS, FEW_GATED) if few else (rounds, MANY_GATED)
    async with a_shop(node.kubeconfig) as shop:
        await shop.enforce(order="enforce")
        async with pods_that_wait(node, shop, own.namespace, tmp_path, replicas=2) as waiting:
            first = await full(waiting)
            early = {f"early-{number}": COMPUTES for number in range(4)}
            uids = {
                name: (await waiting.create(name, task)).metadata.uid
                for name, task in early.items()
            }
            assert await waiting.held() == set(early), "kills come while pods are held"
            flow = Flow(shop, places=len(first))
            keeping = asyncio.create_task(flow.keep())
            try:
                uids |= await killed_while_they_flow(waiting, kills, gated)
                await until("all started", lambda: flow.started.keys() >= uids.keys())
            finally:
                keeping.cancel()
                await asyncio.gather(keeping, return_exceptions=True)
            await waiting.all_end_once({*first, *uids})
    note_flow(waiting, flow, f"{gated + len(early)} gated among {len(uids)}")
    assert {name: flow.started[name] for name in uids} == {
        name: {uid} for name, uid in uids.items()
    }
    assert max(flow.longest_idle_s, flow.longest_held_s) <= MOST_WAIT_S
    # A leader that is killed while the next one starts takes as long again, and a busy machine adds
    # its own.
    speed.within("a free place", flow.longest_idle_s, LONGEST_S)
    assert sum(each.kills for each in waiting.whole.processes.values()) == kills
    assert len(flow.held) > gated / 2, "a look may miss who is held for a moment"


async def killed_while_they_flow(waiting: Waiting, kills: int, gated: int) -> dict[str, str]:
    """Kill that often while that many gated pods come; return the UIDs of all pods by name."""
    chance = random.Random(SEED)
    killing = asyncio.create_task(waiting.whole.kill_any(kills, BETWEEN_KILLS_S, chance))
    try:
        every_s = kills * BETWEEN_KILLS_S / gated * GATED_SHARE
        made = await create_until_gated(waiting, gated, every_s)
        await killing
    finally:
        killing.cancel()
        await asyncio.gather(killing, return_exceptions=True)
    return made


def note_flow(waiting: Waiting, flow: Flow, pods: str) -> None:
    """Print what happened at the end."""
    killed = {name: each.kills for name, each in waiting.whole.processes.items()}
    FIGURES.note("turns.killed_at_random", ", ".join(f"{n} {count}" for n, count in killed.items()))
    FIGURES.note(
        "turns.pods",
        f"{pods} pods came, each started once;"
        f" held for {flow.longest_held_s:.0f} s at most; a place was free, somebody was held and"
        f" nobody started for {flow.longest_idle_s:.0f} s at most",
    )
