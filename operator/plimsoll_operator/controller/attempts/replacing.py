"""Deletes a killed pod that would not end: in place, its container restarts with too little memory.

So does a pod whose task was killed while another of its containers goes on (``held_up.py``).

A container restarted in place keeps its old limit; see kubernetes/kubernetes#138760. A deletion
helps only where the next pod is sure to come and sure to be found as the same run: a Job makes one,
and so do the few controllers of ``owners.py`` that make a missing pod again under its name. All
other pods are left alone, and an Event says so: Plimsoll does not know what another controller does
about a missing pod, and many count it as their run's failure.

A pod that had what was written is left to restart in place, too, if that keeps work that a new pod
would do again (``kept_work.py``), if it has gone on for a while, or if it is not known that its Job
makes another: a queue's Job makes no more pods once one of them has succeeded.

A deletion that fails is tried again, because a pod that waits for its proxy changes no more: no
event would come. The pod is read before each try, as it may have ended or gone on meanwhile. After
a restart of the controller, all pods are seen again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import structlog

from plimsoll_operator.attempts.held_up import is_held_up
from plimsoll_operator.attempts.kept_work import kept_work
from plimsoll_operator.attempts.over import ended_s
from plimsoll_operator.attempts.watched_pod import WatchedPod
from plimsoll_operator.controller.announcing.announcer import Announcer
from plimsoll_operator.controller.attempts.calls_in_turn import CallsInTurn, spread
from plimsoll_operator.controller.attempts.retry_creation import GIVE_UP_AFTER_S
from plimsoll_operator.controller.hub.hub import AttemptEnded
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.kube.errors import ApiError, Changed, NotFound
from plimsoll_operator.pods.identity import Retrier
from plimsoll_operator.pods.spec import Pod, RestartPolicy, restart_policy
from plimsoll_operator.pods.status import AttemptStatus, read_status
from plimsoll_operator.wording import event_words
from plimsoll_operator.wording.event_words import Happening

log = structlog.get_logger()

NEXT_IS_LIFTED: Final = frozenset({Retrier.JOB, Retrier.REMAKER})
"""Retriers that make another pod with the same run's key, a Job as often as its shape says."""
AT_ONCE: Final = 30
"""They do not wait behind retries: a webhook that holds creations seldom holds deletions."""
FIRST_PAUSE_S: Final = 0.5
LONGEST_PAUSE_S: Final = 30.0
GOES_ON_AFTER_S: Final = 60.0
"""A container that was killed as written and has run again for longer is left to run."""


@dataclass(slots=True, kw_only=True)
class Replacements:
    """Deletes killed pods whose owners make the next ones, which admission lifts."""

    kube: Kube
    announcer: Announcer
    now_s: Callable[[], float]
    _under_way: dict[str, asyncio.Task[None]] = field(init=False, default_factory=dict)
    """Pod UID -> the tries to delete it."""
    _turns: CallsInTurn = field(init=False, default_factory=lambda: CallsInTurn(AT_ONCE))

    def replace(self, ended: AttemptEnded) -> None:
        """Begin to delete a killed pod that would not end, or say why it is left alone.

        Nobody waits for it: the pod's next events and late readings of others come meanwhile.
        """
        restarts = restart_policy(ended.pod) is not RestartPolicy.NEVER
        if ended.watched.retrier not in NEXT_IS_LIFTED:
            if restarts:
                self._say_stuck(ended)
            return
        if not restarts and not is_held_up(ended.pod, ended.watched):
            return
        if ended.status.uid not in self._under_way:
            self._begin(ended)

    async def close(self) -> None:
        """Stop. The next start sees the pods again."""
        for task in self._under_way.values():
            task.cancel()
        await asyncio.gather(*self._under_way.values(), return_exceptions=True)

    def _begin(self, ended: AttemptEnded) -> None:
        uid, name = ended.status.uid, ended.pod["metadata"]["name"]
        task = asyncio.create_task(self._carry_out(ended), name=f"replace {name}")
        self._under_way[uid] = task
        task.add_done_callback(lambda _: self._under_way.pop(uid, None))

    async def _carry_out(self, ended: AttemptEnded) -> None:
        # Who does not reach the API server for so long does not lead any more.
        pause_s, until_s = FIRST_PAUSE_S, self.now_s() + GIVE_UP_AFTER_S
        while self.now_s() < until_s:
            if await self._tried(ended):
                return
            await asyncio.sleep(spread(pause_s))
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
        log.error("replacement given up", pod=ended.pod["metadata"]["name"])

    async def _tried(self, ended: AttemptEnded) -> bool:
        """Try once. Return False to try again."""
        meta = ended.pod["metadata"]
        try:
            async with self._turns.of(meta["namespace"]):
                pod = await self.kube.read_pod(meta["namespace"], meta["name"])
                happening = self._due(pod, ended)
                if happening is not None:
                    await self.kube.delete_pod(meta["namespace"], meta["name"], meta["uid"])
                    self.announcer.announce(happening, ended.pod)
        except (NotFound, Changed):
            return True
        except ApiError as error:
            log.warning("pod not replaced", pod=meta["name"], error=str(error))
            return False
        except Exception:
            # The tries that follow must not end with it, as no event would begin them again.
            log.exception("pod not replaced", pod=meta["name"])
            return False
        return True

    def _due(self, pod: Pod, ended: AttemptEnded) -> Happening | None:
        """Return what is announced when the pod is deleted; None if it must not be deleted now."""
        watched = ended.watched
        now = read_status(pod, watched.attempt.container)
        if now.uid != ended.status.uid or now.has_final_phase or not may_follow(now):
            return None
        if restart_policy(pod) is RestartPolicy.NEVER:
            return event_words.freed() if is_held_up(pod, watched) else None
        if not watched.is_lowered:
            if self._goes_on(now):
                return None
            kept = _why_none_may_follow(watched) or kept_work(pod, watched.attempt.container)
            if kept is not None:
                self._say_stuck(ended, kept)
                return None
        return event_words.replaced()

    def _say_stuck(self, ended: AttemptEnded, kept: str | None = None) -> None:
        at_s = ended_s(ended.pod, ended.status)
        self.announcer.announce(event_words.at(event_words.stuck(kept), at_s), ended.pod)

    def _goes_on(self, now: AttemptStatus) -> bool:
        runs_since_s = now.started_s if now.terminated is None else None
        return runs_since_s is not None and self.now_s() - runs_since_s > GOES_ON_AFTER_S


def _why_none_may_follow(watched: WatchedPod) -> str | None:
    """Say why the next pod may never come, in words; None if it surely does."""
    if watched.retrier is Retrier.JOB and not watched.attempts.left:
        return "it is not known whether the Job makes another pod"
    return None


def may_follow(status: AttemptStatus) -> bool:
    """Say whether a killed pod may be deleted or copied.

    A pod that ended with 0 has done its work, though a child was killed. What follows a deleted pod
    is up to the one that deletes it.
    """
    exit_code = status.terminated.exit_code if status.terminated else None
    return exit_code != 0 and not status.being_deleted
