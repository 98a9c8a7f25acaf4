"""Argo Workflows: a pod for each step; one or many workflows use its template."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from plimsoll_operator.names.generated import name_before_generated
from plimsoll_operator.names.objects import (
    Pod,
    annotations_of,
    mapping,
    metadata_of,
    sequence,
    spec_of,
)
from plimsoll_operator.pods.engines.row import Engine, EngineRun, Labels, count, joined, text

_WORKFLOW: Final = "workflows.argoproj.io/workflow"
_NODE: Final = "workflows.argoproj.io/node-name"
_TEMPLATE: Final = "workflows.argoproj.io/template"
_RETRY: Final = re.compile(r"\(([0-9]{1,6})\)$")
_POD: Final = re.compile(r"(.+)-[0-9]+")
_ITEM: Final = re.compile(r"\([0-9]+:([^()]+)\)")
_COUNTED: Final = re.compile(r"\([^()]*\)|\[[0-9]+\]")
"""The parts of a node's name for retries, items of loops, and groups of steps."""
_LONGEST_NODE: Final = 2048
_ONLY_ONE: Final = 1
_RETRIES_FAILURES: Final = (None, "Always", "OnFailure")


def _read(pod: Pod, pod_labels: Labels) -> EngineRun | None:
    workflow = text(pod_labels, _WORKFLOW)
    if workflow is None:
        return None
    node = text(annotations_of(pod), _NODE) or ""
    # A retry's node has its step's name and "(0)" or "(1)"; an item's "(0:apple)" stays.
    step = _RETRY.sub("", node)
    uid = next(
        (
            str(mapping(reference).get("uid"))
            for reference in sequence(metadata_of(pod).get("ownerReferences"))
            if mapping(reference).get("kind") == "Workflow"
        ),
        workflow,
    )
    items = _ITEM.findall(step)
    template = _template(pod)
    retry = _RETRY.search(node)
    return EngineRun(
        "argo",
        _task(workflow, node, text(template, "name") or _named_by_pod(pod, workflow)),
        f"{uid}:{step}",
        f"argo:{uid}",
        items[-1] if items else None,  # in nested loops, the innermost
        attempts=_attempts(template) if retry else _ONLY_ONE if node else None,
        attempt=int(retry[1]) + 1 if retry else 1,
        outlives_pod=bool(node),
    )


def _task(workflow: str, node: str, template: str | None) -> str | None:
    """Return the workflow's name, the template's, and the steps that lead to it.

    One template serves many steps, and many workflows have one called ``main``. A name that the
    steps repeat is used once: a template that calls itself is one task, however deep it is.
    """
    path = _path(workflow, node)
    steps: list[str | None] = [*path] if path == [template] else [template, *path]
    if template is None and path:
        steps = [*path]
    return joined("argo", name_before_generated(workflow), *steps)


def _path(workflow: str, node: str) -> list[str]:
    if len(node) > _LONGEST_NODE or not node.startswith(workflow):
        return []
    plain = _COUNTED.sub("", node[len(workflow) :])
    return list(dict.fromkeys(filter(None, plain.split("."))))


def _attempts(template: Mapping[str, Any]) -> int | None:
    """Read the attempts of a step with a retryStrategy; None if its template does not say them."""
    strategy = mapping(template.get("retryStrategy"))
    if not strategy or strategy.get("expression"):
        return None
    if mapping(strategy.get("backoff")).get("maxDuration"):
        return _ONLY_ONE  # it counts from the first attempt, and cuts later ones off
    if strategy.get("retryPolicy") not in _RETRIES_FAILURES:
        return _ONLY_ONE  # an OOM kill is a failure, and this strategy is for errors
    limit = count(strategy.get("limit"))
    return None if limit is None else limit + 1


def _template(pod: Pod) -> Mapping[str, Any]:
    """Return the step's template as Argo writes it on its pods; empty if it is not there."""
    texts = [annotations_of(pod).get(_TEMPLATE)]
    spec = spec_of(pod)
    for container in [*sequence(spec.get("containers")), *sequence(spec.get("initContainers"))]:
        for variable in sequence(mapping(container).get("env")):
            if mapping(variable).get("name") == "ARGO_TEMPLATE":
                texts.append(mapping(variable).get("value"))
    for written in texts:
        template = _json_object(written)
        if text(template, "name") is not None:
            return template
    return {}


def _named_by_pod(pod: Pod, workflow: str) -> str | None:
    # Pod names are <workflow>-<template>-<hash of the node>; older ones have no template in them.
    name = str(metadata_of(pod).get("name") or "")
    named = _POD.fullmatch(name.removeprefix(f"{workflow}-"))
    return named[1] if named and name.startswith(f"{workflow}-") else None


def _json_object(written: object) -> Mapping[str, Any]:
    if not isinstance(written, str):
        return {}
    try:
        return mapping(json.loads(written))
    except (ValueError, RecursionError):
        return {}


ARGO: Final = Engine(
    "argo",
    _read,
    marks=(_WORKFLOW,),
    annotations=(_NODE, _TEMPLATE),
    naming_notes=(_NODE,),
    main_containers=("main",),
    missing=(
        "a workflow whose whole name was generated: write generateName, or the label in"
        " spec.podMetadata.labels or a template's metadata.labels"
    ),
)
