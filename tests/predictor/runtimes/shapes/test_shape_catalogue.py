"""Shapes: from which typical distribution a task's runs were drawn."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_predictor.runtimes.shapes.catalogue import (
    HALF_LIFE_RUNS,
    CatalogueError,
    ShapeCatalogue,
)
from plimsoll_predictor.runtimes.shapes.normalising import (
    BINS,
    RANGES,
    Normalisation,
    bins_of,
    histogram,
)
from tests.builders.runtimes.shapes import a_catalogue, a_shape

RUNTIMES = st.lists(st.floats(1e-3, 1e9), min_size=1, max_size=50)


def test_a_task_whose_runs_gather_at_one_place_has_the_narrow_shape() -> None:
    label = a_catalogue().label([60.0] * 30)
    assert (label.name, label.place, label.known_runs) == ("narrow", 0, 30)
    assert label.posterior["narrow"] > 0.9


def test_a_task_whose_runs_gather_at_two_places_has_the_shape_of_two() -> None:
    assert a_catalogue().label([60.0, 60.0, 300.0] * 10).name == "double"


def test_one_run_has_a_shape_and_says_that_it_is_one() -> None:
    label = a_catalogue().label([5.0])
    assert (label.name, label.known_runs) == ("narrow", 1)


def test_runs_of_before_are_forgotten_by_the_half_life() -> None:
    changed = [60.0, 300.0] * 20 + [60.0] * int(6 * HALF_LIFE_RUNS)
    assert a_catalogue().label(changed, 60.0).name == "narrow"
    assert a_catalogue().label(changed, 60.0, half_life_runs=1e9).name == "double"


def test_a_run_where_a_shape_has_no_mass_does_not_rule_it_out() -> None:
    assert a_catalogue().label([60.0] * 40 + [150.0, 60.0]).name == "narrow"


def test_the_posterior_is_equation_9s_product_of_masses_with_the_floor() -> None:
    label = a_catalogue().label([60.0, 60.0], half_life_runs=1e12)
    narrow, double = 0.95 * 0.5 + 0.05 / BINS, 0.95 * 0.25 + 0.05 / BINS
    assert label.posterior["narrow"] == pytest.approx(narrow**2 / (narrow**2 + double**2))


@pytest.mark.slow
@given(RUNTIMES)
def test_a_posterior_adds_up_and_its_largest_share_is_the_label(runtimes: list[float]) -> None:
    label = a_catalogue().label(runtimes)
    assert sum(label.posterior.values()) == pytest.approx(1)
    assert label.posterior[label.name] == max(label.posterior.values())


@pytest.mark.parametrize(
    ("runtimes", "words"),
    [
        pytest.param([], "no runtimes", id="none at all"),
        pytest.param([3.0, 0.0], "runtime 2 of 2 is 0 s", id="zero"),
        pytest.param([-1.0], "runtime 1 of 1 is -1 s", id="negative"),
        pytest.param([float("nan")], "is nan s", id="not a number"),
        pytest.param([1.0, float("inf")], "is inf s", id="without end"),
    ],
)
def test_what_is_no_runtime_is_refused_by_name(runtimes: list[float], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        a_catalogue().label(runtimes)


@pytest.mark.parametrize("usual_s", [0.0, -3.0, float("nan"), float("inf")])
def test_a_usual_runtime_that_cannot_be_divided_by_is_refused(usual_s: float) -> None:
    with pytest.raises(ValueError, match="usual runtime"):
        a_catalogue().label([1.0], usual_s)


@pytest.mark.parametrize(
    ("kind", "value", "place"),
    [
        pytest.param(Normalisation.RATIO, 1.0, 20, id="the usual runtime opens its bin"),
        pytest.param(Normalisation.RATIO, 0.999, 19, id="just below is the bin before"),
        pytest.param(Normalisation.RATIO, 10.0, 199, id="ten times is in the last bin"),
        pytest.param(Normalisation.RATIO, 1e6, 199, id="and so is an outlier"),
        pytest.param(Normalisation.DELTA, 0.0, 100, id="no difference opens the upper half"),
        pytest.param(Normalisation.DELTA, -5000.0, 0, id="far shorter is in the first bin"),
        pytest.param(Normalisation.DELTA, 901.0, 199, id="far longer in the last"),
    ],
)
def test_a_value_falls_in_the_papers_bin(kind: Normalisation, value: float, place: int) -> None:
    assert bins_of([value], kind).tolist() == [place]


@pytest.mark.parametrize("kind", list(Normalisation))
def test_every_run_is_in_one_bin_and_a_bins_middle_in_its_own(kind: Normalisation) -> None:
    assert histogram([-1e9, 0.0, 0.5, 3.0, 1e12], kind).sum() == 5
    low, high = RANGES[kind]
    middles = low + (high - low) / BINS * (np.arange(BINS) + 0.5)
    assert bins_of(middles, kind).tolist() == list(range(BINS))


def test_a_catalogue_survives_json() -> None:
    catalogue = a_catalogue(a_shape("one", 20, outside=0.2), a_shape("two", 20, 60))
    read = ShapeCatalogue.from_dict(json.loads(json.dumps(catalogue.to_dict())))
    assert read.to_dict() == catalogue.to_dict()
    assert read.label([60.0, 180.0]) == catalogue.label([60.0, 180.0])


def _without(document: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name != key}


@pytest.mark.parametrize(
    ("damaged", "words"),
    [
        pytest.param(lambda _: "text", "not an object", id="no object"),
        pytest.param(lambda d: d | {"format": 9}, "format 9", id="of another format"),
        pytest.param(
            lambda d: d | {"normalisation": "log"},
            r"'log' - at `\$.normalisation`",
            id="unknown normalisation",
        ),
        pytest.param(lambda d: _without(d, "shapes"), "shapes", id="no shapes"),
        pytest.param(lambda d: d | {"shapes": []}, "0 shapes", id="an empty list"),
        pytest.param(
            lambda d: d | {"shapes": d["shapes"] * 40},
            r"length <= 64 - at `\$.shapes`",
            id="too many",
        ),
        pytest.param(lambda d: d | {"shapes": d["shapes"] * 2}, "share a name", id="names twice"),
        pytest.param(lambda d: d | {"version": -1}, "version", id="a negative version"),
        pytest.param(lambda d: d | {"version": True}, "version", id="a version that is a truth"),
        pytest.param(
            lambda d: d | {"shapes": [d["shapes"][0] | {"pmf": [0.5, 0.5]}]}, "pmf", id="two bins"
        ),
        pytest.param(
            lambda d: d | {"shapes": [d["shapes"][0] | {"pmf": [0.5] * BINS}]}, "add up", id="100"
        ),
        pytest.param(
            lambda d: d | {"shapes": [d["shapes"][0] | {"pmf": ["x"] * BINS}]},
            r"`str` - at `\$.shapes\[0\].pmf\[0\]`",
            id="text",
        ),
        pytest.param(
            lambda d: d | {"shapes": [d["shapes"][0] | {"std": float("nan")}]}, "std", id="NaN"
        ),
        pytest.param(
            lambda d: d | {"shapes": [d["shapes"][0] | {"name": "x" * 99}]}, "letters", id="long"
        ),
    ],
)
def test_what_is_no_catalogue_is_refused_by_name(damaged: Any, words: str) -> None:
    with pytest.raises(CatalogueError, match=words):
        ShapeCatalogue.from_dict(damaged(a_catalogue().to_dict()))


def test_a_mass_below_zero_is_refused() -> None:
    shape = a_shape("odd", 20)
    pmf = shape.pmf.copy()
    pmf[0], pmf[20] = -0.5, 1.5
    with pytest.raises(CatalogueError, match="below 0"):
        a_catalogue(replace(shape, pmf=pmf))


def test_labelling_does_not_change_what_it_was_given() -> None:
    runtimes = np.array([60.0, 300.0])
    a_catalogue().label(runtimes)
    assert runtimes.tolist() == [60.0, 300.0]
