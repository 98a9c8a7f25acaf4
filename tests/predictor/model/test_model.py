from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_predictor.core.documents import to_document
from plimsoll_predictor.core.packing import digest, packed
from plimsoll_predictor.model.boosted import MARGIN
from plimsoll_predictor.model.task_model import Model, ModelError
from tests.builders.experts.serving import a_model, bins_up_to, history, with_boosted
from tests.builders.training.fitted_svms import FittedSvm
from tests.rigs.drawing import examples

JSON_VALUES: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=6)
    | st.just([])
    | st.just({})
    | st.just([[1]])
)


ONE_BIN = bins_up_to(900)


@cache
def saved() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(json.dumps(with_boosted(a_model(rows=120)).to_dict()))
    return data


def paths_in(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in nested dicts and lists."""
    if path:
        yield path
    if isinstance(value, dict):
        for key in value:
            yield from paths_in(value[key], (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from paths_in(item, (*path, index))


@st.composite
def damaged(draw: st.DrawFn) -> dict[str, Any]:
    """A saved model with one to three places changed, removed, or swapped with another."""
    data = copy.deepcopy(saved())
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(sorted(paths_in(data), key=repr)))
        parent: Any = data
        for step in path[:-1]:
            parent = parent[step]
        action = draw(st.sampled_from(["change", "remove", "cut"]))
        if action == "remove":
            del parent[path[-1]]
        elif action == "cut" and isinstance(parent[path[-1]], str):
            parent[path[-1]] = parent[path[-1]][: draw(st.integers(0, 40))]
        else:
            # A copy: the next change may be inside what this one put there.
            parent[path[-1]] = copy.deepcopy(draw(JSON_VALUES))
    return data


def resigned(data: dict[str, Any]) -> dict[str, Any]:
    """The same data with a matching checksum and version: damage that signatures miss."""
    content = {key: value for key, value in data.items() if key not in ("checksum", "version")}
    content["version"] = ""
    return {**content, "checksum": digest(content)}


@pytest.mark.slow
@given(data=damaged())
@examples(150)
def test_any_damage_is_a_model_error_or_harmless(data: dict[str, Any]) -> None:
    try:
        loaded = Model.from_dict(data)
    except ModelError:
        return
    assert loaded == Model.from_dict(saved())


@pytest.mark.slow
@given(data=damaged())
@examples(150)
def test_a_wrong_model_with_a_right_checksum_is_refused_or_still_answers(
    data: dict[str, Any],
) -> None:
    try:
        loaded = Model.from_dict(resigned(data))
    except ModelError:
        return
    found = loaded.probabilities(history(1)[0])
    assert found.shape == (len(loaded.bins),)
    assert found.sum() == pytest.approx(1.0)
    if loaded.boosted is not None:
        bid_bytes = loaded.boosted_bid_bytes(history(1)[0])
        assert bid_bytes is not None
        least_bytes, most_bytes = loaded.boosted.least_bytes, loaded.boosted.most_bytes
        assert least_bytes * MARGIN <= bid_bytes <= most_bytes * MARGIN


@pytest.mark.slow
def test_a_model_without_boosted_needs_is_written_as_before_they_existed() -> None:
    model = a_model()
    assert "boosted" not in model.to_dict()
    again = Model.from_dict(json.loads(json.dumps(model.to_dict())))
    assert again == model
    assert again.boosted_bid_bytes(history(1)[0]) is None
    assert with_boosted(model).version != model.version


def test_boosted_needs_of_other_columns_are_refused() -> None:
    boosted = with_boosted(a_model()).boosted
    other = a_model()
    narrow = replace(other, version="", schema=type(other.schema)(()), predictor=None, bins=ONE_BIN)
    with pytest.raises(ModelError, match="boosted needs of"):
        replace(narrow, version="", boosted=boosted)


@pytest.mark.parametrize("foreign", [None, 3, "model", [], {}, {"format": "onnx"}, b"\x80\x04"])
def test_foreign_data_is_a_model_error(foreign: Any) -> None:
    with pytest.raises(ModelError):
        Model.from_dict(foreign)


def test_a_model_of_a_newer_plimsoll_asks_for_an_update() -> None:
    with pytest.raises(ModelError, match="update Plimsoll"):
        Model.from_dict(resigned({**saved(), "format_version": 2}))


@pytest.mark.parametrize("ceilings", [(300,), (300, 600), (300, 600, 900)])
def test_a_saved_model_is_the_same_model(ceilings: tuple[int, ...]) -> None:
    model = a_model(*ceilings)
    loaded = Model.from_dict(json.loads(json.dumps(model.to_dict())))
    assert loaded == model
    assert hash(loaded) == hash(model)
    for row in history(50, seed=3):
        np.testing.assert_array_equal(loaded.probabilities(row), model.probabilities(row))


def test_an_svm_serves_as_a_model_too() -> None:
    model = a_model()
    schema = replace(model.schema, columns=model.schema.columns[:4])
    svm = FittedSvm(3, seed=0).compiled()
    with pytest.raises(ModelError, match="columns for a schema"):
        replace(model, predictor=svm, version="")
    numbers = tuple(column for column in schema.columns if not column.is_category)
    four = replace(schema, columns=(numbers * 4)[:4])
    served = replace(model, schema=four, predictor=svm, version="")
    assert Model.from_dict(json.loads(json.dumps(served.to_dict()))) == served
    assert served.probabilities(history(1)[0]).sum() == pytest.approx(1.0)


def test_its_version_is_made_of_what_decides_and_nothing_else() -> None:
    model = a_model()
    assert a_model().version == model.version
    assert replace(model, trained_s=1.0).version == model.version
    assert replace(model, bins=bins_up_to(300, 600, 901), version="").version != model.version
    with pytest.raises(ModelError, match="does not match"):
        replace(model, version="abc")


def test_one_bin_is_certain_without_a_predictor() -> None:
    assert a_model(300).probabilities({}).tolist() == [1.0]


def test_missing_and_unseen_features_get_probabilities() -> None:
    model = a_model()
    unseen: dict[str, float | str] = {"region": "mars", "rows": "many", "new": 3.0}
    for features in ({}, unseen):
        assert model.probabilities(features).sum() == pytest.approx(1.0)


def forest_with(**arrays: list[int]) -> dict[str, Any]:
    data = copy.deepcopy(saved())
    for key, values in arrays.items():
        data["predictor"][key] = to_document(packed(np.array(values, dtype=np.int32)))
    data["predictor"]["value"] = to_document(
        packed(np.zeros(len(arrays["left"]), dtype=np.float32))
    )
    data["predictor"]["n_trees"] = 3
    return resigned(data)


@pytest.mark.parametrize(
    ("left", "slot"),
    [
        pytest.param([0, 1, 0, 3, 4], [99, 99, 0, 99, 99], id="a cycle"),
        pytest.param([3, 3, 2, 3, 4], [0, 0, 99, 99, 99], id="a child of two parents"),
        pytest.param([0, 1, 2, 3, 4], [99] * 5, id="nodes of no tree"),
        pytest.param([0, 1, 9, 3, 4], [99, 99, 0, 99, 99], id="a child outside"),
        pytest.param([0, 1, 2], [99, 99, 1000], id="a feature outside"),
        pytest.param([0, 1, 2], [99, 99, -1], id="a feature below"),
        pytest.param([0, 1, 2], [99, 99, 0], id="a leaf that reads a feature"),
    ],
)
def test_arrays_that_are_no_forest_are_refused(left: list[int], slot: list[int]) -> None:
    end = 2 * saved()["predictor"]["n_features"]
    with pytest.raises(ModelError):
        Model.from_dict(forest_with(left=left, slot=[end if at == 99 else at for at in slot]))


def test_the_forest_of_the_cases_above_is_accepted_when_it_is_whole() -> None:
    end = 2 * saved()["predictor"]["n_features"]
    data = forest_with(left=[0, 1, 3, 3, 4], slot=[end, end, 0, end, end])
    assert Model.from_dict(data).probabilities({}).sum() == pytest.approx(1.0)


@pytest.mark.slow
def test_serving_imports_no_training_library() -> None:
    script = (
        "import sys\n"
        "import plimsoll_predictor.deciding.memory, plimsoll_predictor.deciding.lifting\n"
        "heavy = {'xgboost', 'sklearn', 'scipy', 'imblearn', 'skopt', 'sqlalchemy', 'pandas'}\n"
        "sys.exit(' '.join(sorted(heavy & set(sys.modules))) or None)\n"
    )
    path = ":".join(sys.path)
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
