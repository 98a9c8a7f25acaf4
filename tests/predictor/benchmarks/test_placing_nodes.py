"""The figures of queues on two nodes, with invented runs, and repeats that fail."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.placing.arms import Arm
from benchmarks.placing.kinds import ALONE_S, KINDS, Pace
from benchmarks.placing.mixes import mixes_of
from benchmarks.placing.nodes import all_of, repeats_in, summary_of
from benchmarks.placing.pod_queue import Played, Run
from benchmarks.placing.repeat import Plan, Repeat, compared
from plimsoll_operator.ordering.longest_wait import MOST_WAIT_S
from plimsoll_predictor.placing.placed_run import PlacedRun


def a_repeat(times: float = 0.8, waited_s: float = 30.0) -> Repeat:
    """Runs of each kind; when ordered, each takes ``times`` as long as usual."""

    def played(factor: float, held: bool) -> Played:
        return Played.of(
            [
                Run(kind, "node-1", 0.0, waited_s, waited_s + 9, factor * (3.0 + at % 3), held)
                for at in range(20)
                for kind in KINDS
            ]
        )

    return {Arm.USUAL: played(1.0, False), Arm.ORDERED: played(times, True)}


@pytest.mark.slow
def test_a_repeat_that_fails_is_told_of_and_the_others_count(tmp_path: Path) -> None:
    def play(number: int) -> Repeat:
        if number == 1:
            raise AssertionError("a pod failed")
        return a_repeat()

    printed = StringIO()
    found = all_of(range(3), play, Console(file=printed, width=140), tmp_path / "all.json")
    assert len(found) == 2
    assert "repeat 2 FAILED" in printed.getvalue()
    assert "a pod failed" in printed.getvalue()
    assert printed.getvalue().count("against as usual: -20.0%") == 2
    rows = json.loads((tmp_path / "all.json").read_text())
    assert [row["held"] for row in rows] == [0, 80, 0, 80]
    joined = repeats_in(tmp_path / "all.json") * 2
    assert summary_of(joined).startswith("mean runtime with order and hints, against as usual: -20")
    assert [repeat[Arm.USUAL].runs for repeat in joined] == [a_repeat()[Arm.USUAL].runs] * 4


def test_pairs_of_the_same_submission_have_an_interval() -> None:
    less, low, high = compared([a_repeat(0.85), a_repeat(0.95)])
    assert less == pytest.approx(-0.1)
    assert low < less < high < 0


@pytest.mark.parametrize("number", [0, 1])
def test_the_arms_take_turns_so_that_a_machine_that_becomes_slower_is_so_for_both(
    number: int,
) -> None:
    plan = Plan({}, 0, 0, print, parts=2)
    submitted = [f"{kind}-{at}" for at in range(25) for kind in KINDS]
    turns = list(plan.turns(number, submitted, ["cpu", "mem", "wait", "wait"]))
    begins, follows = plan.arms if number == 0 else plan.arms[::-1]
    assert [arm for arm, _ in turns] == [begins, follows, follows, begins]
    for arm in plan.arms:
        assert [each for who, part in turns if who is arm for each in part.kinds] == submitted
        behind = [each for who, part in turns if who is arm for each in part.followers]
        assert behind == ["cpu", "mem", "wait", "wait"]
    assert len({part.name for _, part in turns}) == len(turns)


def test_what_another_arm_played_between_two_parts_takes_no_time_of_a_queue() -> None:
    first, second = (
        Played.of([Run("cpu", "node-1", at_s, at_s + 2, at_s + 10, 7.5, True)])
        for at_s in (0.0, 300.0)
    )
    both = first.and_then(second)
    assert both.makespan_s == 20.0
    assert both.mean_s == 7.5
    assert both.used == pytest.approx(15 / (4 * 20))


def test_places_that_followers_take_are_in_use() -> None:
    run = Run("cpu", "node-1", 0.0, 2.0, 10.0, 8.0, True)
    ended_before, ended_after, deleted, began_after = (
        (1.0, 4.0),
        (8.0, 15.0),
        (5.0, None),
        (11.0, None),
    )
    played = Played.of([run], [ended_before, ended_after, deleted, began_after])
    assert played.followed_s == 3.0 + 2.0 + 5.0
    assert played.used == pytest.approx((8.0 + 10.0) / (4 * 10.0))
    assert played.and_then(played).used == pytest.approx(played.used)


@pytest.mark.parametrize(
    ("times", "waited_s", "verdict"),
    [(0.8, 30.0, "holds"), (0.95, 30.0, "SHORT"), (0.8, MOST_WAIT_S + 1, "SHORT")],
)
def test_the_bar_is_of_runtimes_and_of_the_longest_wait(
    times: float, waited_s: float, verdict: str
) -> None:
    assert summary_of([a_repeat(times, waited_s)]).endswith(verdict)


def test_each_kind_takes_as_long_alone_on_whichever_machine() -> None:
    for pace in (Pace(800.0, 12.0), Pace(320.0, 3.0)):
        commands = pace.commands()
        assert tuple(commands) == KINDS
        for kind in ("cpu", "mixed", "wait"):
            turns, millions, pause_ms = map(int, commands[kind].split()[1:])
            took_s = turns * (millions / pace.arithmetic + pause_ms / 1000)
            assert took_s == pytest.approx(ALONE_S, rel=0.05)
        assert int(commands["mem"].split()[2]) / pace.memory == pytest.approx(ALONE_S, rel=0.1)


@pytest.mark.parametrize("arithmetic", [100.0, 200.0, 900.0, 3000.0])
def test_who_waits_computes_little_however_slow_a_node_is(arithmetic: float) -> None:
    """The words of its program: turns, millions of steps in each, a pause in ms."""
    commands = Pace(arithmetic, 5.0).commands(8.0)
    computed = {}
    for kind in ("cpu", "mixed", "wait"):
        turns, millions, pause_ms = map(int, commands[kind].split()[1:])
        busy_s = turns * millions / arithmetic
        assert busy_s + turns * pause_ms / 1000 == pytest.approx(8.0, rel=0.02)
        computed[kind] = busy_s / 8.0
    assert computed["cpu"] == pytest.approx(1.0, rel=0.02)
    assert computed["mixed"] == pytest.approx(0.2, rel=0.05)
    assert computed["wait"] == pytest.approx(0.04, rel=0.05)


@pytest.mark.slow
def test_two_that_halve_each_other_gain_nothing_fairly_beside_two_that_they_slow() -> None:
    """One that waits is slowed by a fifth beside one that computes, where the best mix puts it."""
    slow = {"cpu": {"cpu": 2.0, "wait": 1.0}, "wait": {"cpu": 1.2, "wait": 1.0}}
    runs = [
        PlacedRun(
            kind=kind,
            node="n",
            submitted_s=0.0,
            started_s=0.0,
            finished_s=100.0 * (times if beside else 1.0),
            forecast_s=100.0,
            beside={other: beside} if beside else {},
        )
        for _ in range(100)
        for kind, others in slow.items()
        for other, times in others.items()
        for beside in (0.0, 1.0)
    ]
    found = mixes_of(runs)
    assert found.best == pytest.approx(0.15, abs=0.02)
    assert found.fair < 0.02
    assert "more than 0.5%" in str(found)
