"""Deletes a killed pod that would not end: in place, its container restarts with too little memory.

So does a pod whose task was killed while another of its containers goes on (``held_up.py``).

A container restarted in place keeps its old limit; see kubernetes/kubernetes#138760. A deletion
helps only where the next pod is sure to come and sure to be found as the same run: a Job makes one,
and so do the few controllers of ``owners.py`` that make a missing pod again under its name. All
other pods are left alone, and an Event says so: Plimsoll does not know what another controller does
about a missing pod, and many count it as their run's failure.
"""

from __future__ import annotations

from typing import Final

import structlog

from plimsoll_operator.controller.announcing.announcer import Announcer
from plimsoll_operator.controller.hub.hub import AttemptEnded
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.kube.errors import ApiError, Changed, NotFound
from plimsoll_operator.pods.identity import Retrier
from plimsoll_operator.profile import events
from plimsoll_operator.profile.events import Happening

log = structlog.get_logger()

NEXT_IS_LIFTED: Final = frozenset({Retrier.JOB, Retrier.REMAKER})
"""Retriers that surely make another pod with the same run's key."""


async def replace_pod(
    kube: Kube, announcer: Announcer, ended: AttemptEnded, happening: Happening
) -> None:
    """Delete a pod whose owner makes the next one, which admission lifts; else say why not.

    happening: what is announced when the pod is deleted.
    """
    if ended.watched.retrier not in NEXT_IS_LIFTED:
        announcer.announce(events.stuck(), ended.pod)
        return
    meta = ended.pod["metadata"]
    try:
        await kube.delete_pod(meta["namespace"], meta["name"], meta["uid"])
        announcer.announce(happening, ended.pod)
    except (NotFound, Changed):
        return
    except ApiError as error:
        log.warning("pod not replaced", pod=meta["name"], error=str(error))
