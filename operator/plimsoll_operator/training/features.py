"""Fits the forecasts' expert that uses features to a store's runs, and keeps it there."""

from __future__ import annotations

from typing import Final

from plimsoll_operator.training.shapes import runs_of
from plimsoll_predictor.core.units import counted
from plimsoll_predictor.store import Store

RUNS_OF_A_TASK: Final = 5_000
SEED: Final = 23


def known_runs(store: Store) -> int:
    """How many attempts there may be to learn from; this number decides when to fit again.

    It still counts some that teach nothing, such as evicted ones: to look at each costs too much.
    """
    tasks = store.totals.by_task().values()
    return sum(each.observations - each.oom_kills - each.failed for each in tasks)


def fit_and_keep(store: Store, now_s: float) -> str:
    """Replay the store's runs, fit, keep the result, and say in words what was done.

    If too few runs succeeded, it keeps the count, so that the next fit waits until there are more.
    Raises StoreError if the store fails.
    """
    # These are the trainer's libraries, which only this function needs.
    from plimsoll_predictor.runtimes.features.explaining import explain
    from plimsoll_predictor.runtimes.features.fitting import FIT_SETTINGS, LEAST_RUNS, fit
    from plimsoll_predictor.runtimes.forecasting.examples import FinishedRows
    from plimsoll_predictor.runtimes.forecasting.forecaster import Forecaster
    from plimsoll_predictor.runtimes.forecasting.playing import play

    known = known_runs(store)
    finished = FinishedRows(FIT_SETTINGS.newest_runs)
    play(runs_of(store, RUNS_OF_A_TASK), Forecaster(finished=finished))
    examples = finished.examples()
    if len(examples.places) < LEAST_RUNS:
        store.features.record_too_few(now_s, known)
        return f"not fitted yet: {len(examples.places)} of {LEAST_RUNS} runs have succeeded"
    expert = fit(examples, now_s, seed=SEED)
    explanation = explain(expert, examples.rows, finished.tasks(), seed=SEED)
    store.features.keep(expert, explanation, known)
    return f"fitted to {counted(expert.runs, 'run')}"
