"""Reading trainings' reports: from this version, from others, or without one."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from plimsoll_operator.views.training_facts import (
    ReportFacts,
    best_so_far,
    facts_of,
    past_trainings,
)
from plimsoll_predictor.store import Training
from plimsoll_predictor.training.report import TrainingReport
from tests.builders.reports import START_S, TASK, a_training_report


def a_training(row: int = 1, **changes: Any) -> Training:
    values: dict[str, Any] = {"row": row, "task": TASK, "at_s": START_S, "report": {}, **changes}
    return Training(**values)


def test_a_whole_report_is_read_as_it_was_written() -> None:
    report = a_training_report()
    facts = facts_of(report)
    assert (
        facts.model_dump(exclude_defaults=True).keys()
        == report.keys() & type(facts).model_fields.keys()
    )
    assert facts.recipe is not None
    assert facts.recipe.words == "xgboost + smote"
    assert [fold.validation_runs for fold in facts.fold_scores] == [24, 24, 24]
    assert (facts.u_score, facts.accuracy) == (facts.recipe.u_score, facts.recipe.accuracy)
    assert facts.confusion == ((70, 1, 0), (0, 34, 1), (0, 1, 11))
    assert facts.out_of_time_costs["max-seen"].failed_attempts == 2


def test_all_of_a_report_is_read_but_what_no_page_or_command_shows() -> None:
    written = {field.name for field in fields(TrainingReport)}
    assert written - ReportFacts.model_fields.keys() == {"candidates", "reliability"}


def test_the_costs_in_a_report_of_an_older_version_are_read() -> None:
    report = a_training_report()
    older = {**report, "champion": "classifier", "experts": report["out_of_time_costs"]}
    del older["out_of_time_costs"]
    assert facts_of(older) == facts_of(report)


def test_an_empty_report_says_nothing_and_is_no_error() -> None:
    facts = facts_of({})
    assert (facts.u_score, facts.recipe_words, facts.trials, facts.runs) == (None, None, (), None)


def test_one_bin_needs_no_recipe_and_cannot_be_wrong() -> None:
    facts = facts_of({"ceilings_bytes": [512], "recipe": None})
    assert (facts.recipe_words, facts.u_score, facts.accuracy) == ("one bin", 0.0, 1.0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("runs", "many", id="words for a number"),
        pytest.param("runs", True, id="yes for a number"),
        pytest.param("duration_s", None, id="nothing"),
        pytest.param("trials", [{"classifier": "xgboost"}], id="a trial without figures"),
        pytest.param("confusion", [[1, "two"]], id="words in the matrix"),
        pytest.param("out_of_time_costs", {"max-seen": 1.5}, id="an expert's cost alone"),
        pytest.param("recipe", [], id="another recipe"),
        pytest.param("u_score", float("nan"), id="what nobody reads"),
    ],
)
def test_what_cannot_be_read_is_absent_and_the_rest_is_read(name: str, value: object) -> None:
    whole = facts_of(a_training_report())
    facts = facts_of({**a_training_report(), name: value})
    assert not getattr(facts, name, None) or name == "u_score"
    assert (facts.seed, facts.budget_s) == (whole.seed, whole.budget_s)


def test_the_best_so_far_never_rises() -> None:
    assert best_so_far(facts_of(a_training_report())) == (31.0, 10.2, 10.2)
    assert best_so_far(facts_of({})) == ()


def test_the_newest_that_succeeded_serves() -> None:
    failed = a_training(3, failure="no memory")
    kept = past_trainings([failed, a_training(2), a_training(1)])
    assert [each.serves for each in kept] == [False, True, False]


def test_a_damaged_model_serves_nobody_nor_does_the_one_before_it() -> None:
    kept = past_trainings([a_training(2, damage="torn"), a_training(1)])
    assert [each.serves for each in kept] == [False, False]


def test_runs_of_a_failed_training_are_those_it_would_have_learned_from() -> None:
    learned = a_training(2, runs=130, report={"runs": 118})
    failed = a_training(1, runs=130, failure="no memory")
    assert [each.runs for each in past_trainings([learned, failed])] == [118, 130]
