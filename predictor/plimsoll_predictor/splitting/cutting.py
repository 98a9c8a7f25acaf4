"""Cuts a Job into chunks, each a pod, by what its task's chunks have told.

Chunks are even, or become smaller toward the end where the Job's author allows it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import chain, islice, repeat
from typing import Final

from plimsoll_predictor.splitting.chunk_runs import Learned
from plimsoll_predictor.splitting.costs import Costs
from plimsoll_predictor.splitting.jobs import Job
from plimsoll_predictor.splitting.makespans import Chunks, even_chunks, these_chunks
from plimsoll_predictor.splitting.peaks import FURTHEST
from plimsoll_predictor.splitting.proposing import (
    TIME,
    Aim,
    Known,
    Plan,
    Proposal,
    Shape,
    Within,
    even_plans,
    most_items,
    propose_cut,
)
from plimsoll_predictor.splitting.runs import USUAL_NOISE
from plimsoll_predictor.splitting.sizes import Bounds, batch_sizes, dealt_sizes

NOISE: Final = USUAL_NOISE
"""Of a makespan on a cluster, one standard deviation that its chunks do not explain. Nobody
measures makespans of Jobs yet, so it is what is believed before runs have told; a smaller gain is
none. Of .01 to .05, by simulation with seeds of its own."""
UNSEEN: Final = 0.05
"""Of a chunk's time, that is the pod's whatever it does: believed while nothing tells it apart."""
MOST_PODS_A_WORKER: Final = 32
MOST_PODS: Final = 10_000
"""The API server and the kubelets bear each of them, and so does whoever lists them."""
MOST_PLAYED: Final = 128
"""Workers that are played: more are scaled down to so many, with their part of the items. It bounds
the cost to some tenths of a second; it leaves out that the last of more workers ends later."""
WAITS: Final = (2.0, 4.0, 8.0, 16.0)
"""How many times its wait the smallest chunk takes at least, in the cuts that become smaller."""


@dataclass(frozen=True, slots=True)
class CuttableJob:
    """A Job as its author wrote it. pods: chunks that it is cut into.

    limit_bytes: of a pod's memory; None if there is none. most_pods: that it may get; None for as
    many as are borne. may_grow: whether a pod may do more items than it was written to.
    """

    items: int
    workers: int
    pods: int
    limit_bytes: int | None
    most_pods: int | None = None
    may_grow: bool = True
    most_listed: int = 0
    sizes: tuple[int, ...] = ()

    @property
    def usual_items(self) -> int:
        """Items of its largest chunk."""
        return max(self.sizes, default=-(-self.items // self.pods))


@dataclass(frozen=True, slots=True)
class Cut:
    """How a Job is cut. pods: as its author wrote it, or others. items: of its largest chunk.

    grows: whether its chunks are larger than any that got through. sizes: of its chunks, in the
    order of their pods, where they become smaller; empty where all are alike.
    """

    pods: int
    items: int
    grows: bool
    proposal: Proposal
    sizes: tuple[int, ...] = ()


def cut(job: CuttableJob, learned: Learned, memory_weight: float = TIME) -> Cut:
    """Return the best cut that memory as written bears; the author's if none is better.

    memory_weight: what memory counts beside time, see ``Aim``.
    """
    scaled, known, aim = _asked(job, learned, memory_weight)
    within = _within(job, learned)
    smaller = _decreasing(job, scaled, (known, aim), within)
    played = {waits: _played(sizes, job, scaled) for waits, sizes in smaller.items()}
    proposal = propose_cut(scaled, known, aim, _now(job, scaled), (within, played))
    plan = proposal.plan
    if plan is None or plan is proposal.usual:
        return Cut(job.pods, job.usual_items, False, proposal, job.sizes)
    if plan.shape is Shape.DECREASING:
        sizes = smaller[plan.least_waits]
        return Cut(len(sizes), sizes[0], sizes[0] > learned.largest, proposal, sizes)
    pods = pods_of(job, plan)
    # Shares are even: with as many pods, chunks may come out smaller.
    items = -(-job.items // pods)
    return Cut(pods, items, items > learned.largest, proposal)


def _now(job: CuttableJob, scaled: Job) -> tuple[Shape, Chunks]:
    """Return the chunks that the job has."""
    if job.sizes:
        return Shape.DECREASING, _played(job.sizes, job, scaled)
    return Shape.EVEN, even_chunks(scaled, job.usual_items)


def _decreasing(
    job: CuttableJob, scaled: Job, asked: tuple[Known, Aim], within: Within
) -> dict[float, tuple[int, ...]]:
    """Return the chunks of all pods, by their least waits; none of more pods than are borne.

    They are reckoned for all workers, however many are played: these are the items that pods do.
    """
    (known, aim), most_pods = asked, min(_most_pods(job), job.most_listed)
    costs = known.costs
    if costs is None or job.workers > most_pods:
        return {}
    whole = replace(scaled, items=job.items, workers=job.workers)
    most = min(within.most, most_items(job.items, known.peaks, aim))
    found: dict[float, tuple[int, ...]] = {}
    for waits in WAITS:
        batches = batch_sizes(whole, costs, Bounds(most, math.inf, waits))
        sizes = tuple(islice(dealt_sizes(batches, job.items, job.workers), most_pods + 1))
        # Even chunks differ by one, too.
        if len(sizes) <= most_pods and sizes[0] - sizes[-1] > 1 and sizes not in found.values():
            found[waits] = sizes
    return found


def _played(sizes: tuple[int, ...], job: CuttableJob, scaled: Job) -> Chunks:
    """Return the chunks of the workers that are played, and of their part of the items."""
    if scaled.workers == job.workers:
        return these_chunks(scaled, sizes)
    batches = sizes[:: job.workers]
    # The first chunk of the last batch may be all of it, and smaller than the batch's size.
    dealt = dealt_sizes(chain(batches, repeat(batches[-1])), scaled.items, scaled.workers)
    return these_chunks(scaled, tuple(dealt))


def curve(job: CuttableJob, learned: Learned, memory_weight: float = TIME) -> list[Plan]:
    """Return all cuts that are compared, the fewest pods first."""
    return list(even_plans(*_asked(job, learned, memory_weight), _within(job, learned)))


def pods_of(job: CuttableJob, plan: Plan) -> int:
    """Return the pods of the whole Job, of which fewer workers may have been played."""
    return -(-job.items // plan.largest)


def _asked(job: CuttableJob, learned: Learned, memory_weight: float) -> tuple[Job, Known, Aim]:
    played = min(job.workers, MOST_PLAYED)
    items = max(1, job.items * played // job.workers)
    scaled = Job(items, played, learned.wait_s, learned.wait_s)
    costs, peaks = learned.costs, learned.peaks
    if peaks is not None and not peaks.apart and memory_weight > TIME:
        # All chunks had one size: only another tells what an item needs, and what a pod takes.
        costs, peaks = _with_unseen(costs, learned.largest), replace(peaks, apart=True)
    aim = Aim(memory_weight, job.limit_bytes)
    return scaled, Known(costs, peaks, NOISE), aim


def _with_unseen(costs: Costs, items: int) -> Costs:
    """Believe that a part of a chunk's time is the pod's, where no other size has told.

    Then no Job is cut for its memory whose pods might each take long to begin.
    """
    unseen_s = UNSEEN * items * costs.item_s
    return replace(costs, chunk_s=unseen_s, item_s=(1 - UNSEEN) * costs.item_s)


def _within(job: CuttableJob, learned: Learned) -> Within:
    """Return between how many items a chunk may have."""
    return Within(-(-job.items // _most_pods(job)), max(job.usual_items, _grown(job, learned)))


def _most_pods(job: CuttableJob) -> int:
    """Return how many pods are borne."""
    borne = min(MOST_PODS, max(job.pods, MOST_PODS_A_WORKER * job.workers))
    return borne if job.most_pods is None else min(borne, job.most_pods)


def _grown(job: CuttableJob, learned: Learned) -> int:
    """Return how many items a chunk may have beyond its author's; 0 for none.

    Where nobody measured memory, nobody knows. What is larger than all that got through grows by
    steps, and half of what was killed at such a limit, or a larger one, is the most. Its pods keep
    the memory that was written, so one that is killed is killed again.
    """
    if learned.peaks is None or not job.may_grow:
        return 0
    most = learned.largest
    if job.limit_bytes is not None:
        most *= FURTHEST
        killed = (items for items, limit in learned.killed if limit >= (job.limit_bytes or 0))
        surely = learned.peaks.most_items(job.limit_bytes, surely=True)
        most = min([most, surely, *(items // 2 for items in killed)])
    return most
