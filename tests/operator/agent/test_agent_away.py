"""What a run teaches if its agent was away in the middle: another one came, or it restarted."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.agent.need import Peaks
from plimsoll_operator.agent.outbox import Key
from plimsoll_operator.agent.pod_cgroups import Version, find_hierarchy, find_kubepods, scan
from plimsoll_operator.agent.sampler import Sampler
from plimsoll_operator.agent.spool import Spool, Spooled
from plimsoll_operator.attempts.observation import with_peak
from plimsoll_operator.attempts.peaks import PeakReport
from plimsoll_operator.controller.attempts.peak_book import PeakBook
from plimsoll_predictor.core.documents import from_document, to_document
from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GIB, MIB
from tests.builders.agent.cgroup_trees import CONTAINER, UID, RecordedTree

POD = f"kubepods/burstable/pod{UID}"
STARTED_S = 1_700_000_000.0
NEW_IN_REPORTS = ("unseen_s", "before_bytes")
NEW_IN_FILES = ("unseen_s", "read_clock_s")


class Node:
    """A node with one run, whose agents come and go, and the controller that they report to."""

    def __init__(self, folder: Path, *, kernel_peak: bool, older: bool = False) -> None:
        self.tree = RecordedTree(folder / "cgroup")
        self.spool = Spool(folder / "state")
        self.kernel_peak, self.older = kernel_peak, older
        self.highest_bytes = 0
        self.now_s = self.started_s = STARTED_S
        self.booted_s = STARTED_S - 5_000.0
        self.book = PeakBook()
        self.uses(GIB)
        self.sampler = self.an_agent({})

    def an_agent(self, restored: Mapping[Key, Peaks]) -> Sampler:
        return Sampler(Version.V2, restored, lambda: self.now_s, clock_s=self.up_s)

    def up_s(self) -> float:
        return self.now_s - self.booted_s

    def pulls_for(self, seconds: float) -> None:
        """The pod has its sandbox, and its container does not run yet."""
        if (self.tree.root / POD / CONTAINER).exists():
            self.tree.remove(f"{POD}/{CONTAINER}")
        peak = 2 * MIB if self.kernel_peak else None
        self.tree.write(POD, current=MIB, anon=MIB, inactive_file=0, peak=peak)
        self.is_seen_for(seconds)
        self.started_s, self.highest_bytes = self.now_s, 0

    def uses(self, anon: int, cache: int = 0) -> None:
        self.highest_bytes = max(self.highest_bytes, anon + cache)
        peak = self.highest_bytes if self.kernel_peak else None
        for cgroup in (POD, f"{POD}/{CONTAINER}"):
            self.tree.write(cgroup, current=anon + cache, anon=anon, inactive_file=cache, peak=peak)

    def is_seen_for(self, seconds: float) -> None:
        until_s = self.now_s + seconds
        while self.now_s < until_s:
            self.tick()
            self.now_s = min(until_s, self.now_s + 1 + seconds // 50)
        self.tick()

    def tick(self) -> None:
        hierarchy = find_hierarchy(self.tree.root)
        self.tell(self.sampler.tick(scan(hierarchy, find_kubepods(hierarchy))))

    def tell(self, reports: Iterable[PeakReport]) -> None:
        left_out = NEW_IN_REPORTS if self.older else ()
        self.book.add(_without(PeakReport, each, left_out) for each in reports)

    def clock_is_set_back(self, seconds: float) -> None:
        self.now_s -= seconds
        self.booted_s -= seconds

    def agent_is_killed(self) -> None:
        running = self.sampler.running()
        left_out = NEW_IN_FILES if self.older else ()
        running = {key: _without(Peaks, each, left_out) for key, each in running.items()}
        assert self.spool.save(Spooled(running))

    def agent_ends(self) -> None:
        if not self.older:
            self.tell(self.sampler.unreported())

    def learned_bytes(self) -> int | None:
        """The run ends, and the agent sees it."""
        finished_s = self.now_s
        self.tree.remove(POD)
        self.tick()
        ended = Observation(
            attempt_uid=UID,
            task=TaskId("shop", "train"),
            run=f"pod:{UID}",
            outcome=Outcome.SUCCEEDED,
            started_s=self.started_s,
            finished_s=finished_s,
        )
        best = self.book.best(UID, CONTAINER, 1)
        assert best is not None
        return with_peak(ended, best).peak_bytes


def _without(kind: type[Any], value: Any, fields: Iterable[str]) -> Any:
    """The value as it comes over the wire, or from a file, of an agent without these fields."""
    document = {key: each for key, each in to_document(value).items() if key not in fields}
    return from_document(kind, document, "as sent")


def next_agent(node: Node, way: str, away_s: float) -> None:
    """The agent goes; the next one comes after ``away_s``, with the files of the first or none."""
    if way == "killed":
        node.agent_is_killed()
    else:
        node.agent_ends()
    node.now_s += away_s
    running = node.spool.load(node.up_s).running if way == "killed" else {}
    assert bool(running) == (way == "killed")
    node.older = False
    node.sampler = node.an_agent(running)


WAYS = pytest.mark.parametrize("way", ["killed", "replaced"])
KERNELS = pytest.mark.parametrize(
    "kernel_peak", [pytest.param(True, id="5.19"), pytest.param(False, id="5.15")]
)


@WAYS
@KERNELS
@pytest.mark.parametrize(
    ("seen_s", "away_s"),
    [
        pytest.param(1800, 3600, id="half of a long run"),
        pytest.param(60, 30, id="a fifth of a short one"),
    ],
)
def test_a_run_that_no_agent_saw_in_its_middle_teaches_nothing(
    tmp_path: Path, way: str, *, kernel_peak: bool, seen_s: int, away_s: int
) -> None:
    node = Node(tmp_path, kernel_peak=kernel_peak)
    node.is_seen_for(seen_s)
    node.uses(12 * GIB)
    next_agent(node, way, away_s)
    node.uses(GIB, cache=6 * GIB)
    node.is_seen_for(seen_s)
    assert node.learned_bytes() is None


@WAYS
@KERNELS
@pytest.mark.parametrize(
    ("seen_s", "away_s"),
    [
        pytest.param(15, 2, id="a restart in place"),
        pytest.param(15, 14, id="an upgrade whose image is there"),
        pytest.param(600, 60, id="a slower upgrade in a longer run"),
    ],
)
def test_a_short_absence_does_not_matter(
    tmp_path: Path, way: str, *, kernel_peak: bool, seen_s: int, away_s: int
) -> None:
    """The cache hides what the kernel's peak would tell."""
    node = Node(tmp_path, kernel_peak=kernel_peak)
    node.uses(2 * GIB)
    node.tick()
    node.uses(GIB, cache=4 * GIB)
    node.is_seen_for(seen_s)
    next_agent(node, way, away_s)
    node.is_seen_for(seen_s)
    assert node.learned_bytes() == 2 * GIB


