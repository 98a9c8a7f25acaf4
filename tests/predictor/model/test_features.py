from __future__ import annotations

import json
import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_predictor.core.documents import from_document, to_document
from plimsoll_predictor.core.packing import ModelError
from plimsoll_predictor.core.record import FeatureValue
from plimsoll_predictor.model.columns import Part
from plimsoll_predictor.model.features import FeatureSchema
from tests.builders.experts.serving import history
from tests.rigs.drawing import examples

VALUES = (
    st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["eu", "us", "18234", "1e308", "nan", "-inf", "2025-02-28", "2025-13-01"])
    | st.datetimes().map(lambda moment: moment.isoformat())
    | st.datetimes(timezones=st.timezones()).map(lambda moment: moment.isoformat())
)
ROWS = st.lists(
    st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), VALUES, max_size=4), max_size=12
)


def column(values: list[FeatureValue]) -> FeatureSchema:
    return FeatureSchema.fit([{"x": value} for value in values])


def encoded(schema: FeatureSchema, value: FeatureValue) -> float:
    return float(schema.encode({"x": value})[0])


@pytest.mark.slow
@given(rows=ROWS)
@examples(200)
def test_one_row_is_encoded_and_expanded_like_the_batch_it_is_in(
    rows: list[dict[str, FeatureValue]],
) -> None:
    schema = FeatureSchema.fit(rows)
    batch = schema.encode_rows(rows)
    expanded = schema.expand(batch)
    for index, row in enumerate(rows):
        one = schema.encode(row)
        np.testing.assert_array_equal(one, batch[index])
        np.testing.assert_array_equal(schema.expand(one[np.newaxis, :])[0], expanded[index])
    assert not np.isinf(batch).any()


@pytest.mark.slow
@given(rows=ROWS, later=ROWS)
@examples(100)
def test_a_saved_schema_encodes_whatever_comes_as_before(
    rows: list[dict[str, FeatureValue]], later: list[dict[str, FeatureValue]]
) -> None:
    schema = FeatureSchema.fit(rows)
    loaded = from_document(FeatureSchema, json.loads(json.dumps(to_document(schema))), "the schema")
    assert loaded == schema
    np.testing.assert_array_equal(loaded.encode_rows(later), schema.encode_rows(later))


def test_numbers_written_as_text_are_numbers() -> None:
    schema = column(["18234", 7.5, "-1e3"])
    assert [encoded(schema, value) for value in ("18234", 7.5, " 12 ")] == [18234.0, 7.5, 12.0]
    assert schema.categorical_columns == ()


def test_one_word_among_a_hundred_numbers_leaves_a_number_and_reads_as_missing() -> None:
    schema = column([*range(100), "many"])
    assert [each.part for each in schema.columns] == [Part.NUMBER]
    assert encoded(schema, 1234) == 1234.0
    assert math.isnan(encoded(schema, "many"))


@pytest.mark.parametrize("words", [6, 95])
def test_words_that_are_more_than_a_few_make_a_category(words: int) -> None:
    schema = column([*range(100 - words), *["many", "few"] * words][:100])
    assert [each.part for each in schema.columns] == [Part.CATEGORY]


def test_dates_with_an_odd_number_are_no_numbers() -> None:
    schema = column([*(f"2026-01-{day:02}" for day in range(1, 31)), 7])
    assert [each.part for each in schema.columns] == [Part.CATEGORY]


