"""What is known of a task's chunks and leases, and what its Jobs take with each cut."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Final

from plimsoll_operator.names import labels
from plimsoll_operator.pods.chunk_starts import most_listed
from plimsoll_operator.splitting.leased_job import START_S, WAIT_S
from plimsoll_operator.wording.splitting_words import (
    words_for_job,
    words_for_lease_limit,
    words_for_leases,
    words_for_next_lease,
    words_for_over_shares,
    words_for_splitting,
)
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import counted
from plimsoll_predictor.splitting.chunk_runs import ChunkRun, Learned, learned_of
from plimsoll_predictor.splitting.cutting import Cut, CuttableJob, curve, cut, pods_of
from plimsoll_predictor.splitting.jobs import Job
from plimsoll_predictor.splitting.last_job import last_job
from plimsoll_predictor.splitting.lease_room import lease_room
from plimsoll_predictor.splitting.peaks import Peaks
from plimsoll_predictor.splitting.proposing import TIME, Aim, Plan, Proposal, Shape, Verdict
from plimsoll_predictor.splitting.strategies.leased_task import (
    LeasedTask,
    LeaseSize,
    first_lease,
    learned_of_leases,
    lease_size,
    leased_task_of,
    over_shares,
)
from plimsoll_predictor.store import Store


@dataclass(frozen=True, slots=True)
class AskedJob:
    """A Job as people ask for it; None takes what the last Job had.

    memory_weight: how much memory counts beside time, see ``Aim``.
    """

    items: int | None = None
    workers: int | None = None
    pods: int | None = None
    memory_weight: float = TIME


AS_LAST = AskedJob()
MOST_SIZES: Final = 8
_OF_A_JOB: Final = ("items", "workers", "pods", "limit_bytes")
_NESTED: Final = ("job", "over_shares")


@dataclass(frozen=True, slots=True, kw_only=True)
class CutFacts:
    """How a Job is best cut. chunks: those that were read, oldest first."""

    chunks: list[ChunkRun]
    learned: Learned
    job: CuttableJob
    cut: Cut
    memory_weight: float = TIME


@dataclass(frozen=True, slots=True, kw_only=True)
class SplittingFacts(CutFacts):
    """The best cut, and what every cut would take. plans: even chunks, the fewest pods first.

    listed: how the Job would be cut if its program read where each pod's items begin; None if it
    does so already, as its last Job shows, or if that gains nothing.
    """

    task: TaskId
    plans: list[Plan]
    listed: Cut | None

    @property
    def best_listed(self) -> Plan | None:
        """The best cut if its chunks become smaller; None if they are even."""
        return self.cut.proposal.plan if self.cut.sizes else None

    @property
    def words(self) -> Mapping[str, str]:
        """A line for each thing that is known, by its name."""
        return words_for_splitting(
            self.learned, self.job, self.cut, self.memory_weight, self.listed
        )

    def pods(self, plan: Plan) -> int:
        """Return how many pods the Job has by this plan."""
        if plan is self.best_listed:
            return self.cut.pods
        return len(self.sizes(plan)) or pods_of(self.job, plan)

    def sizes(self, plan: Plan) -> tuple[int, ...]:
        """Return the chunks of its pods if they become smaller; nothing if they are even."""
        if plan.shape is not Shape.DECREASING:
            return ()
        return self.cut.sizes if plan is self.best_listed else self.job.sizes

    def items_words(self, plan: Plan) -> str:
        """Return the items of its largest chunk, and of its smallest."""
        sizes = self.sizes(plan)
        return f"{plan.largest:,} to {min(sizes):,}" if sizes else f"{plan.largest:,}"

    def to_document(self) -> dict[str, Any]:
        """Return it in plain JSON types, without the chunks."""
        return {
            "task": str(self.task),
            "job": {name: getattr(self.job, name) for name in _OF_A_JOB},
            "learned": self.learned.to_document(),
            "verdict": self.cut.proposal.verdict.value,
            "pods": self.cut.pods,
            "items_per_pod": self.cut.items,
            "least_items_per_pod": min(self.cut.sizes, default=None),
            "gain": self.cut.proposal.gain,
            "memory_weight": self.memory_weight,
            "listed": None if self.listed is None else _listed_document(self.listed),
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


def _listed_document(found: Cut) -> dict[str, Any]:
    return {
        "pods": found.pods,
        "items_per_pod": found.items,
        "least_items_per_pod": min(found.sizes),
        "gain": found.proposal.gain,
    }


def splitting_facts(store: Store, task: TaskId, asked: AskedJob = AS_LAST) -> SplittingFacts | None:
    """Read what is known, and cut a Job by that; None if no Job over items is known.

    Cost: one query, and up to some tenths of a second for Jobs with a hundred workers.

    Raises:
        ValueError: if more pods are asked for than items.
    """
    found = cut_facts(store, task, asked)
    if found is None:
        return None
    chunks, learned, job = found.chunks, found.learned, found.job
    plans = curve(job, learned, asked.memory_weight)
    return SplittingFacts(
        task=task,
        chunks=chunks,
        learned=learned,
        job=job,
        cut=found.cut,
        memory_weight=asked.memory_weight,
        plans=plans,
        listed=_listed(job, learned, asked.memory_weight),
    )


def _listed(job: CuttableJob, learned: Learned, memory_weight: float) -> Cut | None:
    """Return the cut by a list, unless the Job's program is known to read one already."""
    if job.most_listed:
        return None
    most = most_listed(job.items, variables=1)
    found = cut(replace(job, most_listed=most), learned, memory_weight)
    return found if found.sizes else None


