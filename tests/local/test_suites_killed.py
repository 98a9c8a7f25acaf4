"""When `make test` is killed, all that it has started ends, also its clusters."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from deploy.local import leftovers
from deploy.local.layout import CHECKOUT, Layout
from deploy.local.lifecycle import Cluster, down

from tests.local.traces import until

pytestmark = pytest.mark.node

RUN = """
import sys
from pathlib import Path
from tests.plan import Lane, Plan
from tests.suites import main
folder, *targets = sys.argv[1:]
sys.exit(main([], Plan((Lane("lane", tuple(targets)),)), Path(folder)))
"""
MAKEFILE = f"""
ENTER := {sys.executable} {CHECKOUT}/deploy/local/cluster.py enter
waits:
	$(ENTER) sh -c 'echo $$$$ > unfinished; mv unfinished waits.pid; exec sleep 1000'
looks:
	$(ENTER) touch looked
"""


def start(folder: Path, *targets: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PLIMSOLL_CLUSTER_HOME": str(folder / "cluster")}
    return subprocess.Popen(
        [sys.executable, "-c", RUN, str(folder), *targets],
        cwd=CHECKOUT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def killed(folder: Path, *targets: str, with_its_guard: bool) -> Path:
    """Kill a run when its last target waits in its cluster; return that target's process.

    It is returned as a folder of /proc.
    """
    begun = folder / "waits.pid"
    begun.unlink(missing_ok=True)
    run = start(folder, *targets)
    try:
        until(begun.exists, "a target that waits in the run's cluster")
        waiting = Path(f"/proc/{begun.read_text().strip()}")
        assert waiting.exists()
        if with_its_guard:
            children = f"/proc/{run.pid}/task/{run.pid}/children"
            guard, *_ = map(int, Path(children).read_text().split())
            os.kill(guard, signal.SIGKILL)
    finally:
        run.kill()
        run.communicate()
    return waiting


def lane(folder: Path) -> Cluster:
    return Cluster(Layout(folder / "cluster-lane"), os.environ)


def is_taken_away(folder: Path) -> bool:
    layout = lane(folder).layout
    return layout.name not in leftovers.traces() and not layout.home.exists()


def test_what_a_killed_run_leaves_is_taken_away_by_its_guard_and_without_one_by_the_next_run(
    tmp_path: Path,
) -> None:
    (tmp_path / "Makefile").write_text(MAKEFILE)
    try:
        left = killed(tmp_path, "waits", with_its_guard=True)
        assert left.exists()
        assert lane(tmp_path).is_up()

        waiting = killed(tmp_path, "looks", "waits", with_its_guard=False)
        assert not left.exists()
        assert (tmp_path / "looked").exists()
        until(lambda: not waiting.exists(), "the end of what ran in the cluster")
        until(lambda: is_taken_away(tmp_path), "the cluster is gone")
    finally:
        down(lane(tmp_path))
