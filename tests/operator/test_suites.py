"""`make test`: suites side by side, each one's output in one piece, and nothing left behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from deploy.local.layout import CHECKOUT

from tests.suites import EVERYTHING, NOT_ALONE

RUN = """
import sys
from pathlib import Path
from tests.suites import Lane, Plan, main

def lane(name, targets):
    return Lane(name, tuple(targets.split(",")), on_cluster=False)

folder, *lanes = sys.argv[1:]
plan = Plan(tuple(lane(*word.split("=")) for word in lanes), (lane("last", "last"),))
sys.exit(main([], plan, Path(folder)))
"""
MAKEFILE = """
meet-%:
	@touch $@; timeout 60 sh -c 'until [ -e meet-1 -a -e meet-2 ]; do sleep 0.1; done'; echo met $@
fails:
	@echo words of the failure; exit 3
passes:
	@echo first line; sleep 0.3; echo second line
last:
	@echo was last
waits:
	@echo $$$$ > unfinished; mv unfinished waits.pid; sleep 1000
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "Makefile").write_text(MAKEFILE)
    return tmp_path


def start(folder: Path, *lanes: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PLIMSOLL_CLUSTER_HOME": str(folder / "cluster")}
    return subprocess.Popen(
        [sys.executable, "-c", RUN, str(folder), *lanes],
        cwd=CHECKOUT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_lanes_run_beside_each_other(folder: Path) -> None:
    """Each waits for the other's file: one after the other, neither would end."""
    process = start(folder, "one=meet-1", "two=meet-2")
    said = process.communicate(timeout=90)[0]
    assert process.returncode == 0, said
    assert {"met meet-1", "met meet-2", "was last"} <= set(said.splitlines())
    assert "all passed" in said


def test_one_that_fails_fails_all_and_the_others_run_to_their_ends(folder: Path) -> None:
    process = start(folder, "one=fails,passes", "two=meet-1,last", "three=meet-2")
    said = process.communicate(timeout=90)[0]
    assert process.returncode == 1
    assert "words of the failure" in said
    assert re.search(r"^fails +0:\d\d +FAILED \(2\)$", said, re.MULTILINE), said
    assert said.count("was last") == 2
    assert said.rstrip().endswith("FAILED: fails")


def test_what_one_prints_stays_in_one_piece(folder: Path) -> None:
    process = start(folder, "one=meet-1,passes", "two=meet-2,fails,last")
    said = process.communicate(timeout=90)[0]
    assert "===== passes\nfirst line\nsecond line\n=====" in said


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_interrupted_it_ends_all_that_it_has_started(folder: Path, how: signal.Signals) -> None:
    process, begun = start(folder, "one=waits"), folder / "waits.pid"
    end_s = time.monotonic() + 60
    while not begun.exists():
        assert time.monotonic() < end_s
        time.sleep(0.05)
    process.send_signal(how)
    said = process.communicate(timeout=60)[0]
    assert process.returncode == 130, said
    assert not Path(f"/proc/{begun.read_text().strip()}").exists()
    assert "was last" not in said


def test_a_second_run_is_refused_while_the_first_goes_on(folder: Path) -> None:
    first = start(folder, "one=waits")
    try:
        assert first.stdout is not None
        assert "waits begins" in first.stdout.readline()
        second = start(folder, "one=passes")
        said = second.communicate(timeout=60)[0]
        assert second.returncode == 2
        assert "runs in this checkout already" in said
    finally:
        first.terminate()
        first.communicate(timeout=60)


def run_by(*targets: str) -> set[str]:
    """Folders of tests that make runs for some targets, as `make --dry-run` says."""
    words = ["make", "--dry-run", "--no-print-directory", "TRACES=/", *targets]
    said = subprocess.run(words, cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"tests/(\w+)(?= |\n|;)", said))


def test_every_folder_of_tests_is_run_by_one_lane() -> None:
    folders = {path.parent.name for path in (CHECKOUT / "tests").glob("*/test_*.py")}
    counted = Counter(
        folder for lane in EVERYTHING.side_by_side for folder in run_by(*lane.targets)
    )
    assert {folder: counted[folder] for folder in folders} == dict.fromkeys(folders, 1)


def test_what_lanes_leave_out_is_run_afterwards() -> None:
    left = {
        folder
        for lane in EVERYTHING.side_by_side
        if lane.options == NOT_ALONE
        for folder in run_by(*lane.targets)
    }
    afterwards = {f for lane in EVERYTHING.afterwards for f in run_by(*lane.targets)}
    assert left
    assert left <= afterwards
