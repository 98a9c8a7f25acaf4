"""One try of an Airflow task of the past, and the attempt that it was. Pure.

Airflow knows when a try began and ended and how, and what its author asked for. It knows neither
how much memory was used nor what ended a pod.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from dateutil import parser as dates

from plimsoll_operator.names import labels
from plimsoll_operator.names.quantity import bytes_or_none
from plimsoll_operator.pods.identity import AUTO, identify
from plimsoll_operator.pods.spec import mapping
from plimsoll_predictor.core.bounded_text import MOST_RUN_BYTES, bounded
from plimsoll_predictor.core.record import Observation, Outcome, PeakSource

_UNSAFE: Final = re.compile(r"^[^a-z0-9A-Z]*|[^a-zA-Z0-9_\-\.]|[^a-z0-9A-Z]*$")
_LABEL_CHARS: Final = 63
_HASH_CHARS: Final = 9
_MOST_TEXT_CHARS: Final = 4096
"""Airflow cuts a rendered field there, too."""
_ENDED: Final = {"success": Outcome.SUCCEEDED, "failed": Outcome.FAILED}


class LeftOut(StrEnum):
    """Why a try of the past is no attempt of a task."""

    NO_POD = "it left no trace of a pod"
    NO_NAMESPACE = "its pod's namespace is not known; name one with --namespace"
    OTHER_NAMESPACE = "its pod was in another namespace"
    NO_TIMES = "it has no start or no end"
    NO_NAME = "its DAG and task make no name of a task"


@dataclass(frozen=True, slots=True, kw_only=True)
class PastTry:
    """A row of ``task_instance`` or ``task_instance_history``, and what other tables say about it.

    number: of the try, from 1. map_index: -1 if the task is not mapped.
    pod_name, pod_namespace: of the last try's pod, as the operator left them in XCom.
    rendered_namespace, resources, pod_resources: as the author wrote them, the last for an
        executor's pod, if Airflow still has them: by default for a DAG's newest 30 runs.
    """

    dag: str
    task: str
    run: str
    map_index: int = -1
    number: int = 1
    state: str | None
    started: object
    ended: object
    operator: str | None = None
    pod_name: object = None
    pod_namespace: object = None
    rendered_namespace: object = None
    resources: object = None
    pod_resources: object = None


def observation_of(past: PastTry, namespace: str | None) -> Observation | LeftOut:
    """The attempt that a try was, or why it is none.

    namespace: the only one wanted, also used for pods whose own is unknown; None for all.
    """
    if not _ran_a_pod(past):
        return LeftOut.NO_POD
    space = _text(past.pod_namespace) or _text(past.rendered_namespace) or namespace
    if space is None:
        return LeftOut.NO_NAMESPACE
    if namespace is not None and space != namespace:
        return LeftOut.OTHER_NAMESPACE
    started_s, finished_s = _unix_s(past.started), _unix_s(past.ended)
    if started_s is None or finished_s is None or finished_s < started_s:
        return LeftOut.NO_TIMES
    identity = identify(_as_pod(past, space))
    if identity is None or identity.run is None:
        return LeftOut.NO_NAME
    request_bytes, limit_bytes = _sizes(past.resources or past.pod_resources)
    return Observation(
        attempt_uid=_uid(past),
        task=identity.task,
        run=identity.run,
        attempt=past.number,
        outcome=_ENDED.get(past.state or "", Outcome.FAILED),
        started_s=started_s,
        finished_s=finished_s,
        request_bytes=request_bytes or limit_bytes,
        allocation_bytes=limit_bytes,
        written_limit_bytes=limit_bytes,
        peak_source=PeakSource.IMPORTED,
        workflow_run=identity.work.run,
    )


def label_value(text: str) -> str:
    """A name as Airflow writes it into a pod's label, with a hash if it had to be changed.

    Same as ``make_safe_label_value`` of the provider cncf-kubernetes.

    >>> label_value("nightly"), label_value("manual__2026-01-05T08:00:00+00:00")
    ('nightly', 'manual__2026-01-05T0800000000-9aac08794')
    """
    safe = _UNSAFE.sub("", text)
    if len(safe) <= _LABEL_CHARS and safe == text:
        return safe
    digest = hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()[:_HASH_CHARS]
    return f"{safe[: _LABEL_CHARS - _HASH_CHARS - 1]}-{digest}"


def _ran_a_pod(past: PastTry) -> bool:
    named = _text(past.pod_name) or _text(past.rendered_namespace) or past.pod_resources
    return bool(named) or "Kubernetes" in (past.operator or "")


def _as_pod(past: PastTry, namespace: str) -> dict[str, Any]:
    """The try as the pod that Airflow made for it: the operator's own rules name task and run."""
    operators = bool(_text(past.pod_name) or past.resources) or not past.pod_resources
    pod_labels = {
        labels.TASK: AUTO,
        "kubernetes_pod_operator" if operators else "kubernetes_executor": "True",
        "dag_id": label_value(past.dag),
        "task_id": label_value(past.task),
        "run_id": label_value(past.run),
        "try_number": str(past.number),
    }
    if past.map_index >= 0:
        pod_labels["map_index"] = str(past.map_index)
    metadata = {"namespace": namespace, "labels": pod_labels}
    return {"metadata": metadata, "spec": {"restartPolicy": "Never"}}


def _uid(past: PastTry) -> str:
    index = f":{past.map_index}" if past.map_index >= 0 else ""
    return bounded(
        f"airflow:{past.dag}.{past.task}:{past.run}{index}/{past.number}", MOST_RUN_BYTES
    )


def _sizes(resources: object) -> tuple[int | None, int | None]:
    """Memory request and limit in bytes, from resources as Airflow renders them."""
    found = _document(resources)
    return _memory(found.get("requests")), _memory(found.get("limits"))


def _memory(amounts: object) -> int | None:
    return bytes_or_none(mapping(amounts).get("memory")) or None


def _document(value: object) -> Mapping[str, Any]:
    """A rendered field; older Airflows write it as the text of a Python dictionary."""
    if not isinstance(value, str):
        return mapping(value)
    if len(value) > _MOST_TEXT_CHARS:
        return {}
    for read in (json.loads, ast.literal_eval):
        try:
            found = read(value)
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            continue
        return _document(found) if isinstance(found, str) and found != value else mapping(found)
    return {}


def _text(value: object) -> str | None:
    """A text from XCom or a rendered field, which may be written as JSON."""
    if isinstance(value, bytes | bytearray | memoryview):
        value = bytes(value).decode(errors="replace")
    if not isinstance(value, str) or not value or len(value) > _MOST_TEXT_CHARS:
        return None
    if value.startswith('"'):
        try:
            value = json.loads(value)
        except ValueError:
            return None
    return value if isinstance(value, str) and value else None


def _unix_s(value: object) -> float | None:
    """A time of the database as Unix seconds; UTC if it names no zone."""
    if isinstance(value, str):
        try:
            value = dates.isoparse(value)
        except ValueError:
            return None
    if not isinstance(value, datetime):
        return None
    return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
