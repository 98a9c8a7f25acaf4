"""Learns the shapes of runtimes from a store's runs, and saves them in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.runtimes.features.asked import numeric
from plimsoll_predictor.runtimes.runs.log_run import LogRun
from plimsoll_predictor.runtimes.shapes.normalising import Normalisation
from plimsoll_predictor.store import Store

MOST_TASKS: Final = 2_000
"""Only the tasks with the most attempts are learned from."""
RUNS_OF_A_TASK: Final = 500
MOST_RUNS: Final = 100_000
SEED: Final = 20


def learn_and_keep(store: Store, now_s: float) -> tuple[str, ...]:
    """Learn shapes and why tasks have theirs, save both, and say in words what was done.

    Raises ValueError if nothing can be learned yet, StoreError if the store fails.
    """
    # These are the trainer's libraries, which only this function needs.
    from plimsoll_predictor.runtimes.shapes.learning import learn_shapes
    from plimsoll_predictor.runtimes.shapes.run_table import table_of

    previous = [store.shapes.catalogue(kind) for kind in Normalisation]
    runs = runs_of(store)
    if not runs:
        raise ValueError("no run of any task has succeeded yet")
    learned = learn_shapes(table_of(runs), [each for each in previous if each], seed=SEED)
    for catalogue in learned.catalogues:
        store.shapes.save_catalogue(catalogue, now_s)
    if learned.explanation is not None:
        store.shapes.save_explanation(learned.explanation)
    return learned.words


def runs_of(store: Store, runs_of_a_task: int = RUNS_OF_A_TASK) -> list[LogRun]:
    """The newest runs of the tasks with the most runs, in the order of submission.

    Tasks share ``MOST_RUNS``: many busy ones must not leave the others out.
    """
    summaries = store.totals.by_task()
    most = sorted(summaries, key=lambda task: (-summaries[task].observations, task))[:MOST_TASKS]
    counts = [min(summaries[task].observations, runs_of_a_task) for task in most]
    limit = fair_limit(counts, MOST_RUNS)
    runs: list[LogRun] = []
    for task in most:
        observations = store.observations.of_task(task, limit=limit)
        runs += [run for each in observations if (run := _run(each, len(runs))) is not None]
    return sorted(runs, key=lambda run: run.submitted_s)


def fair_limit(counts: Sequence[int], most: int) -> int:
    """The largest limit of each count under which they add up to ``most`` at most.

    >>> fair_limit([10, 2, 10], 12)
    5
    """
    left = most
    for place, count in enumerate(sorted(counts)):
        share = left // (len(counts) - place)
        if count > share:
            return share
        left -= count
    return max(counts, default=0)


def _run(each: Observation, line: int) -> LogRun | None:
    """Return None for an attempt without a runtime. line: orders runs submitted at one moment."""
    started_s, runtime_s = each.started_s, each.runtime_s
    if each.outcome is not Outcome.SUCCEEDED or runtime_s is None or started_s is None:
        return None
    return LogRun(
        line=line,
        task=str(each.task),
        owner=each.task.namespace,
        submitted_s=started_s if each.submitted_s is None else each.submitted_s,
        started_s=started_s,
        runtime_s=runtime_s,
        finished_s=started_s + runtime_s,
        requested_s=each.requested_s,
        requested_bytes=each.request_bytes,
        processors=each.request_cores,
        busy=each.submitted_cpu_share,
        queued=each.submitted_waiting_pods,
        features=numeric(each.features),
    )
