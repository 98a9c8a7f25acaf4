"""What a task's leased Jobs taught, and a record of the last one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

import msgspec

from plimsoll_predictor.core.documents import from_document, to_document
from plimsoll_predictor.splitting.chunk_runs import Learned
from plimsoll_predictor.splitting.costs import MOST_ITEMS, Costs
from plimsoll_predictor.splitting.cutting import MOST_PLAYED, NOISE
from plimsoll_predictor.splitting.jobs import MOST_WORKERS, Job
from plimsoll_predictor.splitting.peaks import MOST_BYTES, Peaks
from plimsoll_predictor.splitting.proposing import Known, Proposal, leases_over_shares
from plimsoll_predictor.splitting.strategies.guided import Guided
from plimsoll_predictor.splitting.strategies.strategy import Cut

_LAST: Final = "last"

_Items = Annotated[int, msgspec.Meta(ge=1, le=MOST_ITEMS)]
_Number = Annotated[int, msgspec.Meta(ge=0, le=MOST_ITEMS)]
_Workers = Annotated[int, msgspec.Meta(ge=1, le=MOST_WORKERS)]
_Bytes = Annotated[int, msgspec.Meta(ge=1, le=MOST_BYTES)]


@dataclass(frozen=True, slots=True, kw_only=True)
class LastLeased:
    """How a leased Job went. workers: at once; shares: its pods. done: how many items.

    leases: how many were acknowledged. limit_bytes: the least that a worker reported; None if none.
    """

    items: _Items
    workers: _Workers
    shares: _Workers
    done: _Number
    leases: _Number
    taken_back: _Number
    refused: _Number
    limit_bytes: _Bytes | None = None


@dataclass(frozen=True, slots=True)
class LeasedTask:
    """What is known. peaks: None if none was measured; last: None if an older version wrote it.

    largest: items of the largest lease whose time is known.
    """

    costs: Costs
    peaks: Peaks | None
    last: LastLeased | None
    largest: int

    def to_document(self) -> dict[str, Any]:
        """Return it in plain JSON types."""
        document: dict[str, Any] = to_document(self)
        return document


@dataclass(frozen=True, slots=True)
class LeaseSize:
    """The needs of a lease of so many items: expected; low and high hold nine of ten.

    The bytes are None if memory was not measured.
    """

    items: float
    mean_s: float
    low_s: float
    high_s: float
    mean_bytes: float | None = None
    low_bytes: float | None = None
    high_bytes: float | None = None


def lease_size(learned: LeasedTask, items: float) -> LeaseSize:
    """Return the needs of a lease of so many items."""
    times_s = (learned.costs.mean_s(items), *learned.costs.interval_s(items))
    peaks = learned.peaks
    if peaks is None:
        return LeaseSize(items, *times_s)
    return LeaseSize(items, *times_s, peaks.mean_bytes(items), *peaks.interval_bytes(items))


def over_shares(learned: LeasedTask, job: Job, lease_items: int, shares: int) -> Proposal:
    """Say whether leases end a job sooner than its shares. lease_items: of the first lease.

    Cost: some hundredths of a second; at most MOST_PLAYED workers are played.
    """
    played = min(job.workers, MOST_PLAYED)
    items = max(1, job.items * played // job.workers)
    scaled = replace(job, items=items, workers=played)
    known = Known(learned.costs, learned.peaks, NOISE)
    return leases_over_shares(scaled, known, lease_items, -(-job.items // shares))


def taught_document(guided: Guided, last: LastLeased, stored: object = None) -> dict[str, Any]:
    """Return what is kept about a task when one of its leased Jobs has ended.

    stored: what is kept until then, as other Jobs may have taught it meanwhile; None if nothing is.
    """
    return {**guided.on_top_of(stored), _LAST: to_document(last)}


def leased_task_of(taught: object) -> LeasedTask | None:
    """Read ``taught_document`` back; None if no lease was measured, or it cannot be read."""
    guided = Guided()
    guided.remember(taught)
    if guided.costs is None or not isinstance(taught, Mapping):
        return None
    try:
        last = from_document(LastLeased, taught.get(_LAST), "a task's last leased Job")
    except ValueError:
        last = None
    return LeasedTask(guided.costs, guided.past.memory(), last, guided.past.times.largest)


def learned_of_leases(taught: object, wait_s: float) -> Learned | None:
    """Return what a task's leased Jobs teach for the next one; None if it cannot be read.

    wait_s: what one more lease costs a worker.
    """
    guided = Guided()
    guided.remember(taught)
    past = guided.past
    past.begin()  # as the next Job does
    costs = past.costs()
    if costs is None:
        return None
    try:
        return Learned(costs, past.memory(), wait_s, past.times.largest)
    except ValueError:
        return None


def first_lease(taught: object, job: Job, shares: int, limit_bytes: int | None) -> int:
    """Return how many items the first lease of a task's next Job has. limit_bytes: its pods'."""
    guided = Guided(limit_bytes)
    guided.remember(taught)
    guided.begin(job, Cut.LEASED)
    # Half of a share at most, so that the rest can be given away.
    return max(1, min(guided.next_items(job.items), -(-job.items // (2 * shares))))
