"""What past runs of a task and of its owner's others say of other conditions, at a bounded cost."""

from __future__ import annotations

from typing import Final

from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.runtimes.what_if.estimating import estimate
from plimsoll_predictor.runtimes.what_if.past_run import of_observations
from plimsoll_predictor.runtimes.what_if.scenario import Scenario
from plimsoll_predictor.runtimes.what_if.what_if import WhatIf
from plimsoll_predictor.store import Store

OWN_RUNS: Final = 5_000
OTHER_TASKS: Final = 20
RUNS_OF_OTHERS: Final = 500


def ask_what_if(
    store: Store,
    task: TaskId,
    scenario: Scenario,
    *,
    own_runs: int = OWN_RUNS,
    others: int = OTHER_TASKS,
) -> WhatIf:
    """What the scenario would change of the task's runtimes.

    own_runs: newest attempts of its own that are read. others: tasks of its owner beside it.

    Raises:
        StoreError: if the store cannot be read now.
    """
    runs = of_observations(store.observations.of_task(task, limit=own_runs))
    beside = store.runtimes.others(task, tasks=others, limit=RUNS_OF_OTHERS) if others else {}
    return estimate(
        runs, scenario, {str(name): of_observations(found) for name, found in beside.items()}
    )
