"""`make bench-watch`: a controller that watches thousands of pods while hundreds end per second.

A real API server; kwok plays the kubelets (`fake_nodes.py`), the controller is a process of its
own on SQLite. For each number of pods:

1. pods run, and the controller starts: what it takes to know them all;
2. agents have measured them, and they end at a rate: how late each end is observed. Once a second
   each node's agent sends the last reports of the pods whose ends were observed;
3. it is stopped (SIGSTOP) while a quarter as many more end, and goes on: how many ends a second it
   handles alone, when neither kwok nor the API server uses the processor.

At last a controller is stopped for some seconds and then killed (kill -9) while pods end. Each
time, every end must be observed and counted once.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

import aiohttp
from deploy.local import lifecycle
from deploy.local.binaries.tools import tool
from deploy.local.layout import layout_from
from deploy.local.machine.namespaces import is_inside_network, move_into_network
from kubernetes_asyncio import client
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.scale import results_file
from benchmarks.scale.fake_nodes import AFTER, PODS_OF_A_NODE, STARTS, FakeNodes, a_pod, ends
from benchmarks.scale.watch_agents import Agents
from benchmarks.scale.watch_found import Process, Watched, growth, table
from benchmarks.scale.watch_seen import Costs, Processors, Rows, lag_of, rate_of, shares
from benchmarks.scheduling.throughput import without
from plimsoll_operator.agent.peak_sender import TIMEOUT_S
from plimsoll_operator.attempts.peaks import PEAKS_PATH
from plimsoll_operator.kube.api_server import CORE, ApiServer, api_settings, path_of
from tests.apiserver.controllers import ControllerProcess, a_controller
from tests.apiserver.waiting import logged

CRDS: Final = Path(__file__).resolve().parents[2] / "deploy" / "crds"
TASKS: Final = 200
RATE: Final = 500.0
KILLED: Final = 2_000
"""Pods of the run in which the controller is killed."""
STOPPED_S: Final = 5.0
WITHIN_S: Final = 900.0
NEXT: Final = "rate"
BACKLOG: Final = "backlog"
MOST_GROWTH: Final = 1.5
"""The most that a pod may cost among the most pods, over its cost among the fewest."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How many pods end at a rate. backlog: more that end while the controller is stopped."""

    pods: int
    per_s: float
    backlog: int = 0

    @property
    def all_pods(self) -> int:
        """How many pods run at first."""
        return self.pods + self.backlog


