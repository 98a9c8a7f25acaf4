"""``plimsoll forecast NAMESPACE/TASK | NAMESPACE/POD``: how long its next run takes, or it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.printing.printing import complain, print_output
from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.commands.reaching.stored import existing_store
from plimsoll_operator.commands.runtimes.forecast_tables import forecast_table
from plimsoll_operator.commands.sizes.explain import NothingToExplain, find_pod, task_of_pod
from plimsoll_operator.kube.errors import ApiError
from plimsoll_operator.pods.spec import NotSizable, Pod, sized_container
from plimsoll_operator.pods.status import AttemptStatus, read_status
from plimsoll_operator.views.running_run import RunningRun
from plimsoll_operator.views.task_runtimes import TaskRuntimes, gather_runtimes
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.runtimes.forecasting.forecast import Forecast
from plimsoll_predictor.store import Store, StoreError
from plimsoll_predictor.store.learned.past_runtimes import PastRuntime

LAST_RUNS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastRequest:
    """What to forecast. named: ``namespace/task``, or ``namespace/pod``. now_s: Unix seconds."""

    named: str
    store_url: str
    now_s: float
    installation: Installation = field(default_factory=Installation)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskForecast:
    """A task's runtimes and, where a pod was named, its run."""

    runtimes: TaskRuntimes
    run: RunningRun | None = None

    @property
    def last(self) -> tuple[PastRuntime, ...]:
        """The newest attempts, newest first."""
        return tuple(reversed(self.runtimes.past[-LAST_RUNS:]))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        runtimes = self.runtimes
        return {
            **runtimes.to_dict(),
            "run": self.run.to_dict() if self.run else None,
            "last_runs": [_past_dict(runtimes, each) for each in self.last],
        }


def forecast_command(request: ForecastRequest, output: OutputForm) -> int:
    """Print what is forecast of a task, or of a pod's run; the exit status."""
    try:
        answer = _task_forecast(request)
    except (StoreError, ApiError, NothingToExplain, ValueError) as error:
        complain(f"plimsoll forecast: {error}")
        return 1
    print_output(answer.to_dict(), forecast_table(answer.runtimes, answer.run, answer.last), output)
    return 0


def _task_forecast(request: ForecastRequest) -> TaskForecast:
    named = TaskId.parse(request.named)
    with existing_store(request.store_url) as store:
        tasks = store.totals.tasks()
        if named in tasks:
            return TaskForecast(runtimes=gather_runtimes(store, named, request.now_s))
        pod = find_pod(named, request.installation, tasks, store.where)
        task, status = run_of(pod, named)
        runtimes = gather_runtimes(store, task, request.now_s)
        forecast = _own_forecast(store, status) or runtimes.forecast
        return TaskForecast(
            runtimes=runtimes, run=running_run(named.name, status, forecast, request.now_s)
        )


def run_of(pod: Pod, named: TaskId) -> tuple[TaskId, AttemptStatus]:
    """Whose pod it is, and where its run stands.

    Raises NothingToExplain if it is not Plimsoll's.
    """
    task = task_of_pod(pod, named)
    container = sized_container(pod)
    if isinstance(container, NotSizable):
        raise NothingToExplain(f"pod {named}: no container of it can be told to be the task's")
    return task, read_status(pod, container.name)


def running_run(name: str, status: AttemptStatus, forecast: Forecast, now_s: float) -> RunningRun:
    """A pod's run, as of ``now_s``."""
    finished_s = (status.finished_s or now_s) if status.ended else None
    return RunningRun(
        name=name,
        forecast=forecast,
        now_s=now_s,
        started_s=status.started_s,
        finished_s=finished_s,
    )


def _own_forecast(store: Store, status: AttemptStatus) -> Forecast | None:
    """What was forecast of the run when it was submitted; None if nothing was, or is kept."""
    stored = store.runtimes.open_forecast(status.attempt_uid)
    try:
        return None if stored is None else Forecast.from_dict(stored.forecast)
    except ValueError:
        # Another version's: what is forecast of such a run now stands for it.
        return None


def _past_dict(runtimes: TaskRuntimes, each: PastRuntime) -> dict[str, Any]:
    anomaly = runtimes.anomaly(each)
    return {
        "run": each.run,
        "attempt": each.attempt,
        "outcome": each.outcome.value,
        "started_s": each.started_s,
        "finished_s": each.finished_s,
        "ran_s": each.ran_s,
        "node_type": each.node_type,
        "share_of_forecast_below": runtimes.shares.get(each.attempt_uid),
        "anomaly": anomaly.value if anomaly else None,
    }
