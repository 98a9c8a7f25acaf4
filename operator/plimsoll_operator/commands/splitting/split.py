"""``plimsoll split``: what is known of a task's chunks, and what a Job takes by how it is cut."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from rich.console import Group, RenderableType

from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.printing.printing import complain, print_output
from plimsoll_operator.commands.printing.tables import bar, panel, plain, titled_table
from plimsoll_operator.commands.reaching.stored import existing_store
from plimsoll_operator.names import labels
from plimsoll_operator.splitting.last_job import last_job
from plimsoll_operator.wording.figure_words import words_for_share, words_for_size
from plimsoll_predictor.core.durations import words_for_duration
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import counted, words_for_bytes
from plimsoll_predictor.splitting.chunk_runs import Learned, learned_of
from plimsoll_predictor.splitting.cutting import Cut, CuttableJob, curve, cut, pods_of
from plimsoll_predictor.splitting.proposing import Plan, Verdict
from plimsoll_predictor.store import Store, StoreError

_LOOKED_AT: Final = 2_000
"""Attempts among which the last Job is found."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A Job as somebody asks for it; None takes what the last Job had."""

    items: int | None = None
    workers: int | None = None
    pods: int | None = None


@dataclass(frozen=True, slots=True)
class Splitting:
    """All that is shown of a task."""

    task: TaskId
    learned: Learned
    job: CuttableJob
    cut: Cut
    plans: list[Plan]


def split_command(named: str, store_url: str, output: OutputForm, asked: Asked) -> int:
    """Print how the task's Jobs are best cut; the exit status."""
    try:
        with existing_store(store_url) as store:
            found = read_splitting(store, TaskId.parse(named), asked)
    except (StoreError, LookupError, ValueError) as error:
        complain(f"plimsoll split: {error}")
        return 1
    print_output(_document(found), Group(_head(found), _table(found)), output)
    return 0


def read_splitting(store: Store, task: TaskId, asked: Asked) -> Splitting:
    """Read what is known, and cut a Job by it; LookupError if nothing is known."""
    learned = learned_of(store.chunk_runs.of_task(task, labels.CHUNK_ITEMS))
    last = last_job(store.observations.of_task(task, limit=_LOOKED_AT))
    if learned is None or last is None:
        raise LookupError(
            f"{task}: no Job over items is known; write the annotation {labels.ITEMS} on its Jobs"
        )
    job = _job(last, asked)
    return Splitting(task, learned, job, cut(job, learned), curve(job, learned))


def _job(last: CuttableJob, asked: Asked) -> CuttableJob:
    items = asked.items or last.items
    workers = asked.workers or last.workers
    pods = asked.pods or (last.pods if asked.items is None else min(workers, items))
    if pods > items:
        raise ValueError(f"{pods} pods cannot share {counted(items, 'item')}")
    return replace(last, items=items, workers=min(workers, pods), pods=pods)


def _document(found: Splitting) -> dict[str, Any]:
    proposal = found.cut.proposal
    return {
        "task": str(found.task),
        "job": asdict(found.job),
        "learned": found.learned.to_document(),
        "verdict": proposal.verdict.value,
        "pods": found.cut.pods,
        "items_per_pod": found.cut.items,
        "gain": proposal.gain,
        "plans": [
            {
                **asdict(plan.makespan),
                "pods": pods_of(found.job, plan),
                "items_per_pod": plan.largest,
            }
            | {"memory_bytes": plan.memory_bytes}
            for plan in found.plans
        ],
    }


def _head(found: Splitting) -> RenderableType:
    costs, peaks, job = found.learned.costs, found.learned.peaks, found.job
    memory = "not measured"
    if peaks is not None:
        each = "" if not peaks.apart else f", and {words_for_bytes(peaks.slope_bytes)} an item"
        memory = f"{words_for_bytes(peaks.base_bytes)}{each}; varies by {peaks.noise:.0%}"
        if not peaks.apart:
            memory = f"{words_for_bytes(peaks.mean_bytes(peaks.largest))}; all pods did as many"
    rows = {
        "an item takes": (
            f"{words_for_duration(costs.item_s)}, varying by {words_for_duration(costs.spread_s)}"
        ),
        "a pod takes": (
            f"{words_for_duration(costs.chunk_s)} whatever it does,"
            f" and {words_for_duration(found.learned.wait_s)} until it starts"
        ),
        "memory": memory,
        "a job": f"{counted(job.items, 'item')}, {counted(job.workers, 'worker')} at once,"
        f" {counted(job.pods, 'pod')}",
        "best cut": _words(found),
    }
    return panel(str(found.task), rows)


def _words(found: Splitting) -> str:
    proposal, job = found.cut.proposal, found.job
    if proposal.verdict is Verdict.NOTHING_TO_GAIN:
        return f"as it is, {counted(job.pods, 'pod')}: nothing to gain"
    if proposal.verdict is not Verdict.CUT:
        return f"as it is, {counted(job.pods, 'pod')}: another {proposal.verdict.value}"
    grows = "; its pods keep the memory as written" if found.cut.grows else ""
    gain = words_for_share(proposal.gain, 1.0)
    pods = counted(found.cut.pods, "pod")
    return f"{pods} of {counted(found.cut.items, 'item')}: {gain} less time{grows}"


def _table(found: Splitting) -> RenderableType:
    figures = ("pods", "items a pod", "time", "nine of ten", "memory a pod")
    table = titled_table("the job, by how it is cut", (*figures, ""), right=figures)
    longest = max((plan.makespan.mean_s for plan in found.plans), default=0.0)
    for plan in found.plans:
        pods, span = pods_of(found.job, plan), plan.makespan
        low, high = words_for_duration(span.low_s), words_for_duration(span.high_s)
        style = "bold" if pods == found.cut.pods else ""
        cells = (
            *(f"{pods:,}", f"{plan.largest:,}", words_for_duration(span.mean_s)),
            *(f"{low} to {high}", words_for_size(plan.memory_bytes), bar(span.mean_s, longest)),
        )
        table.add_row(*(plain(cell, style) for cell in cells))
    return table
