"""Pods and Jobs as teams create them: labelled, with tasks that really use memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from plimsoll_operator.names import labels
from tests.rigs.images.eater import a_spec

Manifest = dict[str, Any]
LONG_S = 3600
"""A pause that the test ends: see `go_on`."""


def a_pod(
    name: str,
    command: str,
    *,
    task: str = "train",
    memory: str | None = "64Mi",
    labelled: Mapping[str, str] | None = None,
    annotated: Mapping[str, str] | None = None,
) -> Manifest:
    """A labelled bare pod that is never restarted. command: words of ``/task``, see eater.py."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "labels": {labels.TASK: task, **(labelled or {})},
            "annotations": {**(annotated or {})},
        },
        "spec": a_spec(command.split(), memory),
    }


def an_airflow_try(number: int, command: str, *, task: str) -> Manifest:
    """A bare pod as Airflow makes it: each number belongs to the same run."""
    run = {"dag_id": "nightly", "task_id": task, "run_id": "manual-1", "try_number": str(number)}
    return a_pod(f"{task}-{number}", command, task=task, labelled=run)


def a_job(
    name: str, command: str, *, task: str, backoff_limit: int, memory: str = "64Mi"
) -> Manifest:
    """A Job of one labelled pod at a time."""
    template = a_pod(name, command, task=task, memory=memory)
    del template["metadata"]["name"]
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"backoffLimit": backoff_limit, "template": template},
    }


def a_stateful_set(name: str, command: str, *, memory: str = "64Mi") -> Manifest:
    """One pod, whose container is started again whenever it ends."""
    template = a_pod(name, command, task=name, memory=memory, labelled={"app": name})
    del template["metadata"]["name"]
    template["spec"]["restartPolicy"] = "Always"
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name},
        "spec": {
            "replicas": 1,
            "serviceName": name,
            "selector": {"matchLabels": {"app": name}},
            "template": template,
        },
    }


def features(**values: object) -> dict[str, str]:
    """Annotations that declare features."""
    return {f"{labels.FEATURE_PREFIX}{name}": str(value) for name, value in values.items()}
