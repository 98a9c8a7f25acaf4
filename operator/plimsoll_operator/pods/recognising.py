"""Recognises a task's pod that nobody labelled, in a namespace whose people asked for it. Pure.

A recognised pod gets the label ``plimsoll.dev/task: auto`` at its admission, and is a pod like any
other from then on. So the only question here is whether the pod surely shows a recurring name: two
tasks under one name get each other's sizes, which may kill runs, and a name that was generated for
one run makes each run a new task. In doubt a pod is left alone, and counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from plimsoll_operator.names import labels
from plimsoll_operator.names.generated import may_be_drawn, surely_recurring
from plimsoll_operator.names.json_patch import Operation, add, pointer
from plimsoll_operator.pods.engines.table import ENGINES, engine_run
from plimsoll_operator.pods.identity import can_be_task, name_of_job
from plimsoll_operator.pods.owners import controller_of, cronjob_of, is_job, is_service
from plimsoll_operator.pods.spec import Pod, annotations_of, mapping, metadata_of

JOB: Final = "job"
CRONJOB: Final = "cronjob"
MAKERS: Final = (*(engine.name for engine in ENGINES), JOB, CRONJOB)
"""All makers whose pods are recognised without a label: values of a metric."""


class LeftAlone(StrEnum):
    """Why a pod without a label is left alone."""

    LABELLED = "labelled"
    """It has one of Plimsoll's labels: its author decided."""
    REFUSED = "refused"
    """``plimsoll.dev/enabled: "false"`` is on it."""
    SERVICE = "service"
    """A controller keeps it running until somebody deletes it."""
    GENERATED_NAME = "generated-name"
    """Its maker is known, and no name on it surely recurs."""
    UNKNOWN_MAKER = "unknown-maker"
    """It is bare, or the table does not have its owner's kind."""


@dataclass(frozen=True, slots=True)
class Recognition:
    """What was read from a pod without a label.

    maker: one of MAKERS; None if no maker in the table made it. task: its name; None if it is left
    alone, for the reason ``why``.
    """

    maker: str | None
    task: str | None = None
    why: LeftAlone | None = None


def recognise(pod: Pod) -> Recognition:
    """Recognise one pod.

    A pod of no engine costs one lookup for each label and annotation, and about ten more.
    """
    pod_labels = mapping(metadata_of(pod).get("labels"))
    if labels.TASK in pod_labels:
        return Recognition(None, why=LeftAlone.LABELLED)
    if pod_labels.get(labels.ENABLED) == "false":
        return Recognition(None, why=LeftAlone.REFUSED)
    owner = controller_of(pod)
    if is_service(owner):
        return Recognition(None, why=LeftAlone.SERVICE)
    run = engine_run(pod, pod_labels)
    if run is not None:
        return _named(run.engine, run.task)
    if owner is None or not is_job(owner):
        return Recognition(None, why=LeftAlone.UNKNOWN_MAKER)
    return _named(CRONJOB if cronjob_of(owner) else JOB, _job(pod, owner))


def _named(maker: str, task: str | None) -> Recognition:
    if task is None or not can_be_task(task):
        return Recognition(maker, why=LeftAlone.GENERATED_NAME)
    return Recognition(maker, task)


def _job(pod: Pod, owner: Mapping[str, Any]) -> str | None:
    name, notes = str(owner.get("name", "")), annotations_of(pod)
    if cronjob_of(owner):
        known = True
    elif notes.get(labels.JOB_ATTEMPTS):
        # The Job's own admission wrote how often it tries, and its prefix, if it had one. Without a
        # prefix its maker gave it the whole name, and that may be a controller.
        known = bool(notes.get(labels.JOB_NAME)) or not may_be_drawn(name)
    else:
        known = surely_recurring(name) is not None
    return name_of_job(pod, owner) if known else None


def patch_for_recognised(pod: Pod) -> list[Operation]:
    """Return the JSON Patch that labels a recognised pod."""
    if mapping(metadata_of(pod).get("labels")):
        return [add(pointer("metadata", "labels", labels.TASK), labels.AUTO)]
    # An engine that marks its pods by annotations only may write no labels.
    return [add("/metadata/labels", {labels.TASK: labels.AUTO})]
