"""Texts by strangers: short ones stay, long ones are cut, and two that differ stay different."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_predictor.core.bounded_text import bounded, bounded_or_none

MOST = 40
ANY_TEXT = st.text(st.characters(codec=None), max_size=200)


@pytest.mark.parametrize("text", ["", "train-7", "x" * MOST, "日本" * 6, "a b", "a/b:c(0:x)"])
def test_a_short_text_stays_as_it_is(text: str) -> None:
    assert bounded(text, MOST) == text


def test_a_long_text_can_still_be_recognised() -> None:
    assert bounded("train-demand" * 10, MOST).startswith("train-d~")
    assert bounded("日本" * 100, MOST).startswith("日本")


def test_two_long_texts_that_differ_at_their_ends_differ() -> None:
    long = "x" * 250_000
    assert bounded(f"{long}1", MOST) != bounded(f"{long}2", MOST)


def test_texts_that_no_database_stores_differ_too() -> None:
    texts = ["a\x00b", "a?b", "a\ud800b", "a\ud801b"]
    assert len({bounded(text, MOST) for text in texts}) == len(texts)


@pytest.mark.slow
@given(ANY_TEXT)
def test_any_text_is_bounded_can_be_stored_and_stays_so(text: str) -> None:
    once = bounded(text, MOST)
    assert len(once.encode()) <= MOST
    assert "\x00" not in once
    assert bounded(once, MOST) == once


@pytest.mark.slow
@given(ANY_TEXT, ANY_TEXT)
def test_texts_that_differ_stay_different(one: str, other: str) -> None:
    assert (bounded(one, MOST) == bounded(other, MOST)) == (one == other)


@pytest.mark.parametrize("value", [None, "", 7, [], {"a": 1}])
def test_what_is_no_text_is_none(value: object) -> None:
    assert bounded_or_none(value, MOST) is None
