"""Each process killed (-9) at 50 random moments while pods come, run out of memory and succeed."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kubernetes_asyncio import client

from plimsoll_operator.names import labels
from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.store import Store
from tests.apiserver.controllers import Shop, until
from tests.builders.stores import an_attempt
from tests.conftest import Cluster
from tests.e2e.seeing import create
from tests.e2e.workloads import a_job, a_pod
from tests.ha.figures import FIGURES
from tests.ha.whole import Whole, the_whole

pytestmark = [pytest.mark.node]

SEED = 20261121
MOST_TRAINED_TASKS, PAST_RUNS = 40, 30
TRAINED_TASKS_OF_A_ROUND = 3
PODS_EVERY_S = 3.0
TRAINERS_WITHIN_S = 240.0
SETTLED_WITHIN_S = 240.0


def teach_a_past(shop: Shop, store: Store, tasks: int) -> None:
    """Tasks that are to be trained, so that there are always trainers to kill."""
    store.observations.record(
        [
            replace(
                an_attempt(f"past-{task}-{run}").peaking((100 + run % 7 * 10) * MIB).built,
                task=shop.task(f"trained-{task}"),
                features={"rows": float(run % 7)},
            )
            for task in range(tasks)
            for run in range(PAST_RUNS)
        ]
    )


async def create_pods(shop: Shop) -> None:
    """Each time one pod that is killed and retried, one that succeeds, and now and then a Job."""
    number = 0
    while True:
        # Each pod that is to be killed has its own task: a task that has learned is not killed.
        manifests = [
            a_pod(f"killed-{number}", "eat 90 0 1", task=f"killed-{number}"),
            a_pod(f"fine-{number}", "eat 8", task="fine"),
        ]
        if number % 10 == 0:
            manifests.append(
                a_job(f"job-{number}", "eat 90", task=f"job-{number}", backoff_limit=3)
            )
        for manifest in manifests:
            await create(shop, manifest)
        number += 1
        await asyncio.sleep(PODS_EVERY_S)


def outcome_of(pod: Any) -> Outcome | None:
    """What the kubelet says of a pod's end; None while it has none."""
    if pod.status.phase == "Succeeded":
        return Outcome.SUCCEEDED
    if pod.status.phase != "Failed":
        return None
    terminated = pod.status.container_statuses[0].state.terminated
    return Outcome.OOM_KILLED if terminated.reason == "OOMKilled" else Outcome.FAILED


def observed(shop: Shop, store: Store) -> list[Observation]:
    """The store's observations of the namespace's pods, without the past that the test taught."""
    return [
        each
        for task in store.totals.tasks()
        if task.namespace == shop.namespace and not task.name.startswith("trained-")
        for each in store.observations.of_task(task)
    ]


def retried(pods: list[Any]) -> Counter[str]:
    """How many next attempts Plimsoll made for each attempt."""
    return Counter(
        pod.metadata.annotations[labels.RETRY_OF]
        for pod in pods
        if labels.RETRY_OF in (pod.metadata.annotations or {})
    )


def must_be_retried(pods: list[Any]) -> set[str]:
    """UIDs of bare pods that were killed."""
    return {
        pod.metadata.uid
        for pod in pods
        if outcome_of(pod) is Outcome.OOM_KILLED and not pod.metadata.owner_references
    }


async def settled(shop: Shop, store: Store) -> bool:
    """Whether all pods are over, observed, and followed by another where that is due."""
    pods = list((await shop.pods()).values())  # once: meanwhile another may be made
    over = {pod.metadata.uid for pod in pods if outcome_of(pod) is not None}
    jobs = await client.BatchV1Api(shop.core.api_client).list_namespaced_job(shop.namespace)
    return (
        all(job.status.conditions for job in jobs.items)  # nobody will make another pod
        and len(over) == len(pods)
        and over <= {each.attempt_uid for each in observed(shop, store)}
        and must_be_retried(pods) == set(retried(pods))
        and store.retries.waiting() == []
    )


async def nothing_lost_nothing_doubled(shop: Shop, store: Store) -> Counter[Outcome]:
    """Every pod was observed once, as what it was; every kill was followed by one attempt."""
    seen = observed(shop, store)
    pods = list((await shop.pods()).values())
    told = {pod.metadata.uid: outcome_of(pod) for pod in pods}
    assert {each.attempt_uid: each.outcome for each in seen} == told
    assert len(seen) == len(told)
    assert set(retried(pods)) == must_be_retried(pods)
    assert set(retried(pods).values()) <= {1}
    return Counter(each.outcome for each in seen)


async def kill_all(whole: Whole, rounds: int) -> None:
    """Kill each of the processes that many times, and as many trainings."""
    chance = random.Random(SEED)
    trainers = asyncio.create_task(whole.kill_trainers(rounds, random.Random(chance.random())))
    await asyncio.gather(
        *(
            whole.kill_at_random(name, rounds, random.Random(chance.random()))
            for name in whole.processes
        )
    )
    await asyncio.wait_for(trainers, TRAINERS_WITHIN_S)


async def test_no_observation_and_no_retry_is_lost_or_doubled(
    shop: Shop, node: Cluster, tmp_path: Path, rounds: int
) -> None:
    async with contextlib.AsyncExitStack() as stack:
        store = Store.open(f"sqlite:///{tmp_path}/plimsoll.db")
        stack.callback(store.close)
        teach_a_past(shop, store, min(MOST_TRAINED_TASKS, TRAINED_TASKS_OF_A_ROUND * rounds))
        whole = await stack.enter_async_context(the_whole(node, tmp_path))
        creating = asyncio.create_task(create_pods(shop))
        try:
            await kill_all(whole, rounds)
        finally:
            creating.cancel()
            await asyncio.gather(creating, return_exceptions=True)
        await until("all is settled", lambda: settled(shop, store), SETTLED_WITHIN_S)
        await asyncio.sleep(5)  # time for a process that might do something once more
        outcomes = await nothing_lost_nothing_doubled(shop, store)
        kills = {name: each.kills for name, each in whole.processes.items()}
    kills["trainer"] = whole.trainers_killed
    FIGURES.note(
        "ha.killed_at_random", ", ".join(f"{name} {count}" for name, count in kills.items())
    )
    FIGURES.note(
        "ha.observed_meanwhile",
        ", ".join(f"{count} {outcome.value}" for outcome, count in sorted(outcomes.items()))
        + "; none lost, none doubled",
    )
    assert min(kills.values()) >= rounds
    assert outcomes[Outcome.OOM_KILLED] >= rounds / 2
