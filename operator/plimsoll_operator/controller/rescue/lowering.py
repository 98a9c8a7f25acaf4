"""Lowers a raised pod that has stopped growing to what it needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import structlog

from plimsoll_operator.controller.rescue.limit_raiser import LimitRaiser
from plimsoll_operator.controller.rescue.rescuable_pods import Rescuable, RescuablePods
from plimsoll_operator.controller.rescue.task_needs import TaskNeeds
from plimsoll_operator.kube.errors import ApiError, Refused, Unknown
from plimsoll_operator.pods.spec import Pod
from plimsoll_operator.rescue.raising import with_limit
from plimsoll_predictor.rescue.deciding import kept_bytes

log = structlog.get_logger()

FLAT_S: Final = 6.0
"""How long a raised pod must not grow before it gives back what it does not need."""
FLAT_PAST_S: Final = 60.0
"""How long it must not grow before it gives back what runs of its task needed."""
AGAIN_S: Final = 30.0
"""What could not be given back is not tried again for this long."""


@dataclass(frozen=True, slots=True)
class Lowering:
    """Asked once a second about each pod that was raised. now_s: a clock that never jumps."""

    pods: RescuablePods
    raiser: LimitRaiser
    needs: TaskNeeds
    now_s: Callable[[], float]

    def due(self, pod: Rescuable) -> int | None:
        """Return the limit that a pod keeps if it gives back now; None if it does not."""
        now_s = self.now_s()
        curve = self.pods.follow(pod, now_s)
        if curve is None or pod.keeps or now_s < pod.back_due_s:
            return None
        # An agent that says nothing does not say that nothing grows.
        heard_s = min(now_s, self.pods.heard.heard_s(pod.node))
        if not curve.is_flat(heard_s, FLAT_S) or self.pods.why_not(pod) is not None:
            return None
        needs = () if curve.is_flat(heard_s, FLAT_PAST_S) else self.needs.latest(pod.watched.task)
        if needs is None:
            return None  # another controller raised it, maybe for what runs of its task needed
        return kept_bytes(
            curve.used_bytes,
            pod.limit_bytes,
            pod.first.limit_bytes or 0,
            pod.made.step_bytes if pod.made is not None else 0,
            needs,
        )

    async def carry_out(self, pod: Rescuable, limit_bytes: int) -> Pod | None:
        """Lower a pod, and return it as it is then; None if it keeps what it has."""
        before = pod.container
        memory = with_limit(before, limit_bytes)
        pod.container = replace(before, request_bytes=memory.request_bytes, limit_bytes=limit_bytes)
        try:
            return await self.raiser.lower(pod, before, memory)
        except ApiError as error:
            log.info("nothing given back", pod=pod.uid, error=str(error))
            now = self.pods.get(pod.uid)
            if now is not None:
                now.back_due_s = self.now_s() + AGAIN_S
                if now.limit_bytes == limit_bytes:  # nobody has raised it meanwhile
                    now.container = before
                # A server of version 1.33 lets no limit fall without a restart.
                now.keeps = isinstance(error, Refused) and not isinstance(error, Unknown)
            return None