@dataclass(slots=True)
class Bench:
    """Pods of one plan, and a folder for the controller's store and log."""

    nodes: FakeNodes
    plan: Plan
    folder: Path
    progress: Progress
    servers: Mapping[str, int] = field(default_factory=dict)
    """Process ids of the cluster's programs, by name."""
    rows: Rows = field(init=False)

    def __post_init__(self) -> None:
        self.rows = Rows(self.folder / "plimsoll.db")

    async def start_pods(self) -> None:
        """Make the pods, and let kwok set them all running."""
        pods = self.plan.all_pods
        hosts = await self.nodes.make_nodes(-(-pods // PODS_OF_A_NODE))

        def bodies() -> Iterator[dict[str, object]]:
            for number in range(pods):
                yield a_pod(
                    number,
                    task=f"task-{number % TASKS}",
                    node=hosts[number % len(hosts)],
                    part=NEXT if number < self.plan.pods else BACKLOG,
                    after_s=number / self.plan.per_s,
                )

        with self.nodes.played(STARTS):
            with self.shown("creating pods", pods) as tell:
                await self.nodes.make_pods(bodies(), lambda: tell(None))
            await self.nodes.wait_until_none_is("Pending", WITHIN_S)

    @contextlib.asynccontextmanager
    async def agents_of(self, controller: ControllerProcess) -> AsyncIterator[None]:
        """Report the running pods to it; meanwhile each pod whose end it has observed, as ended."""
        (serves, *_) = logged(self.folder, "controller serves")[-1:]
        bearer = {"Authorization": f"Bearer {(self.folder / 'token').read_text()}"}
        url = f"http://127.0.0.1:{serves['port']}{PEAKS_PATH}"
        nodes = {pod["metadata"]["uid"]: pod["spec"]["nodeName"] async for pod in self.nodes.each()}
        waits = aiohttp.ClientTimeout(total=TIMEOUT_S)
        async with aiohttp.ClientSession(headers=bearer, timeout=waits) as session:
            agents = Agents(session, url, nodes)
            with self.shown("reporting peaks", len(set(nodes.values()))) as tell:
                await agents.report_running(tell)
            await Costs(controller.pid).still(WITHIN_S)
            reporting = asyncio.create_task(agents.report_ends(self.rows.seen_s))
            try:
                yield
            finally:
                reporting.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await reporting

    async def observe(self, count: int, what: str) -> None:
        """Wait until so many pods are observed."""
        with self.shown(what, count) as tell:
            await self.rows.wait_for(count, WITHIN_S, tell)

    @contextlib.contextmanager
    def shown(self, what: str, count: int) -> Iterator[Callable[[int | None], None]]:
        """Show the progress; the result takes the number done, or None for one more."""
        bar = self.progress.add_task(f"{self.plan.all_pods:,} pods: {what}", total=count)

        def tell(there: int | None) -> None:
            if there is None:
                self.progress.advance(bar)
            else:
                self.progress.update(bar, completed=there)

        try:
            yield tell
        finally:
            self.progress.remove_task(bar)

    async def measure(self) -> Watched:
        """Measure one controller, as the module says; one is killed if there is no backlog."""
        return await (self._measure() if self.plan.backlog else self._kill())

    async def _measure(self) -> Watched:
        await self.start_pods()
        began_s = time.monotonic()
        async with self._a_controller() as controller:
            costs = Costs(controller.pid)
            await costs.still(WITHIN_S)
            known_s, known_bytes = time.monotonic() - began_s, costs.rss_bytes
            async with self.agents_of(controller):
                cpu_s, processors = await self._ends(controller)
                alone_per_s, alone_cpu_s = await self._catch_up(costs)
            rss_bytes = known_bytes, costs.peak_rss_bytes, costs.rss_bytes
        costs_s = 1e3 * cpu_s / self.plan.pods
        mine = Process(known_s, rss_bytes, costs_s, alone_per_s, alone_cpu_s, processors)
        return await self._watched(mine)

    async def _ends(self, controller: ControllerProcess) -> tuple[float, dict[str, float]]:
        """Let pods end at the rate; CPU seconds of the controller, processors used by each."""
        costs = Costs(controller.pid)
        cpu_s, asked_s = costs.cpu_s, time.monotonic()
        users = {**self.servers, "controller": controller.pid, "this benchmark": os.getpid()}
        before_s = Processors(users).used_s()
        with self.nodes.played(ends(NEXT, after=AFTER)) as kwok:
            await self.observe(self.plan.pods, "ends observed")
            after_s = Processors({**users, "kwok": kwok}).used_s()
            processors = shares(before_s, after_s, time.monotonic() - asked_s)
        return await costs.still(WITHIN_S) - cpu_s, processors

    async def _catch_up(self, costs: Costs) -> tuple[float, float]:
        """Let the rest end while it is stopped; ends a second after that, CPU seconds per 1,000."""
        backlog = self.plan.backlog
        os.kill(costs.pid, signal.SIGSTOP)
        try:
            with self.nodes.played(ends(BACKLOG)):
                await self.nodes.wait_until_none_is("Running", WITHIN_S)
        finally:
            os.kill(costs.pid, signal.SIGCONT)
        cpu_s = costs.cpu_s
        before = set(self.rows.seen_s)
        await self.observe(self.plan.all_pods, "backlog observed")
        caught_s = [at_s for uid, at_s in self.rows.seen_s.items() if uid not in before]
        cpu_s = await costs.still(WITHIN_S) - cpu_s
        return rate_of(caught_s), 1e3 * cpu_s / backlog

    async def _kill(self) -> Watched:
        """Stop one controller, then kill it, while pods end; another goes on with its store."""
        await self.start_pods()
        async with self._a_controller() as controller:
            await Costs(controller.pid).still(WITHIN_S)
            with self.nodes.played(ends(NEXT, after=AFTER)):
                await self.observe(self.plan.pods // 4, "ends observed, then stopped")
                os.kill(controller.pid, signal.SIGSTOP)
                await asyncio.sleep(STOPPED_S)
                os.kill(controller.pid, signal.SIGCONT)
                await self.observe(self.plan.pods // 2, "ends observed, then killed")
                await controller.end(signal.SIGKILL)
                async with self._a_controller() as other:
                    costs = Costs(other.pid)
                    await self.observe(self.plan.pods, "ends observed")
                    await costs.still(WITHIN_S)
                    cpu_s, rss_bytes = costs.cpu_s, (costs.peak_rss_bytes, costs.rss_bytes)
        return await self._watched(Process(0.0, (0, *rss_bytes), 1e3 * cpu_s / self.plan.pods))

    @contextlib.asynccontextmanager
    async def _a_controller(self) -> AsyncIterator[ControllerProcess]:
        starting = a_controller(self.nodes.kubeconfig, self.folder, preloaded=False)
        async with starting as controller:
            async with asyncio.timeout(WITHIN_S):
                while not logged(self.folder, "controller started"):
                    await asyncio.sleep(0.2)
            yield controller

    async def _watched(self, process: Process) -> Watched:
        self.rows.look()
        ended_s = await self.nodes.ended_s()
        first = {
            uid: ended_s[uid] for uid in sorted(ended_s, key=ended_s.__getitem__)[: self.plan.pods]
        }
        seen_s = {uid: at_s for uid, at_s in self.rows.seen_s.items() if uid in first}
        return Watched(
            pods=self.plan.pods,
            backlog=self.plan.backlog,
            observed=len(self.rows.seen_s.keys() & ended_s.keys()),
            counted=self.rows.counted(),
            twice=len(self.rows.twice),
            wanted_per_s=self.plan.per_s,
            ended_per_s=rate_of(first.values()),
            observed_per_s=rate_of(seen_s.values()),
            lag=lag_of(first, seen_s),
            process=process,
        )


@contextlib.asynccontextmanager
async def a_bench(
    cluster: lifecycle.Cluster, plan: Plan, kwok: Path, progress: Progress
) -> AsyncIterator[Bench]:
    """An empty namespace of its own; it is removed with all in it."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        kubeconfig = cluster.layout.kubeconfig
        api = ApiServer(client.ApiClient(await api_settings(str(kubeconfig), None)))
        stack.push_async_callback(api.close)
        namespace = f"bench-watch-{uuid.uuid4().hex[:6]}"
        spaces = path_of(CORE, "namespaces")
        await api.create(
            spaces, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        )
        stack.push_async_callback(api.delete, f"{spaces}/{namespace}")
        while not await api.items(path_of(CORE, "serviceaccounts", namespace)):
            await asyncio.sleep(0.2)
        # It would think that the fake nodes are dead, and collect pods that ended.
        stack.enter_context(without(cluster, "kube-controller-manager", "kube-scheduler"))
        nodes = FakeNodes(api, namespace, kwok, kubeconfig, folder)
        servers = {name: cluster.running()[name] for name in ("kube-apiserver", "etcd")}
        bench = Bench(nodes, plan, folder, progress, servers)
        try:
            yield bench
        finally:
            with bench.shown("deleting pods", plan.all_pods) as tell:
                await nodes.remove(lambda: tell(None))


async def measured(
    cluster: lifecycle.Cluster, plans: Sequence[Plan], kwok: Path, console: Console
) -> list[Watched]:
    """Measure all plans; show each as soon as it is measured."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    found: list[Watched] = []
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress:
        for plan in plans:
            async with a_bench(cluster, plan, kwok, progress) as bench:
                found.append(await bench.measure())
                # Before the pods go: an interruption now loses nothing.
                keep(plan, found[-1])
                console.print(table(found[-1:]))
    return found


def keep(plan: Plan, watched: Watched) -> None:
    """Write it beside the results for other numbers of pods."""
    name = "watch" if plan.backlog else "watch_killed"
    others = results_file.kept().get(name) or {}
    results_file.keep({name: {**others, str(plan.pods): asdict(watched)}})


def main() -> int:
    """Measure, print, write. Returns 0 if every end was observed once, and costs grow linearly."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", type=int, nargs="*", default=[2_000, 5_000, 20_000])
    parser.add_argument("--per-second", type=float, default=RATE)
    parser.add_argument("--killed", type=int, default=KILLED, help="pods; 0 kills no controller")
    options = parser.parse_args()
    console = Console(width=110)
    cluster = lifecycle.Cluster(layout_from(os.environ), dict(os.environ))
    lifecycle.require_up(cluster)
    kwok = tool("kwok", cluster.environment, console.print)
    subprocess.run(cluster.kubectl("apply", "-f", str(CRDS)), check=True, capture_output=True)
    for name in cluster.missing_programs():
        lifecycle.start_program(cluster, name)
    if not is_inside_network(cluster.layout.netns):
        move_into_network(cluster.layout.netns)
    plans = [Plan(pods, options.per_second, -(-pods // 4)) for pods in options.pods]
    killed = [Plan(options.killed, options.per_second / 2)] if options.killed else []
    found = asyncio.run(measured(cluster, [*plans, *killed], kwok, console))
    watched = found[: len(plans)]
    console.print(table(watched))
    linear = len(watched) < 2 or growth(watched) <= MOST_GROWTH
    return 0 if all(each.once for each in found) and linear else 1


if __name__ == "__main__":
    sys.exit(main())
