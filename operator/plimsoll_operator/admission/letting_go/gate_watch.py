"""Sees whether anybody leads, and lets all waiting pods go when nobody does.

Every replica does it for itself. A replica makes a gate only if it has just seen that it could
remove it: so no gate depends on the controller alone. Suspended Jobs are watched in the same way,
by a watch of their own: if it lacks a right for one kind, it still lets the other go.
"""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import structlog

from plimsoll_operator.admission.letting_go.api_calls import ApiCalls
from plimsoll_operator.admission.letting_go.kinds import PODS, Kind
from plimsoll_operator.kube.errors import (
    ApiError,
    NotFound,
    Refused,
    Unprocessable,
    Unreachable,
)
from plimsoll_operator.ordering.leader_sight import LeaderSight, look
from plimsoll_operator.ordering.longest_wait import is_overdue
from plimsoll_operator.ordering.namespace_work import NamespaceWork
from plimsoll_operator.ordering.why import Why
from plimsoll_operator.pods.spec import Pod, metadata_of

log = structlog.get_logger()

LOOK_EVERY_S: Final = 5.0
LIST_EVERY_S: Final = 20.0
"""Time between two lists of pods while somebody leads, to find those held for too long."""
LIST_SHARE: Final = 0.02
"""The share of the time that lists may take: long backlogs burden the API server, too."""
LIST_AT_LEAST_EVERY_S: Final = 300.0
PERMITTED_FOR_S: Final = 300.0
"""How long the API server's permission to remove gates counts as valid."""
BELIEVED_S: Final = 25.0
"""If the latest list is overdue by more than this, it no longer shows that gates could be
removed."""
PAGE_WITHIN_S: Final = 3.0
"""The next page of the list waits for the patches of one for this long. They go on meanwhile: a
namespace whose webhook hangs keeps no other one waiting."""
AT_ONCE: Final = 20
"""Namespaces in which pods are let go at the same time."""
OF_NAMESPACE: Final = 10
"""Patches in flight in one namespace."""
MOST_TRIED: Final = 10
"""So many namespaces at most are tried after one list, those first that were not for longest."""


