"""The words for an error budget."""

from __future__ import annotations

import pytest

from plimsoll_operator.wording.budget_words import words_for_spent
from plimsoll_predictor.knowledge.error_budget import Spent

KILLS = {"own-limit": 2, "child": 1}


@pytest.mark.parametrize(
    ("spent", "budget", "words"),
    [
        pytest.param(Spent(400, 0), None, "", id="nothing to say"),
        pytest.param(
            Spent(400, 3),
            None,
            "3 of the last 400 runs were killed below the request (killed at its limit (2), a child"
            " process was killed at the limit (1))",
            id="without a budget",
        ),
        pytest.param(
            Spent(400, 0),
            0.01,
            "0 of the last 400 runs were killed below the request; its error budget of 1.00%"
            " allows 4",
            id="unspent",
        ),
        pytest.param(
            Spent(400, 4),
            0.01,
            "4 of the last 400 runs were killed below the request; its error budget of 1.00% is"
            " spent, so it gets its request",
            id="spent",
        ),
    ],
)
def test_what_is_said_of_a_budget(spent: Spent, budget: float | None, words: str) -> None:
    causes = KILLS if spent.killed == 3 else {}
    assert words_for_spent(spent, causes, budget) == words
