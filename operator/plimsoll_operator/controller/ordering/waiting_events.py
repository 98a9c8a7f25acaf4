"""Tells people what happens to a pod, or to a Job, that waits for its turn."""

from __future__ import annotations

from plimsoll_operator.controller.announcing.announcer import Announcer
from plimsoll_operator.controller.ordering.held_pods import is_job
from plimsoll_operator.ordering.suspended_jobs import KIND
from plimsoll_operator.pods.identity import identify
from plimsoll_operator.pods.spec import Pod
from plimsoll_operator.wording import event_words


def announce(announcer: Announcer, happening: event_words.Happening, pod: Pod) -> None:
    """Announce it on the pod; on the Job for which a pod stands in."""
    if not is_job(pod):
        announcer.announce(happening, pod)
        return
    identity = identify(pod)
    regarding = event_words.Regarding.of(pod, KIND, "batch/v1")
    announcer.tell(happening, regarding, None if identity is None else identity.task)
