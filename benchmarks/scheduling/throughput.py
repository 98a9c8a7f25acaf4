"""How many pods a second a kube-scheduler binds, without the extender and with it, on many nodes.

    make bench-scheduling

The scheduler is the local cluster's program, in a process of its own with the chart's settings.
The nodes are objects without a kubelet. All pods wait before a scheduler starts; the rate counts
the pods after the first tenth. Turns without and with the extender alternate, so that each pair
meets the same conditions.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import aiohttp
import yaml
from deploy.local import lifecycle
from deploy.local.layout import layout_from
from deploy.local.machine.namespaces import is_inside_network, move_into_network
from kubernetes_asyncio import client
from prometheus_client.parser import text_string_to_metric_families
from rich.console import Console
from rich.table import Table

from benchmarks.scheduling.hints import TASKS, tell
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.kube.api_server import CORE, ApiServer, api_settings, path_of
from plimsoll_operator.kube.errors import AlreadyThere
from plimsoll_operator.names import labels
from plimsoll_predictor.core.policy import Mode, Placing, Policy
from plimsoll_predictor.knowledge.knowledge import Knowledge
from tests.builders.nodes import a_node
from tests.rigs.servers.admission_servers import TOKEN, a_feed

CHART: Final = Path(__file__).parents[2] / "tests/chart/golden/scheduler-extender.yaml"
RESULTS: Final = Path(__file__).parents[2] / "bench-scheduling.json"
NAMESPACE: Final = "bench-scheduling"
PROFILE: Final = "plimsoll"
AT_ONCE: Final = 16
WARM_SHARE: Final = 0.1
WITHIN_S: Final = 180.0
EXTENDER_PORT: Final = 19444
METRICS_PORT: Final = 19445
ALONE, EXTENDED = "alone", "with the extender"
BAR: Final = 0.8
"""With the extender, as a share of the scheduler's own rate."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured. scored: percentageOfNodesToScore; 0 is the scheduler's own choice."""

    nodes: int
    pods: int
    rounds: int
    scored: int = 0


@dataclass(slots=True)
class Found:
    """Pods a second by way, one per round, and milliseconds of the extender per answer."""

    rates: dict[str, list[float]] = field(default_factory=dict)
    answer_ms: list[float] = field(default_factory=list)
    results: dict[str, float] = field(default_factory=dict)

    def share(self, way: str) -> float:
        """As a share of the scheduler's own pods a second: the median of pairs."""
        pairs = zip(self.rates[way], self.rates[ALONE], strict=True)
        return statistics.median(one / other for one, other in pairs)


def configuration(way: str, plan: Plan, kubeconfig: Path, folder: Path) -> list[str]:
    """Write a scheduler's configuration as the chart makes it; return its arguments."""
    with CHART.open() as file:
        objects = [each for each in yaml.safe_load_all(file) if each]
    text = next(
        each["data"]["scheduler.yaml"]
        for each in objects
        if "scheduler.yaml" in (each.get("data") or {})
    )
    document = yaml.safe_load(text)
    document["leaderElection"] = {"leaderElect": False}
    # For both ways: the default's 50 requests a second would be the bound, not what is measured.
    connection = {"kubeconfig": str(kubeconfig), "qps": 5000, "burst": 10000}
    document["clientConnection"] = connection
    if plan.scored:
        document["percentageOfNodesToScore"] = plan.scored
    if way == EXTENDED:
        document["extenders"][0]["urlPrefix"] = f"http://127.0.0.1:{EXTENDER_PORT}"
    else:
        del document["extenders"]
    path = folder / f"{way.replace(' ', '-')}.yaml"
    path.write_text(yaml.safe_dump(document))
    return [f"--config={path}", "--secure-port=0"]


@contextlib.contextmanager
def a_process(argv: Sequence[str], log: Path) -> Iterator[None]:
    """Run a program meanwhile."""
    with log.open("wb") as file:
        process = subprocess.Popen(argv, stdout=file, stderr=file)
        try:
            yield
        finally:
            process.terminate()
            process.wait(30)


