"""Makes a Job not count an attempt that failed at a limit below its author's. Pure.

A podFailurePolicy (KEP-3329) matches exit codes or conditions, never both, and an OOM kill has no
condition and the exit code of any SIGKILL. A rule that ignores 137 would retry for ever a run that
needs more memory than there is. So the rule uses a condition that Plimsoll writes on a lowered pod
while it runs: a failure at the size that its author wrote, or more, counts as it did before
(docs/adr/0032-jobs.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from plimsoll_operator.names import labels
from plimsoll_operator.names.json_patch import Operation, add
from plimsoll_operator.pods.attempts import MOST_SHOWN
from plimsoll_operator.pods.job_attempts import is_kept_elsewhere
from plimsoll_operator.pods.spec import (
    RestartPolicy,
    mapping,
    restart_policy,
    sequence,
    template_of,
    text_of,
)
from plimsoll_predictor.core.policy import KilledAttempts, Mode, Policy

DISRUPTED: Final = "DisruptionTarget"
MOST_RULES: Final = 20
"""The API server refuses a podFailurePolicy with more."""
_POLICY: Final = "/spec/podFailurePolicy"


def _rule(action: str, condition: str) -> dict[str, Any]:
    return {"action": action, "onPodConditions": [{"type": condition, "status": "True"}]}


def rules() -> list[dict[str, Any]]:
    """Return the recommended rules, in their order: the first that matches applies.

    An eviction counts, as it would without them. Else a pod that is always evicted at its size
    would be made again for ever.
    """
    return [_rule("Count", DISRUPTED), _rule("Ignore", labels.LOWERED)]


def ignores_lowered(job: Mapping[str, Any]) -> bool:
    """Say whether the Job ignores failures of lowered pods, whoever wrote that."""
    return any(
        mapping(rule).get("action") == "Ignore"
        and any(
            mapping(pattern).get("type") == labels.LOWERED
            and mapping(pattern).get("status", "True") == "True"
            for pattern in sequence(mapping(rule).get("onPodConditions"))
        )
        for rule in _rules_of(job)
    )


def wants_ignored(job: Mapping[str, Any], policy: Policy) -> bool:
    """Say whether people want it: in the Job or its template, else in the task's policy.

    Only while sizes of the task are enforced, and it is not paused.
    """
    wanted = KilledAttempts.IGNORE
    acts = policy.mode is Mode.ENFORCE and not policy.paused
    return acts and wanted == (_said(job) or policy.killed_attempts)


def unread_killed_attempts(job: Mapping[str, Any]) -> str | None:
    """Say that nobody can read what people wrote about killed attempts, so that these count.

    None if it can be read, or nothing is written.
    """
    said = _said(job)
    if said is None or said in tuple(KilledAttempts):
        return None
    words = ", ".join(KilledAttempts)
    return f"{labels.KILLED_ATTEMPTS}: {said[:MOST_SHOWN]!r} is none of {words}, so they count"


def _said(job: Mapping[str, Any]) -> str | None:
    template = template_of(job)
    return text_of(job, labels.KILLED_ATTEMPTS) or text_of(template, labels.KILLED_ATTEMPTS)


def patch_for_failures(job: Mapping[str, Any]) -> list[Operation]:
    """Return the operations that add the rules after the Job's own; none where that is not valid.

    The API server takes a podFailurePolicy only with ``restartPolicy: Never``, and only if pods are
    replaced when they have ended.
    """
    spec = mapping(job.get("spec"))
    template = template_of(job)
    if restart_policy(template) is not RestartPolicy.NEVER or is_kept_elsewhere(job):
        return []
    own, added = _rules_of(job), rules()
    if ignores_lowered(job) or len(own) + len(added) > MOST_RULES:
        return []
    operations: list[Operation]
    if own:
        operations = [add(f"{_POLICY}/rules/-", rule) for rule in added]
    else:
        operations = [add(_POLICY, {"rules": added})]
    if spec.get("podReplacementPolicy") != "Failed":
        operations.append(add("/spec/podReplacementPolicy", "Failed"))
    return operations


def _rules_of(job: Mapping[str, Any]) -> list[Any]:
    return list(sequence(mapping(mapping(job.get("spec")).get("podFailurePolicy")).get("rules")))
