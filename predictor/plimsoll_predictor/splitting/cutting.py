"""Cuts a Job into chunks, each a pod, by what the chunks of its task showed.

Chunks are even, or become smaller toward the end if the Job's author allows it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import chain, islice, repeat
from typing import Final

from plimsoll_predictor.splitting.chunk_runs import Learned
from plimsoll_predictor.splitting.costs import Costs
from plimsoll_predictor.splitting.jobs import Job
from plimsoll_predictor.splitting.makespans import Chunks, these_chunks
from plimsoll_predictor.splitting.peaks import FURTHEST
from plimsoll_predictor.splitting.proposing import (
    TIME,
    Aim,
    Known,
    Plan,
    Proposal,
    Question,
    Shape,
    Within,
    asked,
    even_plans,
    nothing_known,
    propose_cut,
)
from plimsoll_predictor.splitting.runs import USUAL_NOISE
from plimsoll_predictor.splitting.sizes import Bounds, batch_sizes, dealt_sizes

NOISE: Final = USUAL_NOISE
"""One standard deviation of a makespan on a cluster that its chunks do not explain. Nobody measures
makespans of Jobs yet, so this value is assumed; a smaller gain does not count. Chosen from .01 to
.05, by simulation with seeds of its own."""
UNSEEN: Final = 0.05
"""The share of a chunk's time that the pod itself takes: assumed while nothing separates it."""
MOST_PODS_A_WORKER: Final = 32
MOST_PODS: Final = 10_000
"""The API server, the kubelets and every client that lists pods must bear them."""
MOST_PLAYED: Final = 128
"""The most workers that are played: more are scaled down to so many, with their part of the items.
This bounds the cost to some tenths of a second, but ignores that the last of more workers ends
later."""
WAITS: Final = (2.0, 4.0, 8.0, 16.0)
"""The smallest chunk of a decreasing cut takes at least this many times its wait."""