@dataclass(slots=True)
class Bench:
    """One cluster with nodes that nothing runs on, and an extender that knows them.

    Plans may differ in everything except the nodes.
    """

    api: ApiServer
    cluster: lifecycle.Cluster
    folder: Path

    async def measure(self, way: str, plan: Plan) -> float:
        """Pods a second of one scheduler."""
        names = [f"pod-{number}" for number in range(plan.pods)]
        pods = path_of(CORE, "pods", NAMESPACE)
        await _many(_made(self.api, pods, _pod(name, n)) for n, name in enumerate(names))
        arguments = configuration(way, plan, self.cluster.layout.kubeconfig, self.folder)
        program = str(self.cluster.binaries / "kube-scheduler")
        log = self.folder / f"{way.replace(' ', '-')}.log"
        try:
            async with asyncio.timeout(WITHIN_S):
                with a_process([program, *arguments], log):
                    bound_s = await self._bound(plan.pods)
        except TimeoutError as error:
            said = log.read_text(errors="replace")[-2000:]
            raise SystemExit(f"not all pods were bound within {WITHIN_S:.0f} s: {said}") from error
        finally:
            await _many(self.api.delete(f"{pods}/{name}") for name in names)
        skipped = int(plan.pods * WARM_SHARE)
        return (plan.pods - skipped) / (bound_s[-1] - bound_s[skipped - 1])

    async def _bound(self, pods: int) -> list[float]:
        """When each pod was bound, as the API server reports it; in order."""
        seen: dict[str, float] = {}
        async for event in self._events():
            pod = event["object"]
            if pod.get("spec", {}).get("nodeName"):
                seen.setdefault(pod["metadata"]["name"], time.monotonic())
            if len(seen) == pods:
                break
        return list(seen.values())

    async def _events(self) -> AsyncIterator[dict[str, Any]]:
        settings = self.api.settings
        api = client.ApiClient(settings)
        try:
            answer = await api.call_api(
                path_of(CORE, "pods", NAMESPACE),
                "GET",
                query_params=[("watch", "true")],
                auth_settings=["BearerToken"],
                response_types_map={},
                _preload_content=False,
                _return_http_data_only=True,
            )
            buffer = b""
            async for chunk in answer.content.iter_any():
                *lines, buffer = (buffer + chunk).split(b"\n")
                for line in lines:
                    yield json.loads(line)
        finally:
            await api.close()


def _pod(name: str, number: int) -> dict[str, Any]:
    task = TASKS[number % len(TASKS)]
    ask = {"cpu": "100m", "memory": "128Mi"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {labels.TASK: task.name}},
        "spec": {
            "schedulerName": PROFILE,
            "restartPolicy": "Never",
            # No kubelet would confirm its end.
            "terminationGracePeriodSeconds": 0,
            "containers": [
                {"name": "main", "image": "localhost/none:1", "resources": {"requests": ask}}
            ],
        },
    }


def _node(name: str) -> dict[str, Any]:
    size = {"cpu": "36", "memory": "72Gi", "pods": "110"}
    ready = {"type": "Ready", "status": "True", "reason": "Bench", "message": "nothing runs here"}
    made = a_node(name=name)
    made["spec"] = {}
    made["status"] = {"capacity": size, "allocatable": size, "conditions": [ready]}
    return {"apiVersion": "v1", "kind": "Node", **made}


async def _many(calls: Iterator[Any]) -> None:
    """Make calls, AT_ONCE of them at a time."""
    waiting = iter(list(calls))

    async def some() -> None:
        for call in waiting:
            await call

    await asyncio.gather(*(some() for _ in range(AT_ONCE)))


