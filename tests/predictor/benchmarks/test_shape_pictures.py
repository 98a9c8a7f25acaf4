"""The pictures of docs/shapes.md: everything is drawn, and nothing is invented."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from benchmarks.shapes.pictures import effects_plot, shapes_plot, standalone
from plimsoll_predictor.runtimes.shapes.explanation import Effect, Explanation
from tests.builders.runtimes.shapes import a_catalogue, a_shape

SVG = "{http://www.w3.org/2000/svg}"


def an_explanation() -> Explanation:
    effects = [
        Effect(f"feature {place}", 0.5, "narrow", True, "words", ((1.0, 0.4), (None, -0.2)))
        for place in range(3)
    ]
    return Explanation(9, tuple(effects), ())


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


def test_nothing_to_explain_is_an_empty_plot() -> None:
    assert parsed(effects_plot(Explanation(0, (), ()))).tag == f"{SVG}svg"


def test_the_same_catalogue_gives_the_same_picture() -> None:
    assert shapes_plot(a_catalogue()) == shapes_plot(a_catalogue())
