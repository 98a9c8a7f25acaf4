"""`make bench-rescue`: growing tasks on the real node, without rescue and with it, in figures.

Forty tasks, each a single attempt: ramps of 5 to 400 MB/s, stair-steps, fillers of page cache, and
leaks of tasks whose usual size is known. Half of them need more than they ask for. Then a ramp for
each pace and headroom, and the time from a patch to the kernel's limit.

    PYTHONPATH=. .venv/bin/python -P -m benchmarks.rescue.node
        [--only latency|ways|tasks|grid|agent] [--at-once 4]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from kubernetes_asyncio import client
from rich.console import Console
from rich.table import Table

from benchmarks.real_node.stand import Stand, a_stand, node
from benchmarks.rescue.agent import agent_cost
from benchmarks.rescue.growing_programs import GrowingTask, forty, grid, healthy_runs
from benchmarks.rescue.killed_by_kind import by_kind, kinds_table
from benchmarks.rescue.latency import patch_to_limit
from benchmarks.rescue.ways import both_ways
from plimsoll_operator.names.quantity import parse_bytes
from tests.conftest import Cluster
from tests.rigs.node.agent_accounts import an_agent_account

ROOT: Final = Path(__file__).resolve().parents[2]
RESULTS: Final = ROOT / "bench-rescue.json"
PARTS: Final = ("latency", "ways", "tasks", "grid", "agent")
MIB: Final = 1 << 20
AT_ONCE: Final = 4
LOOK_EVERY_S: Final = 0.3
ENDED_WITHIN_S: Final = 180.0
OVER_NEED: Final = 1.3
LEAST_AVOIDED: Final = 0.8
MOST_OVER: Final = 0.05
MOST_AGENT_SHARE: Final = 0.02
"""As a share of a core, with a hundred pods on the node."""
UP_TO_MB_S: Final = 100


@dataclass(slots=True)
class Batch:
    """The result of each task. limits_mib: its limit at its end."""

    ended: dict[str, str] = field(default_factory=dict)
    limits_mib: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    agent_cpu_share: float = 0.0
    said: list[dict[str, Any]] = field(default_factory=list)
    raised_by_agent: int = 0

    def is_killed(self, task: GrowingTask) -> bool:
        """Whether the kernel killed it."""
        return self.ended.get(task.name) == "OOMKilled"


def tasks(cluster: Cluster, at_once: int, seed: int, **environment: str) -> dict[str, Any]:
    """Run the forty tasks twice, and compare both batches. environment: of rescues."""
    batch = forty(seed)
    off = asyncio.run(_run(cluster, healthy_runs(), batch, "never", at_once))
    on = asyncio.run(_run(cluster, healthy_runs(), batch, "auto", at_once, **environment))
    rows = [_row(task, off, on) for task in batch]
    return {"tasks": rows, **_figures(batch, off, on)}


def survival(cluster: Cluster, at_once: int) -> dict[str, Any]:
    """Run a ramp for each pace and headroom, with rescue."""
    batch = grid()
    on = asyncio.run(_run(cluster, [], batch, "auto", at_once))
    return {
        "base_mib": 64,
        "cells": [
            {
                "rate_mb_s": task.rate_mb_s,
                "headroom_mib": task.headroom_mib,
                "survived": on.ended.get(task.name) == "Succeeded",
                "limit_mib_at_end": on.limits_mib.get(task.name),
            }
            for task in batch
        ],
    }


async def _run(
    cluster: Cluster,
    before: Sequence[GrowingTask],
    batch: Sequence[GrowingTask],
    policy: str,
    at_once: int,
    **environment: str,
) -> Batch:
    async with a_stand(cluster, environment=environment) as stand:
        custom = client.CustomObjectsApi(stand.core.api_client)
        body = {
            "apiVersion": "plimsoll.dev/v1alpha1",
            "kind": "SizingPolicy",
            "metadata": {"name": "default"},
            "spec": {"mode": "enforce", "rescue": policy, "retry": "never", "firstSize": 1},
        }
        where = ("plimsoll.dev", "v1alpha1", stand.namespace, "sizingpolicies")
        await custom.create_namespaced_custom_object(*where, body)
        await asyncio.sleep(2)  # admission learns of the policy; each size is the request
        done = Batch()
        await _all(stand, before, done, at_once)
        cpu_before_s, began_s = _cpu_s(stand.plimsoll.pid("agent")), time.monotonic()
        await _all(stand, batch, done, at_once)
        done.seconds = time.monotonic() - began_s
        used_s = _cpu_s(stand.plimsoll.pid("agent")) - cpu_before_s
        done.agent_cpu_share = used_s / done.seconds
        done.said = _said(stand)
        done.raised_by_agent = (stand.plimsoll.state / "agent.log").read_text().count('"raised"')
    return done


async def _all(stand: Stand, batch: Sequence[GrowingTask], done: Batch, at_once: int) -> None:
    """Run tasks, so many at once, each as soon as another has ended."""
    waiting, running = list(batch), dict[str, float]()
    while waiting or running:
        while waiting and len(running) < at_once:
            task = waiting.pop(0)
            await stand.core.create_namespaced_pod(stand.namespace, task.pod())
            running[task.name] = time.monotonic()
        await asyncio.sleep(LOOK_EVERY_S)
        for pod in (await stand.core.list_namespaced_pod(stand.namespace)).items:
            name = pod.metadata.name
            if name in running and pod.status.phase in ("Succeeded", "Failed"):
                done.ended[name] = _end(pod)
                limit = pod.spec.containers[0].resources.limits["memory"]
                done.limits_mib[name] = parse_bytes(limit) / MIB
                del running[name]
        late = [n for n, s in running.items() if time.monotonic() - s > ENDED_WITHIN_S]
        if late:
            raise TimeoutError(f"not ended: {late}")


def _end(pod: Any) -> str:
    statuses = pod.status.container_statuses
    ended = statuses[0].state.terminated if statuses else None
    return "Succeeded" if pod.status.phase == "Succeeded" else str(ended.reason if ended else "?")


def _row(task: GrowingTask, off: Batch, on: Batch) -> dict[str, Any]:
    return {
        "task": task.name,
        "kind": task.kind,
        "rate_mb_s": task.rate_mb_s,
        "headroom_mib": task.headroom_mib,
        "limit_mib": task.limit_mib,
        "need_mib": task.need_mib,
        "off": off.ended.get(task.name),
        "on": on.ended.get(task.name),
        "limit_mib_at_end": on.limits_mib.get(task.name),
        "first_mib": off.limits_mib.get(task.name),
    }


def _figures(batch: Sequence[GrowingTask], off: Batch, on: Batch) -> dict[str, Any]:
    slow = [t for t in batch if (t.rate_mb_s or 0) <= UP_TO_MB_S]
    raised = [t for t in batch if on.limits_mib[t.name] > off.limits_mib[t.name] * 1.01]
    over = [
        t.name
        for t in raised
        if t.need_mib is not None and on.limits_mib[t.name] > OVER_NEED * t.need_mib
    ]
    in_vain = sorted(t.name for t in raised if on.is_killed(t) or not t.beyond)
    killed_off = [t.name for t in batch if off.is_killed(t)]
    killed_on = [t.name for t in batch if on.is_killed(t)]
    return {
        "by_kind": by_kind(batch, killed_off, killed_on, in_vain),
        "kills_off": len(killed_off),
        "kills_on": len(killed_on),
        "kills_off_up_to_100": sum(off.is_killed(t) for t in slow if t.kind != "leak"),
        "kills_on_up_to_100": sum(on.is_killed(t) for t in slow if t.kind != "leak"),
        "leaks_killed": sum(on.is_killed(t) for t in batch if t.kind == "leak"),
        "raised": len(raised),
        "in_vain": in_vain,
        "over_need": over,
        "over_need_at_any_time": _over_at_any_time(batch, on),
        "page_cache_raised": sum(t.kind == "page cache" for t in raised),
        "agent_cpu_share": round(on.agent_cpu_share, 4),
        "agent_cpu_share_off": round(off.agent_cpu_share, 4),
        "raised_by_agent": on.raised_by_agent,
        "seconds": [round(off.seconds, 1), round(on.seconds, 1)],
        "granted_s": sorted(each["took_s"] for each in on.said if each.get("event") == "rescued"),
        "not_rescued": [
            {"pod": each["pod"].partition("/")[2], "why": each["why"]}
            for each in on.said
            if each.get("event") == "not rescued"
        ],
    }


def _over_at_any_time(batch: Sequence[GrowingTask], on: Batch) -> list[str]:
    """Return the tasks that at some time held more than OVER_NEED times their need."""
    most_mib: dict[str, float] = {}
    for each in on.said:
        if each.get("event") == "rescued":
            name = each["pod"].partition("/")[2]
            most_mib[name] = max(most_mib.get(name, 0.0), each["limit_bytes"] / MIB)
    return sorted(
        task.name
        for task in batch
        if task.need_mib is not None and most_mib.get(task.name, 0.0) > OVER_NEED * task.need_mib
    )


def _cpu_s(pid: int) -> float:
    """Return the CPU seconds that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100.0


