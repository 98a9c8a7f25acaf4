"""Reads from a Job how often it tries each of its runs, and writes that on its pods' template.

A pod does not say it, and admission asks nobody while it answers. So it is read when the Job itself
is created; then every pod that the Job makes has the number (docs/adr/0018-attempts.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from plimsoll_operator.names import labels
from plimsoll_operator.names.json_patch import Operation, add, pointer
from plimsoll_operator.pods.attempts import MOST_ATTEMPTS, spared_by, written_attempts
from plimsoll_operator.pods.owners import controller_of
from plimsoll_operator.pods.polled import HOOKS
from plimsoll_operator.pods.queue_managers import DEADLINE, KUEUE
from plimsoll_operator.pods.spec import (
    RestartPolicy,
    annotations_of,
    count_of,
    labels_of,
    mapping,
    metadata_of,
    restart_policy,
    sequence,
    template_of,
    text_of,
)
from plimsoll_operator.pods.status import DISRUPTION_TARGET

DEFAULT_BACKOFF_LIMIT: Final = 6
_OF_ONE_JOB: Final = (
    labels.JOB_DEADLINE,
    labels.JOB_NAME,
    labels.CHUNK_MEMORY,
    f"{labels.FEATURE_PREFIX}{labels.LEASE_ITEMS}",
)
"""Annotations of a template that do not hold for another Job's."""
_OWN_CONTROLLER: Final = "kubernetes.io/job-controller"
_HELM_RELEASE: Final = "meta.helm.sh/release-name"
"""Annotation that Helm writes on all that it installs."""
_KEEPERS: Final = (
    "kubectl.kubernetes.io/last-applied-configuration",
    _HELM_RELEASE,
    "argocd.argoproj.io/tracking-id",
    "argocd.argoproj.io/sync-options",
)
"""Annotations of objects whose next apply or upgrade compares them with what was written."""
_KEEPING: Final = frozenset({"argocd-controller", "argocd-application-controller"})
"""Managers of fields: with ``Replace=true`` Argo CD creates without apply, and replaces later."""
_MAKERS: Final = frozenset({"HashiCorp", "Terraform"})
"""Managers of fields: Terraform creates a Job without apply, but compares it with its plan."""
_FINAL: Final = ("FailJob", "FailIndex")
_PREBUILT: Final = f"{KUEUE}prebuilt-workload-name"
"""Label or annotation of a Job whose Workload was there before it, as in a worker of MultiKueue."""


def attempts_of_job(job: Mapping[str, Any]) -> int:
    """Return how many attempts every run of a Job surely gets; 1 if a failure may end the Job.

    All pods that a Job makes in its life share its ``backoffLimit``, and each of them may fail. A
    failed attempt takes time, so a Job with a deadline counts as one without a second attempt.
    """
    spec = mapping(job.get("spec"))
    if _has_deadline(job) or _ends_by_policy(spec) or _are_of_a_queue(spec):
        return 1
    if _may_count_a_deleted_pod_as_done(spec):
        return 1
    per_index = count_of(spec.get("backoffLimitPerIndex"))
    limit = count_of(spec.get("backoffLimit"))
    if limit is None:
        limit = DEFAULT_BACKOFF_LIMIT if per_index is None else MOST_ATTEMPTS * _runs(spec)
    if _restart_in_place(spec):
        # The kubelet restarts the container once before Plimsoll has the pod replaced.
        limit = max(0, limit - 1)
    # Both limits hold where both are written.
    tries = limit // _runs(spec)
    return min(1 + (tries if per_index is None else min(tries, per_index)), MOST_ATTEMPTS)


def bears_a_kill(job: Mapping[str, Any]) -> bool:
    """Say whether each run of the Job surely has another attempt, and one more that is spared.

    So a run may be killed for what Plimsoll gave it to do, as for a size that was too small.
    """
    template = template_of(job)
    written = written_attempts(text_of(template, labels.ATTEMPTS)) or MOST_ATTEMPTS
    return min(written, attempts_of_job(job)) > 1 + spared_by(template)


def notes_for_job(job: Mapping[str, Any]) -> dict[str, str] | None:
    """Return the annotations for the template of a Job; None if its pods are not Plimsoll's."""
    return _notes(job) if labels_of(template_of(job)).get(labels.TASK) else None


