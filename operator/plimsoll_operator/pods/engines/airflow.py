"""Airflow: pods of the KubernetesPodOperator, and of the KubernetesExecutor."""

from __future__ import annotations

from typing import Final

from plimsoll_operator.names.objects import Pod
from plimsoll_operator.pods.engines.row import Engine, EngineRun, Labels, count, joined, text

NAME: Final = "airflow"
DAG: Final = "dag_id"
TASK: Final = "task_id"
RUN: Final = ("run_id", "execution_date")
INDEX: Final = "map_index"
_EXECUTOR: Final = "kubernetes_executor"
_WORKER: Final = "airflow-worker"
"""The tasks of the executor's pods begin with it: such a pod may only wait for the operator's pod,
which has the same DAG and task on it, and needs another size."""


def airflow_task(pod_labels: Labels, taken: frozenset[str] = frozenset()) -> str | None:
    """Return ``<dag>.<task>`` as Airflow writes both on its pods; None if one is missing.

    taken: the beginnings of other names; Airflow's name is put before a DAG of such a name.
    """
    dag, task = text(pod_labels, DAG), text(pod_labels, TASK)
    if dag is None or task is None:
        return None
    # A task in a group has the group's name and a dot before its own name, and keeps them.
    head = joined(_WORKER, dag) if _EXECUTOR in pod_labels else joined(NAME, dag)
    if head is None or task[0] == ".":
        return None
    if _EXECUTOR not in pod_labels and dag not in taken:
        head = head.removeprefix(f"{NAME}.")
    return f"{head}.{task}"


def airflow_run(pod_labels: Labels) -> str | None:
    """Return the task's run and, of mapped tasks, the index; None if the run is missing."""
    run = text(pod_labels, *RUN)
    # Mapped tasks differ only in the index. try_number differs between attempts of one run.
    index = text(pod_labels, INDEX)
    return f"{run}:{index}" if run and index else run


def airflow(taken: frozenset[str]) -> Engine:
    """Return Airflow's row. taken: the beginnings of other tasks' names."""

    def read(_: Pod, pod_labels: Labels) -> EngineRun | None:
        name, run = airflow_task(pod_labels, taken), airflow_run(pod_labels)
        if name is None or run is None:
            return None
        retries = count(text(pod_labels, "max_tries"))
        return EngineRun(
            NAME,
            name,
            f"{name}:{run}",
            f"airflow:{pod_labels[DAG]}:{text(pod_labels, *RUN)}",
            attempts=None if retries is None else retries + 1,
            attempt=count(text(pod_labels, "try_number")) or 1,
        )

    return Engine(
        NAME,
        read,
        marks=(DAG,),
        labels=(
            TASK,
            *RUN,
            INDEX,
            "try_number",
            "max_tries",
            _EXECUTOR,
        ),
        main_containers=("base",),
        limits_start=True,  # startup_timeout_seconds, worker_pods_pending_timeout
        missing=(
            "the labels dag_id, task_id and run_id that Airflow writes, as a pod that is made by"
            " other means than its operator: write the label in its metadata.labels"
        ),
    )