@dataclass(frozen=True, slots=True)
class CuttableJob:
    """A Job as its author wrote it. pods: the chunks that it is cut into.

    limit_bytes: memory of a pod; None if there is none. most_pods: the most that it may get; None
    for as many as the cluster bears. may_grow: whether a pod may do more items than written.
    most_lifted_bytes: memory that a killed pod gets at most; None if nothing bounds it.
    """

    items: int
    workers: int
    pods: int
    limit_bytes: int | None
    most_pods: int | None = None
    may_grow: bool = True
    most_lifted_bytes: int | None = None
    most_listed: int = 0
    sizes: tuple[int, ...] = ()

    @property
    def usual_items(self) -> int:
        """Items of its largest chunk."""
        return max(self.sizes, default=-(-self.items // self.pods))


@dataclass(frozen=True, slots=True)
class Cut:
    """How a Job is cut. pods: as its author wrote it, or others. items: the largest chunk's.

    grows: whether chunks are larger than any that finished. sizes: the chunks' sizes in the order
    of their pods, if they become smaller; empty if all are alike.
    """

    pods: int
    items: int
    grows: bool
    proposal: Proposal
    sizes: tuple[int, ...] = ()


def cut(job: CuttableJob, learned: Learned, memory_weight: float = TIME) -> Cut:
    """Return the best cut that the memory as written bears; the author's if none is better.

    memory_weight: how much memory counts against time, see ``Aim``.
    """
    question = _asked(job, learned, memory_weight)
    if question is None:
        return _as_written(job, nothing_known(min(job.workers, MOST_PLAYED)))
    within = _within(job, learned)
    smaller = _decreasing(job, question, within)
    plans = list(even_plans(question, within))
    for waits, sizes in smaller.items():
        chunks = _played(sizes, job, question.job)
        plans.append(question.plan(Shape.DECREASING, chunks, waits))
    proposal = propose_cut(question, _usual(job, question), plans)
    plan = proposal.plan
    if plan is None or plan is proposal.usual:
        return _as_written(job, proposal)
    if plan.shape is Shape.DECREASING:
        sizes = smaller[plan.least_waits]
        return Cut(len(sizes), sizes[0], sizes[0] > learned.largest, proposal, sizes)
    pods = pods_of(job, plan)
    # Shares are even: the same number of pods may have smaller chunks.
    items = -(-job.items // pods)
    return Cut(pods, items, items > learned.largest, proposal)


def _as_written(job: CuttableJob, proposal: Proposal) -> Cut:
    return Cut(job.pods, job.usual_items, False, proposal, job.sizes)


def _usual(job: CuttableJob, question: Question) -> Plan:
    """Return the plan of the chunks that the Job has now."""
    if job.sizes:
        return question.plan(Shape.DECREASING, _played(job.sizes, job, question.job))
    return question.even(job.usual_items)


def _decreasing(
    job: CuttableJob, question: Question, within: Within
) -> dict[float, tuple[int, ...]]:
    """Return the chunks of all pods, by their least waits; none with more pods than allowed.

    They are computed for all workers, not only for those played: pods do exactly these items.
    """
    most_pods = min(_most_pods(job), job.most_listed)
    if job.workers > most_pods:
        return {}
    whole = replace(question, job=replace(question.job, items=job.items, workers=job.workers))
    most = min(within.most, whole.most_items)
    found: dict[float, tuple[int, ...]] = {}
    for waits in WAITS:
        batches = batch_sizes(whole.job, whole.costs, Bounds(most, math.inf, waits))
        sizes = tuple(islice(dealt_sizes(batches, job.items, job.workers), most_pods + 1))
        # Even chunks differ by one, too.
        if len(sizes) <= most_pods and sizes[0] - sizes[-1] > 1 and sizes not in found.values():
            found[waits] = sizes
    return found


def _played(sizes: tuple[int, ...], job: CuttableJob, scaled: Job) -> Chunks:
    """Return the chunks of the workers that are played, with their part of the items."""
    if scaled.workers == job.workers:
        return these_chunks(scaled, sizes)
    batches = sizes[:: job.workers]
    # If the last batch is a single chunk, it may be smaller than the batch's size.
    dealt = dealt_sizes(chain(batches, repeat(batches[-1])), scaled.items, scaled.workers)
    return these_chunks(scaled, tuple(dealt))


def curve(job: CuttableJob, learned: Learned, memory_weight: float = TIME) -> list[Plan]:
    """Return all cuts that are compared, the fewest pods first."""
    question = _asked(job, learned, memory_weight)
    return [] if question is None else list(even_plans(question, _within(job, learned)))


def pods_of(job: CuttableJob, plan: Plan) -> int:
    """Return the pods of the whole Job, also if fewer workers were played."""
    return -(-job.items // plan.largest)


def _asked(job: CuttableJob, learned: Learned, memory_weight: float) -> Question | None:
    played = min(job.workers, MOST_PLAYED)
    items = max(1, job.items * played // job.workers)
    scaled = Job(items, played, learned.wait_s, learned.wait_s)
    costs, peaks = learned.costs, learned.peaks
    if peaks is not None and not peaks.apart and memory_weight > TIME:
        # All chunks had one size: only another size can separate an item's needs from a pod's.
        costs, peaks = _with_unseen(costs, learned.largest), replace(peaks, apart=True)
    return asked(scaled, Known(costs, peaks, NOISE), Aim(memory_weight, job.limit_bytes))


def _with_unseen(costs: Costs, items: int) -> Costs:
    """Assume that a part of a chunk's time is the pod's own, if only one size was seen.

    Otherwise a Job could be cut for its memory although each pod takes long to begin.
    """
    unseen_s = UNSEEN * items * costs.item_s
    return replace(costs, chunk_s=unseen_s, item_s=(1 - UNSEEN) * costs.item_s)


def _within(job: CuttableJob, learned: Learned) -> Within:
    """Return the least and most items that a chunk may have."""
    return Within(-(-job.items // _most_pods(job)), max(job.usual_items, _grown(job, learned)))


def _most_pods(job: CuttableJob) -> int:
    """Return how many pods are allowed."""
    borne = min(MOST_PODS, max(job.pods, MOST_PODS_A_WORKER * job.workers))
    return borne if job.most_pods is None else min(borne, job.most_pods)


def _grown(job: CuttableJob, learned: Learned) -> int:
    """Return how many items a chunk may have beyond its author's; 0 for none.

    None if memory was not measured, or if any of the task's newest chunks failed: an index has as
    many attempts as written, and one attempt with many items meets more of what chunks fail of.
    Beyond the largest chunk that finished, chunks grow by steps, up to half of a chunk that was
    killed at this limit or a larger one, and as far as lifts go: a chunk with twice the author's
    items may need twice as much.
    """
    if learned.peaks is None or learned.failed or not job.may_grow:
        return 0
    most = learned.largest
    if job.limit_bytes is not None:
        most *= FURTHEST
        killed = (items for items, limit in learned.killed if limit >= (job.limit_bytes or 0))
        surely = learned.peaks.most_items(job.limit_bytes, surely=True)
        most = min([most, surely, *(items // 2 for items in killed)])
        if job.most_lifted_bytes is not None:
            most = min(most, job.usual_items * job.most_lifted_bytes // max(1, job.limit_bytes))
    return most
