"""What `make mutants` changes, and which tests it runs against a change."""

from __future__ import annotations

import pytest

from plimsoll_operator.attempts.truth_table import judge
from plimsoll_operator.kube.client import Kube
from plimsoll_predictor.model.bins import search_bins
from tests.mutants import covering_tests, pure_modules
from tests.mutations import mutations_of


@pytest.mark.parametrize(
    ("source", "mutants"),
    [
        pytest.param("x = a < b", {"x = (a <= b)"}, id="a comparison takes or leaves its boundary"),
        pytest.param("x = a and b", {"x = (a or b)"}, id="and becomes or"),
        pytest.param("x = min(a, b)", {"x = (max(a, b))"}, id="the least becomes the largest"),
        pytest.param("x = 3", {"x = (4)"}, id="a number is one more"),
        pytest.param("x = {a, b}", {"x = ({a})", "x = ({b})"}, id="a member of a set is left out"),
        pytest.param(
            "def f():\n    return a", {"def f():\n    return (None)"}, id="a function gives nothing"
        ),
        pytest.param("x = f'{a + 1}'", set(), id="the words of a message stay"),
        pytest.param("x: Literal[1]", set(), id="an annotation stays"),
        pytest.param("assert a == b", set(), id="an assertion stays"),
    ],
)
def test_a_mutation_changes_one_thing(source: str, mutants: set[str]) -> None:
    assert {mutation.source for mutation in mutations_of(source)} == mutants


def test_a_mutation_stands_where_letters_of_two_bytes_stand_before_it() -> None:
    (mutation,) = mutations_of("word = 'größer'; x = a < b")
    assert mutation.source == "word = 'größer'; x = (a <= b)"


@pytest.mark.slow
def test_a_modules_own_test_is_among_those_that_are_tried_first() -> None:
    (nearest, *_) = covering_tests([judge.__module__])[judge.__module__]
    assert any(test.endswith("test_truth.py") for test in nearest)


def test_the_modules_that_are_mutated_are_those_that_must_be_pure() -> None:
    modules = pure_modules()
    assert {judge.__module__, search_bins.__module__} <= set(modules)
    assert Kube.__module__ not in modules
