"""Reads the names of task and run that workflow engines write on their pods.

``ENGINES`` lists the engines. A reader never returns a name that was generated for one run, because
every run would then be a new task.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from plimsoll_operator.pods.recurring_names import recurring_name
from plimsoll_operator.pods.spec import (
    Pod,
    annotations_of,
    mapping,
    metadata_of,
    sequence,
    spec_of,
)
from plimsoll_operator.pods.workflow_items import UNKNOWN_WORK, Work, bounded_name


@dataclass(frozen=True, slots=True)
class EngineRun:
    """One run as its engine names it.

    task: the recurring name; None if the engine has only generated ones.
    run: the run's own name within the engine, the same for every retry.
    work: the workflow's run and the item, if the engine names them; a mere counter is no item.
    attempts: how many the engine makes of the run, in all; None if the pod does not say it.
    attempt: which of them the pod is; 1 where the pod does not say it.
    """

    engine: str
    task: str | None
    run: str
    work: Work = UNKNOWN_WORK
    attempts: int | None = None
    attempt: int = 1


def engine_run(pod: Pod, pod_labels: Mapping[str, Any]) -> EngineRun | None:
    """Return the pod's run by its engine; None if no engine in ``ENGINES`` made the pod."""
    for engine in ENGINES:
        if any(mark in pod_labels for mark in engine.marks):
            run = engine.read(pod, pod_labels)
            if run is not None:
                return run
    return None


def _text(source: Mapping[str, Any], *keys: str) -> str | None:
    for key in keys:
        value = source.get(key)
        if isinstance(value, str) and value:
            return value
    return None


def _airflow(_: Pod, pod_labels: Mapping[str, Any]) -> EngineRun | None:
    dag, task = _text(pod_labels, "dag_id"), _text(pod_labels, "task_id")
    run = _text(pod_labels, "run_id", "execution_date")
    if dag is None or task is None or run is None:
        return None
    # Mapped tasks differ only in the index. try_number differs between attempts of one run.
    index = _text(pod_labels, "map_index")
    name = f"{dag}.{task}"
    work = Work(bounded_name(f"airflow:{dag}:{run}"))
    key = ":".join([name, run, *([index] if index else [])])
    retries = _count(_text(pod_labels, "max_tries"))
    return EngineRun(
        "airflow",
        name,
        key,
        work,
        attempts=None if retries is None else retries + 1,
        attempt=_count(_text(pod_labels, "try_number")) or 1,
    )


_LONGEST_COUNT: Final = 6


def _count(text: object) -> int | None:
    """Read a count that an engine wrote; None if it is none."""
    if isinstance(text, int) and not isinstance(text, bool):
        return text if 0 <= text < 10**_LONGEST_COUNT else None
    if not isinstance(text, str) or not text.isdecimal() or len(text) > _LONGEST_COUNT:
        return None
    return int(text)


_ARGO_WORKFLOW: Final = "workflows.argoproj.io/workflow"
_ARGO_NODE: Final = "workflows.argoproj.io/node-name"
_ARGO_TEMPLATE: Final = "workflows.argoproj.io/template"
_ARGO_RETRY: Final = re.compile(r"\(([0-9]{1,6})\)$")
_ARGO_POD: Final = re.compile(r"(.+)-[0-9]+")
_ARGO_ITEM: Final = re.compile(r"\([0-9]+:([^()]+)\)")


def _argo(pod: Pod, pod_labels: Mapping[str, Any]) -> EngineRun | None:
    workflow = _text(pod_labels, _ARGO_WORKFLOW)
    if workflow is None:
        return None
    annotations = annotations_of(pod)
    node = _text(annotations, _ARGO_NODE) or ""
    # A retry's node is named after its step with "(0)", "(1)"; an item's "(0:apple)" stays.
    step = _ARGO_RETRY.sub("", node)
    uid = next(
        (
            str(mapping(reference).get("uid"))
            for reference in sequence(metadata_of(pod).get("ownerReferences"))
            if mapping(reference).get("kind") == "Workflow"
        ),
        workflow,
    )
    items = _ARGO_ITEM.findall(step)
    # In nested loops, the innermost names the item.
    work = Work(bounded_name(f"argo:{uid}"), bounded_name(items[-1]) if items else None)
    template = _argo_template(pod)
    retry = _ARGO_RETRY.search(node)
    return EngineRun(
        "argo",
        _text(template, "name") or _argo_name(pod, workflow),
        f"{uid}:{step}",
        work,
        attempts=_argo_attempts(template) if retry else _ONLY_ONE if node else None,
        attempt=int(retry[1]) + 1 if retry else 1,
    )


_ONLY_ONE: Final = 1
_ARGO_RETRIES_FAILURES: Final = (None, "Always", "OnFailure")


def _argo_attempts(template: Mapping[str, Any]) -> int | None:
    """Read the attempts of a step with a retryStrategy; None if its template does not say them."""
    strategy = mapping(template.get("retryStrategy"))
    if not strategy or strategy.get("expression"):
        return None
    if mapping(strategy.get("backoff")).get("maxDuration"):
        return _ONLY_ONE  # it counts from the first attempt, and cuts later ones off
    if strategy.get("retryPolicy") not in _ARGO_RETRIES_FAILURES:
        return _ONLY_ONE  # an OOM kill is a failure, and this strategy is for errors
    limit = _count(strategy.get("limit"))
    return None if limit is None else limit + 1