@WAYS
def test_a_long_absence_does_not_matter_if_the_kernels_peak_was_seen_to_be_needed(
    tmp_path: Path, way: str
) -> None:
    node = Node(tmp_path, kernel_peak=True)
    node.uses(12 * GIB)
    node.is_seen_for(60)
    node.uses(GIB, cache=6 * GIB)
    next_agent(node, way, 600)
    node.is_seen_for(60)
    assert node.learned_bytes() == 12 * GIB


@WAYS
def test_what_happened_meanwhile_does_not_matter_once_more_is_needed(
    tmp_path: Path, way: str
) -> None:
    node = Node(tmp_path, kernel_peak=True)
    node.is_seen_for(60)
    node.uses(6 * GIB)
    next_agent(node, way, 600)
    node.uses(GIB, cache=3 * GIB)
    node.is_seen_for(60)
    node.uses(7 * GIB)
    node.is_seen_for(60)
    assert node.learned_bytes() == 7 * GIB


@pytest.mark.parametrize("ways", list(itertools.product(["killed", "replaced"], repeat=3)))
def test_absences_add_up(tmp_path: Path, ways: tuple[str, ...]) -> None:
    """Any two are less than a tenth of the run, all three are more."""
    node = Node(tmp_path, kernel_peak=False)
    for way in ways:
        node.is_seen_for(120)
        next_agent(node, way, 20)
    node.is_seen_for(80)
    assert node.learned_bytes() is None


@pytest.mark.parametrize("ways", list(itertools.product(["killed", "replaced"], repeat=2)))
def test_no_absence_counts_twice(tmp_path: Path, ways: tuple[str, ...]) -> None:
    node = Node(tmp_path, kernel_peak=False)
    for way in ways:
        node.is_seen_for(120)
        next_agent(node, way, 20)
    node.is_seen_for(200)
    assert node.learned_bytes() == GIB


@WAYS
@KERNELS
def test_an_absence_before_the_container_began_is_not_of_its_run(
    tmp_path: Path, way: str, *, kernel_peak: bool
) -> None:
    """An image is pulled for minutes."""
    node = Node(tmp_path, kernel_peak=kernel_peak)
    node.pulls_for(30)
    next_agent(node, way, 40)
    node.pulls_for(30)
    node.uses(3 * GIB)
    node.is_seen_for(120)
    assert node.learned_bytes() == 3 * GIB


@WAYS
def test_an_absence_in_which_the_container_began_or_ended_is_of_its_run(
    tmp_path: Path, way: str
) -> None:
    began = Node(tmp_path / "began", kernel_peak=False)
    began.pulls_for(30)
    next_agent(began, way, 40)
    began.started_s = began.now_s - 20
    began.uses(3 * GIB)
    began.is_seen_for(120)
    assert began.learned_bytes() is None

    ended = Node(tmp_path / "ended", kernel_peak=False)
    ended.is_seen_for(120)
    next_agent(ended, way, 40)
    ended.tree.remove(f"{POD}/{CONTAINER}")
    ended.tick()
    assert ended.learned_bytes() is None


