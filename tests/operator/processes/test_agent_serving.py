"""The agent as a process of its own, with a real controller route and real cgroups. Needs root."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import psutil
import pytest
from aiohttp import web
from aiohttp.typedefs import Handler

from plimsoll_operator.agent.pod_cgroups import Version
from plimsoll_operator.agent.spool import FILE_NAME
from plimsoll_operator.attempts.node_use import NodeUse
from plimsoll_operator.attempts.peaks import PeakReport
from plimsoll_operator.controller.attempts.peak_book import PeakBook
from plimsoll_operator.controller.serving.node_use_routes import node_use_routes
from plimsoll_operator.controller.serving.peak_routes import peak_routes
from plimsoll_predictor.core.units import MIB
from tests.builders.agent.cgroup_trees import CONTAINER, UID
from tests.rigs.node.real_pods import RealPod, a_real_pod
from tests.rigs.servers.serving import serving

SOURCES = [str(Path(__file__).parents[3] / folder) for folder in ("operator", "predictor")]

START = """
import sys
from pathlib import Path
from plimsoll_operator.agent.settings import AgentSettings
from plimsoll_operator.processes.agent import serve
url, folder, root = sys.argv[1:]
serve(AgentSettings(controller_url=url, token_file=Path(folder, 'token'), node_name='n1',
    state_dir=Path(folder, 'state'), cgroup_root=Path(root), interval_s=0.1, save_every_s=0.2))
