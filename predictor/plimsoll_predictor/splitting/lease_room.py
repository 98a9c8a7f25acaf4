"""Chooses the largest lease of a Job, and with it the memory of its pods.

It is one choice by one price: time × memory^weight. If leases followed the pods' memory while the
memory followed the leases, both would shrink from Job to Job.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

from plimsoll_predictor.splitting.chunk_runs import Learned
from plimsoll_predictor.splitting.cutting import NOISE
from plimsoll_predictor.splitting.jobs import Job
from plimsoll_predictor.splitting.proposing import TIME, Aim, Known, propose_leased
from plimsoll_predictor.splitting.sizes import GROWTH, Bounds, next_items

MOST_PLAYED: Final = 8
"""How many workers are played, with their part of the items: two tenths of a second at most."""
ENOUGH_ITEMS: Final = 1_000
ENOUGH_LEASES: Final = 4
"""A worker is played with so many items, or so many of the largest leases: the leases in the middle
of a Job are all alike."""
MOST_LEASES_A_S: Final = 300.0
"""For all workers of a Job: a controller gives out twice as many (docs/splitting.md)."""


@dataclass(frozen=True, slots=True)
class LeaseRoom:
    """items: of the largest lease. memory_bytes: what holds it; None if no peak is known.

    bound: whether this bounds the leases; else their size follows what items turn out to take.
    """

    items: int
    memory_bytes: int | None
    bound: bool = False


def lease_room(job: Job, shares: int, learned: Learned, aim: Aim) -> LeaseRoom:
    """Choose by the aim; for time alone, leases stay as large as they are given anyway.

    shares: how many pods the items are shared among. aim.most_bytes: the limit as written, or the
    policy's maximum.
    """
    usual = _usual(job, shares, learned, aim)
    if aim.memory_weight == TIME or learned.peaks is None:
        return _room(usual, learned, aim, bound=False)
    known = Known(learned.costs, learned.peaks, NOISE)
    plan = propose_leased(_played(job, usual), known, aim, usual).plan
    if plan is None:
        return _room(usual, learned, aim, bound=False)
    served = math.ceil(job.workers / (MOST_LEASES_A_S * learned.costs.item_s))
    return _room(min(usual, max(plan.largest, served)), learned, aim, bound=True)


def _usual(job: Job, shares: int, learned: Learned, aim: Aim) -> int:
    """Return the first and largest lease: half of a share at most, so that the rest can be given.

    A lease far larger than any seen before, or one that does not fit, is not given.
    """
    most = GROWTH * learned.largest
    if learned.peaks is not None and aim.most_bytes is not None:
        most = min(most, learned.peaks.most_items(aim.most_bytes))
    first = next_items(job.items, job, learned.costs, Bounds(most))
    return max(1, min(first, -(-job.items // (2 * shares))))


def _room(items: int, learned: Learned, aim: Aim, *, bound: bool) -> LeaseRoom:
    if learned.peaks is None:
        return LeaseRoom(items, None, bound)
    needed = round(learned.peaks.container_bytes(items))
    return LeaseRoom(items, min(needed, aim.most_bytes or needed), bound)


def _played(job: Job, usual: int) -> Job:
    workers = min(job.workers, MOST_PLAYED)
    enough = max(ENOUGH_ITEMS, ENOUGH_LEASES * usual)
    items = max(1, min(job.items * workers // job.workers, enough * workers))
    return replace(job, items=items, workers=workers)
