"""When `make test` is killed, all that it has started ends, also its clusters."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
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


def until(look: Callable[[], bool]) -> None:
    end_s = time.monotonic() + 120
    while not look():
        assert time.monotonic() < end_s
        time.sleep(0.1)


@contextlib.contextmanager
def killed(folder: Path, *, with_its_guard: bool) -> Iterator[Path]:
    """A process that a target ran in its cluster when the run was killed: a folder of /proc."""
    (folder / "Makefile").write_text(MAKEFILE)
    run, begun = start(folder, "waits"), folder / "waits.pid"
    try:
        until(begun.exists)
        waiting = Path(f"/proc/{begun.read_text().strip()}")
        assert waiting.exists()
        children = f"/proc/{run.pid}/task/{run.pid}/children"
        guard, *_ = map(int, Path(children).read_text().split())
        run.kill()
        if with_its_guard:
            os.kill(guard, signal.SIGKILL)
        run.communicate()
        yield waiting
    finally:
        down(lane(folder))


def lane(folder: Path) -> Cluster:
    return Cluster(Layout(folder / "cluster-lane"), os.environ)


def is_taken_away(folder: Path) -> bool:
    layout = lane(folder).layout
    return layout.name not in leftovers.traces() and not layout.home.exists()


def test_a_killed_run_leaves_neither_processes_nor_a_cluster(tmp_path: Path) -> None:
    with killed(tmp_path, with_its_guard=False) as waiting:
        until(lambda: not waiting.exists())
        until(lambda: is_taken_away(tmp_path))


def test_what_a_run_left_that_was_killed_with_its_guard_is_taken_away_by_the_next(
    tmp_path: Path,
) -> None:
    with killed(tmp_path, with_its_guard=True) as waiting:
        assert waiting.exists()
        assert lane(tmp_path).is_up()
        following = start(tmp_path, "looks")
        said = following.communicate(timeout=180)[0]
        assert following.returncode == 0, said
        assert (tmp_path / "looked").exists()
        assert not waiting.exists()
        assert is_taken_away(tmp_path)
