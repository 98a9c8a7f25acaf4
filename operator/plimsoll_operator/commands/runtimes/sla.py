"""``plimsoll sla PLAN``: the chance that a plan has ended by a time, and what decides it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.printing.printing import complain, print_output
from plimsoll_operator.commands.reaching.stored import existing_store
from plimsoll_operator.commands.runtimes.deadlines import deadline_s
from plimsoll_operator.commands.runtimes.plan_end import PlanEnd, sla_table
from plimsoll_operator.views.runtimes.stored_forecasts import stored_forecasts
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.runtimes.forecasting.deciding_branch import deciding_branch
from plimsoll_predictor.runtimes.forecasting.forecast import Forecast
from plimsoll_predictor.runtimes.forecasting.plan import Plan, PlanError, read_plan
from plimsoll_predictor.runtimes.forecasting.plan_finish import finish_of_plan
from plimsoll_predictor.store import StoreError

MOST_PLAN_BYTES: Final = 4 * 2**20
SEED: Final = 20
"""The simulation's seed: the same plan, forecasts and seed give the same answer."""
TOO_UNLIKELY: Final = 3
"""Exit status if the chance is below the required one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlaRequest:
    """The plan and the deadline to judge.

    path: of the plan, JSON; ``-`` reads stdin, all of it or ``stdin_bytes``. within, by: the
    deadline as written; None takes the plan's own, if it has one. at_least: the chance that is
    enough. now_s: Unix seconds.
    """

    path: Path
    store_url: str
    now_s: float
    within: str | None = None
    by: str | None = None
    at_least: float | None = None
    stdin_bytes: int | None = None


def sla_command(request: SlaRequest, output: OutputForm) -> int:
    """Print how likely the plan has ended by then; the exit status."""
    try:
        end = plan_end(request, read_plan_file(request.path, request.stdin_bytes))
    except OSError as error:
        complain(f"plimsoll sla: {request.path}: {error.strerror}")
        return 1
    except (StoreError, ValueError) as error:
        complain(f"plimsoll sla: {error}")
        return 1
    print_output(end.to_dict(), sla_table(end), output)
    return 0 if end.enough else TOO_UNLIKELY


def plan_end(request: SlaRequest, plan: Plan) -> PlanEnd:
    """When the plan ends, from the forecasts of the store's tasks.

    Raises:
        ValueError: for a task without known runs, a bad deadline, or none although a chance is
            required.
        StoreError: if the store cannot be read now.
    """
    within_s = deadline_s(request.within, request.by, request.now_s)
    if within_s is None:
        within_s = plan.within_s
    if request.at_least is not None and within_s is None:
        raise PlanError('--at-least needs a deadline: --within, --by or "within_s" in the plan')
    forecasts = _forecasts(request, plan)
    return PlanEnd(
        plan=plan,
        at_s=request.now_s,
        within_s=within_s,
        at_least=request.at_least,
        finish=finish_of_plan(plan, forecasts, seed=SEED),
        branch=deciding_branch(plan, forecasts, seed=SEED),
        known_runs={name: forecast.known_runs for name, forecast in forecasts.items()},
    )


def read_plan_file(path: Path, stdin_bytes: int | None) -> Plan:
    """The plan in a file.

    Raises:
        PlanError: naming what is wrong with it.
        OSError: if it cannot be read.
    """
    if str(path) == "-":
        data = _read(sys.stdin.buffer, stdin_bytes)
    else:
        with path.open("rb") as file:
            data = _read(file, None)
    if len(data) > MOST_PLAN_BYTES:
        raise PlanError(f"{path}: more than {MOST_PLAN_BYTES // 2**20} MiB; a plan is smaller")
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise PlanError(f"{path} is no JSON: {error}") from error
    return read_plan(document)


def _read(file: BinaryIO, size_bytes: int | None) -> bytes:
    # A connection may stay open, so read no more than what comes.
    return file.read(MOST_PLAN_BYTES + 1 if size_bytes is None else size_bytes)


def _forecasts(request: SlaRequest, plan: Plan) -> Mapping[str, Forecast]:
    """Forecasts of the tasks whose steps have not ended, by their names in the plan."""
    tasks = {step.task: _task(step.name, step.task) for step in plan.steps if not step.ended}
    with existing_store(request.store_url) as store:
        forecasts = stored_forecasts(store, list(tasks.values()), request.now_s)
        missing = [name for name, task in tasks.items() if task not in forecasts]
        if missing:
            raise PlanError(
                f"task {missing[0]!r}: {store.where} knows no run of it that succeeded; a plan's"
                " tasks must have run before"
            )
    return {name: forecasts[task] for name, task in tasks.items()}


def _task(step: str, name: str) -> TaskId:
    try:
        return TaskId.parse(name)
    except ValueError as error:
        raise PlanError(f"step {step!r}: {error}") from error
