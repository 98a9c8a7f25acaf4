"""A batch of cold runs on a full node, without lending and with it: its time and unused memory.

Each run is the first of its own task, so that nothing is known of it. A pod that asks for nearly
all of the node leaves room for ROOM runs at a time. A third of the runs reach their need within
a tenth of the runtime, a third grow over half of it, a third take everything in the last twentieth.

    PYTHONPATH=. .venv/bin/python -P -m benchmarks.live.lending [--runs 18] [--takes 80] [--flat 10]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from kubernetes_asyncio import client
from rich.console import Console
from rich.table import Table

from benchmarks.live.lending_replay import replayed
from benchmarks.live.lending_replay import table as replay_table
from benchmarks.real_node.stand import Stand, a_stand, node
from plimsoll_operator.names import labels
from plimsoll_operator.names.quantity import format_bytes, parse_bytes
from plimsoll_predictor.core.units import MIB
from tests.conftest import Cluster
from tests.rigs.images.eater import a_spec, an_eating_pod

RUNS, TAKES_S, FLAT_S = 18, 80, 10
ASKS_MIB: Final = 512
LEAST_MIB, MOST_MIB = 48, 160
BASE_MIB: Final = 16
ROOM: Final = 4
LOOK_EVERY_S: Final = 0.5
ENDED_WITHIN_S: Final = 1200.0
LEAST_SAVED: Final = 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class ColdRun:
    """One run. It grows evenly from ``from_s`` to ``to_s`` after its start."""

    name: str
    need_mib: int
    from_s: int
    to_s: int
    takes_s: int

    def pod(self) -> dict[str, Any]:
        """Return its pod; each run has its own task."""
        more, grows_s = self.need_mib - BASE_MIB, max(1, self.to_s - self.from_s)
        steps = min(more, grows_s)
        words = ["steps", str(BASE_MIB), str(self.from_s)]
        for number in range(steps):
            mib = more * (number + 1) // steps - more * number // steps
            pause_s = grows_s * (number + 1) // steps - grows_s * number // steps
            words += [str(mib), str(pause_s)]
        words += ["0", str(self.takes_s - self.from_s - grows_s)]
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": self.name, "labels": {labels.TASK: self.name}},
            "spec": a_spec(words, f"{ASKS_MIB}Mi"),
        }

    def used_mib(self, age_s: float) -> float:
        """Return its memory in use, so long after its start."""
        share = (age_s - self.from_s) / max(1, self.to_s - self.from_s)
        return BASE_MIB + (self.need_mib - BASE_MIB) * min(1.0, max(0.0, share))


@dataclass(slots=True)
class Batch:
    """What was seen of one batch. unused_mib_s: of requests, over the lives of all pods."""

    unused_mib_s: float = 0.0
    began_s: dict[str, float] = field(default_factory=dict)
    ended: dict[str, str] = field(default_factory=dict)
    most_at_once: int = 0
    beyond: set[str] = field(default_factory=set)
    deferred: set[str] = field(default_factory=set)


def lending(
    cluster: Cluster, runs: int = RUNS, takes_s: int = TAKES_S, flat_s: int = FLAT_S, seed: int = 1
) -> dict[str, Any]:
    """Run the batch twice. takes_s: how long a run takes. flat_s: the setting of lending."""
    batch = cold_runs(runs, takes_s, seed)
    found: dict[str, Any] = {
        "runs": runs,
        "run_s": takes_s,
        "flat_s": flat_s,
        "asks_mib": ASKS_MIB,
        "room_for": ROOM,
        "without": asyncio.run(_batch(cluster, batch, "never", flat_s)),
        "with": asyncio.run(_batch(cluster, batch, "auto", flat_s)),
    }
    without, lent = found["without"], found["with"]
    found["waste_saved"] = 1 - lent["unused_gb_h"] / without["unused_gb_h"]
    found["replayed"] = replayed()
    found["makespan_saved"] = 1 - lent["makespan_s"] / without["makespan_s"]
    return found


def cold_runs(runs: int, takes_s: int, seed: int) -> list[ColdRun]:
    """Return the batch; the same for the same seed."""
    rng = random.Random(seed)
    shapes = ((0, takes_s // 10), (0, takes_s // 2), (takes_s * 19 // 20, takes_s))
    return [
        ColdRun(
            name=f"cold-{number}",
            need_mib=rng.randint(LEAST_MIB, MOST_MIB),
            from_s=shapes[number % len(shapes)][0],
            to_s=shapes[number % len(shapes)][1],
            takes_s=takes_s,
        )
        for number in range(runs)
    ]


async def _batch(
    cluster: Cluster, runs: Sequence[ColdRun], policy: str, flat_s: int
) -> dict[str, Any]:
    environment = {"PLIMSOLL_LENDING_FLAT_S": str(flat_s)}
    async with a_stand(cluster, environment=environment) as stand:
        custom = client.CustomObjectsApi(stand.core.api_client)
        body = {
            "apiVersion": "plimsoll.dev/v1alpha1",
            "kind": "SizingPolicy",
            "metadata": {"name": "default"},
            "spec": {"mode": "enforce", "lending": policy},
        }
        where = ("plimsoll.dev", "v1alpha1", stand.namespace, "sizingpolicies")
        await custom.create_namespaced_custom_object(*where, body)
        await _fill(stand)
        began_s = time.monotonic()
        for run in runs:
            await stand.core.create_namespaced_pod(stand.namespace, run.pod())
        batch = await _watch(stand, {run.name: run for run in runs})
        makespan_s = time.monotonic() - began_s
        said = _said(stand)
    failed = {name: how for name, how in batch.ended.items() if how != "Succeeded"}
    return {
        "makespan_s": round(makespan_s, 1),
        "unused_gb_h": batch.unused_mib_s * MIB / 1e9 / 3600,
        "most_at_once": batch.most_at_once,
        "killed_or_evicted": failed,
        "used_more_than_requested": sorted(batch.beyond),
        "taking_back_deferred": sorted(batch.deferred),
        "lends": said.count("lends"),
        "take_backs": said.count("takes back"),
    }


async def _fill(stand: Stand) -> None:
    """Leave room for so many runs."""
    (found,) = (await stand.core.list_node()).items
    room = parse_bytes(found.status.allocatable["memory"])
    taken = sum(
        parse_bytes(((each.resources and each.resources.requests) or {}).get("memory", "0"))
        for pod in (await stand.core.list_pod_for_all_namespaces()).items
        if pod.status.phase in ("Pending", "Running")
        for each in pod.spec.containers
    )
    left = room - taken - ROOM * ASKS_MIB * MIB - 16 * MIB
    ballast = an_eating_pod("ballast", eats_mib=1, limit_mib=left // MIB, for_s=3600)
    await stand.core.create_namespaced_pod(stand.namespace, ballast)

    async def runs() -> bool:
        pod = await stand.core.read_namespaced_pod("ballast", stand.namespace)
        return bool(pod.status.phase == "Running")

    await stand.until("the node is full", runs)


async def _watch(stand: Stand, runs: dict[str, ColdRun]) -> Batch:
    """Look at all pods until the last has ended, and add up requested memory that is unused."""
    batch, last_s = Batch(), time.time()
    deadline_s = time.monotonic() + ENDED_WITHIN_S
    while len(batch.ended) < len(runs):
        await asyncio.sleep(LOOK_EVERY_S)
        if time.monotonic() > deadline_s:
            raise TimeoutError(f"ended so far: {batch.ended}")
        pods = (await stand.core.list_namespaced_pod(stand.namespace)).items
        now_s = time.time()
        alive = 0
        for pod in pods:
            run = runs.get(pod.metadata.name)
            if run is not None and _look_at(batch, run, pod, now_s, now_s - last_s):
                alive += 1
        batch.most_at_once, last_s = max(batch.most_at_once, alive), now_s
    return batch


def _look_at(batch: Batch, run: ColdRun, pod: Any, now_s: float, passed_s: float) -> bool:
    """Add up one pod, and say whether it runs."""
    if pod.status.phase in ("Succeeded", "Failed"):
        why = pod.status.reason or pod.status.container_statuses[0].state.terminated.reason
        batch.ended[run.name] = "Succeeded" if pod.status.phase == "Succeeded" else str(why)
        return False
    if pod.status.phase != "Running":
        return False
    statuses = pod.status.container_statuses
    if not statuses or statuses[0].state.running is None:
        return False  # it ended, and its phase does not say so yet
    started: datetime = statuses[0].state.running.started_at
    request_mib = parse_bytes(pod.spec.containers[0].resources.requests["memory"]) / MIB
    used_mib = run.used_mib(now_s - started.timestamp())
    batch.unused_mib_s += max(0.0, request_mib - used_mib) * passed_s
    granted = (statuses[0].resources and statuses[0].resources.requests) or {}
    if used_mib * MIB > parse_bytes(granted.get("memory", format_bytes(2**50))):
        batch.beyond.add(run.name)
    for condition in pod.status.conditions or []:
        if condition.type == "PodResizePending" and condition.reason in ("Deferred", "Infeasible"):
            batch.deferred.add(run.name)
    return True


def _said(stand: Stand) -> list[str]:
    """Return the events in the controller's log."""
    lines = (stand.plimsoll.state / "controller.log").read_text().splitlines()
    return [str(json.loads(line).get("event")) for line in lines if line.startswith("{")]


