"""Tekton: a pod for each TaskRun, most of them tasks of a pipeline."""

from __future__ import annotations

import re
from typing import Final

from plimsoll_operator.names.generated import name_before_generated
from plimsoll_operator.names.objects import Pod, metadata_of
from plimsoll_operator.pods.engines.row import Engine, EngineRun, Labels, count, joined, text

_PIPELINE: Final = "tekton.dev/pipeline"
_PIPELINE_RUN: Final = "tekton.dev/pipelineRun"
_PIPELINE_TASK: Final = "tekton.dev/pipelineTask"
_TASK: Final = "tekton.dev/task"
_TASK_RUN: Final = "tekton.dev/taskRun"
_RETRY: Final = re.compile(r"-pod-retry([0-9]{1,6})$")


def _read(pod: Pod, pod_labels: Labels) -> EngineRun | None:
    pipeline_run, task_run = text(pod_labels, _PIPELINE_RUN), text(pod_labels, _TASK_RUN)
    if pipeline_run is None and task_run is None:
        return None
    step = text(pod_labels, _PIPELINE_TASK)
    if pipeline_run is not None:
        pipeline = _named(text(pod_labels, _PIPELINE), pipeline_run)
        name = joined("tekton", pipeline, step) if step else None
    else:
        name = joined("tekton", _named(text(pod_labels, _TASK), task_run))
    retry = _RETRY.search(str(metadata_of(pod).get("name") or ""))
    return EngineRun(
        "tekton",
        name,
        # A TaskRun keeps its name when it is tried again; in a matrix, each combination has one.
        task_run or f"{pipeline_run}:{step or ''}",
        f"tekton:{pipeline_run}" if pipeline_run else None,
        attempt=(count(retry[1]) or 0) + 1 if retry else 1,
    )


def _named(name: str | None, run: str | None) -> str | None:
    """Return the recurring name; a pipeline or task written into its run has the run's name."""
    return name_before_generated(name) if name is not None and name == run else name


TEKTON: Final = Engine(
    "tekton",
    _read,
    marks=(_PIPELINE_RUN, _TASK_RUN),
    labels=(_PIPELINE, _PIPELINE_TASK, _TASK),
    missing=(
        "a TaskRun whose task is written into it has no name but its own: make a Task of it, or"
        " write the label in the TaskRun's metadata.labels"
    ),
)
