"""Documents: what is read has the declared type, or an error names the field."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from plimsoll_predictor.core.documents import (
    Count,
    Finite,
    check_format,
    from_document,
    to_document,
)
from plimsoll_predictor.core.packing import FloatMatrix, ModelError


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    share: Finite
    table: FloatMatrix
    runs: Count = 0
    latest: deque[float] = field(default_factory=deque)


def written() -> dict[str, Any]:
    sample = Sample(0.5, np.arange(6.0).reshape(2, 3), 7, deque([1.0, 2.0]))
    document: dict[str, Any] = json.loads(json.dumps(to_document(sample)))
    return document


def test_arrays_and_queues_read_back_as_they_were() -> None:
    read = from_document(Sample, written(), "a sample")
    assert read.table.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert (read.share, read.runs, read.latest) == (0.5, 7, deque([1.0, 2.0]))


def test_a_newer_versions_field_is_ignored_and_an_older_ones_lack_is_filled() -> None:
    document = {key: value for key, value in written().items() if key != "runs"}
    assert from_document(Sample, document | {"colour": "red"}, "a sample").runs == 0


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        pytest.param({"share": float("nan")}, r"`float` .* - at `\$.share`", id="NaN"),
        pytest.param({"share": float("inf")}, r"`float` .* - at `\$.share`", id="infinity"),
        pytest.param({"share": True}, r"got `bool` - at `\$.share`", id="a truth"),
        pytest.param({"runs": -1}, r">= 0 - at `\$.runs`", id="below zero"),
        pytest.param({"latest": [1, "x"]}, r"got `str` .* at `\$.latest`", id="text among numbers"),
        pytest.param({"table": []}, r"got `array` - at `\$.table`", id="no packed array"),
    ],
)
def test_what_is_wrong_is_named(damage: dict[str, Any], words: str) -> None:
    with pytest.raises(ModelError, match=f"^a sample: .*{words}"):
        from_document(Sample, written() | damage, "a sample", ModelError)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        pytest.param({"dtype": "<f4"}, "Expected <f8 in 2", id="other numbers"),
        pytest.param({"shape": [6]}, "got <f8 in 1", id="fewer dimensions"),
        pytest.param({"shape": [2, 4]}, "Expected 64 bytes of data, got 48", id="a larger shape"),
        pytest.param({"shape": [-2, -3]}, ">= 0", id="a shape below zero"),
        pytest.param({"data": "?"}, "base64", id="no base64"),
    ],
)
def test_an_array_that_is_damaged_is_refused(damage: dict[str, Any], words: str) -> None:
    document = written()
    document["table"] |= damage
    with pytest.raises(ValueError, match=words):
        from_document(Sample, document, "a sample")


def test_an_array_of_what_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="finite numbers"):
        from_document(Sample, to_document(Sample(0.5, np.array([[np.nan]]))), "a sample")


def test_another_format_is_refused_before_its_fields_are_read() -> None:
    with pytest.raises(ModelError, match="a sample in format 2; this Plimsoll reads format 1"):
        check_format({"format": 2}, 1, "a sample", ModelError)
    with pytest.raises(ModelError, match="a sample is list, not an object"):
        check_format([], 1, "a sample", ModelError)
