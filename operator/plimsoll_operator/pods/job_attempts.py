"""Reads from a Job how often it tries each of its runs, and writes that on its pods' template.

A pod does not say it, and admission asks nobody while it answers. So it is read when the Job itself
is created; the number then stands on every pod that the Job makes (docs/adr/0018-attempts.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from plimsoll_operator.names import labels
from plimsoll_operator.pods.attempts import MOST_ATTEMPTS
from plimsoll_operator.pods.spec import RestartPolicy, mapping, restart_policy, sequence

Operation = dict[str, Any]

DEFAULT_BACKOFF_LIMIT: Final = 6
_FINAL: Final = ("FailJob", "FailIndex")


def attempts_of_job(job: Mapping[str, Any]) -> int:
    """Return how many attempts every run of a Job surely gets; 1 if a failure may end the Job.

    All pods that a Job makes in its life share its ``backoffLimit``, and each of them may fail. A
    failed attempt takes time, so a Job with a deadline counts as one without a second attempt.
    """
    spec = mapping(job.get("spec"))
    if spec.get("activeDeadlineSeconds") is not None or _ends_by_policy(spec):
        return 1
    per_index = _count(spec.get("backoffLimitPerIndex"))
    limit = _count(spec.get("backoffLimit"))
    if limit is None:
        limit = DEFAULT_BACKOFF_LIMIT if per_index is None else MOST_ATTEMPTS * _runs(spec)
    if restart_policy(mapping(spec.get("template"))) is RestartPolicy.ON_FAILURE:
        # The kubelet restarts the container once before Plimsoll has the pod replaced.
        limit = max(0, limit - 1)
    # Both limits hold where both are written.
    tries = limit // _runs(spec)
    return min(1 + (tries if per_index is None else min(tries, per_index)), MOST_ATTEMPTS)


def patch_for_job(job: Mapping[str, Any]) -> list[Operation]:
    """Return the operations that write the number on the template.

    There are none if it is not Plimsoll's, or if its annotations leave no room: the API server
    would refuse the Job.
    """
    metadata = mapping(mapping(mapping(job.get("spec")).get("template")).get("metadata"))
    if not mapping(metadata.get("labels")).get(labels.TASK):
        return []
    written = {labels.JOB_ATTEMPTS: str(attempts_of_job(job)), **_generated_name(job)}
    annotations = metadata.get("annotations")
    base = "/spec/template/metadata/annotations"
    if not isinstance(annotations, Mapping) or not annotations:
        return [{"op": "add", "path": base, "value": written}]
    if not _has_room(annotations, written):
        return []
    operations: list[Operation] = [
        {"op": "add", "path": _in(base, name), "value": value}
        for name, value in written.items()
        if annotations.get(name) != value
    ]
    if labels.JOB_NAME in annotations and labels.JOB_NAME not in written:
        # The template was copied from another Job's.
        operations.append({"op": "remove", "path": _in(base, labels.JOB_NAME)})
    return operations


def _has_room(annotations: Mapping[str, Any], written: Mapping[str, str]) -> bool:
    taken = sum(_bytes_of(name, value) for name, value in {**annotations, **written}.items())
    return taken <= labels.MAX_ALL_ANNOTATIONS_BYTES


def _bytes_of(name: str, value: object) -> int:
    return len(name.encode()) + len(str(value).encode())


def _in(base: str, name: str) -> str:
    return f"{base}/{name.replace('/', '~1')}"


def _generated_name(job: Mapping[str, Any]) -> dict[str, str]:
    """Return what its pods cannot tell: that the Job's name is a generated one, and its prefix."""
    prefix = mapping(job.get("metadata")).get("generateName")
    if not isinstance(prefix, str) or not 0 < len(prefix) <= labels.MAX_NAME_CHARS:
        return {}
    return {labels.JOB_NAME: prefix}


def _runs(spec: Mapping[str, Any]) -> int:
    """Return how many pods have to succeed; without completions, all that run beside each other."""
    parallelism, completions = _count(spec.get("parallelism")), _count(spec.get("completions"))
    return max(1, (parallelism or 1) if completions is None else completions)


def _ends_by_policy(spec: Mapping[str, Any]) -> bool:
    """Say whether a podFailurePolicy ends the Job or the index by an exit code (KEP-3329).

    Any code may be how a program ends that has too little memory.
    """
    return any(
        mapping(rule).get("action") in _FINAL and mapping(rule).get("onExitCodes")
        for rule in sequence(mapping(spec.get("podFailurePolicy")).get("rules"))
    )


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
