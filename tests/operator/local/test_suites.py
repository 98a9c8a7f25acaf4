"""`make test`: suites side by side, each one's output in one piece, and nothing left behind."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from deploy.local.layout import CHECKOUT

from tests.plan import APART, EVERYTHING, NOT_ALONE, Lane, Plan
from tests.suites import NOT_RUN, TIMED, Ended, Run, without_time

RUN = """
import sys
from pathlib import Path
from tests.plan import Lane, Plan
from tests.suites import main

def lane(name, targets):
    return Lane(name, tuple(targets.split(",")), on_cluster=False)

folder, *lanes = sys.argv[1:]
plan = Plan(tuple(lane(*word.split("=")) for word in lanes))
sys.exit(main([], plan, Path(folder)))
"""
MAKEFILE = """
meet-%:
	@touch $@; timeout 180 sh -c 'until [ -e meet-1 -a -e meet-2 ]; do sleep 0.1; done'; echo met $@
fails:
	@echo words of the failure; exit 3
passes:
	@echo first line; sleep 0.3; echo second line
last:
	@echo was last
waits:
	@echo $$$$ > unfinished; mv unfinished waits.pid; sleep 1000
strays:
	@setsid sh -c 'echo $$$$ > unfinished; mv unfinished waits.pid; sleep 1000; :' & sleep 1000
traceless:
	@echo "NOT RUN: no folder of traces"
"""
WITHIN_S = 180.0
SERVER = """
import time
from tests.rigs.servers.databases import postgresql_server
with postgresql_server() as server:
    print(server.folder, *server.processes(), flush=True)
    time.sleep(1000)
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


@pytest.mark.slow
def test_lanes_run_beside_each_other(folder: Path) -> None:
    """Each waits for the other's file: run one after the other, neither would end."""
    process = start(folder, "one=meet-1", "two=meet-2")
    said = process.communicate(timeout=2 * WITHIN_S)[0]
    assert process.returncode == 0, said
    assert {"met meet-1", "met meet-2"} <= set(said.splitlines())
    assert "all passed" in said


@pytest.mark.slow
def test_one_that_fails_fails_all_and_the_others_run_to_their_ends(folder: Path) -> None:
    process = start(folder, "one=fails,passes", "two=meet-1,last", "three=meet-2")
    said = process.communicate(timeout=2 * WITHIN_S)[0]
    assert process.returncode == 1
    assert "words of the failure" in said
    assert re.search(r"^fails +0:\d\d +\d s CPU  FAILED \(2\)$", said, re.MULTILINE), said
    assert said.count("was last") == 1
    assert said.rstrip().endswith("FAILED: fails")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "statuses"),
    [("passes", {"passes": 0, "last": 0}), ("fails", {"fails": 2, "last": 2})],
)
async def test_nothing_runs_until_what_all_need_has_passed(
    folder: Path, before: str, statuses: dict[str, int]
) -> None:
    plan = Plan((Lane("one", ("last",), on_cluster=False),), before=(before,))
    run = Run(plan, folder, folder / "cluster")
    run.logs.mkdir()
    assert await run.everything() == max(map(bool, statuses.values()))
    assert {each.target: each.status for each in run.ended} == statuses
    assert [each.target for each in run.ended] == [before, "last"]
    assert (run.logs / "last.log").exists() == (before == "passes")


@pytest.mark.slow
def test_what_one_prints_stays_in_one_piece(folder: Path) -> None:
    process = start(folder, "one=meet-1,passes", "two=meet-2,fails,last")
    said = process.communicate(timeout=2 * WITHIN_S)[0]
    assert "===== passes\nfirst line\nsecond line\n=====" in said


