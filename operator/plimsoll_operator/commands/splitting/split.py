"""``plimsoll split``: the cost of a task's chunks and leases, and of a Job by its cuts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from rich.console import Group, RenderableType

from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.printing.printing import complain, print_output
from plimsoll_operator.commands.printing.tables import bar, panel, plain, titled_table
from plimsoll_operator.commands.reaching.stored import existing_store
from plimsoll_operator.commands.reaching.task_names import nearest
from plimsoll_operator.names import labels
from plimsoll_operator.views.splitting_facts import (
    AskedJob,
    LeasedFacts,
    SplittingFacts,
    leased_facts,
    splitting_facts,
)
from plimsoll_operator.wording.figure_words import words_for_size
from plimsoll_predictor.core.durations import words_for_duration
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import StoreError

_FIRST_RUN: Final = "they share a task's first run well, too, which no cut can"


def split_command(named: str, store_url: str, output: OutputForm, asked: AskedJob) -> int:
    """Print how the task's Jobs are best cut; the exit status."""
    try:
        task = TaskId.parse(named)
        with existing_store(store_url) as store:
            facts = splitting_facts(store, task, asked)
            leased = leased_facts(store, task, asked)
            tasks, where = store.totals.tasks(), store.where
    except (StoreError, ValueError) as error:
        complain(f"plimsoll split: {error}")
        return 1
    if facts is None and leased is None and task not in tasks:
        complain(f"plimsoll split: {task}: {where} knows no such task; {nearest(task, tasks)}")
        return 1
    if facts is None and leased is None:
        complain(
            f"plimsoll split: {task}: no Job over items is known;"
            f" write the annotation {labels.ITEMS} on its Jobs; with {labels.LEASES}, {_FIRST_RUN}"
        )
        return 1
    document: dict[str, Any] = {"task": str(task)} if facts is None else facts.to_document()
    document["leased"] = None if leased is None else leased.to_document()
    print_output(document, Group(*_shown(facts, leased)), output)
    return 0


def _shown(facts: SplittingFacts | None, leased: LeasedFacts | None) -> Iterator[RenderableType]:
    if leased is not None:
        only = {} if facts is not None else {"cut": "no Job of it that leases nothing is known"}
        yield panel(f"{leased.task}, leased", {**leased.words, **only})
        yield _lease_table(leased)
    if facts is not None:
        other = {} if leased is not None else {"leases": f"none yet; {_FIRST_RUN}"}
        yield panel(str(facts.task), {**facts.words, **other})
        yield _table(facts)


def _table(facts: SplittingFacts) -> RenderableType:
    figures = ("pods", "items", "time", "nine of ten", "memory")
    table = titled_table(
        "the job, by how it is cut, and a pod's items and memory", (*figures, ""), right=figures
    )
    best = facts.best_listed
    plans = sorted([*facts.plans, *([best] if best else [])], key=facts.pods)
    longest = max((plan.makespan.mean_s for plan in plans), default=0.0)
    for plan in plans:
        pods, span = facts.pods(plan), plan.makespan
        low, high = words_for_duration(span.low_s), words_for_duration(span.high_s)
        is_best = pods == facts.cut.pods if best is None else plan is best
        style = "bold" if is_best else ""
        cells = (
            *(f"{pods:,}", facts.items_words(plan), words_for_duration(span.mean_s)),
            *(f"{low} to {high}", words_for_size(plan.memory_bytes), bar(span.mean_s, longest)),
        )
        table.add_row(*(plain(cell, style) for cell in cells))
    return table


def _lease_table(facts: LeasedFacts) -> RenderableType:
    """The cost of leases of several sizes; the next one is bold."""
    sizes = facts.sizes
    figures = ("items", "time", "nine of ten", *(("memory",) if sizes[0].mean_bytes else ()))
    table = titled_table("a lease, by its items", (*figures, ""), right=figures)
    longest = max(size.mean_s for size in sizes)
    for size in sizes:
        style = "bold" if facts.next and size.items == facts.next.items else ""
        low, high = words_for_duration(size.low_s), words_for_duration(size.high_s)
        cells = [f"{size.items:,}", words_for_duration(size.mean_s), f"{low} to {high}"]
        if size.mean_bytes is not None:
            cells.append(words_for_size(size.mean_bytes))
        cells.append(bar(size.mean_s, longest))
        table.add_row(*(plain(cell, style) for cell in cells))
    return table
