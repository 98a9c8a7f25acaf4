"""Proposes how a job is cut: chunks, workers and memory, or says that there is nothing to gain."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
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


def propose(job: Job, known: Known, aim: Aim, usual_items: int) -> Proposal:
    """Propose the cut with the least price, if it gains more than the noise.

    usual_items: size of the job's chunks now, all even.
    """
    costs = known.costs
    if costs is None or costs.item_s <= 0:
        return Proposal(Verdict.UNKNOWN, None, None, job.workers)
    usual = _even(job, costs, known.peaks, usual_items)
    best = min(_plans(job, known, aim), key=lambda plan: plan.price(aim), default=usual)
    return _chosen(job, known, aim, (usual, best))


@dataclass(frozen=True, slots=True)
class Within:
    """The least and most items of a chunk."""

    least: int
    most: int


def propose_cut(
    job: Job,
    known: Known,
    aim: Aim,
    now: tuple[Shape, Chunks],
    others: tuple[Within, Mapping[float, Chunks]],
) -> Proposal:
    """Propose even chunks, or decreasing ones, as ``propose`` does.

    now: the chunks that the job has, and their shape. others: the bounds of even chunks, and the
    decreasing chunks by their least waits.
    Among cuts that are no more than LEAST_GAIN above the best, it takes the one with the fewest
    chunks.
    """
    costs = known.costs
    if costs is None or costs.item_s <= 0:
        return Proposal(Verdict.UNKNOWN, None, None, job.workers)
    within, smaller = others
    told = (job, costs, known.peaks)
    usual = _plan(*now, told, 0.0)
    plans = [plan for plan in even_plans(job, known, aim, within) if _is_borne(plan, usual, aim)]
    decreasing = (_plan(Shape.DECREASING, each, told, waits) for waits, each in smaller.items())
    plans += [plan for plan in decreasing if _is_borne(plan, usual, aim)]
    least = min((plan.price(aim) for plan in plans), default=0.0)
    near = (plan for plan in plans if plan.price(aim) <= least * (1 + LEAST_GAIN))
    # A plan near the best, with fewer chunks, may gain too little by itself.
    counting = (plan for plan in near if _counts(_gain((usual, plan), aim), known, aim))
    fewest = min(counting, key=lambda plan: plan.chunks, default=usual)
    return _chosen(job, known, aim, (usual, fewest))


def even_plans(job: Job, known: Known, aim: Aim, within: Within) -> Iterator[Plan]:
    """Return the even chunks that are compared, the largest first; none if nothing is known."""
    if known.costs is None or known.costs.item_s <= 0:
        return
    most = min(within.most, most_items(job.items, known.peaks, aim))
    for items in even_candidates(job):
        if within.least <= items <= most:
            yield _even(job, known.costs, known.peaks, items)


def propose_leased(job: Job, known: Known, aim: Aim, usual_items: int) -> Proposal:
    """Propose the largest lease, and with it the memory, by the aim; leases size themselves.

    usual_items: the largest lease that workers are given now.
    """
    costs = known.costs
    if costs is None or costs.item_s <= 0:
        return Proposal(Verdict.UNKNOWN, None, None, job.workers)
    usual = _leased(job, costs, known.peaks, usual_items)
    if usual is None:
        usual = _even(job, costs, known.peaks, usual_items)
    allowed = most_items(job.items, known.peaks, aim)
    sizes = (items for items in even_candidates(job) if items <= allowed)
    plans = (_leased(job, costs, known.peaks, items) for items in sizes)
    # Smaller leases are more leases: after the first plan with too many, all have too many.
    listed = takewhile(lambda plan: plan is not None, plans)
    borne = (plan for plan in listed if plan is not None and _is_borne(plan, usual, aim))
    best = min(borne, key=lambda plan: plan.price(aim), default=usual)
    gain = 1 - best.price(aim) / usual.price(aim)
    if gain < max(LEAST_GAIN, _noticed(known.noise, aim)):
        return Proposal(Verdict.NOTHING_TO_GAIN, usual, usual, job.workers, max(0.0, gain))
    return Proposal(Verdict.CUT, best, usual, worthwhile_workers(job, costs), gain)


def leases_over_shares(job: Job, known: Known, lease_items: int, share_items: int) -> Proposal:
    """Say whether leases end a job sooner than the shares of its pods.

    lease_items: of the first lease, which is the largest.
    """
    costs = known.costs
    if costs is None or costs.item_s <= 0:
        return Proposal(Verdict.UNKNOWN, None, None, job.workers)
    shares = _even(job, costs, known.peaks, share_items)
    leases = _leased(job, costs, known.peaks, lease_items)
    return _chosen(job, known, Aim(), (shares, leases or shares))


def worthwhile_workers(job: Job, costs: Costs) -> int:
    """Return the fewest workers that are at most LEAST_GAIN slower than all of them."""
    work_s = job.items * costs.item_s
    if work_s <= 0 or not math.isfinite(work_s):
        return job.workers
    all_s = job.bound_s(work_s) * (1 + LEAST_GAIN)
    fewest = math.ceil(work_s / (all_s - job.start_s))
    return max(1, min(job.workers, fewest, job.items))


def _chosen(job: Job, known: Known, aim: Aim, plans: tuple[Plan, Plan]) -> Proposal:
    """Return the better of the usual plan and the best one. known.costs is not None."""
    usual, best = plans
    assert known.costs is not None
    gain = _gain(plans, aim)
    workers = worthwhile_workers(job, known.costs)
    if not _counts(gain, known, aim):  # false for NaN, too
        return Proposal(Verdict.NOTHING_TO_GAIN, usual, usual, workers, max(0.0, gain))
    if best.makespan.high_s > usual.makespan.high_s * (1 + MOST_WORSE):
        return Proposal(Verdict.RISKY, usual, usual, workers)
    return Proposal(Verdict.CUT, best, usual, workers, gain)


def _gain(plans: tuple[Plan, Plan], aim: Aim) -> float:
    """Return how much cheaper the second plan is than the first, as a share."""
    usual, other = plans
    return 1 - other.price(aim) / usual.price(aim)


def _counts(gain: float, known: Known, aim: Aim) -> bool:
    """Say whether a gain is more than noise could produce."""
    return gain >= max(LEAST_GAIN, _noticed(known.noise, aim))


def _is_borne(plan: Plan, usual: Plan, aim: Aim) -> bool:
    """Say whether a plan that saves memory is no slower than a run may be while it is learned."""
    if aim.memory_weight == TIME:
        return True
    return plan.makespan.high_s <= usual.makespan.high_s * (1 + MOST_WORSE)


def _noticed(noise: float, aim: Aim) -> float:
    """Return the gain that noise could produce in a run's time. Memory is less noisy."""
    return noise * (1 - aim.memory_weight / 2)


