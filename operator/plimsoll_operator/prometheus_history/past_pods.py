"""One past pod, put together from series, and the run that it was an attempt of. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from plimsoll_operator.names import labels
from plimsoll_operator.pods.engines.table import ENGINES
from plimsoll_operator.pods.identity import AUTO, COMPLETION_INDEX, RunIdentity, identify
from plimsoll_operator.pods.recognising import recognise
from plimsoll_operator.pods.status import FINAL_PHASES

_ANNOTATION: Final = "annotation_"
_FEATURE: Final = "annotation_features_plimsoll_dev_"
_MAIN_CONTAINERS: Final = [name for engine in ENGINES for name in engine.main_containers]
_ENGINE_LABELS: Final = {name for engine in ENGINES for name in (*engine.marks, *engine.labels)}
_KNOWN_LABELS: Final = {
    *(labels.TASK, labels.RUN, labels.ITEM, labels.ENABLED),
    COMPLETION_INDEX,
    *_ENGINE_LABELS,
}
_KNOWN_ANNOTATIONS: Final = {
    labels.RUN,
    labels.ITEM,
    labels.CONTAINER,
    labels.DEFAULT_CONTAINER,
    labels.JOB_ATTEMPTS,
    labels.JOB_NAME,
    COMPLETION_INDEX,
    *(name for engine in ENGINES for name in (*engine.annotations, *engine.note_marks)),
}


def metric_label(name: str, prefix: str = "label_") -> str:
    """The name of a label or annotation as kube-state-metrics writes it.

    >>> metric_label("nextflow.io/processName")
    'label_nextflow_io_process_name'
    """
    plain = re.sub(r"[^a-zA-Z0-9_]", "_", name)
    return prefix + re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", plain).lower()


_BY_LABEL: Final = {metric_label(name): name for name in _KNOWN_LABELS}
_BY_ANNOTATION: Final = {metric_label(name, _ANNOTATION): name for name in _KNOWN_ANNOTATIONS}


@dataclass(slots=True)
class PastContainer:
    """The facts of one container; None if no series has one."""

    request_bytes: float | None = None
    limit_bytes: float | None = None
    request_cores: float | None = None
    image: str | None = None
    started_s: float | None = None
    ended: str | None = None
    """The kubelet's reason for its end: Completed, OOMKilled, Error ..."""
    ended_before: str | None = None
    """The reason why its previous life ended, if it was restarted in place."""
    exit_code_before: int | None = None
    """The exit code of its previous life; no series has that of its last life."""
    restarts: int = 0
    samples: int = 0
    working_set_bytes: float | None = None
    anon_bytes: float | None = None
    kernel_bytes: float | None = None
    cpu_s: float | None = None


@dataclass(slots=True)
class PastPod:
    """One pod, filled in window by window."""

    namespace: str
    name: str
    uid: str
    node: str | None = None
    met_s: float = 0.0
    """The beginning of the window in which it was first seen, Unix seconds."""
    owner_kind: str = ""
    owner_name: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    """The labels that Plimsoll knows, under the names that the author wrote."""
    annotations: dict[str, str] = field(default_factory=dict)
    other_labels: dict[str, str] = field(default_factory=dict)
    """All other labels, under the names of kube-state-metrics."""
    created_s: float | None = None
    started_s: float | None = None
    finished_s: float | None = None
    phase: str | None = None
    reason: str | None = None
    """The reason of its end that the truth table knows; None if there is none."""
    deleted_by_s: float | None = None
    """The time by which it had to be gone, if somebody deleted it."""
    containers: dict[str, PastContainer] = field(default_factory=dict)

    def container(self, name: str) -> PastContainer:
        """The container of that name."""
        return self.containers.setdefault(name, PastContainer())

    def add_labels(self, series_labels: Mapping[str, str]) -> None:
        """Add the labels of a series of kube_pod_labels."""
        for name, text in series_labels.items():
            if not name.startswith("label_") or not text:
                continue
            if name in _BY_LABEL:
                self.labels[_BY_LABEL[name]] = text
            else:
                self.other_labels[name] = text

    def add_annotations(self, series_labels: Mapping[str, str]) -> None:
        """Add the annotations of a series of kube_pod_annotations."""
        for name, text in series_labels.items():
            if name in _BY_ANNOTATION:
                self.annotations[_BY_ANNOTATION[name]] = text
            elif name.startswith(_FEATURE) and text:
                feature = name.removeprefix(_FEATURE)
                self.annotations[f"{labels.FEATURE_PREFIX}{feature}"] = text

    @property
    def ended(self) -> bool:
        """Whether its end was seen."""
        return self.reason is not None or self.phase in FINAL_PHASES


@dataclass(frozen=True, slots=True)
class ReadingRules:
    """Rules of reading pods. task_label: a label that names the task if Plimsoll's own does not.

    margin: share added to the highest sample, for spikes between two samples.
    interval_s: between two samples of a container's memory; None if it is unknown.
    """

    task_label: str | None = None
    margin: float = 0.1
    interval_s: float | None = None


def identity_of(pod: PastPod, how: ReadingRules) -> RunIdentity | None:
    """The run of the pod by the operator's own rules; None if it belongs to no batch task."""
    pod_labels = dict(pod.labels)
    named = _named(pod, how)
    if named is None and recognise(as_pod(pod, pod_labels)).why is not None:
        return None
    pod_labels[labels.TASK] = named or AUTO
    return identify(as_pod(pod, pod_labels))


def unknown_by(pod: PastPod, how: ReadingRules) -> str | None:
    """The annotation that the name of its engine's task needs and that no series shows, or None.

    Without it the pod would seem to be of another task than the live ones.
    """
    if _named(pod, how) not in (None, AUTO):
        return None
    notes = (
        note
        for engine in ENGINES
        if not pod.labels.keys().isdisjoint(engine.marks)
        for note in engine.naming_notes
    )
    return next((note for note in notes if note not in pod.annotations), None)


def _named(pod: PastPod, how: ReadingRules) -> str | None:
    """The task by a label that people wrote; None if there is none."""
    named = pod.labels.get(labels.TASK)
    if named is None and how.task_label is not None:
        named = pod.other_labels.get(metric_label(how.task_label))
    return named


def as_pod(pod: PastPod, pod_labels: Mapping[str, str]) -> dict[str, Any]:
    """The pod with these labels, as the operator's own rules read one."""
    metadata: dict[str, Any] = {
        "namespace": pod.namespace,
        "name": pod.name,
        "uid": pod.uid,
        "labels": pod_labels,
        "annotations": pod.annotations,
    }
    if pod.owner_kind:
        owner = {"kind": pod.owner_kind, "name": pod.owner_name, "controller": True}
        # No series has a Job's UID; its name stands in.
        metadata["ownerReferences"] = [{**owner, "uid": pod.owner_name}]
    return {"metadata": metadata, "spec": {"restartPolicy": "Never"}}


def sized_container_of(pod: PastPod) -> str | None:
    """The container that the operator would size; None if it has several and nobody names one."""
    for name in (labels.CONTAINER, labels.DEFAULT_CONTAINER):
        wanted = pod.annotations.get(name)
        if wanted in pod.containers:
            return wanted
    if len(pod.containers) == 1:
        return next(iter(pod.containers))
    return next((name for name in _MAIN_CONTAINERS if name in pod.containers), None)
