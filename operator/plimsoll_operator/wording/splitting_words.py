"""Words for what chunks of a task take, and for how its Jobs are best cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from plimsoll_operator.wording.figure_words import words_for_share
from plimsoll_predictor.core.durations import words_for_duration
from plimsoll_predictor.core.units import counted, words_for_bytes
from plimsoll_predictor.splitting.chunk_runs import Learned
from plimsoll_predictor.splitting.costs import Costs
from plimsoll_predictor.splitting.cutting import Cut, CuttableJob
from plimsoll_predictor.splitting.peaks import Peaks
from plimsoll_predictor.splitting.proposing import TIME, Proposal, Verdict
from plimsoll_predictor.splitting.strategies.leased_task import LastLeased, LeasedTask

LESS_MEMORY: Final = 0.95
"""A lease is said to need less memory if it needs at most this part of a share's."""


def words_for_splitting(
    learned: Learned,
    job: CuttableJob,
    found: Cut,
    memory_weight: float = TIME,
    listed: Cut | None = None,
) -> Mapping[str, str]:
    """Return a line for each thing that is known, by its name. memory_weight: see ``Aim``.

    listed: how the Job would be cut if its program read where each pod's items begin; None if
    that gains nothing.
    """
    costs = learned.costs
    told = {
        "an item takes": words_for_item(costs),
        "a pod takes": (
            f"{words_for_duration(costs.chunk_s)} whatever it does,"
            f" and {words_for_duration(learned.wait_s)} until it starts"
        ),
        "memory": words_for_memory(learned.peaks, "pods"),
        "a job": words_for_job(job.items, job.workers, job.pods),
        "best cut": words_for_cut(job, found, memory_weight),
    }
    if listed is not None:
        told["by a list"] = words_for_cut(job, listed, memory_weight)
    if learned.failed:
        told["failures"] = words_for_failed(learned.failed)
    if learned.hung:
        told["hung"] = words_for_hung(learned.hung)
    return told


def words_for_job(items: int, workers: int, pods: int) -> str:
    """Return how large a Job is."""
    each = counted(items, "item"), counted(workers, "worker"), counted(pods, "pod")
    return "{}, {} at once, {}".format(*each)


def words_for_leases(learned: LeasedTask, wait_s: float) -> Mapping[str, str]:
    """Return a line for each thing that leased Jobs taught. wait_s: until a lease comes."""
    costs = learned.costs
    return {
        "an item takes": words_for_item(costs),
        "a lease takes": (
            f"{words_for_duration(costs.chunk_s)} whatever it has,"
            f" and {words_for_duration(wait_s)} until it comes"
        ),
        "memory": words_for_memory(learned.peaks, "leases"),
        "the last job": words_for_last_leased(learned.last),
    }


def words_for_last_leased(last: LastLeased | None) -> str:
    """Return how the last leased Job went, if that was kept."""
    return "not kept" if last is None else words_for_leased(last)


def words_for_leased(last: LastLeased) -> str:
    """Return how a leased Job went."""
    return (
        f"{counted(last.done, 'item')} of {last.items:,} done, in {counted(last.leases, 'lease')};"
        f" {last.taken_back} taken back, {last.refused} refused"
    )


def words_for_next_lease(items: int, seconds: float, memory_bytes: float | None) -> str:
    """Return what a worker is leased first."""
    memory = "" if memory_bytes is None else f", {words_for_bytes(memory_bytes)}"
    takes = words_for_duration(seconds)
    return f"{counted(items, 'item')} at first: {takes}{memory}; fewer toward the end"


def words_for_lease_limit(limit_bytes: int | None, fits: int | None) -> str:
    """Return what bounds a lease. fits: the items of the largest lease; None if unknown."""
    if limit_bytes is None:
        return "no worker reported one"
    if fits is None:
        return f"{words_for_bytes(limit_bytes)}, and nobody measured what leases need"
    return f"{words_for_bytes(limit_bytes)}: {counted(fits, 'item')} a lease at most"


def words_for_over_shares(found: Proposal, memory_bytes: tuple[float | None, float | None]) -> str:
    """Return what leases save over shares. memory_bytes: a lease's, and a share's."""
    time = words_for_gain(found)
    lease, share = memory_bytes
    if lease is None or share is None or lease > LESS_MEMORY * share:
        return time
    if found.verdict is Verdict.NOTHING_TO_GAIN:
        time = f"{time} in time"
    return f"{time}; {words_for_bytes(lease)}, where a share would need {words_for_bytes(share)}"


def words_for_gain(found: Proposal, memory_weight: float = TIME) -> str:
    """Return what a proposal saves of a Job's time, or of its cost by the weight."""
    if found.verdict is not Verdict.CUT:
        return found.verdict.value
    of = "time" if memory_weight == TIME else f"time × memory^{memory_weight:g}"
    return f"{words_for_share(found.gain, 1.0)} less {of}"


def words_for_item(costs: Costs) -> str:
    """Return what an item takes."""
    takes, varies = words_for_duration(costs.item_s), words_for_duration(costs.spread_s)
    return f"{takes}, varying by {varies}"


def words_for_cut(job: CuttableJob, found: Cut, memory_weight: float = TIME) -> str:
    """Return how the Job is best cut, and what that saves. memory_weight: see ``Aim``."""
    proposal = found.proposal
    if proposal.verdict is not Verdict.CUT:
        of = f" of {words_for_chunks(job.usual_items, job.sizes)}" if job.sizes else ""
        another = "another number " if proposal.verdict is Verdict.RISKY else ""
        return f"as it is, {counted(job.pods, 'pod')}{of}: {another}{proposal.verdict.value}"
    grows = ", memory as written" if found.grows else ""
    pods, items = counted(found.pods, "pod"), words_for_chunks(found.items, found.sizes)
    return f"{pods} of {items}: {words_for_gain(proposal, memory_weight)}{grows}"


def words_for_failed(failed: int) -> str:
    """Return what follows from chunks of the task that failed lately. failed: how many, 1 or more.

    >>> words_for_failed(3)
    '3 of the latest chunks failed or were taken away: no pod does more items than written'
    """
    ended = "failed or was" if failed == 1 else "failed or were"
    return (
        f"{failed:,} of the latest chunks {ended} taken away: no pod does more items than written"
    )


def words_for_hung(hung: int) -> str:
    """Return what follows from chunks that took far too long. hung: how many, 1 or more.

    >>> words_for_hung(1)
    '1 of the latest chunks took so long that it must have hung: its time does not count'
    """
    which, whose = ("it", "its time does") if hung == 1 else ("they", "their times do")
    return (
        f"{hung:,} of the latest chunks took so long that {which} must have hung: {whose} not count"
    )


def words_for_chunks(largest: int, sizes: Sequence[int] = ()) -> str:
    """Return how many items pods do. sizes: all chunks if they become smaller; else empty."""
    to = f"{largest:,} to " if sizes else ""
    return f"{to}{counted(min(sizes, default=largest), 'item')}"


def words_for_memory(peaks: Peaks | None, of: str) -> str:
    """Return what is known of memory. of: the noun for what a worker takes at once, plural."""
    if peaks is None:
        return "not measured"
    if not peaks.apart:
        return f"{words_for_bytes(peaks.mean_bytes(peaks.largest))}; all {of} had as many items"
    return (
        f"{words_for_bytes(peaks.base_bytes)}, and {words_for_bytes(peaks.slope_bytes)} an item;"
        f" varies by {peaks.noise:.0%}"
    )