def _plans(job: Job, known: Known, aim: Aim) -> Iterator[Plan]:
    costs = known.costs
    if costs is None:
        return
    allowed = most_items(job.items, known.peaks, aim)
    best = math.inf
    for items in even_candidates(job):
        if items > allowed:
            continue
        chunks = -(-job.items // items)
        if chunks > MOST_CHUNKS or (
            aim.memory_weight == TIME and least_s(chunks, job, costs) >= best
        ):
            break
        plan = _even(job, costs, known.peaks, items)
        best = min(best, plan.makespan.mean_s)
        yield plan
    for waits in BATCHES:
        plan_or_none = _decreasing(job, costs, known.peaks, (allowed, waits))
        if plan_or_none is not None:
            yield plan_or_none


def most_items(items: int, peaks: Peaks | None, aim: Aim) -> int:
    """Return how many of a job's items a chunk may have, by its known memory."""
    if peaks is None or aim.most_bytes is None:
        return items
    return min(items, peaks.most_items(aim.most_bytes))


def _even(job: Job, costs: Costs, peaks: Peaks | None, items: int) -> Plan:
    return _plan(Shape.EVEN, even_chunks(job, items), (job, costs, peaks), 0.0)


def _leased(job: Job, costs: Costs, peaks: Peaks | None, items: int) -> Plan | None:
    """Return None if there are too many chunks to be worth a look."""
    chunks = listed_chunks(job, leased_sizes(job, costs, _bounds(items, LEAST_WAITS)))
    if chunks is None:
        return None
    return _plan(Shape.LEASED, chunks, (job, costs, peaks), LEAST_WAITS)


def _decreasing(
    job: Job, costs: Costs, peaks: Peaks | None, bounds: tuple[int, float]
) -> Plan | None:
    """Return None for too many chunks to be worth a look. bounds: most items, and least waits."""
    chunks = listed_chunks(job, batched_sizes(job, costs, _bounds(*bounds)))
    if chunks is None:
        return None
    return _plan(Shape.DECREASING, chunks, (job, costs, peaks), bounds[1])


def _plan(
    shape: Shape, chunks: Chunks, known: tuple[Job, Costs, Peaks | None], waits: float
) -> Plan:
    job, costs, peaks = known
    makespan = expected(chunks, job, costs, _SEED)
    memory = None if peaks is None else math.ceil(peaks.container_bytes(chunks.largest))
    return Plan(shape, chunks.largest, chunks.count, waits, makespan, memory)


def _bounds(most_items: int, waits: float) -> Bounds:
    return Bounds(most_items, math.inf, waits)
