"""Says which pods live on after their task was killed, because another container goes on. Pure.

A proxy or a log shipper beside a task often runs until the task, as its last act, tells it to end.
A killed task tells nothing. Its pod then never ends, and what makes the next one waits for it.
A sidecar of Kubernetes' own (an init container that is always restarted) does not do that.
"""

from __future__ import annotations

from plimsoll_operator.attempts.watched_pod import WatchedPod
from plimsoll_operator.pods.spec import Pod, RestartPolicy, mapping, restart_policy, sequence


def is_held_up(pod: Pod, watched: WatchedPod) -> bool:
    """Say whether a lowered attempt has ended, and its pod lives on through another container.

    With its author's size, the attempt might have succeeded and let the other container end.
    """
    if not watched.is_lowered or restart_policy(pod) is not RestartPolicy.NEVER:
        return False
    others = [
        mapping(status)
        for status in sequence(mapping(pod.get("status")).get("containerStatuses"))
        if mapping(status).get("name") != watched.attempt.container
    ]
    return any("terminated" not in mapping(status.get("state")) for status in others)
