"""The production runs of `make bench-campaigns-node`: the demo's ordinary mix, some at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from random import Random
from typing import Final

from demo.runs.plan import LiveRun, Shape
from demo.runs.pods import manifest
from demo.runs.workload import draw_weight, draw_work
from kubernetes_asyncio import client

from benchmarks.campaigns.scenarios import TASKS
from benchmarks.real_node.stand import Stand
from plimsoll_predictor.core.record import Observation, Outcome

RUNS: Final = 40
AT_ONCE: Final = 4
SEED: Final = 12
LOOK_EVERY_S: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Production:
    """A task's runs, added up. killed: attempts that the kernel killed."""

    task: str
    runs: int
    killed: int
    allocated_over_peak: float


async def produced(stand: Stand, image: str, not_ours: Collection[str]) -> list[Production]:
    """Run forty of each task, both tasks in turn, until all have succeeded.

    not_ours: attempts that were observed before, by UID.
    """
    random, runs = Random(SEED), list[LiveRun]()
    for number in range(RUNS):
        for task in TASKS:
            weight = draw_weight(random)
            work = draw_work(task, weight, random)
            shape = Shape.POD if number % 2 else Shape.JOB
            name = f"production-{task}-{number:02}"
            runs.append(LiveRun(name, stand.namespace, shape, work, weight))
    for begun, run in enumerate(runs):

        def has_room(begun: int = begun) -> bool:
            return begun - len(_succeeded(stand, not_ours)) < AT_ONCE

        await stand.until(f"room for run {begun}", has_room)
        body = manifest(run, image)
        if run.shape is Shape.JOB:
            batch = client.BatchV1Api(stand.core.api_client)
            await batch.create_namespaced_job(stand.namespace, body)
        else:
            await stand.core.create_namespaced_pod(stand.namespace, body)
        await asyncio.sleep(LOOK_EVERY_S)
    await stand.until(
        "all runs have succeeded", lambda: len(_succeeded(stand, not_ours)) == len(runs)
    )
    return [_added_up(task, _seen(stand, task, not_ours)) for task in TASKS]


def _seen(stand: Stand, task: str, not_ours: Collection[str]) -> list[Observation]:
    return [each for each in stand.observed(task) if each.attempt_uid not in not_ours]


def _succeeded(stand: Stand, not_ours: Collection[str]) -> list[Observation]:
    return [
        each
        for task in TASKS
        for each in _seen(stand, task, not_ours)
        if each.outcome is Outcome.SUCCEEDED
    ]


def _added_up(task: str, seen: Collection[Observation]) -> Production:
    """Sum memory x time: allocated over all attempts, needed over those that succeeded."""
    succeeded = [each for each in seen if each.outcome is Outcome.SUCCEEDED]
    allocated = sum((each.allocation_bytes or 0) * (each.runtime_s or 0.0) for each in seen)
    needed = sum((each.peak_bytes or 0) * (each.runtime_s or 0.0) for each in succeeded)
    return Production(
        task=task,
        runs=len(succeeded),
        killed=sum(each.outcome is Outcome.OOM_KILLED for each in seen),
        allocated_over_peak=allocated / needed if needed else float("nan"),
    )
