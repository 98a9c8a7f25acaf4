"""From a kill to the next pod: an engine that makes it at once, and Plimsoll's own for bare pods.

A pod of one container has failed as soon as its kill is known. An engine that watches its pods
without a delay sees this at the same moment as Plimsoll.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.names import labels
from tests.apiserver.controllers import Shop, until
from tests.e2e.opted_in import without_label
from tests.e2e.plimsolls import Plimsoll
from tests.e2e.seeing import create, decision_of
from tests.e2e.witnesses import Witness
from tests.e2e.workloads import Manifest, a_pod, an_airflow_try
from tests.rigs.node.container_ends import ContainerEnds
from tests.rigs.processes.log_records import log_records

pytestmark = [pytest.mark.node, pytest.mark.asyncio(loop_scope="session")]

RUNS, AT_ONCE = (int(n) for n in os.environ.get("PLIMSOLL_NEXT_PODS", "50 4").split())
WITHIN_S = 600.0
MEMORY, COMMAND = "64Mi", "eat 90 1"


@dataclass(frozen=True, slots=True)
class Followed:
    """A killed pod and the next of its run.

    killed_s: from the end of the container until the pod's status says so; known_s: until it says
        that the pod has ended; took_s: to the next pod. ended_s: when the container ended, Unix
        seconds.
    """

    killed: Any
    after: Any
    killed_s: float
    known_s: float
    took_s: float
    ended_s: float

    @property
    def lifted(self) -> bool:
        return decision_of(self.after).get("reason") == "lifted"


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs that are killed, a few at once."""

    shop: Shop
    witness: Witness
    ends: ContainerEnds

    async def followed(
        self, first: Callable[[str], Manifest], after: Callable[[str, str], Awaitable[Any]]
    ) -> list[Followed]:
        """Run all. after: gets a run's next pod when the first one, by UID, has failed."""
        turns = asyncio.Semaphore(AT_ONCE)

        async def one(run: str) -> Followed:
            async with turns:
                uid = (await create(self.shop, first(run))).metadata.uid
                killed = await self.witness.ended(uid)
                made = await after(run, uid)
                seen = await until(f"a look at {run}", lambda: self._seen(made.metadata.uid, uid))
                return Followed(killed, made, *seen)

        async with asyncio.timeout(WITHIN_S):
            return await asyncio.gather(*(one(f"run{number}") for number in range(RUNS)))

    def _seen(self, made: str, killed: str) -> tuple[float, float, float, float] | None:
        ended_s = self.ends.ended_s.get(self.witness.killed[killed])
        made_s = self.witness.made_s.get(made)
        if ended_s is None or made_s is None:
            return None
        witness = self.witness
        killed_s, known_s = witness.killed_s[killed] - ended_s, witness.ended_s[killed] - ended_s
        return killed_s, known_s, made_s - ended_s, ended_s

    def retry_of(self, uid: str) -> Any:
        """The pod that Plimsoll made after this one; None while there is none."""
        for pod in self.witness.pods.values():
            if (pod.metadata.annotations or {}).get(labels.RETRY_OF) == uid:
                return pod
        return None


@pytest.fixture
def runs(shop: Shop, witness: Witness, ends: ContainerEnds) -> Runs:
    return Runs(shop, witness, ends)


def tell(title: str, found: list[Followed], **more: list[float]) -> None:
    """more: seconds of further parts."""
    lifted = sum(each.lifted for each in found)
    load = " ".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"{title}: {lifted} of {len(found)} next pods lifted, {AT_ONCE} at once, load {load}")
    parts = {
        "kill to its sight in the pod's status": [each.killed_s for each in found],
        "kill to the pod's end": [each.known_s for each in found],
        "the pod's end to the next pod": [each.took_s - each.known_s for each in found],
        "kill to the next pod": [each.took_s for each in found],
    }
    for words, seconds in (parts | more).items():
        ranked = sorted(seconds)
        p50, p95 = ranked[len(ranked) // 2], ranked[int(len(ranked) * 0.95)]
        print(f"  {words}: p50 {p50:.2f} s, p95 {p95:.2f} s, most {ranked[-1]:.2f} s")


async def test_the_next_pod_of_an_engine_that_makes_it_at_once_has_the_lifted_size(
    runs: Runs,
) -> None:
    def first(run: str) -> Manifest:
        return without_label(an_airflow_try(1, COMMAND, task=run))

    async def after(run: str, _: str) -> Any:
        return await create(runs.shop, without_label(an_airflow_try(2, COMMAND, task=run)))

    found = await runs.followed(first, after)
    tell("an engine at once", found)
    assert [each.killed.metadata.name for each in found if not each.lifted] == []


async def controllers_parts(log: Path, found: list[Followed]) -> dict[str, list[float]]:
    """The controller's report of its own part, from the kill on."""
    ended_s = {each.killed.metadata.name: each.ended_s for each in found}

    def told() -> dict[str, list[float]] | None:
        observed, closed = dict[str, float](), dict[str, float]()
        for each in log_records(log.read_text()):
            at_s = datetime.fromisoformat(each["timestamp"]).timestamp()
            if each.get("event") == "attempt ended":
                observed.setdefault(each["task"].partition("/")[2], at_s)
            elif each.get("event") == "retry":
                closed.setdefault(each["follows"], at_s)
        if not ended_s.keys() <= closed.keys():
            return None  # the last one is closed a moment after its pod was seen
        return {
            "kill to the observation stored": [observed[n] - s for n, s in ended_s.items()],
            "kill to the retry closed": [closed[n] - s for n, s in ended_s.items()],
        }

    parts: dict[str, list[float]] = await until("the controller has told of all", told)
    return parts


async def test_plimsoll_makes_the_next_pod_of_a_bare_run(runs: Runs, plimsoll: Plimsoll) -> None:
    def first(run: str) -> Manifest:
        return a_pod(f"bare-{run}", COMMAND, task=f"bare-{run}", memory=MEMORY)

    async def after(run: str, uid: str) -> Any:
        return await until(f"the next pod of {run}", lambda: runs.retry_of(uid), WITHIN_S)

    found = await runs.followed(first, after)
    tell("a bare run", found, **await controllers_parts(plimsoll.state / "controller.log", found))
    assert [each.killed.metadata.name for each in found if not each.lifted] == []
