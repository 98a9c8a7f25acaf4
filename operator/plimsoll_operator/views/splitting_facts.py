"""What is known of a task's chunks and leases, and what its Jobs take by how they are cut."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from plimsoll_operator.names import labels
from plimsoll_operator.splitting.leased_job import START_S, WAIT_S
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import counted
from plimsoll_predictor.splitting.chunk_runs import ChunkRun, Learned, learned_of
from plimsoll_predictor.splitting.cutting import Cut, CuttableJob, curve, cut, pods_of
from plimsoll_predictor.splitting.jobs import Job
from plimsoll_predictor.splitting.last_job import last_job
from plimsoll_predictor.splitting.proposing import Plan
from plimsoll_predictor.splitting.strategies.leased_task import (
    LeasedTask,
    first_lease,
    leased_task_of,
)
from plimsoll_predictor.store import Store


@dataclass(frozen=True, slots=True)
class Asked:
    """A Job as somebody asks for it; None takes what the last Job had."""

    items: int | None = None
    workers: int | None = None
    pods: int | None = None


AS_LAST = Asked()
_OF_A_JOB = ("items", "workers", "pods", "limit_bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class SplittingFacts:
    """All of it. chunks: those that were looked at, oldest first. plans: the fewest pods first."""

    task: TaskId
    chunks: list[ChunkRun]
    learned: Learned
    job: CuttableJob
    cut: Cut
    plans: list[Plan]

    def pods(self, plan: Plan) -> int:
        """Return how many pods the Job has by this plan."""
        return pods_of(self.job, plan)

    def to_document(self) -> dict[str, Any]:
        """Return it in plain JSON types, without the chunks."""
        return {
            "task": str(self.task),
            "job": {name: getattr(self.job, name) for name in _OF_A_JOB},
            "learned": self.learned.to_document(),
            "verdict": self.cut.proposal.verdict.value,
            "pods": self.cut.pods,
            "items_per_pod": self.cut.items,
            "gain": self.cut.proposal.gain,
            "plans": [
                {
                    "pods": self.pods(plan),
                    "items_per_pod": plan.largest,
                    "memory_bytes": plan.memory_bytes,
                    **asdict(plan.makespan),
                }
                for plan in self.plans
            ],
        }


def splitting_facts(store: Store, task: TaskId, asked: Asked = AS_LAST) -> SplittingFacts | None:
    """Read what is known, and cut a Job by it; None if no Job over items is known.

    Cost: one query, and up to some tenths of a second for Jobs with a hundred workers.

    Raises:
        ValueError: if more pods are asked for than items.
    """
    chunks = store.chunk_runs.of_task(task, labels.CHUNK_ITEMS)
    learned, last = learned_of(chunks), last_job(chunks)
    if learned is None or last is None:
        return None
    job = _job(last, asked)
    return SplittingFacts(
        task=task,
        chunks=chunks,
        learned=learned,
        job=job,
        cut=cut(job, learned),
        plans=curve(job, learned),
    )


def _job(last: CuttableJob, asked: Asked) -> CuttableJob:
    items = asked.items or last.items
    workers = asked.workers or last.workers
    pods = asked.pods or (last.pods if asked.items is None else min(workers, items))
    if pods > items:
        raise ValueError(f"{pods} pods cannot share {counted(items, 'item')}")
    return replace(last, items=items, workers=min(workers, pods), pods=pods)


@dataclass(frozen=True, slots=True)
class NextLease:
    """What a worker of a Job is leased first. memory_bytes: None if none was measured."""

    job: Job
    shares: int
    items: int
    seconds: float
    memory_bytes: float | None


@dataclass(frozen=True, slots=True)
class LeasedFacts:
    """What a task's leased Jobs taught. next: None where nobody knows or says how large a Job is.

    wait_s: until a lease comes.
    """

    task: TaskId
    learned: LeasedTask
    next: NextLease | None
    wait_s: float = WAIT_S

    def to_document(self) -> dict[str, Any]:
        """Return it in plain JSON types."""
        return {
            **self.learned.to_document(),
            "wait_s": self.wait_s,
            "next": None if self.next is None else asdict(self.next),
        }


def leased_facts(store: Store, task: TaskId, asked: Asked = AS_LAST) -> LeasedFacts | None:
    """Read what is known; None if no leased Job of the task has ended. Cost: one query."""
    taught = store.leased_jobs.taught(task)
    learned = leased_task_of(taught)
    if learned is None:
        return None
    return LeasedFacts(task, learned, _next_lease(taught, learned, asked))


def _next_lease(taught: object, learned: LeasedTask, asked: Asked) -> NextLease | None:
    last = learned.last
    items = asked.items or (last.items if last else None)
    workers = asked.workers or (last.workers if last else None)
    if items is None or workers is None:
        return None
    pods = asked.pods or (last.shares if last and asked.workers is None else workers)
    shares = max(1, min(pods, items))
    job = Job(items, min(workers, shares), START_S, WAIT_S)
    leased = first_lease(taught, job, shares, last.limit_bytes if last else None)
    peaks = learned.peaks
    return NextLease(
        job=job,
        shares=shares,
        items=leased,
        seconds=learned.costs.mean_s(leased),
        memory_bytes=peaks.mean_bytes(leased) if peaks else None,
    )
