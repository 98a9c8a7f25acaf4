"""Proposes how a job is cut: chunks, workers and memory, or says that there is nothing to gain."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile
from typing import Final

from plimsoll_predictor.splitting.costs import Costs
from plimsoll_predictor.splitting.jobs import Job
from plimsoll_predictor.splitting.makespans import (
    MOST_CHUNKS,
    Chunks,
    Makespan,
    even_chunks,
    expected,
    least_s,
    listed_chunks,
)
from plimsoll_predictor.splitting.peaks import Peaks
from plimsoll_predictor.splitting.sizes import (
    LEAST_WAITS,
    Bounds,
    batched_sizes,
    even_candidates,
    even_sizes,
    leased_sizes,
)

TIME: Final = 0.0
MEMORY_TIME: Final = 1.0
MOST_WORSE: Final = 0.1
"""A proposal is dropped if it may exceed the time of now by more than this share, nine times of
ten."""
LEAST_GAIN: Final = 0.01
BATCHES: Final = (4.0, 16.0)
"""A chunk of the decreasing plans that are compared takes at least so many times its wait."""
_SEED: Final = 7
"""All plans are played on the same draws, so that only the plans differ."""


class Verdict(StrEnum):
    """What a proposal says."""

    UNKNOWN = "nothing known"
    NOTHING_TO_GAIN = "nothing to gain"
    RISKY = "could take longer"
    CUT = "cut"


class Shape(StrEnum):
    """How chunks follow each other."""

    EVEN = "even"
    DECREASING = "decreasing"
    LEASED = "leased"


@dataclass(frozen=True, slots=True)
class Aim:
    """What to minimise: time × memory^memory_weight. memory_weight: TIME to MEMORY_TIME.

    most_bytes: a container's bound; None if none is known.
    """

    memory_weight: float = TIME
    most_bytes: int | None = None

    def __post_init__(self) -> None:
        """Raise ValueError for a weight beyond its range."""
        if not TIME <= self.memory_weight <= MEMORY_TIME:
            raise ValueError(f"a weight of memory of {self.memory_weight!r}; it is 0 to 1")


@dataclass(frozen=True, slots=True)
class Plan:
    """One way to cut a job. largest: items of its largest chunk.

    memory_bytes: of a container that holds its largest chunk; None if no peak is known.
    """

    shape: Shape
    largest: int
    chunks: int
    least_waits: float
    makespan: Makespan
    memory_bytes: int | None

    def sizes(self, job: Job, costs: Costs) -> Iterator[int]:
        """Return its chunks, in the order in which they begin."""
        if self.shape is Shape.EVEN:
            return even_sizes(job, self.largest)
        bounds = _bounds(self.largest, self.least_waits)
        cut = leased_sizes if self.shape is Shape.LEASED else batched_sizes
        return cut(job, costs, bounds)

    def price(self, aim: Aim) -> float:
        """Return the plan's cost by the aim; only for comparison."""
        memory = self.memory_bytes or 1
        return self.makespan.mean_s * math.pow(memory, aim.memory_weight)


@dataclass(frozen=True, slots=True)
class Proposal:
    """The proposal, and what is done now; plans are None if nothing is known.

    workers: how many are worth their start; never more than the job has. gain: expected share of
    the aim's price, 0 to 1.
    """

    verdict: Verdict
    plan: Plan | None
    usual: Plan | None
    workers: int
    gain: float = 0.0


@dataclass(frozen=True, slots=True)
class Known:
    """What past runs showed. noise: of makespans, one standard deviation as a share."""

    costs: Costs | None
    peaks: Peaks | None
    noise: float


