"""The extender as a process: how its command starts, what it loads, how it ends."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import aiohttp
import psutil
import pytest

from plimsoll_operator.feed.board import FeedBoard
from plimsoll_predictor.core.policy import Placing
from tests.builders.placing.told_nodes import tell_nodes
from tests.builders.pods import a_pod
from tests.rigs.processes.lean_servers import DRAIN_S, NEVER_LOADED, until_said
from tests.rigs.servers.admission_servers import TRAIN, a_feed, knowledge_of
from tests.rigs.servers.extenders import Scheduler, extender_settings
from tests.rigs.servers.ports import free_port

POD = a_pod()
MOST_TRIES = 3600


def start(folder: Path, feed_url: str, port: int) -> subprocess.Popen[str]:
    """Run the command with all addresses and files in its options."""
    token_file = extender_settings(folder, feed_url).feed_token_file
    words = ["--feed", feed_url, "--token-file", str(token_file), "--address", "127.0.0.1"]
    words += ["--port", str(port), "--metrics-port", "0", "--drain", str(DRAIN_S)]
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "plimsoll_operator", "extender", *words],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


async def scored(scheduler: Scheduler) -> list[int]:
    """The first scores above 0: there are none until it listens and has read the feed."""
    for _ in range(MOST_TRIES):
        try:
            found = await scheduler.prioritize(
                {"Pod": POD.built(), "Nodes": None, "NodeNames": ["node-1", "node-2"]}
            )
        except OSError:
            found = []
        if any(each["Score"] for each in found):
            return [each["Score"] for each in found]
        await asyncio.sleep(0.05)
    raise AssertionError("there were no scores")


@pytest.mark.slow
async def test_a_process_scores_is_small_and_ends_in_order(tmp_path: Path) -> None:
    board = FeedBoard("epoch-1")
    board.publish(knowledge_of(placing=Placing.ENFORCE))
    tell_nodes(board, TRAIN, node_1=3, node_2=0)
    async with a_feed(board) as url:
        port = free_port()
        process = start(tmp_path, url, port)
        try:
            async with aiohttp.ClientSession() as session:
                scheduler = Scheduler(session, f"http://127.0.0.1:{port}")
                assert await scored(scheduler) == [10]
                assert psutil.Process(process.pid).memory_info().rss < 120e6
                process.send_signal(signal.SIGTERM)
                said = await asyncio.to_thread(until_said, process, "extender-drains")
                # It drains: endpoints are removed with a delay, and new questions still come.
                assert await scored(scheduler) == [10]
            output, _ = await asyncio.to_thread(process.communicate, timeout=180)
        finally:
            process.kill()
            process.wait()
    assert process.returncode == 0
    assert "extender-ended" in output
    assert "Traceback" not in said + output


@pytest.mark.slow
def test_the_extender_loads_no_learning_no_store_and_no_client() -> None:
    code = (
        "import sys, plimsoll_operator.processes.extender;"
        f"print([n for n in {NEVER_LOADED!r} if sys.modules.get(n) is not None])"
    )
    found = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == "[]"