def _said(stand: Stand) -> list[dict[str, Any]]:
    lines = (stand.plimsoll.state / "controller.log").read_text().splitlines()
    return [json.loads(line) for line in lines if '"rescued"' in line or '"not rescued"' in line]


def tables(found: dict[str, Any]) -> list[Table]:
    """Return the tables for people."""
    shown = []
    if "tasks" in found:
        shown.append(_tasks_table(found["tasks"]))
        if "by_kind" in found["tasks"]:
            shown.append(kinds_table(found["tasks"]["by_kind"]))
    if "grid" in found:
        shown.append(_grid_table(found["grid"]))
    return shown


def _tasks_table(found: dict[str, Any]) -> Table:
    table = Table(title=f"{len(found['tasks'])} growing tasks, without rescue and with it")
    for column in ("", "without", "with", "bound"):
        table.add_column(column)
    off, on = found["kills_off_up_to_100"], found["kills_on_up_to_100"]
    table.add_row("killed", str(found["kills_off"]), str(found["kills_on"]), "")
    bound = f"{_avoided(found):.0%} avoided (least {LEAST_AVOIDED:.0%})"
    table.add_row("killed, up to 100 MB/s, no leaks", str(off), str(on), bound)
    table.add_row("leaks left to die", "", str(found["leaks_killed"]), "2")
    table.add_row("given more", "", str(found["raised"]), "")
    table.add_row("raises by the agent itself", "", str(found["raised_by_agent"]), "")
    table.add_row("in vain", "", str(len(found["in_vain"])), "")
    most = int(MOST_OVER * len(found["tasks"]))
    over = len(found["over_need"]), len(found["over_need_at_any_time"])
    table.add_row("given more than 1.3 × need, at the end", "", str(over[0]), f"≤ {most}")
    table.add_row("given more than 1.3 × need, at any time", "", str(over[1]), "")
    table.add_row("page cache fillers given more", "", str(found["page_cache_raised"]), "0")
    share = f"{found['agent_cpu_share_off']:.2%}", f"{found['agent_cpu_share']:.2%}"
    table.add_row("agent, of a core", *share, "")
    took = found["granted_s"]
    if took:
        table.add_row("decision to granted, s (median)", "", f"{statistics.median(took):.2f}", "")
    return table


