"""Says which pods live on after their task was killed, because another container goes on. Pure.

A proxy or a log shipper beside a task often runs until the task tells it to end, with its last act.
A killed task tells nobody. Then its pod is never over, and whoever makes the next one waits for it.
A sidecar of Kubernetes' own (an init container that is always restarted) does not do that.
"""

from __future__ import annotations

from plimsoll_operator.attempts.watched_pod import WatchedPod
from plimsoll_operator.pods.spec import Pod, RestartPolicy, mapping, restart_policy, sequence


def is_held_up(pod: Pod, watched: WatchedPod) -> bool:
    """Say whether a lowered attempt has ended, and its pod lives on by another container.

    As its author wrote it, the attempt may have succeeded and let the other one end.
    """
    if not watched.is_lowered or restart_policy(pod) is not RestartPolicy.NEVER:
        return False
    others = [
        mapping(status)
        for status in sequence(mapping(pod.get("status")).get("containerStatuses"))
        if mapping(status).get("name") != watched.attempt.container
    ]
    return any("terminated" not in mapping(status.get("state")) for status in others)
