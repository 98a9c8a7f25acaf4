"""The admission server as a process: what it loads, how large it is, how it ends."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.builders.pods import a_pod
from tests.rigs.processes.lean_servers import DRAIN_S, NEVER_LOADED, until_said
from tests.rigs.servers.admission_servers import (
    Caller,
    a_server,
    calling,
    knowledge_of,
    patch_in,
    settings_in,
    until_true,
)
from tests.rigs.servers.ports import free_port

POD = a_pod().asking("4Gi").limited("4Gi")
MAIN = """
import sys
from pathlib import Path
from plimsoll_operator.processes.admission import serve
from plimsoll_operator.admission.settings import AdmissionSettings
serve(AdmissionSettings())
"""


def start(folder: Path, port: int) -> subprocess.Popen[str]:
    """A server process with all its settings in the environment."""
    settings = settings_in(folder, "http://127.0.0.1:1", drain_s=DRAIN_S, listen_port=port)
    environment = {
        f"PLIMSOLL_{name.upper()}": str(value)
        for name, value in settings.model_dump(exclude={"excluded_namespaces"}).items()
        if value is not None
    }
    # Kubernetes' variables of a Service called plimsoll must not count as settings.
    environment |= {"PLIMSOLL_PORT": "tcp://10.0.0.1:443", "PLIMSOLL_SERVICE_HOST": "10.0.0.1"}
    return subprocess.Popen(
        [sys.executable, "-c", MAIN],
        env={**os.environ, **environment, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


async def answered(caller: Caller) -> list[dict[str, object]]:
    for _ in range(3600):
        try:
            return patch_in(await caller.review(POD))
        except OSError:
            await asyncio.sleep(0.05)
    raise AssertionError("the server did not start")


@pytest.mark.slow
async def test_a_process_serves_is_small_and_ends_in_order(tmp_path: Path) -> None:
    async with a_server(tmp_path, knowledge_of()):
        await until_true((tmp_path / "snapshot.jsonl").exists)
    port = free_port()
    process = start(tmp_path, port)
    try:
        async with calling(port, tmp_path) as caller:
            assert await answered(caller) != []
            for _ in range(20):
                await asyncio.gather(*(caller.review(POD) for _ in range(50)))
            assert psutil.Process(process.pid).memory_info().rss < 120e6
            process.send_signal(signal.SIGTERM)
            said = await asyncio.to_thread(until_said, process, "admission-drains")
            # It drains: endpoints are removed with a delay, and new pods still come.
            assert patch_in(await caller.review(POD)) != []
        output, _ = await asyncio.to_thread(process.communicate, timeout=180)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0
    assert "admission-ended" in output
    assert "Traceback" not in said + output


@pytest.mark.slow
def test_admission_loads_no_learning_no_store_and_no_client() -> None:
    code = (
        "import sys, plimsoll_operator.processes.admission;"
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


@pytest.mark.slow
def test_the_clients_can_still_be_imported_afterwards() -> None:
    code = "import plimsoll_operator.processes.admission, kubernetes_asyncio; print('ok')"
    found = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == "ok"