@contextlib.asynccontextmanager
async def a_bench(cluster: lifecycle.Cluster, plan: Plan) -> AsyncIterator[Bench]:
    """Nodes, and an extender that a feed told which tasks run there."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        api = ApiServer(client.ApiClient(await api_settings(str(cluster.layout.kubeconfig), None)))
        stack.push_async_callback(api.close)
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        await _made(api, path_of(CORE, "namespaces"), space)
        await _account(api)
        for left in await api.items(path_of(CORE, "nodes")):  # left by a killed run
            if left["metadata"]["name"].startswith("bench-"):
                await api.delete(path_of(CORE, "nodes", None, left["metadata"]["name"]))
        # They would think that the fake nodes are dead, and use a part of the processor.
        stack.enter_context(without(cluster, "kube-controller-manager", "kube-scheduler"))
        names = [f"bench-{number}" for number in range(plan.nodes)]
        nodes = path_of(CORE, "nodes")
        own = path_of(CORE, "nodes", None, "node-1")
        await api.patch(own, {"spec": {"unschedulable": True}})
        await _many(api.create(nodes, _node(name)) for name in names)
        # The API server taints new nodes until they are reported as ready.
        await _many(api.patch(f"{nodes}/{name}", {"spec": {"taints": None}}) for name in names)
        try:
            await stack.enter_async_context(an_extender(folder, names))
            yield Bench(api, cluster, folder)
        finally:
            await _many(api.delete(f"{nodes}/{name}") for name in names)
            await api.patch(own, {"spec": {"unschedulable": None}})
            await api.delete(path_of(CORE, "namespaces", None, NAMESPACE))


async def _made(api: ApiServer, path: str, body: dict[str, Any]) -> None:
    """Create an object; one left by an earlier run will do."""
    with contextlib.suppress(AlreadyThere):
        await api.create(path, body)


async def _account(api: ApiServer) -> None:
    accounts = path_of(CORE, "serviceaccounts", NAMESPACE)
    while not await api.items(accounts):
        await asyncio.sleep(0.2)


@contextlib.contextmanager
def without(cluster: lifecycle.Cluster, *programs: str) -> Iterator[None]:
    """Stop programs of the cluster meanwhile."""
    for name in programs:
        if name in cluster.running():
            lifecycle.stop_program(cluster, name)
    try:
        yield
    finally:
        for name in programs:
            lifecycle.start_program(cluster, name)


@contextlib.asynccontextmanager
async def an_extender(folder: Path, hosts: Sequence[str]) -> AsyncIterator[None]:
    """An extender in its own process; it knows fifty tasks, and which of them run on the nodes."""
    board = FeedBoard("bench")
    board.set_defaults(Policy(mode=Mode.ENFORCE, placing=Placing.ENFORCE))
    for task in TASKS:
        task_here = replace(task, namespace=NAMESPACE)
        board.publish(Knowledge(task=task_here, policy=Policy(placing=Placing.ENFORCE)))
    tell(board, hosts, namespace=NAMESPACE)
    (folder / "token").write_text(f"{TOKEN}\n")
    async with a_feed(board) as url:
        argv = [sys.executable, "-m", "plimsoll_operator", "extender", "--feed", url]
        argv += ["--token-file", str(folder / "token"), "--address", "127.0.0.1", "--drain", "0"]
        argv += ["--port", str(EXTENDER_PORT), "--metrics-port", str(METRICS_PORT)]
        with a_process(argv, folder / "extender.log"):
            async with asyncio.timeout(WITHIN_S), aiohttp.ClientSession() as session:
                while not await _is_ready(session):
                    await asyncio.sleep(0.2)
            yield


async def _is_ready(session: aiohttp.ClientSession) -> bool:
    with contextlib.suppress(aiohttp.ClientError):
        async with session.get(f"http://127.0.0.1:{METRICS_PORT}/readyz") as answer:
            return answer.status == 200
    return False


async def extender_metrics() -> tuple[dict[str, float], float, float]:
    """Questions by their result; seconds of answers, and how many."""
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{METRICS_PORT}/metrics") as answer,
    ):
        text = await answer.text()
    samples = [s for family in text_string_to_metric_families(text) for s in family.samples]
    results = {
        s.labels["result"]: s.value
        for s in samples
        if s.name == "plimsoll_extender_questions_total" and s.value
    }
    took_s = next(s.value for s in samples if s.name == "plimsoll_extender_seconds_sum")
    return results, took_s, sum(results.values())


async def found_by(bench: Bench, plan: Plan) -> Found:
    """Measure all ways in turn, again and again; a first round warms up."""
    found = Found({way: [] for way in (ALONE, EXTENDED)})
    await bench.measure(ALONE, replace(plan, pods=max(20, plan.pods // 4)))
    for number in range(plan.rounds):
        ways = [*found.rates]
        for way in ways if number % 2 == 0 else ways[::-1]:
            _, before_s, before = await extender_metrics()
            found.rates[way].append(await bench.measure(way, plan))
            found.results, after_s, after = await extender_metrics()
            if way == EXTENDED and after > before:
                found.answer_ms.append((after_s - before_s) / (after - before) * 1e3)
    return found


def table(found: Found, plan: Plan) -> Table:
    """Show medians, and the share of the scheduler's own rate."""
    scored = f"{plan.scored}% of nodes scored" if plan.scored else "as the chart configures it"
    shown = Table(title=f"Pods a second on {plan.nodes} nodes, {scored}")
    for column in ("", "pods a second", "least to most", "of alone (pairs)"):
        shown.add_column(column, justify="right")
    for way, rates in found.rates.items():
        low, high = min(rates), max(rates)
        share = f"{found.share(way):.2f}" + (f" (bar {BAR})" if way == EXTENDED else "")
        shown.add_row(way, f"{statistics.median(rates):.0f}", f"{low:.0f} to {high:.0f}", share)
    answered = ", ".join(f"{name} {count:.0f}" for name, count in found.results.items())
    shown.caption = f"an answer took {statistics.median(found.answer_ms):.2f} ms; {answered}"
    return shown


async def _measured(cluster: lifecycle.Cluster, plans: Sequence[Plan]) -> list[Found]:
    found = []
    async with a_bench(cluster, plans[0]) as bench:
        for plan in plans:
            found.append(await found_by(bench, plan))
            Console(width=110).print(table(found[-1], plan))
    return found


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--scored", type=int, nargs="*", default=[0, 10])
    options = parser.parse_args()
    plans = [Plan(options.nodes, options.pods, options.rounds, each) for each in options.scored]
    cluster = lifecycle.Cluster(layout_from(os.environ), dict(os.environ))
    lifecycle.require_up(cluster)
    for name in cluster.missing_programs():
        lifecycle.start_program(cluster, name)
    if not is_inside_network(cluster.layout.netns):
        move_into_network(cluster.layout.netns)
    found = asyncio.run(_measured(cluster, plans))
    document = [
        {"nodes": plan.nodes, "scored": plan.scored, "rates": each.rates, "ms": each.answer_ms}
        for plan, each in zip(plans, found, strict=True)
    ]
    RESULTS.write_text(json.dumps(document, indent=2) + "\n")
    return 0 if found[0].share(EXTENDED) >= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
