from __future__ import annotations

import math
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_predictor.placing.policies.catalogue import OWN, POLICIES
from plimsoll_predictor.placing.policies.simple import LeastLoaded
from plimsoll_predictor.replay.placing.knowing import Learned, Truth
from plimsoll_predictor.replay.placing.playing import Chooser, Played, Stage, play
from plimsoll_predictor.replay.placing.world import Job, World, read_world, synthetic_world

TWO = World("two", ("a", "b"), np.ones(2), np.array([[2.0, 1.0], [1.5, 3.0]]))
ALIKE = np.array([0.5, 0.5])


def played(world: World, jobs: list[Job], stage: Stage, policy: str = "least-loaded") -> Played:
    shares = np.full(len(world.kinds), 1 / len(world.kinds))
    return play(world, jobs, Chooser(POLICIES[policy](), Truth(world, shares)), stage)


def test_a_job_alone_takes_its_work_and_two_slow_each_other() -> None:
    assert played(TWO, [Job(0)], Stage(1)).slowdowns.tolist() == [1.0]
    both = played(TWO, [Job(0), Job(0)], Stage(1))
    assert both.slowdowns.tolist() == pytest.approx([2.0, 2.0])
    # b ends its work at 1.5 of time, when a, which b does not slow, has ended: alone from 1 on.
    mixed = played(TWO, [Job(0), Job(1)], Stage(1))
    assert mixed.slowdowns.tolist() == pytest.approx([1.0, 1.0 + (1 - 1 / 1.5)])


def test_three_on_a_node_slow_each_other_by_the_product() -> None:
    found = played(TWO, [Job(0), Job(0), Job(0)], Stage(1, places=3))
    assert found.slowdowns.tolist() == pytest.approx([4.0, 4.0, 4.0])


def test_who_finds_no_room_waits() -> None:
    found = played(TWO, [Job(0), Job(0), Job(0, comes_at=0.5)], Stage(1))
    assert found.waits.tolist() == pytest.approx([0.0, 0.0, 1.5])
    assert found.ends_at == pytest.approx(3.0)


@pytest.mark.slow
@given(st.integers(0, 1000), st.sampled_from(list(POLICIES)), st.integers(1, 3))
def test_every_job_runs_once_and_none_is_overtaken_more_often_than_allowed(
    seed: int, policy: str, places: int
) -> None:
    world = synthetic_world(seed, kinds=5)
    draw = random.Random(seed)
    jobs = [Job(draw.randrange(5), draw.choice([0.0, 3.0 * number / 40])) for number in range(40)]
    jobs.sort(key=lambda job: job.comes_at)
    stage = Stage(3, places=places, most_overtaken=5)
    found = played(world, jobs, stage, policy)
    assert (found.slowdowns >= 1 - 1e-9).all()
    assert (found.waits >= 0).all()
    # A job that was overtaken as often as allowed goes next, so that nothing overtakes it.
    assert found.most_overtaken <= 5


@pytest.mark.slow
def test_learning_from_nothing_gains_some_of_what_knowing_gains() -> None:
    world = synthetic_world(4, kinds=6)
    draw = random.Random(1)
    jobs = [Job(draw.randrange(6)) for _ in range(800)]
    shares = np.full(6, 1 / 6)

    def mean(chooser: Chooser) -> float:
        return float(play(world, jobs, chooser, Stage(8)).slowdowns.mean())

    usual = mean(Chooser(LeastLoaded(), Truth(world, shares)))
    known = mean(Chooser(POLICIES[OWN](), Truth(world, shares)))
    learned = mean(Chooser(POLICIES[OWN](), Learned(world, 0.1, 1)))
    assert known < usual * 0.95
    assert usual - learned > 0.4 * (usual - known)


@pytest.mark.slow
def test_what_is_learned_of_a_world_is_the_world() -> None:
    world = synthetic_world(2, kinds=4)
    knowing = Learned(world, 0.02, 1)
    draw = random.Random(2)
    jobs = [Job(draw.randrange(4), 0.3 * number) for number in range(1500)]
    play(world, jobs, Chooser(LeastLoaded(), knowing), Stage(2, places=2, orders=False))
    matrix = knowing.interference.matrix()
    places = [matrix.place(kind) for kind in world.kinds]
    learned = matrix.theta[np.ix_(places, places)]
    assert np.abs(learned - np.log(world.slowdowns)).mean() < 0.12


def test_a_matrix_is_read_and_its_errors_say_where(tmp_path: Path) -> None:
    path = tmp_path / "matrix.csv"
    path.write_text("kind,solo_s,a,b\na,10,1.5,1.2\nb,30,1.1,2\n")
    world = read_world(path)
    assert world.kinds == ("a", "b")
    assert world.work.tolist() == [0.5, 1.5]
    assert world.slowdowns.tolist() == [[1.5, 1.2], [1.1, 2.0]]
    for text, says in (
        ("task,solo_s,a\n", "its first line has to begin with kind,solo_s"),
        ("", "its first line has to begin"),
        ("kind,solo_s,a,b\nb,1,1,1\na,1,1,1\n", "of the kinds of its columns"),
        ("kind,solo_s,a\na,1,-1\n", "line 2: '-1' is not a number above zero"),
        ("kind,solo_s,a\na,soon,1\n", "line 2: 'soon' is not"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=says):
            read_world(path)
    assert math.isclose(synthetic_world(1).work.mean(), 1.0)
