"""Engines that start a container for a step of a program: Flyte, Dagster, Prefect."""

from __future__ import annotations

import re
from typing import Final

from plimsoll_operator.names.labels import MAX_LABEL_CHARS
from plimsoll_operator.names.objects import Pod, mapping, metadata_of, sequence, spec_of
from plimsoll_operator.pods.engines.row import Engine, EngineRun, Labels, count, joined, text

_TRIMMED: Final = 8


def _whole(value: str | None) -> str | None:
    """Return a label's value; None if it may be only a beginning.

    These engines cut a text that is longer than a label and trim its end, so that two names may
    become one.
    """
    return value if value is not None and len(value) <= MAX_LABEL_CHARS - _TRIMMED else None


_EXECUTION: Final = "execution-id"
_NODE: Final = "node-id"
_TASK_NAME: Final = "task-name"
_PROJECT: Final = "project"
_DOMAIN: Final = "domain"
_TRIES: Final = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,9})(?:-([0-9]{1,6}))?)?")
"""The attempt; for an item of an older map task also the item, and if not 0, the attempt at it."""


def _flyte(pod: Pod, pod_labels: Labels) -> EngineRun | None:
    execution, node = text(pod_labels, _EXECUTION), text(pod_labels, _NODE)
    name = text(pod_labels, _TASK_NAME)
    if execution is None or node is None or name is None:
        return None
    task = joined(
        "flyte",
        text(pod_labels, _PROJECT) or "none",
        text(pod_labels, _DOMAIN) or "none",
        _whole(name),
    )
    whole = str(metadata_of(pod).get("name") or "")
    found = None
    if whole.startswith(f"{execution}-"):
        found = _place(whole.removeprefix(f"{execution}-"), node)
    place, tries = found or (f"{node}:{whole}", 0)
    return EngineRun(
        "flyte",
        task,
        f"{execution}:{place}",
        f"flyte:{execution}",
        attempt=tries + 1,
        outlives_pod=found is not None,
    )


def _place(name: str, node: str) -> tuple[str, int] | None:
    """Return a node's place in its execution, and how often it failed; None if that is unclear.

    name: of the pod, after the execution. A node within others is named after them and their
    attempts, and a long name of such a place is a hash. An item of an array node is named as a node
    within the array. So a number that follows a name is an attempt.
    """
    within, _, end = f"-{name}".rpartition(f"-{node}-")
    tries = _TRIES.fullmatch(end)
    if tries is not None and not node.isdecimal():
        place, item = f"{within[1:]}-{node}" if within else node, tries[2]
        failed = (count(tries[1]) or 0) + (count(tries[3]) or 0)
        return (f"{place}:{item}" if item else place), failed
    place, _, last = name.rpartition("-")
    failures, before = count(last), place.rpartition("-")[2]
    return (place, failures) if failures is not None and before[:1].isalpha() else None


FLYTE: Final = Engine(
    "flyte",
    _flyte,
    marks=(),
    shared_marks=(_EXECUTION,),
    labels=(_EXECUTION, _NODE, _TASK_NAME, _PROJECT, _DOMAIN),
    missing=(
        "a task whose name is longer than a label can be: write the label in the task's PodTemplate"
    ),
)

_RUN: Final = "dagster/run-id"
_JOB: Final = "dagster/job"
_OP: Final = "dagster/op"
_LOCATION: Final = "dagster/code-location"
_COMPONENT: Final = "app.kubernetes.io/component"
_RUN_WORKER: Final = "run_worker"
_ALL_ASSETS: Final = "ASSET_JOB"
"""Dagster's own job for all assets that somebody picks, as the label shows it."""
_MAPPED: Final = re.compile(r"\[[^\[\]]*\]")


def _dagster(pod: Pod, pod_labels: Labels) -> EngineRun | None:
    run, job = text(pod_labels, _RUN), text(pod_labels, _JOB)
    if run is None or job is None:
        return None
    key = _step(pod) or text(pod_labels, _OP)
    # An op of Kubernetes has a worker that waits, and a pod that works, with the same labels.
    component = text(pod_labels, _COMPONENT) or ("step" if key else _RUN_WORKER)
    where = _whole(text(pod_labels, _LOCATION) or "none")
    if key is None:
        whole = None if job.strip("_") == _ALL_ASSETS else _whole(job)
        task = joined("dagster", component, where, whole)
    else:
        task = joined("dagster", component, where, _whole(job), _whole(_MAPPED.sub("", key)))
    return EngineRun(
        "dagster",
        task,
        f"{run}:{component}:{key or ''}",
        f"dagster:{run}",
        outlives_pod=key is not None,  # a run that is tried again is another run
    )


def _step(pod: Pod) -> str | None:
    """Return the step's key as Dagster wrote it; the label also contains a mapped item's key."""
    containers = sequence(spec_of(pod).get("containers"))
    for variable in sequence(mapping(containers[0]).get("env")) if containers else ():
        if mapping(variable).get("name") == "DAGSTER_RUN_STEP_KEY":
            return text(mapping(variable), "value")
    return None


DAGSTER: Final = Engine(
    "dagster",
    _dagster,
    marks=(_RUN,),
    labels=(_JOB, _OP, _LOCATION, _COMPONENT),
    main_containers=("dagster",),
    limits_start=True,  # run_monitoring.start_timeout_seconds
    missing=(
        "a run of assets that somebody picked, or a name longer than a label can be: write the"
        " label in pod_template_spec_metadata of the tag dagster-k8s/config"
    ),
)

_FLOW_RUN: Final = "prefect.io/flow-run-id"
_FLOW: Final = "prefect.io/flow-name"
_DEPLOYMENT: Final = "prefect.io/deployment-name"


def _prefect(_: Pod, pod_labels: Labels) -> EngineRun | None:
    run = text(pod_labels, _FLOW_RUN)
    if run is None:
        return None
    flow, deployment = text(pod_labels, _FLOW), text(pod_labels, _DEPLOYMENT)
    parts = [_whole(flow)] if deployment is None else [_whole(flow), _whole(deployment)]
    return EngineRun("prefect", joined("prefect", *parts), run, f"prefect:{run}")


PREFECT: Final = Engine(
    "prefect",
    _prefect,
    marks=(_FLOW_RUN,),
    labels=(_FLOW, _DEPLOYMENT),
    main_containers=("prefect-job",),
    limits_start=True,  # pod_watch_timeout_seconds
    missing=(
        "a flow whose worker writes only the run's generated name, or a name longer than a label"
        " can be: write the label in the work pool's job template, spec.template.metadata.labels"
    ),
)
