"""Kubernetes quantities of memory. The golden answers are apimachinery's own; see the file."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_operator.names.quantity import MAX_BYTES, BadQuantity, format_bytes, parse_bytes

GOLDEN = Path(__file__).parent / "quantities.json"


@pytest.mark.slow
def test_every_quantity_means_what_kubernetes_says_it_means() -> None:
    cases = json.loads(GOLDEN.read_text())["cases"]
    assert len(cases) > 1000
    wrong = [
        (text, answer, read)
        for text, answer in cases.items()
        if (read := _read_or_none(text)) != (None if answer is None else int(answer["bytes"]))
    ]
    assert wrong == []


def test_bytes_are_printed_as_kubernetes_prints_them() -> None:
    printed = json.loads(GOLDEN.read_text())["printed"]
    assert {text: format_bytes(int(text)) for text in printed} == printed


@given(st.integers(min_value=0, max_value=MAX_BYTES))
def test_what_was_printed_is_read_back_exactly(size_bytes: int) -> None:
    assert parse_bytes(format_bytes(size_bytes)) == size_bytes


@pytest.mark.slow
@given(st.text(max_size=80))
def test_any_text_is_a_quantity_or_a_clear_error(text: str) -> None:
    with contextlib.suppress(BadQuantity):
        assert 0 <= parse_bytes(text) <= MAX_BYTES


@pytest.mark.parametrize(
    "value",
    [None, True, 1.5, [], {}, b"1Gi", "1" * 65],
    ids=["nothing", "a boolean", "a float", "a list", "a map", "bytes", "very long"],
)
def test_what_is_no_text_of_bounded_length_is_refused(value: object) -> None:
    with pytest.raises(BadQuantity, match="write for example"):
        parse_bytes(value)


def test_a_whole_number_counts_bytes() -> None:
    assert parse_bytes(1073741824) == 2**30


def test_a_negative_size_is_refused_with_words() -> None:
    with pytest.raises(BadQuantity, match="negative"):
        parse_bytes("-1Gi")


def _read_or_none(text: str) -> int | None:
    try:
        return parse_bytes(text)
    except BadQuantity:
        return None