@dataclass(frozen=True, slots=True)
class Question:
    """How a job is best cut. It has an answer only if its items are known to take time.

    noise: as that of ``Known``.
    """

    job: Job
    costs: Costs
    peaks: Peaks | None
    noise: float
    aim: Aim

    @property
    def most_items(self) -> int:
        """How many of the job's items a chunk may have, by its known memory."""
        if self.peaks is None or self.aim.most_bytes is None:
            return self.job.items
        return min(self.job.items, self.peaks.most_items(self.aim.most_bytes))

    def plan(self, shape: Shape, chunks: Chunks, waits: float = 0.0) -> Plan:
        """Return what these chunks take. waits: the least that one takes, in its own wait."""
        makespan = expected(chunks, self.job, self.costs, _SEED)
        memory = None
        if self.peaks is not None:
            memory = math.ceil(self.peaks.container_bytes(chunks.largest))
        return Plan(shape, chunks.largest, chunks.count, waits, makespan, memory)

    def even(self, items: int) -> Plan:
        """Return the plan of chunks of so many items."""
        return self.plan(Shape.EVEN, even_chunks(self.job, items))

    def leased(self, items: int) -> Plan | None:
        """Return the plan of leases of so many items at most; None if too many to be played."""
        sizes = leased_sizes(self.job, self.costs, _bounds(items, LEAST_WAITS))
        return self._listed(Shape.LEASED, sizes, LEAST_WAITS)

    def decreasing(self, waits: float) -> Plan | None:
        """Return the plan of ever smaller chunks; None if too many to be played."""
        sizes = batched_sizes(self.job, self.costs, _bounds(self.most_items, waits))
        return self._listed(Shape.DECREASING, sizes, waits)

    def _listed(self, shape: Shape, sizes: Iterator[int], waits: float) -> Plan | None:
        chunks = listed_chunks(self.job, sizes)
        return None if chunks is None else self.plan(shape, chunks, waits)

    def price(self, plan: Plan) -> float:
        """Return the plan's price by the aim."""
        return plan.price(self.aim)

    def gain(self, usual: Plan, other: Plan) -> float:
        """Return how much cheaper the other plan is, as a share."""
        return 1 - self.price(other) / self.price(usual)

    def counts(self, gain: float) -> bool:
        """Say whether a gain is more than noise could produce. Memory is less noisy than time."""
        noticed = self.noise * (1 - self.aim.memory_weight / 2)
        return gain >= max(LEAST_GAIN, noticed)  # false for NaN, too

    def is_borne(self, plan: Plan, usual: Plan) -> bool:
        """Say whether a plan that saves memory is no slower than a run may be while it learns."""
        return self.aim.memory_weight == TIME or _is_no_slower(plan, usual)


def asked(job: Job, known: Known, aim: Aim) -> Question | None:
    """Return the question; None if nothing is known that could answer it."""
    if known.costs is None or known.costs.item_s <= 0:
        return None
    return Question(job, known.costs, known.peaks, known.noise, aim)


def nothing_known(workers: int) -> Proposal:
    """Return the proposal where there is no question."""
    return Proposal(Verdict.UNKNOWN, None, None, workers)


def propose(job: Job, known: Known, aim: Aim, usual_items: int) -> Proposal:
    """Propose the cut with the least price, if it gains more than the noise.

    usual_items: size of the job's chunks now, all even.
    """
    question = asked(job, known, aim)
    if question is None:
        return nothing_known(job.workers)
    usual = question.even(usual_items)
    return _chosen(question, usual, min(_plans(question), key=question.price, default=usual))


def propose_cut(question: Question, usual: Plan, others: Iterable[Plan]) -> Proposal:
    """Propose one of the other plans, as ``propose`` does. usual: of the chunks that the job has.

    Among cuts that are no more than LEAST_GAIN above the best, it takes the one with the fewest
    chunks.
    """
    plans = [plan for plan in others if question.is_borne(plan, usual)]
    least = min((question.price(plan) for plan in plans), default=0.0)
    near = (plan for plan in plans if question.price(plan) <= least * (1 + LEAST_GAIN))
    # A plan near the best, with fewer chunks, may gain too little by itself.
    counting = (plan for plan in near if question.counts(question.gain(usual, plan)))
    return _chosen(question, usual, min(counting, key=lambda plan: plan.chunks, default=usual))