def notes_for_unlabelled_job(job: Mapping[str, Any]) -> dict[str, str] | None:
    """Return the same for a Job without the label, in a namespace whose pods are recognised.

    None if the template says to leave its pods alone, or if the Job is a step of an installation:
    a kill half way may do harm to such a step, and nobody asked for this Job in particular. As long
    as no second attempt is known, its pods are never lowered.
    """
    its = labels_of(template_of(job))
    if labels.TASK in its or its.get(labels.ENABLED) == "false":
        return None
    written = mapping(mapping(job.get("metadata")).get("annotations"))
    return None if not HOOKS.isdisjoint(written) else _notes(job)


def may_start_late(job: Mapping[str, Any]) -> bool:
    """Say whether only its author decides when the Job starts.

    The maker of the Job, such as a CronJob, a JobSet or Kueue, may decide, too; an installer waits
    some minutes for its hooks, and so does Helm for all Jobs of a release (``--wait-for-jobs``).
    """
    metadata, annotations = metadata_of(job), annotations_of(job)
    if sequence(metadata.get("ownerReferences")) or not HOOKS.isdisjoint(annotations):
        return False
    if _HELM_RELEASE in annotations or not is_made_here(job):
        return False
    return not any(str(key).startswith(KUEUE) for key in mapping(metadata.get("labels")))


def bears_to_wait(job: Mapping[str, Any]) -> bool:
    """Say whether pods of the Job may start late, one after another, without harm.

    A deadline counts from the Job's start, whether its pods wait or run. Pods that know their index
    and run beside others may wait for these.
    """
    spec = mapping(job.get("spec"))
    if spec.get("activeDeadlineSeconds") is not None or spec.get("suspend") is True:
        return False
    if spec.get("completionMode") == "Indexed" and spec.get("parallelism", 1) != 1:
        return False
    return may_start_late(job)


def waiting_note(job: Mapping[str, Any]) -> dict[str, str]:
    """Return the annotation for the template that says whether its pods may wait for their turn."""
    return {labels.MAY_WAIT: "true" if bears_to_wait(job) else "false"}


def is_kept_elsewhere(job: Mapping[str, Any]) -> bool:
    """Say whether somebody keeps the Job as they wrote it, or makes its pods in another cluster.

    If they applied the manifest again, they would find another Job than they wrote, and the API
    server would refuse to change immutable fields back.
    """
    annotations = mapping(metadata_of(job).get("annotations"))
    if not is_made_here(job) or any(keeper in annotations for keeper in _KEEPERS):
        return True
    if was_counted_before(job):
        return True
    if is_made_again(job) or any(map(_keeps, _managers(job))):
        return True
    owner = controller_of(job)
    return owner is not None and owner.get("kind") != "CronJob"


def is_made_here(job: Mapping[str, Any]) -> bool:
    """Say whether this cluster's own controller makes the Job's pods."""
    managed_by = mapping(job.get("spec")).get("managedBy")
    return managed_by in (None, _OWN_CONTROLLER)


def was_counted_before(job: Mapping[str, Any]) -> bool:
    """Say whether Kueue counted the Job's containers before the Job was made here.

    Kueue compares them with what it counted, and never starts a Job with others.
    """
    return _PREBUILT in labels_of(job) or _PREBUILT in annotations_of(job)


def is_made_again(job: Mapping[str, Any]) -> bool:
    """Say whether its maker deletes a Job with a changed template, and makes it again."""
    return any(each.get("manager") in _MAKERS for each in _managers(job))


def _keeps(manager: Mapping[str, Any]) -> bool:
    return manager.get("operation") == "Apply" or manager.get("manager") in _KEEPING


