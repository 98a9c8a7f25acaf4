"""``plimsoll placing [NAMESPACE/TASK]``: which tasks get along on a node, and what it is worth."""

from __future__ import annotations

from dataclasses import asdict
from difflib import get_close_matches
from typing import Final

from plimsoll_operator.commands.placing.placing_tables import cluster_tables, task_tables
from plimsoll_operator.commands.placing.starts_told import starts_here
from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.printing.printing import complain, print_output
from plimsoll_operator.commands.reaching.stored import existing_store
from plimsoll_operator.views.placing_facts import PlacingFacts, facts_with_gains, learned_facts
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.placing.placed_run import PlacedRun
from plimsoll_predictor.store import StoreError

MOST_RUNS: Final = 5_000
"""The most runs that are read, the newest."""
NEAREST: Final = 3


class NothingLearned(LookupError):
    """No run shows which tasks get along; says what would."""


def placing_command(task: str | None, store_url: str, output: OutputForm) -> int:
    """Print which task slows which, or how one task does beside others; the exit status.

    task: ``namespace/name``; None shows all.
    """
    try:
        named = None if task is None else str(TaskId.parse(task))
        runs = _runs(store_url)
        facts = learned_facts(runs) if named else facts_with_gains(runs)
        kind = None if named is None else _told_apart(named, facts)
    except (StoreError, NothingLearned, ValueError) as error:
        complain(f"plimsoll placing: {error}")
        return 1
    if kind is None:
        starts = starts_here()
        document = {**facts.to_dict(), "starts": [asdict(each) for each in starts]}
        print_output(document, cluster_tables(facts, starts), output)
    else:
        print_output(facts.task_dict(kind), task_tables(facts, kind), output)
    return 0


def _runs(store_url: str) -> list[PlacedRun]:
    """Finished runs, oldest first; NothingLearned if they teach nothing."""
    with existing_store(store_url) as store:
        runs = store.encounters.newest(limit=MOST_RUNS)
        where = store.where
    if not any(run.encounter is not None for run in runs):
        raise NothingLearned(
            f"{where} knows no run that says who gets along with whom: it takes runs that"
            " succeeded, on a known node, whose runtime was forecast when they were submitted"
        )
    return runs


def _told_apart(task: str, facts: PlacingFacts) -> str:
    """The task itself; NothingLearned if it is not told apart from others, with what is."""
    if task in facts.kinds:
        return task
    runs = facts.runs.get(task, 0)
    if runs:
        raise NothingLearned(
            f"{task} is counted among others: only the {len(facts.kinds)} tasks that run most"
            " are told apart"
        )
    near = get_close_matches(task, facts.kinds, n=NEAREST, cutoff=0.5) or facts.kinds[:NEAREST]
    raise NothingLearned(
        f"no run of {task} says who it gets along with; there are {', '.join(near)}"
    )
