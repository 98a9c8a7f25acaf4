"""A real Prometheus scrapes a real Plimsoll, and every panel of the dashboard shows something."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import subprocess
import sys
import urllib.request
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from deploy.grafana.panel_kinds import Kind, Panel
from deploy.grafana.panels import ROWS

from tests.apiserver.controllers import Shop, a_shop, until
from tests.conftest import Cluster
from tests.e2e.plimsolls import Plimsoll
from tests.e2e.seeing import WITHIN_S, create, sizes_in_mode
from tests.e2e.workloads import Manifest, a_pod, features
from tests.monitoring.prometheus_servers import Prometheus, a_prometheus

pytestmark = [pytest.mark.node, pytest.mark.asyncio(loop_scope="module")]

PANELS = [panel for _, panels in ROWS for panel in panels]
RUNS = 12
AGENT_PORT, EXTENDER_PORT, EXTENDER_METRICS_PORT = 19_091, 19_092, 19_093


@pytest.fixture(scope="module")
def agent(plimsoll: Plimsoll, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A second agent of the node with metrics; gives their port."""
    folder = tmp_path_factory.mktemp("agent")
    words = ["--controller", controller_of(plimsoll), "--node-name", "node-1"]
    words += ["--state-dir", str(folder), "--metrics-port", str(AGENT_PORT)]
    with a_process(plimsoll, folder / "log", "agent", *words):
        yield AGENT_PORT


