"""Learning shapes: the elbow, the ranks, and names that stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from plimsoll_predictor.runtimes.shapes.catalogue import ShapeCatalogue
from plimsoll_predictor.runtimes.shapes.fitting import (
    TooFewRuns,
    elbow_of,
    fit,
    smoothed,
    statistics_of,
)
from plimsoll_predictor.runtimes.shapes.normalising import BINS, SUPPORT, Normalisation, histogram
from plimsoll_predictor.runtimes.shapes.shape_names import distance, matches, modes_in, word_for
from tests.builders.runtimes.shapes import (
    Runtimes,
    a_catalogue,
    a_shape,
    spread_out,
    steady,
    the_tasks,
    two_moded,
)

RATIO, DELTA = Normalisation.RATIO, Normalisation.DELTA


def fitted(tasks: list[Runtimes], kind: Normalisation, **given: Any) -> ShapeCatalogue:
    return fit(tasks, kind, **given).catalogue


def names_of(catalogue: ShapeCatalogue) -> set[str]:
    return {shape.name for shape in catalogue.shapes}


@pytest.mark.slow
def test_three_kinds_of_task_are_told_apart_and_ranked_by_their_middle_half() -> None:
    found = fit(the_tasks(1), RATIO, seed=1, n_shapes=3)
    widths = [shape.statistics.interquartile for shape in found.catalogue.shapes]
    assert widths == sorted(widths)
    # A few of the wide ones look like others by chance.
    assert all(27 <= shape.members <= 33 for shape in found.catalogue.shapes)
    assert sum(shape.runs for shape in found.catalogue.shapes) == 90 * 40
    assert found.catalogue.shapes[0].name.startswith("steady")


@pytest.mark.slow
def test_the_elbow_finds_about_as_many_shapes_as_there_are_kinds() -> None:
    found = fit(the_tasks(2), RATIO, seed=1)
    assert 3 <= found.elbow.chosen <= 5
    assert len(found.catalogue.shapes) == found.elbow.chosen
    assert "inertia by number 1:" in found.elbow.words()


def test_the_elbow_is_where_one_more_shape_no_longer_pays() -> None:
    assert elbow_of([100.0, 40.0, 20.0, 19.0, 18.5]).chosen == 3
    assert elbow_of([100.0, 40.0, 20.0]).chosen == 3
    assert elbow_of([0.0]).chosen == 1


@pytest.mark.slow
def test_a_tasks_own_shape_is_the_one_it_was_learned_into() -> None:
    catalogue = fitted(the_tasks(3), RATIO, seed=1, n_shapes=3)
    random = np.random.default_rng(9)
    runs = [steady(random, 60), two_moded(random, 60, (60.0, 300.0)), spread_out(random, 60)]
    labels = [catalogue.label(runtimes).name for runtimes in runs]
    assert len(set(labels)) == 3
    assert labels[0].startswith("steady")


@pytest.mark.slow
@pytest.mark.parametrize("kind", [RATIO, DELTA])
def test_a_refit_on_more_runs_of_the_same_tasks_keeps_every_name(kind: Normalisation) -> None:
    tasks = the_tasks(4, runs=60)
    first = fitted([runtimes[:40] for runtimes in tasks], kind, seed=1, n_shapes=3)
    second = fitted(tasks, kind, seed=2, n_shapes=3, previous=first)
    assert names_of(second) == names_of(first)
    assert (first.version, second.version) == (1, 2)
    before = {shape.name: shape for shape in first.shapes}
    for shape in second.shapes:
        assert distance(before[shape.name].pmf, shape.pmf) < 0.1


@pytest.mark.slow
def test_a_refit_on_other_tasks_of_the_same_kinds_keeps_every_name() -> None:
    first = fitted(the_tasks(5), RATIO, seed=1, n_shapes=3)
    assert names_of(fitted(the_tasks(6), RATIO, seed=1, n_shapes=3, previous=first)) == names_of(
        first
    )


@pytest.mark.slow
def test_ten_refits_on_growing_histories_keep_the_names_of_the_first() -> None:
    tasks = the_tasks(7, runs=130)
    catalogue = fitted([runtimes[:30] for runtimes in tasks], RATIO, seed=1, n_shapes=3)
    first = names_of(catalogue)
    for step in range(1, 11):
        grown = [runtimes[: 30 + 10 * step] for runtimes in tasks]
        catalogue = fitted(grown, RATIO, seed=step, n_shapes=3, previous=catalogue)
    assert names_of(catalogue) == first
    assert catalogue.version == 11


@pytest.mark.slow
def test_a_new_kind_of_task_gets_a_name_that_was_never_given() -> None:
    random = np.random.default_rng(8)
    old = [steady(random) for _ in range(30)] + [two_moded(random) for _ in range(30)]
    first = fitted(old, RATIO, seed=1, n_shapes=2)
    wide = [spread_out(random) for _ in range(30)]
    second = fitted([*old, *wide], RATIO, seed=1, n_shapes=3, previous=first)
    (new,) = names_of(second) - names_of(first)
    assert names_of(first) < names_of(second)
    assert new.endswith("-3")
    third = fitted(wide, RATIO, seed=1, n_shapes=1, previous=second)
    fourth = fitted([*old, *wide], RATIO, seed=1, n_shapes=3, previous=third)
    assert third.names_given == 3
    assert {name for name in names_of(fourth) if name.endswith(("-4", "-5"))} == (
        names_of(fourth) - {new}
    )


@pytest.mark.slow
def test_a_catalogue_of_the_other_normalisation_lends_no_names() -> None:
    ratio = fitted(the_tasks(1), RATIO, seed=1, n_shapes=3)
    delta = fitted(the_tasks(1), DELTA, seed=1, n_shapes=3, previous=ratio)
    assert {name[-2:] for name in names_of(delta)} == {"-1", "-2", "-3"}


@pytest.fixture(scope="module")
def ordinary() -> ShapeCatalogue:
    """A catalogue whose number of shapes was found."""
    return fitted(the_tasks(1), RATIO, seed=1)


@pytest.mark.slow
def test_the_same_tasks_give_the_same_catalogue(ordinary: ShapeCatalogue) -> None:
    assert fitted(the_tasks(1), RATIO, seed=1).to_dict() == ordinary.to_dict()


@pytest.mark.slow
def test_what_was_written_is_what_was_fitted(ordinary: ShapeCatalogue) -> None:
    catalogue = ordinary
    read = ShapeCatalogue.from_dict(catalogue.to_dict())
    for shape, other in zip(catalogue.shapes, read.shapes, strict=True):
        assert other.name == shape.name
        assert np.array_equal(other.pmf, shape.pmf)


def test_where_no_task_has_runs_enough_there_is_no_catalogue_and_it_is_said() -> None:
    short = [np.full(SUPPORT - 1, 60.0), np.full(3, 5.0)]
    with pytest.raises(TooFewRuns, match=f"of 2 tasks .* has {SUPPORT - 1}; {SUPPORT} are needed"):
        fitted(short, RATIO, seed=1)
    with pytest.raises(TooFewRuns, match="of 0 tasks"):
        fitted([], RATIO, seed=1)


@pytest.mark.slow
def test_tasks_with_too_few_runs_are_left_out() -> None:
    catalogue = fitted([*the_tasks(1), np.full(3, 60.0)], RATIO, seed=1, n_shapes=3)
    assert sum(shape.members for shape in catalogue.shapes) == 90


@pytest.mark.slow
def test_fewer_tasks_than_shapes_make_as_many_shapes_as_tasks_differ() -> None:
    random = np.random.default_rng(1)
    catalogue = fitted([steady(random), two_moded(random)], RATIO, seed=1, n_shapes=8)
    assert len(catalogue.shapes) == 2
    alike = [np.full(30, 60.0), np.full(30, 5.0), np.full(40, 7.0)]
    assert len(fitted(alike, RATIO, seed=1, n_shapes=8).shapes) == 1
    assert len(fitted(alike, RATIO, seed=1).shapes) == 1


@pytest.mark.slow
def test_the_elbow_makes_no_shape_of_single_tasks() -> None:
    random = np.random.default_rng(1)
    tasks = [spread_out(random, 30) for _ in range(12)]
    assert len(fitted(tasks, RATIO, seed=1).shapes) <= 4


def test_one_task_is_a_catalogue_of_one_shape() -> None:
    catalogue = fitted([np.full(SUPPORT, 9.0)], DELTA, seed=1)
    assert [shape.members for shape in catalogue.shapes] == [1]
    assert catalogue.label([9.0]).posterior == {catalogue.shapes[0].name: 1.0}


def test_two_modes_a_thousandfold_apart_are_two_modes() -> None:
    random = np.random.default_rng(1)
    tasks = [two_moded(random, 40, (1.0, 1000.0)) for _ in range(10)]
    (shape,) = fitted(tasks, RATIO, seed=1, n_shapes=1).shapes
    assert shape.name == "two-moded-1"
    assert 0.1 < shape.statistics.outlier_share < 0.5


@pytest.mark.parametrize("wrong", [0.0, -1.0, float("nan")])
def test_a_runtime_that_is_none_is_refused_when_learning(wrong: float) -> None:
    with pytest.raises(ValueError, match="above 0"):
        fitted([np.array([wrong] * SUPPORT)], RATIO, seed=1)


def test_smoothing_keeps_the_mass_and_brings_neighbours_nearer() -> None:
    one, two = np.zeros(BINS), np.zeros(BINS)
    one[50], two[51] = 1, 1
    near = smoothed(np.stack([one, two]))
    assert near.sum(axis=1) == pytest.approx([1, 1])
    assert distance(near[0], near[1]) < 0.3 < distance(one, two)
    edge = smoothed(histogram([10.0], RATIO)[np.newaxis])
    assert edge.sum() == pytest.approx(1)
    assert np.array_equal(smoothed(np.stack([one]), 0.0)[0], one)


def test_the_statistics_are_those_of_table_2() -> None:
    values = np.array([1.0] * 90 + [2.0] * 9 + [12.0])
    found = statistics_of(values, RATIO)
    assert found.outlier_share == 0.01
    assert (found.interquartile, found.p95) == (0.0, 2.0)
    assert found.std == pytest.approx(values.std())


def test_a_shape_matches_the_nearest_and_none_that_is_far() -> None:
    old = a_catalogue(a_shape("a", 20, 21), a_shape("b", 20, 80), a_shape("c", 150)).shapes
    new = [a_shape("x", 20, 80, outside=0.1).pmf, a_shape("y", 20, 21, outside=0.1).pmf]
    assert sorted(matches(old, new)) == [(0, 1), (1, 0)]
    assert matches(old, [a_shape("z", 190).pmf]) == []
    assert matches([], new) == []


def test_modes_of_a_shape_are_peaks_with_mass_and_a_valley_between() -> None:
    places = np.arange(BINS)

    def hump(at: float, share: float) -> np.ndarray:
        bell: np.ndarray = np.exp(-0.5 * ((places - at) / 4) ** 2)
        return np.asarray(share * bell / bell.sum())

    assert modes_in(hump(20, 1.0)) == 1
    assert modes_in(hump(20, 0.7) + hump(80, 0.3)) == 2
    assert modes_in(hump(20, 0.95) + hump(80, 0.05)) == 1
    assert modes_in(hump(20, 0.5) + hump(26, 0.5)) == 1
    statistics = statistics_of(np.ones(SUPPORT), RATIO)
    assert word_for(hump(20, 0.7) + hump(80, 0.3), statistics, RATIO) == "two-moded"
    assert word_for(hump(20, 0.4) + hump(80, 0.3) + hump(140, 0.3), statistics, RATIO) == (
        "many-moded"
    )