@pytest.mark.parametrize("back_s", [30, 3600])
def test_a_clock_that_is_set_back_makes_no_time_unseen(tmp_path: Path, back_s: int) -> None:
    node = Node(tmp_path, kernel_peak=False)
    node.is_seen_for(5)
    node.clock_is_set_back(back_s)
    for gib in (2, 3, 4, 5):
        node.now_s += 50
        node.uses(gib * GIB)
        node.tick()
    node.now_s += 3600
    node.uses(6 * GIB)
    node.tick()
    assert node.learned_bytes() == 6 * GIB


def test_an_agent_whose_files_could_not_be_written_was_not_away_since_they_were(
    tmp_path: Path,
) -> None:
    """Its node's disk filled up; it told the controller all."""
    node = Node(tmp_path, kernel_peak=False)
    node.is_seen_for(60)
    assert node.spool.save(Spooled(node.sampler.running()))
    (tmp_path / "state" / "peaks.partial").mkdir()
    node.is_seen_for(3600)
    node.uses(5 * GIB)
    node.is_seen_for(60)
    assert not node.spool.save(Spooled(node.sampler.running()))
    node.now_s += 2
    node.sampler = node.an_agent(node.spool.load(node.up_s).running)
    node.is_seen_for(60)
    assert node.learned_bytes() == 5 * GIB


def test_files_of_some_seconds_ago_count_though_a_later_one_could_not_be_written(
    tmp_path: Path,
) -> None:
    """A run that rests is not reported again, so the files alone know when it was last read."""
    node = Node(tmp_path, kernel_peak=False)
    node.uses(5 * GIB)
    node.is_seen_for(3600)
    assert node.spool.save(Spooled(node.sampler.running()))
    (tmp_path / "state" / "peaks.partial").mkdir()
    node.is_seen_for(5)
    assert not node.spool.save(Spooled(node.sampler.running()))
    node.now_s += 2  # killed, and another comes
    node.sampler = node.an_agent(node.spool.load(node.up_s).running)
    node.is_seen_for(5)
    assert node.learned_bytes() == 5 * GIB


@pytest.mark.parametrize("back_s", [0, 300, 700, 3600, 7200])
def test_an_absence_is_noticed_though_the_clock_was_set_back_before(
    tmp_path: Path, back_s: int
) -> None:
    node = Node(tmp_path, kernel_peak=False)
    node.is_seen_for(5)
    node.clock_is_set_back(back_s)
    node.is_seen_for(600)
    next_agent(node, "replaced", 600)
    node.is_seen_for(600)
    assert node.learned_bytes() is None


@pytest.mark.parametrize("back_s", [0, 300, 3600])
def test_a_short_absence_after_the_clock_was_set_back_costs_nothing(
    tmp_path: Path, back_s: int
) -> None:
    node = Node(tmp_path, kernel_peak=False)
    node.is_seen_for(5)
    node.clock_is_set_back(back_s)
    node.is_seen_for(600)
    next_agent(node, "replaced", 10)
    node.is_seen_for(600)
    assert node.learned_bytes() == GIB


def test_what_was_known_of_the_beginning_stays_known_after_an_absence(tmp_path: Path) -> None:
    """The kernel's peak told that half of the run, before the first agent came, was no more."""
    node = Node(tmp_path, kernel_peak=True)
    node.now_s += 600
    node.is_seen_for(300)
    node.uses(GIB, cache=6 * GIB)
    next_agent(node, "killed", 20)
    node.is_seen_for(300)
    assert node.learned_bytes() == GIB


@WAYS
def test_an_older_agent_does_not_say_when_it_last_read(tmp_path: Path, way: str) -> None:
    """Its runs teach what they taught before; it may have read until a second ago."""
    node = Node(tmp_path, kernel_peak=False, older=True)
    node.is_seen_for(600)
    next_agent(node, way, 20)
    node.is_seen_for(60)
    assert node.learned_bytes() == GIB


@pytest.mark.parametrize(
    ("kernel_peak", "up_s"),
    [
        pytest.param(False, 10.0, id="the clock has begun again"),
        pytest.param(True, 1e5, id="the kernel's peak, which only grows, is less"),
    ],
)
def test_after_a_reboot_no_time_counts_as_unseen(
    tmp_path: Path, *, kernel_peak: bool, up_s: float
) -> None:
    """The pod's cgroup was made again."""
    node = Node(tmp_path, kernel_peak=kernel_peak)
    node.uses(3 * GIB)
    node.is_seen_for(60)
    node.agent_is_killed()
    node.now_s += 300
    node.highest_bytes = 0
    node.uses(GIB)
    node.booted_s = node.now_s - up_s
    node.sampler = node.an_agent(node.spool.load(node.up_s).running)
    node.is_seen_for(60)
    assert node.learned_bytes() == 3 * GIB
