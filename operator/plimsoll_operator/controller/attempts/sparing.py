"""Marks running pods whose limit is lowered, in Jobs that do not count the failure of a marked pod.

The mark has to be there before the pod ends: its Job's controller looks at it within milliseconds
of the end, and once. So it is written when the pod is first seen, which is before its image is
pulled. A pod that ends sooner counts as any other.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

import structlog

from plimsoll_operator.attempts.sparing import has_failed, is_marked, is_to_be_marked, mark
from plimsoll_operator.attempts.watched_pod import read_pod
from plimsoll_operator.kube.errors import ApiError, Changed, NotFound
from plimsoll_operator.kube.running_pods import PodWriter
from plimsoll_operator.names import labels
from plimsoll_operator.names.conditions import timestamp
from plimsoll_operator.pods.spec import Pod, annotations_of, metadata_of
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.knowledge.knowledge import Knowledge

log = structlog.get_logger()

MOST_RUNS: Final = 10_000
MOST_PODS: Final = 16
"""The most failed pods counted of one run; its pods are no longer marked long before that."""


class Sparing:
    """Belongs to one event loop. After a restart it counts again from the pods that exist."""

    def __init__(self, pods: PodWriter, look: Callable[[TaskId], Knowledge]) -> None:
        """look: reads what is known of a task, and does not add an unknown one."""
        self._pods = pods
        self._look = look
        self._failed: OrderedDict[tuple[TaskId, str], set[str]] = OrderedDict()

    async def see(self, pod: Pod) -> None:
        """Mark a pod if its Job goes by marks and its limit is lowered; ApiErrors are logged."""
        if labels.UNCOUNTED not in annotations_of(pod):
            return
        watched = read_pod(pod, self._look)
        if watched is None:
            return
        run = watched.task, watched.attempt.run
        if has_failed(pod):
            if is_marked(pod):
                self._count(run, str(metadata_of(pod).get("uid")))
            return
        if not is_to_be_marked(pod, watched, len(self._failed.get(run, ()))):
            return
        try:
            await self._pods.set_condition(pod, mark(timestamp(time.time())))
        except (NotFound, Changed):
            return
        except ApiError as error:
            log.warning("pod not marked", pod=metadata_of(pod).get("name"), error=str(error))

    def _count(self, run: tuple[TaskId, str], uid: str) -> None:
        failed = self._failed.setdefault(run, set())
        self._failed.move_to_end(run)
        if len(failed) < MOST_PODS:
            failed.add(uid)
        if len(self._failed) > MOST_RUNS:
            self._failed.popitem(last=False)
