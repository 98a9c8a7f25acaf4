"""`make test`, killed: what it has left behind is taken away by the next one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from deploy.local import leftovers
from deploy.local.layout import CHECKOUT, Layout
from deploy.local.lifecycle import Cluster, down

pytestmark = pytest.mark.node

RUN = """
import sys
from pathlib import Path
from tests.suites import Lane, Plan, main
sys.exit(main([], Plan((Lane("lane", (sys.argv[2],)),)), Path(sys.argv[1])))
"""
MAKEFILE = f"""
ENTER := {sys.executable} {CHECKOUT}/deploy/local/cluster.py enter
waits:
	$(ENTER) sh -c 'echo $$$$ > unfinished; mv unfinished waits.pid; exec sleep 1000'
looks:
	$(ENTER) touch looked
"""


def start(folder: Path, target: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PLIMSOLL_CLUSTER_HOME": str(folder / "cluster")}
    return subprocess.Popen(
        [sys.executable, "-c", RUN, str(folder), target],
        cwd=CHECKOUT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def test_what_a_killed_run_left_is_taken_away_by_the_next(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text(MAKEFILE)
    cluster = Cluster(Layout(tmp_path / "cluster-lane"), os.environ)
    killed, begun = start(tmp_path, "waits"), tmp_path / "waits.pid"
    try:
        end_s = time.monotonic() + 120
        while not begun.exists():
            assert time.monotonic() < end_s
            time.sleep(0.1)
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
        waiting = Path(f"/proc/{begun.read_text().strip()}")
        assert waiting.exists()
        assert cluster.is_up()

        following = start(tmp_path, "looks")
        said = following.communicate(timeout=180)[0]
        assert following.returncode == 0, said
        assert (tmp_path / "looked").exists()
        assert not waiting.exists()
        assert cluster.layout.name not in leftovers.traces()
        assert not cluster.layout.home.exists()
    finally:
        down(cluster)