@pytest.mark.slow
def test_it_says_what_a_target_took_of_processors() -> None:
    computes, waits = ("n=0; while [ $n -lt 200000 ]; do n=$((n+1)); done", "sleep 0.5; exit 3")

    def took_s(script: str, status: int) -> float:
        done = subprocess.run(
            [*TIMED, "sh", "-c", f"echo said; {script}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == status
        said, processor_s = without_time(done.stdout)
        assert said == "said\n"
        return processor_s

    assert took_s(computes, 0) > took_s(waits, 3)


@pytest.mark.parametrize(
    ("printed", "said", "processor_s"),
    [
        ("words\nprocessor seconds: 1.250 0.500\n", "words\n", 1.75),
        ("words\nprocessor seconds: 1,250 0,500\n", "words\n", 1.75),
        ("killed before that\n", "killed before that\n", 0.0),
        ("processor seconds: 1.0 2.0\na stray\n", "processor seconds: 1.0 2.0\na stray\n", 0.0),
    ],
)
def test_the_time_is_read_as_any_language_writes_it_and_nothing_else_is(
    printed: str, said: str, processor_s: float
) -> None:
    assert without_time(printed) == (said, processor_s)


def until(look: Callable[[], bool]) -> None:
    end_s = time.monotonic() + WITHIN_S
    while not look():
        assert time.monotonic() < end_s
        time.sleep(0.05)


def is_gone(process: str | Path) -> bool:
    return not Path(f"/proc/{process}").exists()


@pytest.mark.slow
@pytest.mark.parametrize("target", ["waits", "strays"])
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_interrupted_it_ends_all_that_it_has_started(
    folder: Path, how: signal.Signals, target: str
) -> None:
    process, begun = start(folder, f"one={target},last"), folder / "waits.pid"
    until(begun.exists)
    process.send_signal(how)
    said = process.communicate(timeout=WITHIN_S)[0]
    assert process.returncode == 130, said
    until(lambda: is_gone(begun.read_text().strip()))
    assert "was last" not in said


@pytest.mark.slow
def test_killed_it_leaves_nothing_running_and_the_next_one_waits_for_that(folder: Path) -> None:
    """A process that has left its session has no parent that would end it."""
    stray = killed(folder)
    until(lambda: is_gone(stray))

    def passes() -> bool:
        following = start(folder, "one=passes")
        said = following.communicate(timeout=WITHIN_S)[0]
        assert following.returncode == 0 or "runs in this checkout already" in said, said
        return following.returncode == 0

    until(passes)


@pytest.mark.slow
def test_what_a_run_left_that_was_killed_with_its_guard_is_ended_by_the_next(folder: Path) -> None:
    stray = killed(folder, with_its_guard=True)
    assert not is_gone(stray)
    said = start(folder, "one=passes").communicate(timeout=WITHIN_S)[0]
    assert "all passed" in said
    until(lambda: is_gone(stray))


def killed(folder: Path, *, with_its_guard: bool = False) -> str:
    """Kill a run; return a process that one of its targets started in a session of its own."""
    run, begun = start(folder, "one=strays,last"), folder / "waits.pid"
    until(begun.exists)
    guard = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()[0]
    run.kill()
    if with_its_guard:
        os.kill(int(guard), signal.SIGKILL)
    run.communicate(timeout=WITHIN_S)
    return begun.read_text().strip()


def test_it_ends_with_the_make_that_runs_it() -> None:
    words = ["make", "--dry-run", "--no-print-directory", "test"]
    said = subprocess.run(words, cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout
    [line] = [line for line in said.splitlines() if "tests.suites" in line]
    assert line.startswith("setpriv --pdeathsig TERM ")


@pytest.mark.slow
def test_a_database_server_ends_with_whoever_is_killed_while_using_it() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER], cwd=CHECKOUT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    folder, *started = process.stdout.readline().split()
    # A server also starts processes that end by themselves, such as its recovery's.
    servers = [each for each in started if not is_gone(each)]
    assert servers
    process.kill()
    process.communicate(timeout=WITHIN_S)
    until(lambda: all(map(is_gone, servers)))
    until(lambda: not Path(folder).exists())


@pytest.mark.slow
def test_what_has_nothing_to_run_on_is_not_said_to_have_passed(folder: Path) -> None:
    process = start(folder, "one=traceless,passes")
    said = process.communicate(timeout=WITHIN_S)[0]
    assert process.returncode == 0
    assert re.search(
        r"^traceless +0:\d\d +\d s CPU  NOT RUN: no folder of traces$", said, re.MULTILINE
    ), said
    assert said.rstrip().endswith("all but traceless passed")


def test_traces_that_are_not_there_are_said_in_one_line() -> None:
    words = ["make", "--no-print-directory", "--assume-old=setup", "test-traces", "TRACES=/nowhere"]
    done = subprocess.run(words, cwd=CHECKOUT, capture_output=True, text=True, check=True)
    [line] = done.stdout.splitlines()
    assert line.startswith(f"{NOT_RUN}no folder /nowhere; the public traces are no part")


@pytest.mark.slow
def test_a_second_run_is_refused_while_the_first_goes_on(folder: Path) -> None:
    first = start(folder, "one=waits")
    try:
        assert first.stdout is not None
        assert "waits begins" in first.stdout.readline()
        second = start(folder, "one=passes")
        said = second.communicate(timeout=WITHIN_S)[0]
        assert second.returncode == 2
        assert "runs in this checkout already" in said
    finally:
        first.terminate()
        first.communicate(timeout=WITHIN_S)


class Noting(Run):
    """A run whose targets note their cluster; those that are ``long`` end when ``last`` begins."""

    last = "fourth"
    long: tuple[str, ...] = ("long",)
    long_ends: asyncio.Event
    gone: list[str]

    def _up(self, name: str) -> None:
        """No cluster comes up: targets do not run."""

    def down(self, names: Sequence[str]) -> None:
        self.gone += names

    async def target(self, command: Sequence[str], environment: dict[str, str]) -> None:
        home = Path(environment.get("PLIMSOLL_CLUSTER_HOME", "")).name
        self.ended.append(Ended(f"{command[-1]} on {home}", 0, 0.0))
        if command[-1] in self.long:
            await self.long_ends.wait()
        elif command[-1] == self.last:
            self.long_ends.set()


@pytest.mark.slow
async def test_what_no_lane_has_begun_is_run_once_by_the_cluster_that_is_free(
    tmp_path: Path,
) -> None:
    lanes = (Lane("one", ("long",)), Lane("two", ("short",)))
    run = Noting(Plan(lanes, shared=("third", "fourth")), tmp_path, tmp_path / "home")
    run.long_ends, run.gone = asyncio.Event(), []
    up = asyncio.create_task(asyncio.sleep(0))
    await asyncio.gather(*(run.lane(lane, up) for lane in lanes))
    assert [each.target for each in run.ended] == [
        "long on home-one", "short on home-two", "third on home-two", "fourth on home-two"
    ]  # fmt: skip
    assert sorted(run.gone) == ["one", "two"]


@pytest.mark.slow
async def test_a_lane_that_is_done_gets_clusters_for_what_no_lane_has_begun(
    tmp_path: Path,
) -> None:
    computing = Lane("computing", ("quick",), on_cluster=False, then=(Lane("late"), Lane("later")))
    plan = Plan((computing, Lane("one", ("long",))), shared=("third", "fourth"))
    run = Noting(plan, tmp_path, tmp_path / "home")
    run.long_ends, run.gone, run.long = asyncio.Event(), [], ("long", "third")
    assert plan.first_clusters == ["one"], "the processors are busy until then"
    assert plan.clusters == ["one", "late", "later"]
    up = asyncio.create_task(asyncio.sleep(0))
    await asyncio.gather(run.lane(computing), run.lane(plan.side_by_side[1], up))
    ran = [each.target for each in run.ended]
    assert ran[:2] == ["quick on ", "long on home-one"]
    assert sorted(ran[2:]) in (
        ["fourth on home-late", "third on home-later"],
        ["fourth on home-later", "third on home-late"],
    )
    assert sorted(run.gone) == ["late", "later", "one"]
    run.ended.clear()
    run.gone.clear()
    await run.lane(computing)
    assert [each.target for each in run.ended] == ["quick on "]
    assert run.gone == [], "nothing is left for a cluster, so none comes up"


def dry_run(*targets: str) -> str:
    words = ["make", "--dry-run", "--no-print-directory", "TRACES=/", *targets]
    return subprocess.run(words, cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout


def run_by(*targets: str) -> set[str]:
    """Folders of tests that make runs for some targets, as `make --dry-run` says."""
    return set(re.findall(r"tests/(\w+)(?= |\n|;)", dry_run(*targets)))


@pytest.mark.slow
def test_every_folder_of_tests_is_run_by_one_target() -> None:
    root = CHECKOUT / "tests"
    folders = {path.relative_to(root).parts[0] for path in root.glob("*/**/test_*.py")}
    targets = [*EVERYTHING.beside, *APART]
    targets.remove("bench-alone")  # a part of each
    counted = Counter(folder for target in targets for folder in run_by(target))
    assert {folder: counted[folder] for folder in folders} == dict.fromkeys(folders, 1)


def test_whatever_a_folders_target_leaves_out_is_run_by_another() -> None:
    said = dry_run(*EVERYTHING.beside)
    apart = Counter(re.findall(r"(?<![\w=])tests/\w+/\w+(?:\.py)?(?=\s)", said))
    left_out = Counter(re.findall(r"--ignore=(\S+)", said))
    assert left_out
    assert apart == left_out
    assert all((CHECKOUT / each).exists() for each in left_out)


@pytest.mark.slow
def test_what_lanes_leave_out_is_run_by_itself_and_held_to_its_seconds() -> None:
    options = {lane.options for lane in EVERYTHING.side_by_side if lane.on_cluster}
    assert options == {NOT_ALONE}
    left = {
        folder
        for target in EVERYTHING.beside
        for folder in run_by(target)
        if "cluster.py enter" in dry_run(target)
    }
    assert left
    assert left <= run_by("bench-alone")
    assert '--alone -m "alone or timed"' in dry_run("bench-alone")
