"""The picture of which task slows which: a cell a pair, unknown ones empty, text escaped."""

from __future__ import annotations

import dataclasses
import xml.etree.ElementTree as ET

import numpy as np

from plimsoll_operator.views.placing_facts import PlacingFacts
from plimsoll_operator.web.plots.placing_plot import NARROW, WIDE, Room, placing_plot
from plimsoll_predictor.placing.kinds import OTHERS
from plimsoll_predictor.placing.matrix import Matrix


def some_facts(kinds: int) -> PlacingFacts:
    """The first has a hostile name, takes twice as long beside itself, as long beside others."""
    names = (OTHERS, "lab/<script>&", *(f"lab/kind-{n}" for n in range(1, kinds)))
    theta = np.zeros((len(names), len(names)))
    theta[1] = np.log(0.97)
    theta[1, 1] = np.log(2.0)
    deviation = np.full(theta.shape, 0.01)
    deviation[2, 1] = 1.0
    shares = np.full(len(names), 1 / len(names))
    runs = {name: 100 - place for place, name in enumerate(names[1:])}
    return PlacingFacts(Matrix(names, theta, deviation, np.zeros(len(names)), shares), runs)


def test_each_pair_is_a_cell_by_its_times_and_text_is_escaped() -> None:
    drawn = placing_plot(some_facts(2))
    assert "<script>" not in drawn
    tree = ET.fromstring(drawn)
    assert [cell.get("class") for cell in tree.iter("rect")] == [
        "cell over heat-8",
        "cell alike",
        "cell unknown",
        "cell alike",
    ]
    figures = [each.text for each in tree.iter("text") if each.get("class") in {"times", "unknown"}]
    assert figures == ["2.00", "0.97", "?", "1.00"]
    assert "3 of 4 slowdowns known" in drawn
    titles = [each.text or "" for each in tree.iter("title")]
    assert titles[2].endswith("cannot be told yet")


def test_only_so_many_are_drawn_as_there_is_room_for() -> None:
    for room in (WIDE, NARROW, dataclasses.replace(NARROW, kinds=3)):
        drawn = ET.fromstring(placing_plot(some_facts(30), room))
        assert len(list(drawn.iter("rect"))) == room.kinds**2
        assert float(drawn.get("width", "0")) <= room.width


def test_a_name_of_any_length_leaves_room_for_the_cells() -> None:
    facts = some_facts(2)
    long = f"lab/{'x' * 200}"
    kinds = tuple(long if kind == "lab/kind-1" else kind for kind in facts.matrix.kinds)
    facts = PlacingFacts(dataclasses.replace(facts.matrix, kinds=kinds), {**facts.runs, long: 1})
    room = Room(width=360, letters=15, kinds=5, cell=54, row=34)
    assert float(ET.fromstring(placing_plot(facts, room)).get("width", "0")) <= room.width
