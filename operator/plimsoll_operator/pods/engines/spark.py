"""Spark on Kubernetes: drivers and executors, by spark-submit or the Spark operator."""

from __future__ import annotations

from typing import Final

from plimsoll_operator.names.generated import surely_recurring
from plimsoll_operator.names.objects import Pod, mapping, metadata_of, sequence
from plimsoll_operator.pods.engines.airflow import (
    DAG,
    INDEX,
    RUN,
    TASK,
    airflow_run,
    airflow_task,
)
from plimsoll_operator.pods.engines.row import Engine, EngineRun, Labels, joined, text

_ROLE: Final = "spark-role"
_DRIVER: Final = "driver"
_APPLICATION: Final = "SparkApplication"
"""The operator's kind; it owns its drivers, and submits again when one fails."""
_APPS: Final = ("spark-app-selector", "spark-app-id")
_SCHEDULED: Final = "sparkoperator.k8s.io/scheduled-app-name"
_NAMES: Final = ("sparkoperator.k8s.io/app-name", "spark-app-name")
"""The operator's name comes first: spark-app-name contains the run of a scheduled application."""


def _read(pod: Pod, pod_labels: Labels) -> EngineRun | None:
    role, app = text(pod_labels, _ROLE), text(pod_labels, *_APPS)
    if role is None or app is None:
        return None
    # The executor that follows a lost one has a new id; only the role is the same within a run.
    submitted = _submitted_for(pod, pod_labels) if role == _DRIVER else app
    return EngineRun(
        "spark",
        joined("spark", _application(pod_labels), role),
        f"{submitted or app}:{role}",
        outlives_pod=submitted is not None,
        # Spark gives a lost executor's task to one that runs already, within milliseconds.
        shares_work=role != _DRIVER,
    )


def _submitted_for(pod: Pod, pod_labels: Labels) -> str | None:
    """Return what the same driver is submitted for again; None if that is unknown.

    Spark draws a new selector for each submission. Airflow makes a new application for each try.
    """
    task = airflow_task(pod_labels)
    if task is not None:
        run = airflow_run(pod_labels)
        return None if run is None else f"{task}:{run}"
    for reference in map(mapping, sequence(metadata_of(pod).get("ownerReferences"))):
        if reference.get("controller") is True and reference.get("kind") == _APPLICATION:
            return text(reference, "uid")
    return None


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
    labels=(*_APPS, _SCHEDULED, *_NAMES, DAG, TASK, *RUN, INDEX),
    main_containers=("spark-kubernetes-driver", "spark-kubernetes-executor"),
    missing=(
        "an application whose name was generated, or that has none: write spark.app.name, or"
        " spark.kubernetes.executor.label.plimsoll.dev/task=<name> and the driver's"
    ),
)
