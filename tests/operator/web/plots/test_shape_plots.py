"""Plots of shapes and explanations: everything is drawn, nothing is invented, text is escaped."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from plimsoll_operator.web.plots.shape_plots import (
    effects_plot,
    reasons_plot,
    shapes_plot,
    standalone,
)
from plimsoll_predictor.runtimes.shapes.explanation import (
    Effect,
    Explanation,
    Reason,
    TaskExplanation,
)
from tests.builders.shapes import a_catalogue, a_shape

SVG = "{http://www.w3.org/2000/svg}"


def an_explanation() -> Explanation:
    effects = [
        Effect(f"feature {place}", 0.5, "narrow", True, "words", ((1.0, 0.4), (None, -0.2)))
        for place in range(3)
    ]
    reasons = (Reason("<script>", 3.0, 0.4, "up"), Reason("b", None, -0.9, "down"))
    return Explanation(9, tuple(effects), (TaskExplanation("lab/a&b", "narrow", 0.7, reasons),))


def parsed(picture: object) -> ET.Element:
    return ET.fromstring(standalone(picture))  # type: ignore[arg-type]


def test_every_shape_has_a_panel_with_its_name_and_its_outliers() -> None:
    picture = parsed(shapes_plot(a_catalogue(a_shape("one", 20), a_shape("two", 20, 80))))
    names = [text.text for text in picture.iter(f"{SVG}text") if text.get("class") == "name"]
    assert names == ["one", "two"]
    assert len([path for path in picture.iter(f"{SVG}path") if path.get("class") == "shape"]) == 2


def test_every_point_of_an_effect_is_a_dot_and_missing_values_are_told_apart() -> None:
    picture = parsed(effects_plot(an_explanation()))
    dots = [dot.get("class") for dot in picture.iter(f"{SVG}circle")]
    assert len(dots) == 6
    assert dots.count("untold") == 3


def test_a_tasks_reasons_are_bars_to_both_sides_and_text_is_escaped() -> None:
    drawn = reasons_plot(an_explanation().tasks[0])
    assert "<script>" not in drawn
    bars = [bar.get("class") for bar in parsed(drawn).iter(f"{SVG}rect")]
    assert bars == ["more", "less"]


@pytest.mark.parametrize(
    "empty", [Explanation(0, (), ()), Explanation(1, (), (TaskExplanation("a", "b", 1.0, ()),))]
)
def test_nothing_to_explain_is_an_empty_plot(empty: Explanation) -> None:
    assert parsed(effects_plot(empty)).tag == f"{SVG}svg"
    for task in empty.tasks:
        assert parsed(reasons_plot(task)).tag == f"{SVG}svg"


def test_the_same_catalogue_gives_the_same_picture() -> None:
    assert shapes_plot(a_catalogue()) == shapes_plot(a_catalogue())