@dataclass(frozen=True, slots=True)
class Within:
    """The least and most items of a chunk."""

    least: int
    most: int


def even_plans(question: Question, within: Within) -> Iterator[Plan]:
    """Return the even chunks that are compared, the largest first."""
    most = min(within.most, question.most_items)
    for items in even_candidates(question.job):
        if within.least <= items <= most:
            yield question.even(items)


def propose_leased(job: Job, known: Known, aim: Aim, usual_items: int) -> Proposal:
    """Propose the largest lease, and with it the memory, by the aim; leases size themselves.

    usual_items: the largest lease that workers are given now.
    """
    question = asked(job, known, aim)
    if question is None:
        return nothing_known(job.workers)
    usual = question.leased(usual_items) or question.even(usual_items)
    allowed = question.most_items
    sizes = (items for items in even_candidates(job) if items <= allowed)
    # Smaller leases are more leases: after the first plan with too many, all have too many.
    plans = takewhile(lambda plan: plan is not None, map(question.leased, sizes))
    borne = (plan for plan in plans if plan is not None and question.is_borne(plan, usual))
    best = min(borne, key=question.price, default=usual)
    gain = question.gain(usual, best)
    if not question.counts(gain):
        return Proposal(Verdict.NOTHING_TO_GAIN, usual, usual, job.workers, max(0.0, gain))
    return Proposal(Verdict.CUT, best, usual, worthwhile_workers(job, question.costs), gain)


def leases_over_shares(job: Job, known: Known, lease_items: int, share_items: int) -> Proposal:
    """Say whether leases end a job sooner than the shares of its pods.

    lease_items: of the first lease, which is the largest.
    """
    question = asked(job, known, Aim())
    if question is None:
        return nothing_known(job.workers)
    shares = question.even(share_items)
    return _chosen(question, shares, question.leased(lease_items) or shares)


def worthwhile_workers(job: Job, costs: Costs) -> int:
    """Return the fewest workers that are at most LEAST_GAIN slower than all of them."""
    work_s = job.items * costs.item_s
    if work_s <= 0 or not math.isfinite(work_s):
        return job.workers
    all_s = job.bound_s(work_s) * (1 + LEAST_GAIN)
    fewest = math.ceil(work_s / (all_s - job.start_s))
    return max(1, min(job.workers, fewest, job.items))


def _chosen(question: Question, usual: Plan, best: Plan) -> Proposal:
    """Return the better of the usual plan and the best one."""
    gain = question.gain(usual, best)
    workers = worthwhile_workers(question.job, question.costs)
    if not question.counts(gain):
        return Proposal(Verdict.NOTHING_TO_GAIN, usual, usual, workers, max(0.0, gain))
    if not _is_no_slower(best, usual):
        return Proposal(Verdict.RISKY, usual, usual, workers)
    return Proposal(Verdict.CUT, best, usual, workers, gain)


def _is_no_slower(plan: Plan, usual: Plan) -> bool:
    """Say whether a plan surely takes at most MOST_WORSE longer than the usual one."""
    return plan.makespan.high_s <= usual.makespan.high_s * (1 + MOST_WORSE)


def _plans(question: Question) -> Iterator[Plan]:
    job, aim = question.job, question.aim
    allowed = question.most_items
    best = math.inf
    for items in even_candidates(job):
        if items > allowed:
            continue
        chunks = -(-job.items // items)
        if chunks > MOST_CHUNKS or (
            aim.memory_weight == TIME and least_s(chunks, job, question.costs) >= best
        ):
            break
        plan = question.even(items)
        best = min(best, plan.makespan.mean_s)
        yield plan
    for waits in BATCHES:
        decreasing = question.decreasing(waits)
        if decreasing is not None:
            yield decreasing


def _bounds(most_items: int, waits: float) -> Bounds:
    return Bounds(most_items, math.inf, waits)
