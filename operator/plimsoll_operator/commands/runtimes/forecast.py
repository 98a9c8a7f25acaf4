"""``plimsoll forecast NAMESPACE/TASK | NAMESPACE/POD``: how long the next run or this pod takes."""

from __future__ import annotations

from typing import Any

from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.printing.printing import complain, print_output
from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.commands.reaching.stored import existing_store
from plimsoll_operator.commands.reaching.task_names import NothingToExplain
from plimsoll_operator.commands.runtimes.forecast_tables import forecast_table
from plimsoll_operator.commands.sizes.explain import find_pod, task_of_pod
from plimsoll_operator.kube.errors import ApiError
from plimsoll_operator.pods.spec import NotSizable, Pod, sized_container
from plimsoll_operator.pods.status import AttemptStatus, read_status
from plimsoll_operator.views.runtimes.running_run import RunningRun
from plimsoll_operator.views.runtimes.task_runtimes import TaskRuntimes, gather_runtimes
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.runtimes.forecasting.forecast import Forecast
from plimsoll_predictor.store import Store, StoreError
from plimsoll_predictor.store.learned.past_runtimes import PastRuntime

LAST_RUNS = 10


def forecast_command(
    named: str, store_url: str, installation: Installation, output: OutputForm, *, now_s: float
) -> int:
    """Print the forecast of ``namespace/task`` or ``namespace/pod``; the exit status."""
    try:
        runtimes, run = _forecast(TaskId.parse(named), store_url, installation, now_s)
    except (StoreError, ApiError, NothingToExplain, ValueError) as error:
        complain(f"plimsoll forecast: {error}")
        return 1
    newest = tuple(reversed(runtimes.past[-LAST_RUNS:]))
    document = {
        **runtimes.to_dict(),
        "run": run.to_dict() if run else None,
        "last_runs": [_past_dict(runtimes, each) for each in newest],
    }
    print_output(document, forecast_table(runtimes, run, newest), output)
    return 0


def _forecast(
    named: TaskId, store_url: str, installation: Installation, now_s: float
) -> tuple[TaskRuntimes, RunningRun | None]:
    """A task's runtimes and, if a pod was named, its run."""
    with existing_store(store_url) as store:
        tasks = store.totals.tasks()
        if named in tasks:
            return gather_runtimes(store, named, now_s), None
        pod = find_pod(named, installation, tasks, store.where)
        task, status = run_of(pod, named)
        runtimes = gather_runtimes(store, task, now_s)
        forecast = _own_forecast(store, status) or runtimes.forecast
        run = RunningRun(
            name=named.name,
            forecast=forecast,
            now_s=now_s,
            started_s=status.started_s,
            finished_s=(status.finished_s or now_s) if status.ended else None,
            ended_share=runtimes.shares.get(status.attempt_uid),
        )
        return runtimes, run


def run_of(pod: Pod, named: TaskId) -> tuple[TaskId, AttemptStatus]:
    """The task of a pod, and the state of its run.

    Raises NothingToExplain if it is not Plimsoll's.
    """
    task = task_of_pod(pod, named)
    container = sized_container(pod)
    if isinstance(container, NotSizable):
        raise NothingToExplain(f"pod {named} has no container that Plimsoll sizes: {container.why}")
    return task, read_status(pod, container.name)


def _own_forecast(store: Store, status: AttemptStatus) -> Forecast | None:
    """The forecast that was stored when the run was submitted; None if there is none."""
    stored = store.runtimes.open_forecast(status.attempt_uid)
    try:
        return None if stored is None else Forecast.from_dict(stored.forecast)
    except ValueError:
        # Another version wrote it; the present forecast replaces it.
        return None


def _past_dict(runtimes: TaskRuntimes, each: PastRuntime) -> dict[str, Any]:
    anomaly = runtimes.anomaly(each)
    return {
        "run": each.run,
        "attempt": each.attempt,
        "outcome": each.outcome.value,
        "cause": each.cause.value if each.cause else None,
        "started_s": each.started_s,
        "finished_s": each.finished_s,
        "ran_s": each.ran_s,
        "node_type": each.node_type,
        "share_of_forecast_below": runtimes.shares.get(each.attempt_uid),
        "anomaly": anomaly.value if anomaly else None,
    }
