"""Reads from a Job how often it tries each of its runs, and writes that on its pods' template.

A pod does not say it, and admission asks nobody while it answers. So it is read when the Job itself
is created; the number then stands on every pod that the Job makes (docs/adr/0018-attempts.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from plimsoll_operator.names import labels
from plimsoll_operator.pods.attempts import MOST_ATTEMPTS
from plimsoll_operator.pods.spec import mapping, sequence

Operation = dict[str, Any]

DEFAULT_BACKOFF_LIMIT: Final = 6
OF_TOO_LITTLE_MEMORY: Final = (1, 3, 52, 134, 137)
"""Exit codes for want of memory: of an exception, the JVM, Spark, an abort, a kill."""
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
    if per_index is not None:
        return min(per_index + 1, MOST_ATTEMPTS)
    limit = _count(spec.get("backoffLimit"))
    if limit is None:
        limit = DEFAULT_BACKOFF_LIMIT
    if _template_spec(spec).get("restartPolicy") == "OnFailure":
        # The kubelet restarts the container once before Plimsoll has the pod replaced.
        limit = max(0, limit - 1)
    return min(1 + limit // _runs(spec), MOST_ATTEMPTS)


def patch_for_job(job: Mapping[str, Any]) -> list[Operation]:
    """Return the operations that write the number on the template; none if it is not Plimsoll's."""
    metadata = mapping(mapping(mapping(job.get("spec")).get("template")).get("metadata"))
    if not mapping(metadata.get("labels")).get(labels.TASK):
        return []
    written = {labels.JOB_ATTEMPTS: str(attempts_of_job(job)), **_generated_name(job)}
    annotations = metadata.get("annotations")
    base = "/spec/template/metadata/annotations"
    if not isinstance(annotations, Mapping) or not annotations:
        return [{"op": "add", "path": base, "value": written}]
    operations: list[Operation] = [
        {"op": "add", "path": _in(base, name), "value": value}
        for name, value in written.items()
        if annotations.get(name) != value
    ]
    if labels.JOB_NAME in annotations and labels.JOB_NAME not in written:
        # The template was copied from another Job's.
        operations.append({"op": "remove", "path": _in(base, labels.JOB_NAME)})
    return operations


def _in(base: str, name: str) -> str:
    return f"{base}/{name.replace('/', '~1')}"


def _generated_name(job: Mapping[str, Any]) -> dict[str, str]:
    """Return what its pods cannot tell: that the Job's name is a generated one, and its prefix."""
    prefix = mapping(job.get("metadata")).get("generateName")
    if not isinstance(prefix, str) or not 0 < len(prefix) <= labels.MAX_NAME_CHARS:
        return {}
    return {labels.JOB_NAME: prefix}


def _template_spec(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping(mapping(spec.get("template")).get("spec"))


def _runs(spec: Mapping[str, Any]) -> int:
    """Return how many pods have to succeed; without completions, all that run beside each other."""
    parallelism, completions = _count(spec.get("parallelism")), _count(spec.get("completions"))
    return max(1, (parallelism or 1) if completions is None else completions)


def _ends_by_policy(spec: Mapping[str, Any]) -> bool:
    """Say whether a podFailurePolicy ends the Job or the index for want of memory (KEP-3329)."""
    for rule in sequence(mapping(spec.get("podFailurePolicy")).get("rules")):
        on_exit = mapping(mapping(rule).get("onExitCodes"))
        if mapping(rule).get("action") in _FINAL and any(
            _matches(on_exit, code) for code in OF_TOO_LITTLE_MEMORY
        ):
            return True
    return False


def _matches(on_exit: Mapping[str, Any], code: int) -> bool:
    values = sequence(on_exit.get("values"))
    operator = on_exit.get("operator")
    return code in values if operator == "In" else operator == "NotIn" and code not in values


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
