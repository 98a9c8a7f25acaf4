"""Savings never read as a negative share."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_operator.wording.saving_words import (
    saving_words,
    sentence_for_saving,
    words_for_saved_gb_h,
    words_for_saved_share,
)

AMOUNTS = st.floats(0, 1e9)


@pytest.mark.parametrize(
    ("asked", "given_", "words"),
    [
        pytest.param(20.0, 7.6, "62% (12.4 GB·h)", id="saved"),
        pytest.param(1.0, 4.0, "none (3 GB·h more)", id="four times what was asked for"),
        pytest.param(1.0, 1.0, "0% (0 GB·h)", id="as asked for"),
        pytest.param(100.0, 100.4, "0% (0 GB·h)", id="half a percent more is rounding"),
        pytest.param(1.0, 0.0, "100% (1 GB·h)", id="all of it"),
    ],
)
def test_a_saving_is_told_as_a_share_and_in_full(asked: float, given_: float, words: str) -> None:
    assert saving_words(asked, given_) == words


@pytest.mark.slow
@given(AMOUNTS, AMOUNTS)
def test_no_figure_is_negative(asked: float, given_: float) -> None:
    told = (
        saving_words(asked, given_),
        words_for_saved_share(asked - given_, asked),
        words_for_saved_gb_h(asked - given_),
        sentence_for_saving(asked, given_, did="saved", took="took"),
    )
    assert not any("-" in words.replace("- (", "") for words in told if words != "-")


def test_a_sentence_says_what_was_taken_beyond_what_was_asked_for() -> None:
    verbs = {"did": "saved", "took": "took"}
    assert sentence_for_saving(1.0, 4.0, **verbs) == "took 3 GB·h more than the 1 GB·h"
    assert sentence_for_saving(4.0, 1.0, **verbs) == "saved 75% (3 GB·h) of the 4 GB·h"
