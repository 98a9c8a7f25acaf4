"""Many pods that run out of memory at about the same time, and counts of what follows."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from plimsoll_operator.names import labels
from plimsoll_predictor.core.record import Outcome
from plimsoll_predictor.store import Store
from tests.apiserver.controllers import Shop, until
from tests.e2e.workloads import a_pod
from tests.rigs.images.eater import goes_on

ALL_DONE_WITHIN_S = 240.0
"""A kubelet that cannot mount or start something at once tries again after up to two minutes."""
EATS_MIB = 90
"""More than the 64Mi that a pod asks for, less than it gets in its second attempt."""


@dataclass(slots=True)
class Burst:
    """Labelled bare pods of one task, each to be killed once and to succeed when retried."""

    shop: Shop
    task: str
    uids: dict[str, str] = field(default_factory=dict)

    async def begin(self, count: int, over_s: int) -> None:
        """Create them; they are killed one after another over that many seconds."""

        async def create(number: int) -> None:
            name = f"{self.task}-{number:02}"
            after_s = 1 + number * over_s // count
            manifest = a_pod(name, f"eat {EATS_MIB} 0 {after_s}", task=self.task)
            made = await self.shop.core.create_namespaced_pod(self.shop.namespace, manifest)
            self.uids[name] = str(made.metadata.uid)

        await asyncio.gather(*(create(number) for number in range(count)))

    async def killed(self) -> int:
        """How many of them are over."""
        pods = await self.shop.pods()
        return sum(pods[name].status.phase == "Failed" for name in self.uids)

    async def retries(self) -> dict[str, list[Any]]:
        """The pods made after each, by UID of the killed pod."""
        found: dict[str, list[Any]] = {uid: [] for uid in self.uids.values()}
        for pod in (await self.shop.pods()).values():
            of = (pod.metadata.annotations or {}).get(labels.RETRY_OF)
            if of in found:
                found[of].append(pod)
        return found

    async def all_succeeded(self) -> bool:
        """Whether each has a retry that is over. Retries do not pause as the first pods do."""
        retries = await self.retries()
        for pod in itertools.chain.from_iterable(retries.values()):
            if pod.status.phase == "Running":
                goes_on(pod.metadata.uid)
        return all(
            any(pod.status.phase == "Succeeded" for pod in pods) for pods in retries.values()
        )

    def outcomes(self, store: Store) -> Counter[Outcome]:
        """The task's observations; a doubled pod UID fails the test."""
        seen = store.observations.of_task(self.shop.task(self.task))
        assert len({each.attempt_uid for each in seen}) == len(seen)
        return Counter(each.outcome for each in seen)

    async def some_are_over(self) -> bool:
        """Whether the burst is in its middle."""
        return await self.killed() >= 3

    async def nothing_lost_nothing_doubled(self, store: Store, settled_s: float) -> None:
        """Each was killed and observed once, retried once, and its retry observed once.

        settled_s: how long to wait for a process that might do it once more.
        """
        count = len(self.uids)
        try:
            await until("all retried", self.all_succeeded, ALL_DONE_WITHIN_S)
        except AssertionError as error:
            error.add_note(await self._as_it_stands())
            raise
        expected = {Outcome.OOM_KILLED: count, Outcome.SUCCEEDED: count}

        def settled() -> bool:
            return self.outcomes(store) == expected and store.retries.waiting() == []

        await until("all observed, and no retry waits", settled)
        await asyncio.sleep(settled_s)
        assert self.outcomes(store) == expected
        assert [len(pods) for pods in (await self.retries()).values()] == [1] * count
        assert store.retries.waiting() == []

    async def _as_it_stands(self) -> str:
        """Its pods and the log's words about them, a line each."""
        lines = []
        for name, pod in (await self.shop.pods()).items():
            states = [each.state for each in pod.status.container_statuses or ()]
            why = [each.waiting or each.terminated for each in states]
            reasons = [each.reason if each else "runs" for each in why]
            lines.append(f"{name}: {pod.status.phase} {reasons}")
        found = await self.shop.core.list_namespaced_event(self.shop.namespace)
        for event in found.items:
            if event.type == "Warning":
                lines.append(f"{event.involved_object.name}: {event.reason}: {event.message}")
        return "\n".join(lines)
