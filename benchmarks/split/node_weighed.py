"""Jobs of one task in sequence, where memory counts as much as time: chunks become small.

Each Job is written with a share's need. The first teaches. For the others, the cut or the size of
leases is chosen together with the memory of their pods (``splitting.memoryWeight`` 1).
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from kubernetes_asyncio import client
from rich.box import SIMPLE_HEAD
from rich.table import Table

from benchmarks.real_node.jobs import ran
from benchmarks.real_node.stand import Stand
from plimsoll_operator.names.quantity import parse_bytes
from plimsoll_predictor.core.units import MIB
from tests.split.leased_work import Work

WORKERS: Final = 2
ITEMS: Final = 240
LEASED_S: Final = 0.2
CUT_S: Final = 0.5
"""Seconds of an item. A pod of Python costs some seconds, and a chunk must be worth that."""
ITEM_MIB: Final = 2
BASE_MIB: Final = 36
"""The memory of Python, with room over what a share holds."""
JOBS: Final = 5
FED_S: Final = 15.0
"""Until admission knows a Job's results: its pods' last peaks come some seconds after them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """One Job. number: from 1. mib: the largest limit of its pods. failed: of its pods."""

    how: str
    number: int
    mib: int
    seconds: float
    pods: int
    failed: int
    share: float = 1.0
    """Memory times time, as a share of the first Job's."""


async def weighed(stand: Stand) -> list[Weighed]:
    """Run the Jobs of both tasks."""
    return [*await _of_task(stand, leased=True), *await _of_task(stand, leased=False)]


async def _of_task(stand: Stand, *, leased: bool) -> list[Weighed]:
    task = "weighed-leased" if leased else "weighed-cut"
    profile = {
        "apiVersion": "plimsoll.dev/v1alpha1",
        "kind": "TaskProfile",
        "metadata": {"name": task},
        "spec": {"splitting": {"memoryWeight": 1}},
    }
    place = ("plimsoll.dev", "v1alpha1", stand.namespace, "taskprofiles")
    custom = client.CustomObjectsApi(stand.core.api_client)
    await custom.create_namespaced_custom_object(*place, profile)
    found: list[Weighed] = []
    for number in range(1, JOBS + 1):
        await asyncio.sleep(FED_S)
        one = await _run(stand, task, number, leased=leased)
        first = found[0] if found else one
        share = one.mib * one.seconds / (first.mib * first.seconds)
        found.append(replace(one, share=share))
        print(found[-1], file=sys.stderr)
    return found


async def _run(stand: Stand, task: str, number: int, *, leased: bool) -> Weighed:
    with tempfile.TemporaryDirectory(prefix="plimsoll-weighed-") as folder:
        work = Work(
            name=f"{task}-{number}",
            task=task,
            folder=Path(folder),
            items=ITEMS,
            workers=WORKERS,
            times_us=(int((LEASED_S if leased else CUT_S) * 1e6),),
            memory=f"{BASE_MIB + ITEMS // WORKERS * ITEM_MIB}Mi",
            kib=ITEM_MIB * 1024,
            leased=leased,
        )
        seconds, pods = await ran(stand, work.manifest())
        assert set(work.done()) == set(range(ITEMS))
    limits = [parse_bytes(pod.spec.containers[0].resources.limits["memory"]) for pod in pods]
    succeeded = sum(pod.status.phase == "Succeeded" for pod in pods)
    return Weighed(
        how="leased" if leased else "cut",
        number=number,
        mib=max(limits) // MIB,
        seconds=seconds,
        pods=succeeded,
        failed=len(pods) - succeeded,
    )


def shown_weighed(found: Sequence[Weighed]) -> Table:
    """The table for people."""
    title = "Jobs of one task, where memory counts as much as time"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    for name in ("", "Job", "pods", "MiB", "s", "failed", "MiB × s"):
        table.add_column(name, justify="right" if name else "left")
    for each in found:
        table.add_row(
            *(each.how, str(each.number), str(each.pods), str(each.mib), f"{each.seconds:.1f}"),
            *(str(each.failed), f"{each.share:.2f}"),
        )
    return table
