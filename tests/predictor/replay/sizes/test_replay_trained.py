"""A replay that trains: by the product's trigger, within its bounds, and never from the future."""

from __future__ import annotations

import random

import pytest

from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.experts.panel import MODELLED
from plimsoll_predictor.replay.sizes.engine import replay
from plimsoll_predictor.replay.sizes.policies import PLIMSOLL
from plimsoll_predictor.replay.sizes.product import ProductSizer
from plimsoll_predictor.replay.sizes.rows import TraceRow
from plimsoll_predictor.replay.sizes.sizer import Knobs, Trainings
from plimsoll_predictor.replay.sizes.trained import TrainedSizer

# Bounded by its recipes: by time, a busy machine would make other models.
LITTLE = Trainings(most_per_task=2, growth=2.0, budget_s=600.0, iterations=2)


def rows(runs: int = 30) -> list[TraceRow]:
    """Runs one after another; a word says which of two sizes a run needs."""
    random_ = random.Random(4)
    made = []
    for place in range(runs):
        large = random_.random() < 0.5
        made.append(
            TraceRow(
                line=place + 2,
                run=str(place),
                task="train",
                item=None,
                submit_s=1000.0 * place,
                start_s=1000.0 * place,
                complete_s=1000.0 * place + 100.0,
                runtime_s=100.0,
                cpus=None,
                preset_bytes=4 * GIB,
                input_bytes=None,
                features={"kind": "large" if large else "small"},
                peak_bytes=round((1000 if large else 100) * MIB * random_.uniform(0.95, 1.05)),
            )
        )
    return made


def test_without_trainings_the_policy_is_what_it_was() -> None:
    assert type(PLIMSOLL.make(Knobs())) is ProductSizer
    assert isinstance(PLIMSOLL.make(Knobs(trainings=LITTLE)), TrainedSizer)


@pytest.mark.slow
def test_a_task_is_trained_at_its_fifth_run_and_its_model_bids_from_then_on() -> None:
    sizer = TrainedSizer(Knobs(trainings=LITTLE))
    seen = []

    def see(done: int) -> None:
        seen.append((done, sizer.trained.trainings))

    history = rows(9)
    for place in range(4, 10):
        sizer = TrainedSizer(Knobs(trainings=LITTLE))
        replay(history[:place], sizer, progress=see)
    assert seen == [(4, 0), (5, 1), (6, 1), (7, 1), (8, 1), (9, 1)]
    asked = rows(10)[-1].asked
    sizer.decide(asked, asked.submit_s)
    _, bids = sizer._decided[asked.line]
    assert set(MODELLED) & set(bids)


@pytest.mark.slow
def test_trainings_of_a_task_are_bounded() -> None:
    sizer = TrainedSizer(Knobs(trainings=LITTLE))
    replay(rows(60), sizer)
    assert sizer.trained.trainings == 2
    assert sizer.trained.left_out == 0


def test_when_the_processor_time_is_spent_what_was_due_is_counted() -> None:
    sizer = TrainedSizer(Knobs(trainings=Trainings(most_per_task=9, growth=2.0, processor_s=0.0)))
    done = replay(rows(30), sizer)
    assert (sizer.trained.trainings, sizer.trained.processor_s) == (0, 0.0)
    assert sizer.trained.left_out == 3
    plain = replay(rows(30), ProductSizer(Knobs()))
    assert [each.first_bytes for each in done.rows] == [each.first_bytes for each in plain.rows]


@pytest.mark.slow
def test_what_comes_later_changes_no_earlier_size() -> None:
    whole = replay(rows(30), TrainedSizer(Knobs(trainings=LITTLE))).rows
    part = replay(rows(20), TrainedSizer(Knobs(trainings=LITTLE))).rows
    assert [each.first_bytes for each in whole[:20]] == [each.first_bytes for each in part]
