"""Leased Jobs of one task that overlap: each adds what it taught to what the others did."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from plimsoll_operator.chunks.lease_keeper import Keeper, OpenJob, WorkerReport
from plimsoll_operator.splitting.job_tokens import JobName
from plimsoll_operator.splitting.leased_job import LeasedJob
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.splitting.jobs import Job
from plimsoll_predictor.splitting.leases import Heard, Lease, Worker
from plimsoll_predictor.splitting.strategies.leased_task import learned_of_leases, leased_task_of

LARGE, SMALL = JobName("shop", "large", "run-1"), JobName("shop", "small", "run-2")
LIMIT = 512 * MIB
WORKER = Worker("w-0", 0)


class Shelf:
    """Keeps the last record of each Job, as JSON."""

    def __init__(self) -> None:
        self.records: dict[JobName, Any] = {}

    async def write(self, job: JobName, document: Mapping[str, Any]) -> None:
        self.records[job] = as_json(document)


class Clock:
    """Goes on by a minute with each look."""

    now_s = 0.0

    def __call__(self) -> float:
        self.now_s += 60
        return self.now_s


def as_json(document: object) -> Any:
    return json.loads(json.dumps(document))


def a_job(name: JobName) -> LeasedJob:
    items = 20_000 if name == LARGE else 40
    return LeasedJob(name, f"uid-{name.name}", Job(items, 1, 2.0, 0.05), 1)


def opened(taught: object, shelf: Shelf) -> Keeper:
    keeper = Keeper(shelf, Clock())
    for name in (LARGE, SMALL):
        keeper.open(a_job(name), None, taught)
    return keeper


async def do(keeper: Keeper, name: JobName, leases: int, killed: int = 0) -> OpenJob:
    """Do some leases, of 1 s and 1 MiB an item. killed: how many more die of memory."""
    for number in range(leases + killed):
        worker = Worker(f"w-{number}", 0)
        lease = await keeper.next(name, worker, None, WorkerReport(limit_bytes=LIMIT))
        assert isinstance(lease, Lease)
        if number >= leases:
            await keeper.died(name, worker.name, LIMIT)
            continue
        told = WorkerReport(float(lease.items), (50 + lease.items) * MIB, LIMIT)
        await keeper.done(name, worker, Heard(lease.number, lease.end), None, told)
        await keeper.died(name, worker.name)
    return keeper.find(name)


async def taught_by(before: object, order: tuple[JobName, ...]) -> Any:
    keeper = opened(before, Shelf())
    await do(keeper, LARGE, 10, killed=1)
    await do(keeper, SMALL, 3)
    stored = before
    for name in order:
        stored = as_json(keeper.find(name).taught(stored))
    return stored


@pytest.mark.parametrize("order", [(LARGE, SMALL), (SMALL, LARGE)])
async def test_whichever_job_closes_last_chunks_and_kills_of_both_are_kept(
    order: tuple[JobName, ...],
) -> None:
    taught = await taught_by(None, order)
    known = leased_task_of(taught)
    assert known is not None
    assert known.costs.chunks == pytest.approx(10 + 3), "they ran beside each other"
    assert known.peaks is not None
    (kill,) = known.peaks.kills
    assert kill.container_bytes == LIMIT
    learned = learned_of_leases(taught, 0.05)
    assert learned is not None
    assert learned.peaks is not None
    assert learned.peaks.most_items(LIMIT) == kill.items // 2


async def test_what_both_began_with_counts_once() -> None:
    before = await taught_by(None, (LARGE,))
    known = leased_task_of(await taught_by(before, (LARGE, SMALL)))
    assert known is not None
    assert known.costs.chunks == pytest.approx(0.8 * 10 + 10 + 3)
    assert known.costs.item_s == pytest.approx(1.0)


async def test_a_job_that_overlaps_none_leaves_what_it_knows() -> None:
    before = await taught_by(None, (LARGE,))
    keeper = opened(before, Shelf())
    kept = await do(keeper, SMALL, 3)
    found, knows = kept.taught(before), kept.guided.to_document()
    assert found["times"] == pytest.approx(knows["times"])
    assert found["peaks"]["weight"] == pytest.approx(knows["peaks"]["weight"])
    assert as_json(found["peaks"]["kills"]) == as_json(knows["peaks"]["kills"])


async def test_a_restart_between_changes_nothing() -> None:
    shelf, before = Shelf(), await taught_by(None, (LARGE,))
    keeper = opened(before, shelf)
    await do(keeper, SMALL, 3)
    again = Keeper(shelf, Clock()).open(a_job(SMALL), shelf.records[SMALL], before)
    found, without = as_json(again.taught(before)), as_json(keeper.find(SMALL).taught(before))
    assert (found["times"], found["peaks"]) == (without["times"], without["peaks"])


async def test_the_record_of_an_older_version_replaces_what_is_stored() -> None:
    shelf = Shelf()
    keeper = opened(None, shelf)
    await do(keeper, SMALL, 3)
    record = shelf.records[SMALL]
    del record["learned"]["before"]
    again = Keeper(shelf, Clock()).open(a_job(SMALL), record, None)
    known = leased_task_of(again.taught(await taught_by(None, (LARGE,))))
    assert known is not None
    assert known.costs.chunks == 3
