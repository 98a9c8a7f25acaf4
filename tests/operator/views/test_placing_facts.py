"""What finished runs taught about neighbours, as data."""

from __future__ import annotations

import dataclasses
import json

import pytest

from plimsoll_operator.views.placing_facts import facts_with_gains, learned_facts
from tests.builders.placing.placed_runs import Lived, four_kinds, placed_runs

CPU, WAIT = "team/cpu", "team/wait"


@pytest.mark.slow
def test_kinds_come_by_their_runs_and_each_names_its_neighbours() -> None:
    facts = learned_facts(placed_runs(600))
    counts = [facts.runs[kind] for kind in facts.kinds]
    assert counts == sorted(counts, reverse=True)
    assert facts.taught == sum(counts) == 600
    assert facts.any_known
    found = facts.neighbours(CPU)
    assert [each.kind for each in found.best] == [WAIT]
    assert {CPU, "team/mem"} <= {each.kind for each in found.worst}
    assert facts.slowdown(CPU, "team/mem").times == pytest.approx(1.91, rel=0.1)


@pytest.mark.slow
def test_the_document_has_every_pair_and_the_saving() -> None:
    facts = facts_with_gains(placed_runs(400))
    document = json.loads(json.dumps(facts.to_dict()))
    assert document["runs"] == 400
    assert len(document["matrix"]) == 16
    assert {pair["task"] for pair in document["matrix"]} == set(facts.kinds)
    assert document["known_share"] > 0.9
    saving = document["saving"]
    assert saving["ordered"]["low"] <= saving["ordered"]["saved"] <= saving["ordered"]["high"]
    own = json.loads(json.dumps(facts.task_dict(CPU)))
    assert [pair["task"] for pair in own["beside"]] == [CPU] * 4
    assert [pair["beside"] for pair in own["others_beside_it"]] == [CPU] * 4


def test_what_cannot_be_told_is_said_and_has_no_saving() -> None:
    facts = facts_with_gains(placed_runs(3))
    assert facts.gains is None
    assert not facts.any_known
    document = facts.to_dict()
    assert document["saving"] is None
    assert not any(pair["known"] for pair in document["matrix"])


def test_runs_too_short_to_tell_are_not_counted() -> None:
    (run,) = placed_runs(1)
    short = dataclasses.replace(run, finished_s=run.started_s + 0.2)
    facts = facts_with_gains([short])
    assert (facts.kinds, facts.taught, facts.gains) == ((), 0, None)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.05, 0.3])
def test_intervals_that_are_told_hold_the_truth_as_often_as_they_say(noise: float) -> None:
    world, inside = four_kinds(), []
    for seed in range(5):
        facts = learned_facts(Lived(world, seed, noise=noise).runs(800))
        for row, kind in enumerate(world.kinds):
            for column, other in enumerate(world.kinds):
                told = facts.slowdown(kind, other)
                if told.known:
                    inside.append(told.low <= world.slowdowns[row, column] <= told.high)
    assert len(inside) > 40
    assert sum(inside) / len(inside) > 0.8