def _grid_table(found: dict[str, Any]) -> Table:
    cells = {(c["rate_mb_s"], c["headroom_mib"]): c["survived"] for c in found["cells"]}
    rates = sorted({rate for rate, _ in cells})
    table = Table(title="survives (+) a pace at a headroom")
    table.add_column("headroom, MiB")
    for rate in rates:
        table.add_column(f"{rate} MB/s")
    for headroom in sorted({headroom for _, headroom in cells}):
        marks = ["+" if cells[rate, headroom] else "-" for rate in rates]
        table.add_row(str(headroom), *marks)
    return table


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, write. Returns 0 if every bar holds."""
    parser = argparse.ArgumentParser(prog="benchmarks.rescue.node", description=__doc__)
    parser.add_argument("--only", choices=PARTS, help="measure one part")
    parser.add_argument("--at-once", type=int, default=AT_ONCE)
    parser.add_argument("--by-agent", action="store_true", help="the agent raises tasks itself")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    found: dict[str, Any] = {}
    if RESULTS.exists() and options.only:
        found = json.loads(RESULTS.read_text())
    parts = [options.only] if options.only else list(PARTS)
    with node() as cluster:
        for part in parts:
            found[part] = _measured(part, cluster, options)
            RESULTS.write_text(json.dumps(found, indent=2) + "\n")
    console = Console()
    for table in tables(found):
        console.print(table)
    for part in ("latency", "ways", "agent"):
        if part in found:
            console.print(part, found[part])
    lines = missed(found)
    for line in lines:
        console.print(f"MISSED: {line}", highlight=False)
    return 1 if lines else 0


def missed(found: Mapping[str, Any]) -> list[str]:
    """Return the bars that the measurements miss, one line each."""
    lines = list[str]()
    if (of_tasks := found.get("tasks")) is not None:
        avoided = _avoided(of_tasks)
        if avoided < LEAST_AVOIDED:
            lines.append(f"{avoided:.0%} of kills up to {UP_TO_MB_S} MB/s avoided")
        if len(of_tasks["over_need"]) > MOST_OVER * len(of_tasks["tasks"]):
            lines.append(f"{len(of_tasks['over_need'])} given more than {OVER_NEED:g} × need")
        if of_tasks["page_cache_raised"]:
            lines.append(f"{of_tasks['page_cache_raised']} page cache fillers given more")
    if (agent := found.get("agent")) is not None and agent["on"]["cpu_share"] > MOST_AGENT_SHARE:
        lines.append(f"the agent uses {agent['on']['cpu_share']:.2%} of a core")
    return lines


def _avoided(of_tasks: Mapping[str, Any]) -> float:
    off, on = of_tasks["kills_off_up_to_100"], of_tasks["kills_on_up_to_100"]
    return 1 - on / off if off else 1.0


def _measured(part: str, cluster: Cluster, options: argparse.Namespace) -> dict[str, Any]:
    if part == "latency":
        return asyncio.run(patch_to_limit(cluster))
    if part == "ways":
        return asyncio.run(both_ways(cluster))
    if part == "tasks" and options.by_agent:
        with an_agent_account(cluster) as account, tempfile.TemporaryDirectory() as folder:
            environment = account.environment(Path(folder))
            return tasks(cluster, options.at_once, options.seed, **environment)
    if part == "tasks":
        return tasks(cluster, options.at_once, options.seed)
    return survival(cluster, options.at_once) if part == "grid" else agent_cost()


if __name__ == "__main__":
    sys.exit(main())
