"""Cuts a Job into even chunks, each a pod, by what its task's chunks have told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from plimsoll_predictor.splitting.chunk_runs import Learned
from plimsoll_predictor.splitting.jobs import Job
from plimsoll_predictor.splitting.peaks import FURTHEST
from plimsoll_predictor.splitting.proposing import (
    Aim,
    Known,
    Plan,
    Proposal,
    Within,
    even_plans,
    propose_even,
)

NOISE: Final = 0.05
"""Of a makespan on a cluster, one standard deviation that its chunks do not explain. Nobody
measures makespans of Jobs yet; a smaller gain is none."""
MOST_PODS_A_WORKER: Final = 32
MOST_PODS: Final = 10_000
"""The API server and the kubelets bear each of them, and so does whoever lists them."""
MOST_PLAYED: Final = 128
"""Workers that are played: more are scaled down to so many, with their part of the items. It bounds
the cost to some tenths of a second; it leaves out that the last of more workers ends later."""


@dataclass(frozen=True, slots=True)
class CuttableJob:
    """A Job as its author wrote it. pods: chunks that it is cut into.

    limit_bytes: of a pod's memory; None if there is none.
    """

    items: int
    workers: int
    pods: int
    limit_bytes: int | None

    @property
    def usual_items(self) -> int:
        """Items of its largest chunk."""
        return -(-self.items // self.pods)


@dataclass(frozen=True, slots=True)
class Cut:
    """How a Job is cut. pods: as its author wrote it, or others.

    grows: whether its chunks are larger than any that got through.
    """

    pods: int
    items: int
    grows: bool
    proposal: Proposal


def cut(job: CuttableJob, learned: Learned) -> Cut:
    """Return the best cut for time that memory as written bears; the author's if none is better."""
    scaled, known, aim = _asked(job, learned)
    proposal = propose_even(scaled, known, aim, job.usual_items, _within(job, learned))
    if proposal.plan is None or proposal.plan is proposal.usual:
        return Cut(job.pods, job.usual_items, False, proposal)
    pods = pods_of(job, proposal.plan)
    # Shares are even: with as many pods, chunks may come out smaller.
    items = -(-job.items // pods)
    return Cut(pods, items, items > learned.largest, proposal)


def curve(job: CuttableJob, learned: Learned) -> list[Plan]:
    """Return all cuts that are compared, the fewest pods first."""
    return list(even_plans(*_asked(job, learned), _within(job, learned)))


def pods_of(job: CuttableJob, plan: Plan) -> int:
    """Return the pods of the whole Job, of which fewer workers may have been played."""
    return -(-job.items // plan.largest)


def _asked(job: CuttableJob, learned: Learned) -> tuple[Job, Known, Aim]:
    played = min(job.workers, MOST_PLAYED)
    items = max(1, job.items * played // job.workers)
    scaled = Job(items, played, learned.wait_s, learned.wait_s)
    return scaled, Known(learned.costs, learned.peaks, NOISE), Aim(most_bytes=job.limit_bytes)


def _within(job: CuttableJob, learned: Learned) -> Within:
    """Return between how many items a chunk may have.

    A chunk larger than all that got through, and than its author's, grows by steps; where nobody
    measured memory or nothing limits it, nobody knows how far.
    """
    most_pods = min(MOST_PODS, max(job.pods, MOST_PODS_A_WORKER * job.workers))
    most = max(learned.largest, job.usual_items)
    if learned.peaks is not None and job.limit_bytes is not None:
        most = max(most, FURTHEST * learned.largest)
    return Within(-(-job.items // most_pods), most)
