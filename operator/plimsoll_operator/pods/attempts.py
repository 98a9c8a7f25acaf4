"""Finds how many attempts somebody makes of a pod's run, and which of them the pod is.

Each maker of attempts writes the number in a place of its own: a Job's spec (see ``job_attempts``),
an engine's labels, the restart policy. If it is nowhere, the author can write it.
"""

from __future__ import annotations

from typing import Final

from plimsoll_operator.names import labels
from plimsoll_operator.pods.engines.trainings import has_other_jobs
from plimsoll_operator.pods.identity import Reach, Retrier, RunIdentity
from plimsoll_operator.pods.queue_managers import DEADLINE
from plimsoll_operator.pods.spec import (
    Pod,
    RestartPolicy,
    annotations_of,
    labels_of,
    restart_policy,
    spec_of,
    text_of,
    whole_number,
)
from plimsoll_predictor.core.policy import Policy, Retry
from plimsoll_predictor.deciding.safeguards import SPARED, Attempts

MOST_ATTEMPTS: Final = 1000
"""A larger number is as good as this one."""
MOST_WRITTEN: Final = 10**9 - 1
MOST_SHOWN: Final = 32
"""Characters of a text that nobody can read."""
RESTARTS: Final = 2
"""How many more attempts are never risked if attempts are restarted in place.

The kubelet restarts the container at the size that was too small, at once, after 10 s and after 20
s more, until the controller has replaced its pod; a Job counts each restart. A controller that is
being replaced itself may need that long.
"""


def attempts_of(pod: Pod, identity: RunIdentity, policy: Policy, lifted: int = 1) -> Attempts:
    """Return the attempts of the pod's run; ``most`` is None if it is unknown.

    policy: of the task; the pod's own settings override it.
    lifted: the attempt by Plimsoll's own count: the run's lift, or the decision on a watched pod.
    """
    most, by, by_people = _most(pod, identity, policy)
    number = max(lifted, identity.attempt)
    return Attempts(most, number, by, policy.max_lifts, _spared(pod, identity), by_people)


def _spared(pod: Pod, identity: RunIdentity) -> int:
    if identity.retrier is Retrier.PLIMSOLL:
        return 0  # Plimsoll retries what was killed and nothing else
    if _may_end_others(pod):
        return MOST_ATTEMPTS
    return spared_by(pod)


def spared_by(pod: Pod) -> int:
    """Return how many attempts are never risked, by how the pod's containers are restarted."""
    return SPARED if restart_policy(pod) is RestartPolicy.NEVER else SPARED + RESTARTS


def _may_end_others(pod: Pod) -> bool:
    """Say whether other Jobs of the pod's JobSet may fail with it, and end the JobSet for good.

    A driver whose worker is gone fails, too, and its Job may have no second attempt. Only people
    can say how often the whole JobSet bears that.
    """
    return has_other_jobs(labels_of(pod)) and not _is_written(pod)


def _is_written(pod: Pod) -> bool:
    return written_attempts(text_of(pod, labels.ATTEMPTS)) is not None


def _most(pod: Pod, identity: RunIdentity, policy: Policy) -> tuple[int | None, str, bool]:
    """Return how many there are in all, who says so, and whether only people say so."""
    one = _only_one(pod, identity, policy)
    if one is not None:
        return 1, one, False
    written = written_attempts(text_of(pod, labels.ATTEMPTS))
    counted, by = _counted(pod, identity, policy)
    if written is not None and (counted is None or written < counted or _go_on(identity)):
        by_people = identity.retrier is not Retrier.PLIMSOLL
        return written, f"{labels.ATTEMPTS} says {written}", by_people
    if counted is not None:
        return counted, by, False
    if policy.attempts is not None and _is_told_by_policy(identity):
        return policy.attempts, f"the policy says {policy.attempts}", True
    if policy.attempts is not None and identity.shares_work:
        only = f"its work goes to pods of one size, so only {labels.ATTEMPTS} on the pod counts"
        return None, only, False
    if unread_attempts(pod) is not None:
        return None, f"what {labels.ATTEMPTS} on the pod says cannot be read", False
    return None, f"{labels.ATTEMPTS} on the pod can", False


def unread_attempts(pod: Pod) -> str | None:
    """Say that the number of attempts that people wrote on the pod is none; None if it is one."""
    text = text_of(pod, labels.ATTEMPTS)
    if text is None or written_attempts(text) is not None:
        return None
    return f"{labels.ATTEMPTS}: {text[:MOST_SHOWN]!r} is no whole number from 1 to {MOST_WRITTEN:,}"


def _counted(pod: Pod, identity: RunIdentity, policy: Policy) -> tuple[int | None, str]:
    """Return how many are made of the run, and by which maker; None if no maker says it."""
    if identity.retrier is Retrier.PLIMSOLL:
        return policy.max_lifts + 1, "Plimsoll makes them"
    by_job = written_attempts(annotations_of(pod).get(labels.JOB_ATTEMPTS))
    if identity.retrier is Retrier.JOB and by_job is not None:
        others = ", other Jobs of its JobSet may fail with it" if _may_end_others(pod) else ""
        return by_job, f"its Job makes {by_job}{others}"
    if identity.attempts is not None:
        return identity.attempts, f"its engine makes {identity.attempts}"
    return None, ""


def _is_told_by_policy(identity: RunIdentity) -> bool:
    """Say whether a policy's number holds for such pods.

    A policy speaks of runs that somebody submits again, and Jobs say it themselves. The work of a
    pod that shares it goes to pods of the same size, so that a few kills within seconds may end
    the whole run, however often somebody submits it.
    """
    return identity.retrier is not Retrier.JOB and not identity.shares_work


def _go_on(identity: RunIdentity) -> bool:
    """Say whether a run may go on in another Job than the pod's, so that its Job counts too few."""
    return identity.retrier is Retrier.JOB and identity.reach is Reach.RUN


def has_only_one(pod: Pod) -> bool:
    """Say whether people say on the pod that its run gets no second attempt."""
    return written_attempts(text_of(pod, labels.ATTEMPTS)) == 1


def has_deadline(pod: Pod) -> bool:
    """Say whether the pod or its Job is ended for good after some time, also by Kueue."""
    if spec_of(pod).get("activeDeadlineSeconds") is not None or DEADLINE in labels_of(pod):
        return True
    return labels.JOB_DEADLINE in annotations_of(pod)


def why_not_told_apart(identity: RunIdentity) -> str | None:
    """Say why a later attempt would seem to be the first one; None if it is known again.

    Each attempt would be lowered as a first one is, and the last of them would fail for good.
    """
    if identity.retrier is Retrier.PLIMSOLL or identity.reach is not Reach.POD:
        return None
    return f"its attempts cannot be told apart: write {labels.RUN} and {labels.ITEM}"


def _only_one(pod: Pod, identity: RunIdentity, policy: Policy) -> str | None:
    """Say why there is one attempt, whatever people say; None if there may be more."""
    if identity.retrier is Retrier.KUBELET:
        return "its container is restarted in place, at the same size"
    if has_deadline(pod):
        # A heap that follows the limit is slower before it is too small.
        return "a slower attempt may pass its deadline, and that ends the run"
    if identity.retrier is Retrier.PLIMSOLL and policy.retry is Retry.NEVER:
        return f"{labels.RETRY} is never"
    return None


def written_attempts(text: object) -> int | None:
    """Read a number of attempts that somebody wrote; None if it is no whole number above 0."""
    written = whole_number(text, MOST_WRITTEN)
    return None if written is None else min(written, MOST_ATTEMPTS)
