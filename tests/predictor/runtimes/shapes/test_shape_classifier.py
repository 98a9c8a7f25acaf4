"""The shape classifier learns what can be learned; Shapley values say what it used."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pytest

from plimsoll_predictor.runtimes.shapes.classifier import (
    SWEEP,
    NotLearnable,
    ShapeClassifier,
    fit_classifier,
)
from plimsoll_predictor.runtimes.shapes.explaining import Named, explain, shapley_values
from plimsoll_predictor.runtimes.shapes.explanation import (
    MOST_POINTS,
    MOST_TASKS,
    Explanation,
    ExplanationError,
)
from plimsoll_predictor.runtimes.shapes.feature_selection import (
    passive_aggressive,
    standardised_by,
)
from plimsoll_predictor.runtimes.shapes.submission_features import (
    FeatureRows,
    Kind,
    words_for_value,
)

NAMES = ("requested time", "processors", "the same again", "noise", "nothing told")
SHAPES = {4: "steady-1", 7: "two-moded-2"}


def the_rows(seed: int = 1, count: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Long requests are label 7, others 4; 'the same again' repeats the requested time."""
    random = np.random.default_rng(seed)
    requested_s = np.exp(random.uniform(4, 12, count))
    rows = np.column_stack(
        [
            requested_s,
            random.integers(1, 64, count),
            2 * requested_s,
            random.normal(0, 1, count),
            np.full(count, np.nan),
        ]
    )
    labels = np.where(requested_s > 3000, 7, 4)
    return rows, labels


@cache
def the_model() -> ShapeClassifier:
    rows, labels = the_rows()
    return fit_classifier(rows, labels, NAMES, seed=1)


@cache
def the_explanation() -> Explanation:
    rows, _ = the_rows(2)
    tasks = [f"lab/task-{place % 150}" for place in range(len(rows))]
    kinds = dict.fromkeys(NAMES, Kind.NUMBER) | {"requested time": Kind.DURATION}
    return explain(the_model(), FeatureRows(NAMES, kinds, rows), Named(SHAPES, tasks))


@pytest.mark.slow
def test_a_rule_in_the_features_is_learned() -> None:
    rows, labels = the_rows(2)
    model = the_model()
    for probabilities in (model.probabilities(rows), model.voted(rows)):
        assert probabilities.shape == (len(rows), 2)
        assert probabilities.sum(axis=1) == pytest.approx(1)
        assert (model.labels(probabilities) == labels).mean() > 0.95


def test_every_setting_is_swept_and_every_voter_votes() -> None:
    model = the_model()
    assert len(model.swept) == len(SWEEP)
    assert all(0 <= accuracy <= 1 for accuracy in model.swept)
    assert len(model.voters) == 4
    rows, _ = the_rows(3, 20)
    votes = [vote(rows) for vote in model.voters.values()]
    assert model.voted(rows) == pytest.approx(np.mean(votes, axis=0))


def test_of_two_features_that_say_the_same_one_is_kept_and_what_is_never_told_none() -> None:
    kept = set(the_model().names)
    assert len(kept & {"requested time", "the same again"}) == 1
    assert "nothing told" not in kept


def test_the_strongest_feature_is_the_one_that_decides() -> None:
    rows, labels = the_rows()
    two = rows[:, [3, 0]]
    weights = passive_aggressive(standardised_by(two)(two), (labels == 7).astype(np.intp), seed=1)
    assert int(np.argmax(np.abs(weights).sum(axis=0))) == 1


@pytest.mark.slow
def test_the_same_rows_give_the_same_classifier() -> None:
    rows, labels = the_rows()
    again = fit_classifier(rows, labels, NAMES, seed=1)
    assert np.array_equal(again.voted(rows), the_model().voted(rows))


@pytest.mark.parametrize(
    ("count", "one_label", "words"),
    [(19, False, "19 rows"), (50, True, "all 50 rows have one shape")],
)
def test_with_nothing_to_tell_apart_nothing_is_learned(
    count: int, one_label: bool, words: str
) -> None:
    rows, labels = the_rows(1, count)
    with pytest.raises(NotLearnable, match=words):
        fit_classifier(rows, labels * 0 if one_label else labels, NAMES, seed=1)