def cut_facts(store: Store, task: TaskId, asked: AskedJob = AS_LAST) -> CutFacts | None:
    """Read and cut like ``splitting_facts``, without what other cuts would take."""
    chunks = store.chunk_runs.of_task(task, labels.CHUNK_ITEMS)
    learned, last = learned_of(chunks), last_job(chunks)
    if learned is None or last is None:
        return None
    job = _job(last, asked)
    found = cut(job, learned, asked.memory_weight)
    return CutFacts(
        chunks=chunks, learned=learned, job=job, cut=found, memory_weight=asked.memory_weight
    )


def _job(last: CuttableJob, asked: AskedJob) -> CuttableJob:
    items = asked.items or last.items
    workers = asked.workers or last.workers
    pods = asked.pods or (last.pods if asked.items is None else min(workers, items))
    if pods > items:
        raise ValueError(f"{pods} pods cannot share {counted(items, 'item')}")
    job = replace(last, items=items, workers=min(workers, pods), pods=pods)
    # Another Job is one that is not cut yet.
    return job if job == last else replace(job, sizes=())


@dataclass(frozen=True, slots=True, kw_only=True)
class NextLease:
    """The first lease of a Job's worker, and what leases save over the shares of its pods.

    memory_bytes: None if none was measured. share_memory_bytes: also None if leases of one size do
    not tell what a share needs. fits: the most items of a lease in limit_bytes; each of these two
    is None if not known.
    """

    job: Job
    shares: int
    items: int
    seconds: float
    memory_bytes: float | None
    share_memory_bytes: float | None
    limit_bytes: int | None
    fits: int | None
    over_shares: Proposal

    @property
    def share_items(self) -> int:
        """Items of a pod's share."""
        return -(-self.job.items // self.shares)

    def to_document(self) -> dict[str, Any]:
        """Return it in plain JSON types."""
        found = self.over_shares
        plain = {
            each.name: getattr(self, each.name) for each in fields(self) if each.name not in _NESTED
        }
        return {
            **plain,
            "job": asdict(self.job),
            "share_items": self.share_items,
            "verdict": found.verdict.value,
            "gain": found.gain,
            "leases_take": asdict(found.plan.makespan) if found.plan else None,
            "shares_take": asdict(found.usual.makespan) if found.usual else None,
        }


@dataclass(frozen=True, slots=True)
class LeasedFacts:
    """What a task's leased Jobs taught. next: None if the size of its next Job is unknown.

    memory_weight: decides the size of the next lease, see ``Aim``. wait_s: until a lease comes.
    """

    task: TaskId
    learned: LeasedTask
    next: NextLease | None
    memory_weight: float = TIME
    wait_s: float = WAIT_S

    @property
    def most_items(self) -> int:
        """Items of the largest lease considered: the next one, or the largest seen."""
        return max(self.learned.largest, self.next.items if self.next else 1)

    @property
    def sizes(self) -> list[LeaseSize]:
        """Leases of several sizes, the smallest first; the next one is among them."""
        found = {2**power for power in range(self.most_items.bit_length())}
        # With millions of items, powers of four or sixteen say as much.
        stride = -(-len(found) // MOST_SIZES)
        listed = {*sorted(found)[::stride], self.most_items}
        if self.next is not None:
            listed.add(self.next.items)
        return [lease_size(self.learned, items) for items in sorted(listed)]

    @property
    def verdict(self) -> str:
        """What leases save over shares, in words."""
        found = self.next
        if found is None:
            return Verdict.UNKNOWN.value
        memory_bytes = found.memory_bytes, found.share_memory_bytes
        return words_for_over_shares(found.over_shares, memory_bytes)

    @property
    def words(self) -> Mapping[str, str]:
        """A line for each thing that is known, by its name."""
        found = self.next
        told = {**words_for_leases(self.learned, self.wait_s)}
        if found is None:
            return {**told, "a lease": "say how large a Job is: --items and --workers"}
        return {
            **told,
            "a job": words_for_job(found.job.items, found.job.workers, found.shares),
            "the limit": words_for_lease_limit(found.limit_bytes, found.fits),
            "a lease": words_for_next_lease(found.items, found.seconds, found.memory_bytes),
            "over shares": self.verdict,
        }

    def to_document(self) -> dict[str, Any]:
        """Return it in plain JSON types."""
        return {
            **self.learned.to_document(),
            "memory_weight": self.memory_weight,
            "wait_s": self.wait_s,
            "next": None if self.next is None else self.next.to_document(),
            "sizes": [asdict(size) for size in self.sizes],
            "words": dict(self.words),
        }


def leased_facts(store: Store, task: TaskId, asked: AskedJob = AS_LAST) -> LeasedFacts | None:
    """Read what is known; None if no leased Job of the task has ended. Cost: one query."""
    return leased_facts_of(task, store.leased_jobs.taught(task), asked)


def leased_facts_of(task: TaskId, taught: object, asked: AskedJob = AS_LAST) -> LeasedFacts | None:
    """Return what a task's last leased Job taught; None if nothing."""
    learned = leased_task_of(taught)
    if learned is None:
        return None
    following = _next_lease(taught, learned, asked)
    return LeasedFacts(task, learned, following, asked.memory_weight)


def _next_lease(taught: object, learned: LeasedTask, asked: AskedJob) -> NextLease | None:
    last, peaks = learned.last, learned.peaks
    items = asked.items or (last.items if last else None)
    workers = asked.workers or (last.workers if last else None)
    if items is None or workers is None:
        return None
    pods = asked.pods or (last.shares if last and asked.workers is None else workers)
    shares = max(1, min(pods, items))
    job = Job(items, min(workers, shares), START_S, WAIT_S)
    limit_bytes = last.limit_bytes if last else None
    leased = first_lease(taught, job, shares, limit_bytes)
    told = learned_of_leases(taught, WAIT_S) if asked.memory_weight > TIME else None
    if told is not None:
        aim = Aim(asked.memory_weight, limit_bytes)
        leased = min(leased, lease_room(job, shares, told, aim).items)
    return NextLease(
        job=job,
        shares=shares,
        items=leased,
        seconds=learned.costs.mean_s(leased),
        memory_bytes=peaks.mean_bytes(leased) if peaks else None,
        share_memory_bytes=_share_bytes(peaks, -(-items // shares)),
        limit_bytes=limit_bytes,
        fits=peaks.most_items(limit_bytes) if peaks and limit_bytes else None,
        over_shares=over_shares(learned, job, leased, shares),
    )


def _share_bytes(peaks: Peaks | None, items: int) -> float | None:
    return peaks.mean_bytes(items) if peaks and peaks.apart else None
