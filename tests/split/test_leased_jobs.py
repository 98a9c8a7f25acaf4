"""Jobs whose pods lease their items, on the real node, with kills of every process."""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random

import pytest

from tests.apiserver.controllers import Shop, until
from tests.e2e.plimsolls import ADMISSION, CONTROLLER, Plimsoll
from tests.e2e.seeing import WITHIN_S, create, end_of, job_is, memory_of, pods_of_job
from tests.split.leased_work import Work, kill

pytestmark = [pytest.mark.node, pytest.mark.asyncio(loop_scope="module")]

SEED = 51
BETWEEN_S = 3.0
ITEM_S, MANY_ITEM_S = 0.03, 0.15
"""After several kills it takes half a minute until a process of Plimsoll is started again, and
there must be work to do all that time."""


async def event_of(shop: Shop, job: str) -> str:
    """Plimsoll's Event about a leased Job that has ended."""

    async def told() -> str | None:
        # As core/v1: read as events.k8s.io, the client refuses others' Events.
        found = await shop.core.list_namespaced_event(
            shop.namespace, field_selector=f"involvedObject.name={job}"
        )
        notes = (each.message for each in found.items if each.reason == "Leased")
        return next(notes, None)

    note: str = await until(f"what became of {job}", told, WITHIN_S)
    return note


async def kill_at_random(
    shop: Shop, plimsoll: Plimsoll, job: str, kills: int
) -> tuple[dict[str, int], set[str]]:
    """Kill workers, controller and admission; how often each, and which pods."""
    random = Random(SEED)
    killed, pods = {"worker": 0, CONTROLLER: 0, ADMISSION: 0}, set[str]()
    while sum(killed.values()) < kills:
        await asyncio.sleep(BETWEEN_S * random.random())
        victim = random.choice(list(killed))
        if victim != "worker":
            await plimsoll.killed(victim)
        else:
            there = [
                each for each in await pods_of_job(shop, job) if each.status.phase == "Running"
            ]
            if not there:
                continue
            pod = random.choice(there).metadata.name
            if not kill(pod):
                continue
            pods.add(pod)
        killed[victim] += 1
    return killed, pods


async def test_every_item_is_acknowledged_once_whoever_is_killed(
    shop: Shop, plimsoll: Plimsoll, tmp_path: Path, rounds: int
) -> None:
    item_s = ITEM_S if rounds < 10 else MANY_ITEM_S
    work = Work(
        name="killed",
        task="killed",
        folder=tmp_path,
        items=rounds * 400,
        workers=6,  # a pod that was killed often is made anew ever later
        times_us=tuple(int(item_s * share * 1e6) for share in (0.2, 0.5, 1.0, 2.3)),
        retries=rounds + 1,
    )
    work.held_back.touch()
    await create(shop, work.manifest())
    await until("items are done", lambda: sum(work.done().values()) > 10, WITHIN_S)
    killed, pods = await kill_at_random(shop, plimsoll, work.name, rounds)
    work.held_back.unlink()
    # Kubernetes makes each next pod of an index later, in the end after ten minutes.
    await job_is(shop, work.name, "Complete", WITHIN_S if rounds < 10 else 1200.0)
    note = await event_of(shop, work.name)
    print(f"killed: {killed}; {note}")
    assert note.startswith(f"{work.items:,} items of {work.items:,} done")
    records = work.records()
    assert set(work.done()) == set(range(work.items))
    by_living = [item for pod, items in records.items() if pod not in pods for item in items]
    assert len(by_living) == len(set(by_living)), "only what a killed pod had is done again"
    assert plimsoll.store.leased_jobs.open() == []


async def test_chunks_fit_a_container_of_half_of_what_a_share_needs(
    shop: Shop, plimsoll: Plimsoll, tmp_path: Path
) -> None:
    work = Work(
        name="half",
        task="half",
        folder=tmp_path,
        items=120,
        workers=2,
        times_us=(20_000,),
        memory="96Mi",
        kib=3072,  # a share of 60 items holds 180 MiB
    )
    await create(shop, work.manifest())
    await job_is(shop, work.name, "Complete")
    assert (await event_of(shop, work.name)).startswith("120 items of 120 done")
    assert [end_of(pod) for pod in await pods_of_job(shop, work.name)] == [("Completed", 0)] * 2
    assert sorted(work.done().elements()) == list(range(120))


async def test_what_is_killed_for_memory_gets_smaller_chunks_and_as_much_memory(
    shop: Shop, plimsoll: Plimsoll, tmp_path: Path
) -> None:
    work = Work(
        name="heavier",
        task="heavier",
        folder=tmp_path,
        items=120,
        workers=2,
        times_us=(50_000,),
        memory="128Mi",
        kib=512,
        heavy_kib=10240,  # by then a worker does some fifteen at once
        heavy_from=31,
    )
    await create(shop, work.manifest())
    await job_is(shop, work.name, "Complete")
    assert (await event_of(shop, work.name)).startswith("120 items of 120 done")
    pods = await pods_of_job(shop, work.name)
    assert {memory_of(pod) for pod in pods} == {("128Mi", "128Mi")}, "no pod had more"
    ends = [end_of(pod) for pod in pods]
    assert ends.count(("Completed", 0)) == 2
    assert 1 <= ends.count(("OOMKilled", 137)) <= 2
    killed = {pod.metadata.name for pod in pods if pod.status.phase == "Failed"}
    found = await shop.core.list_namespaced_event(shop.namespace)
    told = {each.involved_object.name for each in found.items if each.reason == "SmallerChunks"}
    assert told == killed
