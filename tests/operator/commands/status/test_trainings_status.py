"""Tasks that wait for a round of trainings, in `plimsoll status` and on the index."""

from __future__ import annotations

import pytest

from plimsoll_operator.commands.status.summary import summary_of
from plimsoll_operator.commands.status.trainings import (
    SETTING,
    trainings_check,
    trainings_now,
    trains_in_rounds,
)
from plimsoll_operator.wording.training_words import TrainingsNow
from tests.builders.controller.lent_metrics import scraped
from tests.builders.kubernetes.cluster_status import NOW_S, what_is_seen

ROUNDS = {"spec": {"template": {"spec": {"containers": [{"env": [{"name": SETTING}]}]}}}}


async def test_they_are_read_from_the_controller_that_leads() -> None:
    text = await scraped()
    told = b"""
plimsoll_trainings_waiting 12
plimsoll_trainings_running 2
plimsoll_training_longest_wait_seconds 41.5
plimsoll_training_last_round_seconds 80
"""
    found = trainings_now([b"plimsoll_leads 0\n", text + told])
    assert found == TrainingsNow(waiting=12, running=2, longest_wait_s=41.5, last_round_s=80.0)
    assert trainings_now([b"\xff", b"plimsoll_leads 0\n"]) is None


@pytest.mark.parametrize("strange", [b"NaN", b"-1", b"+Inf"])
def test_strange_figures_count_as_none(strange: bytes) -> None:
    text = b"plimsoll_trainings_waiting " + strange + b"\n"
    assert trainings_now([text]) == TrainingsNow()


@pytest.mark.parametrize(
    ("now", "words"),
    [
        (TrainingsNow(), "no training waits; none runs"),
        (
            TrainingsNow(waiting=1, running=1, longest_wait_s=0.4),
            "1 training waits; 1 runs",
        ),
        (
            TrainingsNow(waiting=1200, running=4, longest_wait_s=3601.0, last_round_s=80.2),
            "1,200 trainings wait, the longest for 3,601 s; 4 run; the last round took 80 s",
        ),
    ],
)
def test_they_are_said_in_words(now: TrainingsNow, words: str) -> None:
    assert now.words == words


def test_only_a_controller_with_a_template_trains_in_rounds() -> None:
    assert trains_in_rounds([{}, ROUNDS])
    assert not trains_in_rounds([{}, {"spec": {"template": {"spec": {"containers": [{}]}}}}])


def test_status_has_a_line_for_them_where_there_are_rounds() -> None:
    assert trainings_check(what_is_seen()) is None
    seen = what_is_seen(trainings=TrainingsNow(waiting=3))
    told = trainings_check(seen)
    assert told is not None
    assert (told.name, told.words) == ("trainings", "3 trainings wait; none runs")
    assert summary_of(seen, NOW_S).to_dict()["trainings"]["waiting"] == 3
