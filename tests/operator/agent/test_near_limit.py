"""Which pods are watched between two ticks, and when the alarm is raised."""

from __future__ import annotations

from pathlib import Path

import pytest

from plimsoll_operator.agent.near_limit import MOST_AT_ONE_LIMIT, MOST_FAST, MOST_REACT_S
from plimsoll_operator.attempts.alarms import Alarm
from plimsoll_predictor.core.units import MIB
from tests.builders.agent.nearing_nodes import LIMIT, Node


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def settled(node: Node, name: str, anon: float, cache: float = 0) -> None:
    """It is flat for a while, so that it counts as not growing."""
    node.holds(name, anon, cache)
    for _ in range(5):
        node.tick()


@pytest.mark.parametrize(
    ("anon", "cache", "watched"),
    [
        pytest.param(100, 0, False, id="far from its limit"),
        pytest.param(300, 0, True, id="above the mark"),
        pytest.param(100, 300, False, id="full of page cache alone"),
    ],
)
def test_it_is_watched_if_what_cannot_be_reclaimed_is_near_the_limit(
    node: Node, anon: float, cache: float, *, watched: bool
) -> None:
    settled(node, "pod", anon, cache)
    assert node.near.watches is watched


def test_what_will_be_near_its_limit_before_the_next_tick_is_watched(node: Node) -> None:
    for anon in (0, 40, 80, 120, 160, 200, 240):
        node.holds("pod", anon)
        node.tick()
    assert node.near.watches


def test_nobody_is_watched_whom_the_controller_may_not_rescue(node: Node) -> None:
    node.holds("pod", 390)
    for _ in range(5):
        assert node.tick("another") == []
    assert node.near.followed == 0


def test_a_container_without_a_limit_is_not_followed(node: Node) -> None:
    node.holds("pod", 390, limit=0)
    node.tick()
    assert node.near.followed == 0


@pytest.mark.slow
def test_only_so_many_are_watched_the_nearest_first(node: Node) -> None:
    for number in range(MOST_FAST + 5):
        settled(node, f"pod-{number}", 300 + number)
    assert node.look() == []
    assert node.near.looks == MOST_FAST


def test_a_ramp_raises_the_alarm_before_it_reaches_its_limit(node: Node) -> None:
    settled(node, "pod", 300)
    alarms: list[Alarm] = []
    anon = 300.0
    while not alarms:
        anon += 2
        node.holds("pod", anon, cache=5)
        alarms = node.look()
    (alarm,) = alarms
    left_s = (LIMIT - anon) / 20
    assert MOST_REACT_S - 0.1 <= left_s <= MOST_REACT_S + 1.0
    assert alarm.growth_bytes_s == pytest.approx(20 * MIB, rel=0.01)
    assert (alarm.pod_uid, alarm.container_id) == ("pod", "main")
    assert alarm.used_bytes == alarm.anon_bytes == int(anon * MIB)
    assert (alarm.file_bytes, alarm.limit_bytes) == (5 * MIB, LIMIT * MIB)


def test_page_cache_that_fills_up_raises_none(node: Node) -> None:
    settled(node, "pod", 300)
    for cache in range(0, 100, 5):
        node.holds("pod", 300, cache)
        assert node.look() == []


def test_what_does_not_move_costs_one_small_file(node: Node) -> None:
    settled(node, "pod", 300)
    for _ in range(50):
        assert node.look() == []
    assert (node.near.looks, node.near.readings) == (50, 0)


def grown(node: Node) -> None:
    settled(node, "pod", 340)
    for anon in range(344, 398, 4):
        node.holds("pod", anon)
        if node.look():
            return
    raise AssertionError("no alarm")


@pytest.mark.slow
def test_an_alarm_is_repeated_but_not_for_ever(node: Node) -> None:
    grown(node)
    assert [len(node.look()) for _ in range(2)] == [0, 0]
    repeated = 0
    for anon in range(3920, 3980):
        node.holds("pod", anon / 10)
        for _ in range(4):
            repeated += len(node.look())
    assert 5 <= repeated <= MOST_AT_ONE_LIMIT - 1


def test_a_raise_ends_the_alarm_and_tells_how_long_raises_take(node: Node) -> None:
    grown(node)
    assert node.near.react_s == MOST_REACT_S
    node.near.raised(["pod", "another"], node.now_s)
    node.look()
    node.near.raised(["pod"], node.now_s)  # it is raised further, and the first raise counts
    for _ in range(3):
        node.look()
    node.holds("pod", 396, limit=2 * LIMIT)
    assert node.look() == []
    assert node.near.react_s == pytest.approx(0.5)


def test_a_limit_that_somebody_else_raised_tells_nothing_of_raises(node: Node) -> None:
    grown(node)
    node.holds("pod", 396, limit=2 * LIMIT)
    assert node.look() == []
    assert node.near.react_s == MOST_REACT_S


def test_what_ended_is_forgotten(node: Node) -> None:
    settled(node, "pod", 300)
    for each in (node.root / "pod").iterdir():
        each.unlink()
    assert node.look() == []
    assert node.near.followed == 0


@pytest.mark.parametrize(
    "sampler_reads",
    [
        pytest.param(True, id="the sampler reads the new limit"),
        pytest.param(False, id="the sampler has not read the container since"),
    ],
)
def test_a_stepping_container_that_rests_below_its_new_limit_raises_no_alarm(
    node: Node, *, sampler_reads: bool
) -> None:
    for anon in (150, 220, 350):
        settled(node, "pod", anon)
    assert node.near.watches
    sample = node.sampled(("pod", "main"))
    assert sample is not None
    node.at_rest["pod"] = sample
    node.tick()
    node.look()  # an alarm holds, so it reads the limit each time
    node.holds("pod", 350, limit=2 * LIMIT)
    if sampler_reads:
        node.at_rest.clear()
    node.look()
    alarms = [each for _ in range(60) for look in (node.tick, node.look) for each in look()]
    assert alarms == []
    node.holds("pod", 700, limit=2 * LIMIT)
    assert [each.limit_bytes for each in node.look()] == [2 * LIMIT * MIB]