@pytest.mark.parametrize("value", ["1e308", 1e308, math.inf, math.nan, "9" * 60, "9" * 400, "many"])
def test_a_number_that_float32_cannot_hold_is_missing_without_a_warning(
    value: FeatureValue,
) -> None:
    schema = column(["1", "2"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert math.isnan(encoded(schema, value))


def test_one_absurd_number_does_not_turn_a_column_into_categories() -> None:
    schema = column(["1", "2", "1e308"])
    assert schema.categorical_columns == ()
    assert encoded(schema, "2") == 2.0


@pytest.mark.parametrize("word", ["nan", "inf", "1_000", "0x10", "١٢"])
def test_words_that_python_would_read_as_numbers_are_categories(word: str) -> None:
    schema = column([word, "3", "eu"])
    assert schema.categorical_columns == (0,)
    assert not math.isnan(encoded(schema, word))


def test_an_unseen_or_missing_category_is_zero_in_all_its_columns() -> None:
    schema = column(["eu", "us", "eu", "asia"])
    assert [column.categories for column in schema.columns] == [("asia", "eu", "us")]
    rows = schema.encode_rows([{"x": "us"}, {"x": "mars"}, {}])
    assert np.isnan(rows[1:, 0]).all()
    assert schema.expand(rows).tolist() == [[0, 0, 1], [0, 0, 0], [0, 0, 0]]


def test_a_category_may_come_as_a_number() -> None:
    schema = column(["3", "eu", 3.0])
    assert encoded(schema, 3.0) == encoded(schema, "3")


def test_dates_become_parts_and_differences() -> None:
    rows = [
        {"from": "2025-01-01", "to": "2025-01-31"},
        {"from": "2025-02-03", "to": "2025-03-03T12:00:00+00:00"},
    ]
    schema = FeatureSchema.fit(rows)
    names = [(column.feature, column.part) for column in schema.columns]
    second = dict(zip(names, schema.encode(rows[1]).tolist(), strict=True))
    assert second["from", Part.DAYS] == 20122.0
    assert second["from", Part.WEEKDAY] == 0.0
    assert second["from", Part.DAY] == 3.0
    assert second["from", Part.MONTH] == 2.0
    assert second["to", Part.HOUR] == 12.0
    assert second["from", Part.DIFFERENCE] == -28.5


def test_a_date_that_is_not_one_later_is_missing() -> None:
    schema = column(["2025-01-01", "2025-02-02"])
    assert np.isnan(schema.encode({"x": "soon"})).all()


def test_columns_that_never_change_are_dropped_but_not_those_sometimes_missing() -> None:
    rows: list[dict[str, FeatureValue]] = [{"same": "1", "some": "1", "both": 1.0}, {"same": "1"}]
    schema = FeatureSchema.fit([*rows, {"same": "1", "both": 2.0}])
    assert [column.feature for column in schema.columns] == ["both", "some"]


def test_of_too_many_features_the_most_often_present_are_kept() -> None:
    wide: dict[str, FeatureValue] = {f"f{index}": float(index) for index in range(10_000)}
    schema = FeatureSchema.fit([wide, {"f9999": 3.0}, {"f9999": 4.0}], max_features=5)
    assert len(schema.columns) == 5
    assert "f9999" in {column.feature for column in schema.columns}


def test_an_identifier_does_not_fill_the_model() -> None:
    rows: list[dict[str, FeatureValue]] = [{"id": f"run-{index}"} for index in range(500)]
    assert FeatureSchema.fit(rows).n_expanded == 0
    often: list[dict[str, FeatureValue]] = [{"id": f"kind-{index % 100}"} for index in range(500)]
    assert FeatureSchema.fit(often, max_categories=8).n_expanded == 8


def test_huge_values_and_names_are_bounded() -> None:
    rows: list[dict[str, FeatureValue]] = [
        {"x": "a" * 262_144, "n" * 1000: "1"},
        {"x": "b" * 262_144, "n" * 1000: "2"},
    ]
    schema = FeatureSchema.fit(rows)
    assert len(json.dumps(to_document(schema))) < 1000
    assert encoded(schema, "a" * 262_144) != encoded(schema, "b" * 262_144)


def test_no_history_gives_a_schema_without_columns() -> None:
    schema = FeatureSchema.fit([])
    assert schema.expand(schema.encode_rows([{"x": 1.0}])).shape == (1, 0)


def test_what_is_encoded_is_not_changed() -> None:
    rows = history(50)
    before = json.dumps(rows)
    FeatureSchema.fit(rows).encode_rows(rows)
    assert json.dumps(rows) == before


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param({"part": "colour"}, id="an unknown part"),
        pytest.param({"categories": ["eu", "eu"]}, id="a category twice"),
        pytest.param({"categories": [1]}, id="a category that is no text"),
        pytest.param({"other": "y"}, id="another date where there is none"),
        pytest.param({"feature": "n" * 1000}, id="an endless name"),
    ],
)
def test_a_damaged_schema_is_refused(damage: dict[str, object]) -> None:
    data = json.loads(json.dumps(to_document(column(["eu", "us"]))))
    data["columns"][0] |= damage
    with pytest.raises(ModelError):
        from_document(FeatureSchema, data, "the schema", ModelError)
