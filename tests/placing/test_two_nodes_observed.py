"""Observations of tasks that share two real nodes in pairs, compared with their pods' times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import Enum
from statistics import median
from typing import Any

import pytest
import pytest_asyncio

from plimsoll_predictor.core.record import Observation
from plimsoll_predictor.placing.kinds import UNLABELLED
from tests.apiserver.controllers import Shop, until
from tests.e2e.plimsolls import CONTROLLER, Plimsoll
from tests.e2e.seeing import WITHIN_S, create, ended, go_on
from tests.placing.kinds import (
    COMPUTES,
    KINDS,
    LASTS,
    NODES,
    RUNS,
    WAITS,
    Ran,
    a_pod_of,
    beside,
    ran_of,
)

pytestmark = [pytest.mark.node, pytest.mark.asyncio(loop_scope="session")]

HALF = 0.5
ROUNDED = 0.001
"""Averages are kept to three digits."""
TOLD_WITHIN_S = 5.0
"""A kubelet reports a pod's start and end within this time: a run may have ended before."""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def observed(shop: Shop, plimsoll: Plimsoll, history: list[Ran]) -> dict[str, Observation]:
    """Observations by the pod's UID."""
    uids = {ran.uid for ran in history}

    def all_of_them() -> dict[str, Observation]:
        found = [each for kind in KINDS for each in plimsoll.observations(shop.task(kind))]
        ours = [each for each in found if each.attempt_uid in uids]
        return {each.attempt_uid: each for each in ours} if len(ours) == len(uids) else {}

    found: dict[str, Observation] = await until("all observations", all_of_them, WITHIN_S)
    return found


async def test_each_run_is_observed_once_with_its_node_and_its_times(
    history: list[Ran], observed: dict[str, Observation]
) -> None:
    assert Counter(ran.node for ran in history) == dict.fromkeys(NODES, RUNS // len(NODES))
    assert {ran.uid: (ran.node, ran.started_s, ran.finished_s) for ran in history} == {
        uid: (each.node, each.started_s, each.finished_s) for uid, each in observed.items()
    }


async def test_tasks_that_compute_slow_each_other_on_these_nodes(history: list[Ran]) -> None:
    """Otherwise there would be nothing to learn here."""
    computing = [ran for ran in history if ran.kind == COMPUTES]
    shared = [beside(ran, history).get(COMPUTES, 0.0) > HALF for ran in computing]
    much = median(
        ran.took_ms for ran, is_shared in zip(computing, shared, strict=True) if is_shared
    )
    little = median(
        r.took_ms for r, is_shared in zip(computing, shared, strict=True) if not is_shared
    )
    assert much > 1.1 * little


async def test_what_ran_beside_each_run_is_what_the_pods_times_say(
    shop: Shop, history: list[Ran], observed: dict[str, Observation]
) -> None:
    matches = Counter(match_of(shop, ran, history, observed[ran.uid].beside) for ran in history)
    print(dict(matches))
    assert matches[Match.EXACT] > matches[Match.TOLD_LATE]


async def test_what_ran_beside_a_run_is_known_though_the_controller_was_killed_meanwhile(
    shop: Shop, plimsoll: Plimsoll
) -> None:
    lasts = await create(shop, a_pod_of(LASTS, LASTS, "node-1"))
    first = ran_of(WAITS, await run_one(shop, "first"))
    await until("the first is observed", lambda: observation_of(plimsoll, shop, first), WITHIN_S)
    await plimsoll.killed(CONTROLLER)
    second = ran_of(WAITS, await run_one(shop, "second"))
    await until("the second is observed", lambda: observation_of(plimsoll, shop, second), WITHIN_S)
    await go_on(lasts.metadata.uid)
    lasting = ran_of(LASTS, await ended(shop, LASTS))
    assert second.finished_s <= lasting.finished_s
    seen = await until(
        "the lasting one is observed", lambda: observation_of(plimsoll, shop, lasting), WITHIN_S
    )
    assert match_of(shop, lasting, [first, second], seen.beside) is Match.EXACT


async def run_one(shop: Shop, name: str) -> Any:
    """Run a pod that waits, on the first node, to its end."""
    await create(shop, a_pod_of(WAITS, name, "node-1"))
    return await ended(shop, name)


def observation_of(plimsoll: Plimsoll, shop: Shop, ran: Ran) -> Observation | None:
    found = {each.attempt_uid: each for each in plimsoll.observations(shop.task(ran.kind))}
    return found.get(ran.uid)


class Match(Enum):
    """How the neighbours seen beside a run compare with the pods' times."""

    EXACT = "exact"
    TOLD_LATE = "a neighbour's start or end, just before its own end, was told after it"


def match_of(
    shop: Shop, ran: Ran, others: Sequence[Ran], seen: Mapping[str, float] | None
) -> Match:
    """Compare; any result except these two is an error."""
    assert seen is not None
    seen = {task: count for task, count in seen.items() if task != UNLABELLED}
    whole = by_task(shop, ran, others)
    if seen == pytest.approx(whole, abs=ROUNDED):
        return Match.EXACT
    late_s = ran.finished_s - TOLD_WITHIN_S
    least = by_task(shop, ran, [each for each in others if each.started_s < late_s])
    lasting = [
        replace(each, finished_s=max(each.finished_s, ran.finished_s))
        if each.finished_s >= late_s
        else each
        for each in others
    ]
    most = by_task(shop, ran, lasting)
    for task in most.keys() | seen.keys():
        low, high = least.get(task, 0.0), most.get(task, 0.0)
        assert low - ROUNDED <= seen.get(task, 0.0) <= high + ROUNDED, (ran, seen, whole)
    return Match.TOLD_LATE


def by_task(shop: Shop, ran: Ran, others: Sequence[Ran]) -> dict[str, float]:
    """Task, with its namespace -> how many of it were beside a run, on average."""
    return {str(shop.task(kind)): share for kind, share in beside(ran, others).items()}