def tables(found: dict[str, Any]) -> list[Table]:
    """Return the tables for people."""
    table = Table(
        title=f"{found['runs']} cold runs of {found['run_s']} s, {found['asks_mib']} MiB asked,"
        f" room for {found['room_for']}"
    )
    for column in ("", "without lending", "with it"):
        table.add_column(column)
    without, lent = found["without"], found["with"]
    for words, key, digits in (
        ("until the last has ended, s", "makespan_s", 0),
        ("asked for and not used, GB·h", "unused_gb_h", 4),
        ("most at once", "most_at_once", 0),
        ("lent", "lends", 0),
        ("taken back", "take_backs", 0),
    ):
        table.add_row(words, *(f"{each[key]:.{digits}f}" for each in (without, lent)))
    for words, key in (
        ("killed or evicted", "killed_or_evicted"),
        ("used more than was granted, for a moment", "used_more_than_requested"),
        ("waited for what it took back", "taking_back_deferred"),
    ):
        table.add_row(words, *(str(len(each[key])) for each in (without, lent)))
    verdict = "holds" if holds(found) else "does not hold"
    table.caption = (
        f"unused {-found['waste_saved']:+.0%} (bound -{LEAST_SAVED:.0%}: {verdict}),"
        f" time {-found['makespan_saved']:+.0%}"
    )
    return [table, *([replay_table(found["replayed"])] if found["replayed"] else [])]


def holds(found: Mapping[str, Any]) -> bool:
    """Whether enough is saved, at nobody's cost."""
    return bool(found["waste_saved"] >= LEAST_SAVED and not found["with"]["killed_or_evicted"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="benchmarks.live.lending", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--takes", type=int, default=TAKES_S, help="seconds of a run")
    parser.add_argument("--flat", type=int, default=FLAT_S, help="seconds, the setting")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    with node() as cluster:
        found = lending(cluster, options.runs, options.takes, options.flat, options.seed)
    console = Console()
    for table in tables(found):
        console.print(table)
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
