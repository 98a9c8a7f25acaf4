"""Says whether an attempt follows a run's, by what is read from its pod. Pure."""

from __future__ import annotations

from plimsoll_operator.attempts.watched_pod import WatchedPod
from plimsoll_operator.pods.engines.row import Executions
from plimsoll_operator.pods.identity import Retrier
from plimsoll_operator.pods.spec import Pod, RestartPolicy, restart_policy
from plimsoll_operator.pods.status import AttemptStatus
from plimsoll_predictor.core.policy import Retry


def is_last(watched: WatchedPod, refused: int = 0) -> bool:
    """Say whether nobody makes the next attempt; ``next_allocation`` refuses too many lifts.

    refused: how many attempts before it used up no lift.

    Plimsoll makes one for a bare pod that it lowered, whatever number people wrote meanwhile: an
    older version lowered pods whose author wrote that there is one attempt.
    """
    attempts = watched.attempts
    by_plimsoll = watched.retrier is Retrier.PLIMSOLL and watched.retry is Retry.AUTO
    # ``next_allocation`` counts the lifts, and Plimsoll's own number of attempts stands for them.
    counts_lifts = attempts.most == watched.policy.max_lifts + 1
    if by_plimsoll and (watched.has_less or counts_lifts):
        return False
    return attempts.left == 0 and attempts.number - refused <= watched.policy.max_lifts


def is_given_up(watched: WatchedPod) -> bool:
    """Say whether a run is not even given back what was written: nobody makes the next attempt.

    Plimsoll makes one for a bare pod, also if people have lowered ``maxLifts`` meanwhile.
    """
    if watched.retrier is Retrier.PLIMSOLL:
        return is_last(watched)
    return watched.attempts.left == 0


def counts_siblings(watched: WatchedPod) -> bool:
    """Say whether attempts before this one may be those of siblings, which have its key, too."""
    return watched.executions is Executions.AT_ONCE and watched.attempts.number > 1


def did_its_work(pod: Pod, watched: WatchedPod, status: AttemptStatus) -> bool:
    """Say whether nobody repeats what a killed attempt did, as far as is known now.

    The kubelet shows the end of the container about a second before that of the pod.
    """
    phase, terminated = status.phase, status.terminated
    if phase == "Succeeded" or terminated is None or terminated.exit_code != 0:
        return phase == "Succeeded"
    if restart_policy(pod) is RestartPolicy.ALWAYS:
        return False
    return phase != "Failed" or watched.retrier is Retrier.PLIMSOLL
