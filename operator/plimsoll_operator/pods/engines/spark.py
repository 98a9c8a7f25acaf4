"""Spark on Kubernetes: drivers and executors, by spark-submit or the Spark operator."""

from __future__ import annotations

from typing import Final

from plimsoll_operator.names.generated import surely_recurring
from plimsoll_operator.names.objects import Pod
from plimsoll_operator.pods.engines.airflow import DAG, TASK, airflow_task
from plimsoll_operator.pods.engines.row import Engine, EngineRun, Labels, joined, text

_ROLE: Final = "spark-role"
_APPS: Final = ("spark-app-selector", "spark-app-id")
_SCHEDULED: Final = "sparkoperator.k8s.io/scheduled-app-name"
_NAMES: Final = ("sparkoperator.k8s.io/app-name", "spark-app-name")
"""The operator's name comes first: spark-app-name contains the run of a scheduled application."""


def _read(_: Pod, pod_labels: Labels) -> EngineRun | None:
    role, app = text(pod_labels, _ROLE), text(pod_labels, *_APPS)
    if role is None or app is None:
        return None
    # The executor that follows a lost one has a new id; only the role is the same within a run.
    return EngineRun("spark", joined("spark", _application(pod_labels), role), f"{app}:{role}")


def _application(pod_labels: Labels) -> str | None:
    # Airflow's operator for Spark gives each application a name that it generates.
    task = airflow_task(pod_labels)
    if task is not None:
        return task
    scheduled = text(pod_labels, _SCHEDULED)
    if scheduled is not None:
        return scheduled
    name = text(pod_labels, *_NAMES)
    return surely_recurring(name) if name is not None else None


SPARK: Final = Engine(
    "spark",
    _read,
    marks=(_ROLE,),
    labels=(*_APPS, _SCHEDULED, *_NAMES, DAG, TASK),
    main_containers=("spark-kubernetes-driver", "spark-kubernetes-executor"),
    missing=(
        "an application whose name was generated, or that has none: write spark.app.name, or"
        " spark.kubernetes.executor.label.plimsoll.dev/task=<name> and the driver's"
    ),
)