def test_shapley_values_and_a_bias_add_up_to_the_log_odds() -> None:
    import xgboost

    rows, _ = the_rows(2, 50)
    model = the_model()
    matrix = xgboost.DMatrix(rows[:, model.columns], missing=np.nan)
    margins = model.booster.predict(matrix, output_margin=True)
    rest = margins - shapley_values(model, rows).sum(axis=2)
    assert np.abs(rest - rest[0]).max() < 1e-3


def test_the_explanation_names_what_decides_first_and_its_direction() -> None:
    first = the_explanation().effects[0]
    assert first.feature in {"requested time", "the same again"}
    assert (first.rises, first.shape) in {(True, "two-moded-2"), (False, "steady-1")}
    assert first.words.startswith("higher ")
    assert len(first.points) <= MOST_POINTS


def test_a_task_is_told_why_in_words() -> None:
    rows, _ = the_rows(2)
    task = the_explanation().of_task("lab/task-99")
    assert task is not None
    newest = rows[max(place for place in range(len(rows)) if place % 150 == 99), 0]
    assert task.shape == ("two-moded-2" if newest > 3000 else "steady-1")
    assert task.probability > 0.5
    strongest = task.reasons[0]
    assert strongest.contribution > 0
    assert strongest.words.endswith(f": more often {task.shape}")
    assert task.words.startswith(task.shape)
    assert the_explanation().of_task("nobody") is None


def test_an_explanation_is_bounded_and_survives_json() -> None:
    found = the_explanation()
    written = json.dumps(found.to_dict())
    assert Explanation.from_dict(json.loads(written)) == found
    assert len(found.tasks) == 150 <= MOST_TASKS
    assert len(written) < 200_000


@pytest.mark.parametrize(
    ("damaged", "words"),
    [
        pytest.param(lambda _: [], "not an object", id="a list"),
        pytest.param(lambda d: d | {"format": 2}, "format 2", id="another format"),
        pytest.param(
            lambda d: d | {"tasks": [{}]},
            r"`task` - at `\$.tasks\[0\]`",
            id="a task without a name",
        ),
        pytest.param(
            lambda d: d | {"effects": d["effects"] * 99},
            r"length <= 40 - at `\$.effects`",
            id="too many",
        ),
        pytest.param(lambda d: d | {"rows": float("inf")}, "rows", id="rows without end"),
        pytest.param(
            lambda d: d | {"effects": [d["effects"][0] | {"rises": "up"}]}, "rises", id="a word"
        ),
        pytest.param(
            lambda d: d | {"effects": [d["effects"][0] | {"points": [[1]]}]},
            r"`array` of length 2, got 1 - at `\$.effects\[0\].points\[0\]`",
            id="a half",
        ),
        pytest.param(
            lambda d: d | {"effects": [d["effects"][0] | {"words": "x" * 999}]},
            r"length <= 300 - at `\$.effects\[0\].words`",
            id="long",
        ),
    ],
)
def test_what_is_no_explanation_is_refused_by_name(damaged: Any, words: str) -> None:
    with pytest.raises(ExplanationError, match=words):
        Explanation.from_dict(damaged(json.loads(json.dumps(the_explanation().to_dict()))))


def test_explaining_nothing_is_refused() -> None:
    nothing = FeatureRows(NAMES, dict.fromkeys(NAMES, Kind.NUMBER), np.empty((0, len(NAMES))))
    with pytest.raises(ValueError, match="0 rows of 0 tasks"):
        explain(the_model(), nothing, Named(SHAPES, []))


@pytest.mark.parametrize(
    ("value", "kind", "words"),
    [
        (144000.0, Kind.DURATION, "40 h"),
        (0.25, Kind.SHARE, "25%"),
        (2.0**31, Kind.SIZE, "2Gi"),
        (1234.0, Kind.NUMBER, "1.23e+03"),
        (None, Kind.NUMBER, "not told"),
    ],
)
def test_a_features_value_is_said_in_its_unit(value: float | None, kind: Kind, words: str) -> None:
    assert words_for_value(value, kind) == words
