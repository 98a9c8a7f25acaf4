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
    """

    engine: str
    task: str | None
    run: str
    work: Work = UNKNOWN_WORK


# Suffixes that controllers generate: five letters of Kubernetes' own alphabet (it has no vowels),
# a ReplicaSet's hash, a CronJob's minute, a time stamp, a hash or a UUID.
_GENERATED: Final = re.compile(
    r"[-_.](?:[bcdfghjklmnpqrstvwxz2456789]{5}"
    r"|(?=[a-z0-9]*[0-9])[bcdfghjklmnpqrstvwxz2456789]{8,10}"
    r"|[0-9]{6,}|[0-9]{8}[-tT]?[0-9]{4,6}[zZ]?"
    r"|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    r"|(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,64})$"
)


def recurring_name(name: str) -> str | None:
    """Return a name without generated endings; None if nothing else is left.

    >>> recurring_name("nightly-report-28391234"), recurring_name("train-x7k2p")
    ('nightly-report', 'train')
    """
    root = name.rstrip("-_.")
    while match := _GENERATED.search(root):
        root = root[: match.start()].rstrip("-_.")
    return None if not root or _GENERATED.search(f"-{root}") else root


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
    # Mapped tasks differ only in the index. try_number differs between attempts, so it is not read.
    index = _text(pod_labels, "map_index")
    name = f"{dag}.{task}"
    work = Work(bounded_name(f"airflow:{dag}:{run}"))
    return EngineRun("airflow", name, ":".join([name, run, *([index] if index else [])]), work)


_ARGO_WORKFLOW: Final = "workflows.argoproj.io/workflow"
_ARGO_NODE: Final = "workflows.argoproj.io/node-name"
_ARGO_TEMPLATE: Final = "workflows.argoproj.io/template"
_ARGO_RETRY: Final = re.compile(r"\([0-9]+\)$")
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
    return EngineRun("argo", _argo_template(pod, workflow), f"{uid}:{step}", work)


def _argo_template(pod: Pod, workflow: str) -> str | None:
    texts = [annotations_of(pod).get(_ARGO_TEMPLATE)]
    spec = spec_of(pod)
    for container in [*sequence(spec.get("containers")), *sequence(spec.get("initContainers"))]:
        for variable in sequence(mapping(container).get("env")):
            if mapping(variable).get("name") == "ARGO_TEMPLATE":
                texts.append(mapping(variable).get("value"))
    for text in texts:
        name = _name_in_json(text)
        if name is not None:
            return name
    # Pod names are <workflow>-<template>-<hash of the node>.
    name = str(metadata_of(pod).get("name") or "")
    if name.startswith(f"{workflow}-"):
        return recurring_name(name[len(workflow) + 1 :])
    return None


def _name_in_json(text: object) -> str | None:
    if not isinstance(text, str):
        return None
    try:
        return _text(mapping(json.loads(text)), "name")
    except (ValueError, RecursionError):
        return None


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
    parts = [_text(pod_labels, "tekton.dev/pipeline"), _text(pod_labels, "tekton.dev/pipelineTask")]
    named = [part for part in parts if part] or [_text(pod_labels, "tekton.dev/task") or ""]
    # A pipeline that was written into its run has the run's name.
    roots = [name for name in map(recurring_name, named) if name]
    pipeline = _text(pod_labels, "tekton.dev/pipelineRun")
    work = Work(bounded_name(f"tekton:{pipeline}") if pipeline else None)
    return EngineRun("tekton", ".".join(roots) or None, f"{run}:{named[-1]}", work)


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
        labels=("task_id", "run_id", "execution_date", "map_index"),
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