def _argo_template(pod: Pod) -> Mapping[str, Any]:
    """Return the step's template as Argo writes it on its pods; empty if it is not there."""
    texts = [annotations_of(pod).get(_ARGO_TEMPLATE)]
    spec = spec_of(pod)
    for container in [*sequence(spec.get("containers")), *sequence(spec.get("initContainers"))]:
        for variable in sequence(mapping(container).get("env")):
            if mapping(variable).get("name") == "ARGO_TEMPLATE":
                texts.append(mapping(variable).get("value"))
    for text in texts:
        template = _json_object(text)
        if _text(template, "name") is not None:
            return template
    return {}


def _argo_name(pod: Pod, workflow: str) -> str | None:
    # Pod names are <workflow>-<template>-<hash of the node>; older ones have no template in them.
    name = str(metadata_of(pod).get("name") or "")
    named = _ARGO_POD.fullmatch(name.removeprefix(f"{workflow}-"))
    return named[1] if named and name.startswith(f"{workflow}-") else None


def _json_object(text: object) -> Mapping[str, Any]:
    if not isinstance(text, str):
        return {}
    try:
        return mapping(json.loads(text))
    except (ValueError, RecursionError):
        return {}


_SPARK_APPS: Final = ("spark-app-selector", "spark-app-id")
_SPARK_NAMES: Final = (
    "sparkoperator.k8s.io/scheduled-app-name",
    "sparkoperator.k8s.io/app-name",
    "spark-app-name",
)
"""The operator's names come first: spark-app-name has the run of a scheduled application in it."""


def _spark(_: Pod, pod_labels: Mapping[str, Any]) -> EngineRun | None:
    role, app = _text(pod_labels, "spark-role"), _text(pod_labels, *_SPARK_APPS)
    if role is None or app is None:
        return None
    name = _text(pod_labels, *_SPARK_NAMES)
    root = recurring_name(name) if name else None
    # The next executor after a lost one has a new id; only the role is the same within a run.
    return EngineRun("spark", f"{root}.{role}" if root else None, f"{app}:{role}")


def _nextflow(_: Pod, pod_labels: Mapping[str, Any]) -> EngineRun | None:
    process = _text(pod_labels, "nextflow.io/processName")
    run = _text(pod_labels, "nextflow.io/runName")
    if process is None or run is None:
        return None
    name = _text(pod_labels, "nextflow.io/taskName") or process
    tag = name.removeprefix(f"{process}_") if name.startswith(f"{process}_") else ""
    # Without a tag, Nextflow counts a process' tasks in their order.
    item = None if tag.isdecimal() else bounded_name(tag)
    work = Work(bounded_name(f"nextflow:{run}"), item)
    return EngineRun("nextflow", process, f"{run}:{name}", work)


def _tekton(_: Pod, pod_labels: Mapping[str, Any]) -> EngineRun | None:
    run = _text(pod_labels, "tekton.dev/pipelineRun", "tekton.dev/taskRun")
    if run is None:
        return None
    pipeline_run = _text(pod_labels, "tekton.dev/pipelineRun")
    named = [
        _named_in_tekton(_text(pod_labels, "tekton.dev/pipeline"), pipeline_run),
        _text(pod_labels, "tekton.dev/pipelineTask"),
    ]
    task = _text(pod_labels, "tekton.dev/task")
    if not any(named):
        named = [_named_in_tekton(task, _text(pod_labels, "tekton.dev/taskRun"))]
    step = _text(pod_labels, "tekton.dev/pipelineTask", "tekton.dev/pipeline") or task or ""
    work = Work(bounded_name(f"tekton:{pipeline_run}") if pipeline_run else None)
    return EngineRun("tekton", ".".join(filter(None, named)) or None, f"{run}:{step}", work)


def _named_in_tekton(name: str | None, run: str | None) -> str | None:
    """Return the recurring name; a pipeline or task that was written into its run has the run's."""
    return recurring_name(name) if name is not None and name == run else name


@dataclass(frozen=True, slots=True)
class Engine:
    """A workflow engine, as live pods and pods in a Prometheus' past show it.

    marks: labels that only its pods have. labels, annotations: all others that ``read`` reads.
    main_containers: its names for the container that does the work, where a pod has several.
    """

    read: Callable[[Pod, Mapping[str, Any]], EngineRun | None]
    marks: tuple[str, ...]
    labels: tuple[str, ...] = ()
    annotations: tuple[str, ...] = ()
    main_containers: tuple[str, ...] = ()


ENGINES: Final = (
    Engine(
        _airflow,
        marks=("dag_id",),
        labels=("task_id", "run_id", "execution_date", "map_index", "try_number", "max_tries"),
        main_containers=("base",),
    ),
    Engine(
        _argo,
        marks=(_ARGO_WORKFLOW,),
        annotations=(_ARGO_NODE, _ARGO_TEMPLATE),
        main_containers=("main",),
    ),
    Engine(
        _spark,
        marks=("spark-role",),
        labels=(*_SPARK_APPS, *_SPARK_NAMES),
        main_containers=("spark-kubernetes-driver", "spark-kubernetes-executor"),
    ),
    Engine(
        _nextflow,
        marks=("nextflow.io/processName",),
        labels=("nextflow.io/runName", "nextflow.io/taskName"),
    ),
    Engine(
        _tekton,
        marks=("tekton.dev/pipelineRun", "tekton.dev/taskRun"),
        labels=("tekton.dev/pipeline", "tekton.dev/pipelineTask", "tekton.dev/task"),
    ),
)
"""All engines, in the order in which they are tried. A new engine is added here."""