"""
HEAVY = "aiohttp numpy xgboost sklearn kopf sqlalchemy pydantic kubernetes_asyncio jinja2 orjson"


class Site:
    """The controller's side: a real server whose store is a list. It can go away and return."""

    def __init__(self) -> None:
        self.book = PeakBook()
        self.finals: list[PeakReport] = []
        self.uses: list[NodeUse] = []
        self.refused = 0
        self.is_older = False
        """Whether it is older than agents' reports of the use of nodes."""
        self.port = 0
        self._open = AsyncExitStack()

    async def persist(self, reports: Sequence[PeakReport]) -> None:
        self.finals.extend(reports)

    async def open(self) -> None:
        app = web.Application(middlewares=[self._count])
        app.add_routes(peak_routes(self.book, self.persist, "secret"))
        if not self.is_older:
            app.add_routes(node_use_routes(self.uses.append, "secret"))
        url = await self._open.enter_async_context(serving(app, self.port))
        self.port = int(url.rpartition(":")[2])

    @web.middleware
    async def _count(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        except web.HTTPNotFound:
            self.refused += 1
            raise

    async def close(self) -> None:
        await self._open.aclose()

    def best(self) -> PeakReport | None:
        return self.book.best(UID, CONTAINER, 1)


class Agent:
    """The agent's process, which can be killed and started again."""

    def __init__(self, site: Site, pod: RealPod, folder: Path) -> None:
        self.folder = folder
        (folder / "token").write_text("secret")
        self._arguments = [f"http://127.0.0.1:{site.port}", str(folder), _cgroup_root(pod, folder)]
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> psutil.Process:
        env = os.environ | {"PYTHONPATH": os.pathsep.join(SOURCES)}
        self.process = subprocess.Popen([sys.executable, "-c", START, *self._arguments], env=env)
        return psutil.Process(self.process.pid)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def spooled(self) -> bytes:
        with contextlib.suppress(FileNotFoundError):
            return (self.folder / "state" / FILE_NAME).read_bytes()
        return b""


def _cgroup_root(pod: RealPod, folder: Path) -> str:
    """A folder that looks like /sys/fs/cgroup, with this test's pods only."""
    if pod.hierarchy.version is Version.V2:
        return str(pod.hierarchy.memory)
    root = folder / "cgroup"
    root.mkdir()
    (root / "memory").symlink_to(pod.hierarchy.memory)
    assert pod.hierarchy.cpu is not None
    (root / "cpuacct").symlink_to(pod.hierarchy.cpu)
    return str(root)


async def until(holds: Callable[[], object]) -> None:
    for _ in range(9000):
        if holds():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it never came to be")


@pytest.fixture
def pod() -> Iterator[RealPod]:
    with a_real_pod() as made:
        yield made


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    opened = Site()
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
def agent(site: Site, pod: RealPod, tmp_path: Path) -> Iterator[Agent]:
    made = Agent(site, pod, tmp_path)
    yield made
    made.kill()


HOLD_THEN_WAIT = """
import sys, time
held = b'x' * 120_000_000
sys.stdin.read()
del held
time.sleep(600)
"""


def let_go(child: subprocess.Popen[bytes]) -> None:
    """Make a child that holds memory free it, and wait."""
    assert child.stdin is not None
    child.stdin.close()


@pytest.mark.slow
async def test_a_pods_life_is_reported_to_its_end(site: Site, agent: Agent, pod: RealPod) -> None:
    agent.start()
    child = pod.limit(300 * MIB).start(HOLD_THEN_WAIT)
    await until(lambda: (best := site.best()) and best.need_peak_bytes >= 120_000_000)
    let_go(child)
    assert not site.book.final(UID)

    child.kill()
    child.wait()
    pod.remove_container()
    await until(lambda: site.book.final(UID))

    best = site.best()
    assert best is not None
    assert best.limit_bytes == 300 * MIB
    assert {report.container_id for report in site.finals} == {None, CONTAINER}


BUSY = "while True: pass"


@pytest.mark.slow
async def test_the_use_of_the_node_and_of_a_busy_pod_is_told(
    site: Site, agent: Agent, pod: RealPod
) -> None:
    agent.start()
    pod.start(BUSY)
    await until(lambda: any(UID in use.pods_cores for use in site.uses))
    use = next(use for use in site.uses if UID in use.pods_cores)
    assert use.node == "n1"
    assert use.cpu_share is not None
    assert use.memory_share is not None
    # The pod's use is part of the node's.
    assert use.pods_cores[UID] <= 1.2 * (os.cpu_count() or 1) * use.cpu_share


@pytest.mark.slow
async def test_an_older_controller_that_knows_no_use_of_nodes_has_all_peaks(
    site: Site, agent: Agent, pod: RealPod
) -> None:
    await site.close()
    site.is_older = True
    await site.open()
    agent.start()
    child = pod.limit(300 * MIB).start(HOLD_THEN_WAIT)
    await until(lambda: site.refused >= 1)
    await until(lambda: (best := site.best()) and best.need_peak_bytes >= 120_000_000)
    let_go(child)
    child.kill()
    child.wait()
    pod.remove_container()
    await until(lambda: site.book.final(UID))
    best = site.best()
    assert best is not None
    assert best.need_peak_bytes >= 120_000_000
    assert site.uses == []


@pytest.mark.slow
async def test_a_killed_agent_carries_on_and_loses_no_peak_and_no_end(
    site: Site, agent: Agent, pod: RealPod
) -> None:
    await site.close()  # nobody listens: only the agent's file has the knowledge
    agent.start()
    child = pod.start("held = b'x' * 120_000_000; import time; time.sleep(600)")
    await until(lambda: b'"need_peak_bytes":12' in agent.spooled())
    agent.kill()
    child.kill()
    child.wait()
    pod.remove_container()  # it ends while neither agent nor controller lives
    await site.open()
    agent.start()
    await until(lambda: site.book.final(UID) and len(site.finals) >= 2)

    own = next(report for report in site.finals if report.container_id == CONTAINER)
    assert own.need_peak_bytes >= 120_000_000


@pytest.mark.slow
async def test_an_end_while_the_controller_is_away_arrives_when_it_is_back(
    site: Site, agent: Agent, pod: RealPod
) -> None:
    agent.start()
    child = pod.start("held = b'x' * 120_000_000; import time; time.sleep(600)")
    await until(lambda: (best := site.best()) and best.need_peak_bytes >= 120_000_000)
    await site.close()
    child.kill()
    child.wait()
    pod.remove_container()
    await until(lambda: agent.spooled().count(b'"final":true') == 2)
    agent.kill()
    assert site.finals == []

    await site.open()
    agent.start()
    await until(lambda: len(site.finals) >= 2)
    await until(lambda: b'"final":true' not in agent.spooled())


@pytest.mark.slow
async def test_a_damaged_spool_does_not_stop_the_agent(
    site: Site, agent: Agent, pod: RealPod
) -> None:
    (agent.folder / "state").mkdir()
    (agent.folder / "state" / FILE_NAME).write_bytes(os.urandom(5000))
    agent.start()
    await until(lambda: site.best() is not None)


@pytest.mark.slow
async def test_the_agent_stays_small_and_ends_in_peace(
    site: Site, agent: Agent, pod: RealPod
) -> None:
    process = agent.start()
    await until(lambda: site.best() is not None)
    assert process.memory_info().rss < 50_000_000

    assert agent.process is not None
    agent.process.terminate()
    assert await asyncio.to_thread(agent.process.wait, 10) == 0


def test_the_agent_imports_nothing_heavy() -> None:
    code = f"""
import sys
import plimsoll_operator.agent
print([name for name in {HEAVY!r}.split() if name in sys.modules])
"""
    env = os.environ | {"PYTHONPATH": os.pathsep.join(SOURCES)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