@dataclass(slots=True)
class GateWatch:
    """Looks every LOOK_EVERY_S for one kind of objects, called pods here.

    lease: its namespace and name. now_s: seconds on a clock that cannot jump. count: called for
    each pod that is let go.
    """

    calls: ApiCalls
    lease: tuple[str, str]
    now_s: Callable[[], float]
    count: Callable[[Why], None]
    kind: Kind = PODS
    chance: random.Random = field(default_factory=random.Random)
    _sight: LeaderSight | None = field(default=None, init=False)
    _listed_s: float | None = field(default=None, init=False)
    _every_s: float = field(default=LIST_EVERY_S, init=False)
    """How often pods are listed, from how long the last list took."""
    _permitted_s: float | None = field(default=None, init=False)
    _refused: set[str] = field(default_factory=set, init=False)
    """Namespaces in which pods wait, and the latest gate could not be removed, or would not be."""
    _tried_s: dict[str, float] = field(default_factory=dict, init=False)
    """When each namespace in which pods wait was tried last."""
    _late: set[str] = field(default_factory=set, init=False)
    """UIDs of pods whose latest patch did not fit: it came after another change, or a rule refuses
    it. If a patch does not fit what the next list shows either, it is a rule."""
    _work: NamespaceWork = field(default_factory=partial(NamespaceWork, AT_ONCE), init=False)
    _trouble: str | None = field(default=None, init=False)
    _server_s: float | None = field(default=None, init=False)
    """The API server's clock at its latest answer."""

    def watched(self, namespace: str | None) -> bool:
        """Say whether a gate that is made there now would be removed by this replica at least.

        It sees that somebody leads, could list pods lately, and may patch them: by its role and, if
        a pod of the namespace is held, by all other checks of the API server.
        """
        now_s = self.now_s()
        if self._sight is None or not self._sight.leads(now_s):
            return False
        if self._permitted_s is None or self._listed_s is None or namespace in self._refused:
            return False
        return now_s - self._listed_s <= self._every_s + BELIEVED_S

    async def run(self) -> None:
        """Look until cancelled. The API server may be away: then nothing can start anyway."""
        try:
            while True:
                try:
                    await self.look()
                except ApiError as error:
                    self._note(str(error))
                else:
                    self._note(None)
                # Replicas look at different moments, so one of them soon sees that nobody leads.
                await asyncio.sleep(LOOK_EVERY_S * self.chance.uniform(0.8, 1.0))
        finally:
            self._work.stop()

    async def look(self) -> None:
        """Look once, and let go the pods that have to be. Raises ApiError."""
        now_s = self.now_s()
        trouble: ApiError | None = None
        try:
            await self._look_at_lease()
            await self._ask_for_permission(now_s)
        except ApiError as error:
            trouble = error  # pods held for too long are let go all the same
        away = self._sight is not None and self._sight.is_away(now_s)
        if away or self._listed_s is None or now_s - self._listed_s >= self._every_s:
            await self._list(away=away)
        if trouble is not None:
            raise trouble

    async def _look_at_lease(self) -> None:
        lease = None
        try:
            answered = await self.calls.lease(*self.lease)
        except NotFound:
            pass
        else:
            lease, self._server_s = answered.document, answered.at_s
        # After the answer: a look that took long is no older than that.
        self._sight = look(self._sight, lease, self.now_s(), self._server_s)

    async def _ask_for_permission(self, now_s: float) -> None:
        if self._permitted_s is not None and now_s - self._permitted_s < PERMITTED_FOR_S:
            return
        permitted = await self.calls.may_patch(self.kind)
        self._permitted_s = now_s if permitted else None
        if not permitted:
            raise Refused(f"its role lacks the verb patch on {self.kind.resource}")

    async def _list(self, *, away: bool) -> None:
        """Let all held pods go, or only those held for too long."""
        listed_s, waiting, opened = self.now_s(), dict[str, Pod](), set[str]()
        uids, patches_s = set[str](), 0.0
        async for pods, server_s in self.calls.that_may_wait(self.kind):
            held = [pod for pod in pods if self.kind.waits(pod)]
            chosen = [
                (pod, Why.AWAY if away else Why.WAITED)
                for pod in held
                if away or (server_s is not None and is_overdue(pod, server_s))
            ]
            waiting = {**{_namespace(pod): pod for pod in held}, **waiting}
            opened.update(_namespace(pod) for pod, _ in chosen)
            uids.update(_uid(pod) for pod in held)
            # Each replica takes another order, so that most pods are patched by one replica only.
            self.chance.shuffle(chosen)
            began_s = self.now_s()
            await self._let_go(chosen)
            patches_s += self.now_s() - began_s
        self._listed_s = listed_s
        wanted_s = (self.now_s() - listed_s - patches_s) / LIST_SHARE
        self._every_s = min(max(LIST_EVERY_S, wanted_s), LIST_AT_LEAST_EVERY_S)
        # Where none waits any more, the refused patch was late, or the pod is gone.
        self._refused.intersection_update(waiting)
        self._late &= uids
        self._tried_s = {each: at_s for each, at_s in self._tried_s.items() if each in waiting}
        await self._try_some([pod for each, pod in waiting.items() if each not in opened])

    async def _let_go(self, chosen: Iterable[tuple[Pod, Why]]) -> None:
        """Let pods go in all namespaces but those where patches of an earlier page still go on."""
        by_namespace = defaultdict[str, list[tuple[Pod, Why]]](list)
        for pod, why in chosen:
            by_namespace[_namespace(pod)].append((pod, why))
        works = {
            namespace: partial(self._open_some, some)
            for namespace, some in by_namespace.items()
            if not self._work.is_busy(namespace)
        }
        await self._work.run(works, PAGE_WITHIN_S)

    async def _open_some(self, some: Sequence[tuple[Pod, Why]]) -> None:
        """Let pods of one namespace go, some at once; no more after one that got no answer."""
        for at in range(0, len(some), OF_NAMESPACE):
            part = some[at : at + OF_NAMESPACE]
            if not all(await asyncio.gather(*(self._open(pod, why) for pod, why in part))):
                return

    async def _try_some(self, pods: list[Pod]) -> None:
        """Ask whether gates could be removed, and leave them. pods: one of each namespace."""
        now_s = self.now_s()
        pods.sort(key=lambda pod: self._tried_s.get(_namespace(pod), float("-inf")))
        self._tried_s.update((_namespace(pod), now_s) for pod in pods[:MOST_TRIED])
        await asyncio.gather(*(self._try(pod) for pod in pods[:MOST_TRIED]))

    async def _try(self, pod: Pod) -> None:
        try:
            await self.calls.let_go(self.kind, pod, dry_run=True)
        except ApiError as error:
            self._has_failed(pod, error)
        else:
            self._refused.discard(_namespace(pod))

    def _has_failed(self, pod: Pod, error: ApiError) -> None:
        """Note that a gate stays; if the pod is gone or another one by now, that says nothing."""
        namespace = _namespace(pod)
        if isinstance(error, Unprocessable) and _uid(pod) not in self._late:
            # Another replica may have been first, or somebody changed the pod since the list.
            self._late.add(_uid(pod))
            return
        if not isinstance(error, (Refused, Unreachable)) or namespace in self._refused:
            return
        self._refused.add(namespace)
        of = self.kind.resource
        log.warning("gates-not-removable", of=of, namespace=namespace, error=str(error))

    async def _open(self, pod: Pod, why: Why) -> bool:
        """Let one pod go. Return whether the API server answered."""
        namespace = _namespace(pod)
        name = f"{namespace}/{metadata_of(pod).get('name')}"
        try:
            await self.calls.let_go(self.kind, pod)
        except ApiError as error:
            # Another replica was first, or the pod is looked at again soon.
            self._has_failed(pod, error)
            log.info("not-let-go", of=self.kind.resource, name=name, error=str(error))
            return not isinstance(error, Unreachable)
        self._refused.discard(namespace)
        self.count(why)
        log.info("let-go", of=self.kind.resource, name=name, why=why.value)
        return True

    def _note(self, trouble: str | None) -> None:
        if trouble is not None and trouble != self._trouble:
            log.warning("gates-unwatched", of=self.kind.resource, error=trouble)
        self._trouble = trouble


def _uid(pod: Pod) -> str:
    return str(metadata_of(pod).get("uid"))


def _namespace(pod: Pod) -> str:
    return str(metadata_of(pod).get("namespace"))
