"""The words for what chunks of a task take, and for how its Jobs are best cut."""

from __future__ import annotations

from collections.abc import Mapping

from plimsoll_operator.wording.figure_words import words_for_share
from plimsoll_predictor.core.durations import words_for_duration
from plimsoll_predictor.core.units import counted, words_for_bytes
from plimsoll_predictor.splitting.chunk_runs import Learned
from plimsoll_predictor.splitting.cutting import Cut, CuttableJob
from plimsoll_predictor.splitting.peaks import Peaks
from plimsoll_predictor.splitting.proposing import Verdict


def words_for_splitting(learned: Learned, job: CuttableJob, found: Cut) -> Mapping[str, str]:
    """Return a line for each thing that is known, by its name."""
    costs = learned.costs
    return {
        "an item takes": (
            f"{words_for_duration(costs.item_s)}, varying by {words_for_duration(costs.spread_s)}"
        ),
        "a pod takes": (
            f"{words_for_duration(costs.chunk_s)} whatever it does,"
            f" and {words_for_duration(learned.wait_s)} until it starts"
        ),
        "memory": _words_for_memory(learned.peaks),
        "a job": (
            f"{counted(job.items, 'item')}, {counted(job.workers, 'worker')} at once,"
            f" {counted(job.pods, 'pod')}"
        ),
        "best cut": words_for_cut(job, found),
    }


def words_for_cut(job: CuttableJob, found: Cut) -> str:
    """Return how the Job is best cut, and what that saves."""
    proposal = found.proposal
    if proposal.verdict is Verdict.NOTHING_TO_GAIN:
        return f"as it is, {counted(job.pods, 'pod')}: nothing to gain"
    if proposal.verdict is not Verdict.CUT:
        return f"as it is, {counted(job.pods, 'pod')}: another {proposal.verdict.value}"
    grows = "; its pods keep the memory as written" if found.grows else ""
    gain = words_for_share(proposal.gain, 1.0)
    pods, items = counted(found.pods, "pod"), counted(found.items, "item")
    return f"{pods} of {items}: {gain} less time{grows}"


def _words_for_memory(peaks: Peaks | None) -> str:
    if peaks is None:
        return "not measured"
    if not peaks.apart:
        return f"{words_for_bytes(peaks.mean_bytes(peaks.largest))}; all pods did as many items"
    return (
        f"{words_for_bytes(peaks.base_bytes)}, and {words_for_bytes(peaks.slope_bytes)} an item;"
        f" varies by {peaks.noise:.0%}"
    )