@pytest.fixture(scope="module")
def extender(plimsoll: Plimsoll, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """An extender for a scheduler; gives the port of its metrics."""
    words = ["--feed", controller_of(plimsoll), "--address", "127.0.0.1"]
    words += ["--port", str(EXTENDER_PORT), "--metrics-port", str(EXTENDER_METRICS_PORT)]
    folder = tmp_path_factory.mktemp("extender")
    with a_process(plimsoll, folder / "log", "extender", *words):
        yield EXTENDER_METRICS_PORT


@contextlib.contextmanager
def a_process(plimsoll: Plimsoll, log: Path, *words: str) -> Iterator[None]:
    """Run a command of Plimsoll's inside the block, with the token of the running Plimsoll."""
    token = ("--token-file", str(plimsoll.state / "token"))
    command = [sys.executable, "-P", "-m", "plimsoll_operator", *words, *token]
    with log.open("w") as out, subprocess.Popen(command, stderr=out) as process:
        try:
            yield
        finally:
            process.terminate()


def controller_of(plimsoll: Plimsoll) -> str:
    return f"http://127.0.0.1:{plimsoll.ports.controller}"


@pytest.fixture(scope="module")
def prometheus(
    plimsoll: Plimsoll, agent: int, extender: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Prometheus]:
    ports = {
        "admission": plimsoll.ports.metrics,
        "controller": plimsoll.ports.controller,
        "agent": agent,
        "extender": extender,
    }
    jobs = [
        {"job_name": name, "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}
        for name, port in ports.items()
    ]
    with a_prometheus(tmp_path_factory.mktemp("prometheus"), scraping=jobs) as server:
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def seen(
    prometheus: Prometheus, cluster: Cluster, plimsoll: Plimsoll
) -> AsyncIterator[Prometheus]:
    """Since the first scrape, runs have ended, one was killed and lifted, a model was trained."""
    async with a_shop(cluster.kubeconfig) as shop:
        await shop.enforce(minRuns=5, min="16Mi")
        await sizes_in_mode(shop, "enforce")
        await asyncio.to_thread(prometheus.until, 'plimsoll_build_info{component="agent"}')
        await asyncio.to_thread(prometheus.until, 'plimsoll_attempts_total{outcome="succeeded"}')
        await asyncio.to_thread(prometheus.until, "plimsoll_extender_seconds_count")
        await asyncio.to_thread(_ask_for_scores)
        await _work(shop)

        async def shows(promql: str) -> None:
            async def answered() -> bool:
                return bool(await asyncio.to_thread(prometheus.query, promql))

            await until(promql, answered, WITHIN_S)

        await shows("increase(plimsoll_lifts_total[15m]) > 0")
        await shows('increase(plimsoll_trainings_total{result="succeeded"}[15m]) > 0')
        await shows("increase(plimsoll_memory_reserved_byte_seconds_total[15m]) > 0")
        await shows("increase(plimsoll_memory_saved_byte_seconds_total[15m]) > 0")
        await shows('increase(plimsoll_oom_kills_total{at="request"}[15m]) > 0')
        await shows("increase(plimsoll_extender_seconds_count[15m]) > 0")
        yield prometheus


def _ask_for_scores() -> None:
    pod = {"metadata": {"name": "asked"}, "spec": {"containers": []}}
    question = {"Pod": pod, "Nodes": None, "NodeNames": ["node-1"]}
    url = f"http://127.0.0.1:{EXTENDER_PORT}/prioritize"
    asking = urllib.request.Request(url, json.dumps(question).encode())
    with urllib.request.urlopen(asking, timeout=60) as answer:
        assert answer.status == 200


async def _work(shop: Shop) -> None:
    await create(shop, a_pod("too-big", "eat 96", task="growing", memory="64Mi"))
    # Runs that begin before anything is known get no bids; the ones after them are sized.
    for first, last in ((0, 2), (2, RUNS), (RUNS, RUNS + 2)):
        await until(f"{first} runs are known", lambda first=first: _learned(shop, first), WITHIN_S)
        for number in range(first, last):
            await create(shop, _a_run(number))


def _a_run(number: int) -> Manifest:
    rows = (4000, 1000)[number % 2]
    # Memory is held for a while: Kubernetes tells whole seconds, and a run of 0 s saves nothing.
    needed = f"eat {12 + 8 * rows // 1000} 2"
    return a_pod(f"run-{number}", needed, memory="256Mi", annotated=features(rows=rows))


async def _learned(shop: Shop, runs: int) -> bool:
    if not runs:
        return True
    status = (await shop.profile("train")).get("status") or {}
    others_serve = runs < RUNS or status.get("champion") != "request"
    return int(status.get("runs", 0)) >= runs and others_serve


def filled_in(promql: str) -> str:
    """A query with the dashboard's variables filled in as by Grafana."""
    return promql.replace("$namespace", ".*").replace("$__rate_interval", "15m")


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel.title)
async def test_every_question_of_the_dashboard_is_answered(seen: Prometheus, panel: Panel) -> None:
    for query in panel.queries:
        found = await asyncio.to_thread(seen.query, filled_in(query.promql))
        assert found, query.promql
        values = [float(each["value"][1]) for each in found]
        assert any(math.isfinite(value) for value in values), (query.promql, values)
        if panel.kind is Kind.TABLE:
            assert {each["metric"]["task"] for each in found} >= {"train"}


@pytest.mark.parametrize("title", ["Saved, of what was asked for", "Attempts ended"])
async def test_what_happened_is_in_the_figures(seen: Prometheus, title: str) -> None:
    panel = next(each for each in PANELS if each.title == title)
    promql = filled_in(panel.queries[0].promql)
    assert await asyncio.to_thread(seen.query, f"sum({promql}) != 0")


async def test_what_every_process_shows_is_as_prometheus_wants_it(
    seen: Prometheus, plimsoll: Plimsoll
) -> None:
    of_plimsoll = (plimsoll.ports.metrics, plimsoll.ports.controller)
    for port in (*of_plimsoll, AGENT_PORT, EXTENDER_METRICS_PORT):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            shown = answer.read()
        done = subprocess.run(
            ["promtool", "check", "metrics"], input=shown, capture_output=True, check=False
        )
        assert (done.returncode, done.stdout + done.stderr) == (0, b""), shown


async def test_a_scrape_has_a_bounded_number_of_series(seen: Prometheus) -> None:
    (found,) = await asyncio.to_thread(seen.query, 'count({__name__=~"plimsoll_.*"})')
    assert float(found["value"][1]) < 470
