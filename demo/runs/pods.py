"""The manifests of the demo: namespaces, policies, and a pod or Job for each run. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from demo.runs.plan import BACKOFF_LIMIT, CPU_REQUEST, LAB, REQUEST, LiveRun, Shape
from demo.runs.workload import Work

TASK_LABEL: Final = "plimsoll.dev/task"
FEATURE_PREFIX: Final = "features.plimsoll.dev/"
RUN_LABEL: Final = "demo.plimsoll.dev/run"
"""The demo's own mark on all pods of a run, also on retries; Plimsoll does not read it."""
PART_OF: Final = {"app.kubernetes.io/part-of": "plimsoll-demo"}
CONTAINER: Final = "task"
USER: Final = 65532

Manifest = dict[str, Any]


def namespace(name: str) -> Manifest:
    """A namespace of the demo."""
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": {**PART_OF}},
    }


def policy(namespace_name: str) -> Manifest:
    """The SizingPolicy that lets Plimsoll set sizes in the namespace; the rest is the default."""
    return {
        "apiVersion": "plimsoll.dev/v1alpha1",
        "kind": "SizingPolicy",
        "metadata": {"name": "default", "namespace": namespace_name},
        "spec": {"mode": "enforce"},
    }


def manifest(run: LiveRun, image: str) -> Manifest:
    """The object that is created for a run: an ML team's, plus one label and its features."""
    if run.shape is Shape.JOB:
        return _job(run, image)
    return {"apiVersion": "v1", "kind": "Pod", **_pod(run, image), "metadata": _metadata(run)}


def _job(run: LiveRun, image: str) -> Manifest:
    template = _pod(run, image)
    template["metadata"].pop("name")
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": run.name,
            "namespace": run.namespace,
            "labels": {**PART_OF, RUN_LABEL: run.name},
        },
        "spec": {"backoffLimit": BACKOFF_LIMIT, "template": template},
    }


def _metadata(run: LiveRun) -> Manifest:
    return {
        "name": run.name,
        "namespace": run.namespace,
        "labels": {TASK_LABEL: run.work.task, RUN_LABEL: run.name, **PART_OF},
        "annotations": {} if run.namespace == LAB else _feature_annotations(run.work),
    }


def _pod(run: LiveRun, image: str) -> Manifest:
    metadata = _metadata(run)
    metadata.pop("namespace")
    return {"metadata": metadata, "spec": pod_spec(run.work, image)}


def _feature_annotations(work: Work) -> Mapping[str, str]:
    return {f"{FEATURE_PREFIX}{name}": str(value) for name, value in work.features.items()}


def pod_spec(work: Work, image: str) -> Manifest:
    """An ML team's pod spec for some work: one container that asks for REQUEST."""
    return {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 1,
        "securityContext": {"runAsNonRoot": True, "runAsUser": USER},
        "containers": [
            {
                "name": CONTAINER,
                "image": image,
                "imagePullPolicy": "IfNotPresent",
                "command": ["python", f"/tasks/{work.program}", *work.arguments],
                "env": [{"name": "OMP_NUM_THREADS", "value": "1"}],
                "resources": {
                    "requests": {"memory": REQUEST, "cpu": CPU_REQUEST},
                    "limits": {"memory": REQUEST},
                },
            }
        ],
    }