def _managers(job: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [mapping(each) for each in sequence(metadata_of(job).get("managedFields"))]


def _notes(job: Mapping[str, Any]) -> dict[str, str]:
    copied = labels.MAY_WAIT in annotations_of(template_of(job))
    return {
        labels.JOB_ATTEMPTS: str(attempts_of_job(job)),
        **({labels.JOB_DEADLINE: "true"} if _has_deadline(job) else {}),
        **_generated_name(job),
        **(waiting_note(job) if copied else {}),
    }


def patch_with(job: Mapping[str, Any], written: Mapping[str, str] | None) -> list[Operation]:
    """Return the operations that write annotations on a Job's template.

    There are none if the template's own leave no room: the API server would refuse the Job.
    """
    if written is None:
        return []
    metadata = metadata_of(template_of(job))
    annotations = metadata.get("annotations")
    base = "/spec/template/metadata/annotations"
    if not metadata:
        # A path whose parent is missing would have the API server refuse the Job.
        return [add("/spec/template/metadata", {"annotations": dict(written)})]
    if not isinstance(annotations, Mapping) or not annotations:
        return [add(base, dict(written))]
    if not has_room(job, written):
        return []
    operations: list[Operation] = [
        add(f"{base}{pointer(name)}", value)
        for name, value in written.items()
        if annotations.get(name) != value
    ]
    # The template was copied from another Job's.
    stale = [name for name in _OF_ONE_JOB if name in annotations and name not in written]
    return operations + [{"op": "remove", "path": f"{base}{pointer(name)}"} for name in stale]


def has_room(job: Mapping[str, Any], written: Mapping[str, str]) -> bool:
    """Say whether these annotations fit on the template beside its own."""
    annotations = annotations_of(template_of(job))
    taken = sum(_bytes_of(name, value) for name, value in {**annotations, **written}.items())
    return taken <= labels.MAX_ALL_ANNOTATIONS_BYTES


def _bytes_of(name: str, value: object) -> int:
    return len(name.encode()) + len(str(value).encode())


def _has_deadline(job: Mapping[str, Any]) -> bool:
    """Say whether the Job is ended for good after some time, whatever its pods do."""
    spec = mapping(job.get("spec"))
    return spec.get("activeDeadlineSeconds") is not None or DEADLINE in labels_of(job)


def _generated_name(job: Mapping[str, Any]) -> dict[str, str]:
    """Return what its pods do not show: that the Job's name is generated, and its prefix."""
    prefix = mapping(job.get("metadata")).get("generateName")
    if not isinstance(prefix, str) or not 0 < len(prefix) <= labels.MAX_NAME_CHARS:
        return {}
    return {labels.JOB_NAME: prefix}


def _runs(spec: Mapping[str, Any]) -> int:
    """Return how many pods have to succeed; without completions, its only worker."""
    return max(1, count_of(spec.get("completions")) or 1)


def _are_of_a_queue(spec: Mapping[str, Any]) -> bool:
    """Say whether the Job's pods are workers that share a queue.

    Once one of them has succeeded, the Job makes no more pods: a killed one's work would be lost.
    ``parallelism: 0`` holds workers back, and any number of them may be started later.
    """
    return spec.get("completions") is None and count_of(spec.get("parallelism")) not in (None, 1)


def _may_count_a_deleted_pod_as_done(spec: Mapping[str, Any]) -> bool:
    """Say whether the Job may count a success where Plimsoll deletes a killed pod.

    The container of such a pod runs again by then. If its program answers SIGTERM with 0, the pod's
    phase is Succeeded, and this policy has the Job wait for the phase. By the default the Job
    counts the deletion as a failure, within about a second.
    """
    return _restart_in_place(spec) and spec.get("podReplacementPolicy") == "Failed"


def _restart_in_place(spec: Mapping[str, Any]) -> bool:
    """Say whether the kubelet restarts a failed container within its pod."""
    return restart_policy(mapping(spec.get("template"))) is RestartPolicy.ON_FAILURE


def _ends_by_policy(spec: Mapping[str, Any]) -> bool:
    """Say whether a podFailurePolicy ends the Job or the index for an end that a size can cause.

    A program with too little memory may end with any code, and its node may evict it for a request
    that is too low (KEP-3329).
    """
    rules = map(mapping, sequence(mapping(spec.get("podFailurePolicy")).get("rules")))
    return any(
        rule.get("action") in _FINAL and (rule.get("onExitCodes") or _is_for_evictions(rule))
        for rule in rules
    )


def _is_for_evictions(rule: Mapping[str, Any]) -> bool:
    conditions = map(mapping, sequence(rule.get("onPodConditions")))
    return any(condition.get("type") == DISRUPTION_TARGET for condition in conditions)
