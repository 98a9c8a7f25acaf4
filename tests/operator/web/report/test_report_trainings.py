"""A task's trainings on the report page."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from plimsoll_operator.views.report.records import TaskReport
from plimsoll_operator.views.report.task_views import LISTED_TRAININGS, gather
from plimsoll_operator.views.training_facts import facts_of, past_trainings
from plimsoll_operator.web.plots.search_plot import DRAWN_TRIALS, search_plot
from plimsoll_operator.web.report.page import render
from plimsoll_predictor.store import Store, Training
from tests.builders.checked_pages import HOSTILE, checked
from tests.builders.reports import (
    START_S,
    TASK,
    a_life,
    a_model,
    a_report,
    a_task_report,
    a_training_report,
    an_attempt,
    some_trainings,
)


def showing(trainings: list[Training]) -> TaskReport:
    report = a_task_report(a_life(1))
    assert report.detail is not None
    return replace(report, detail=replace(report.detail, trainings=past_trainings(trainings)))


def row_of(page: str, words: str) -> str:
    [row] = [row for row in re.findall(r"<tr\b.*?</tr>", page, re.DOTALL) if words in row]
    return " ".join(re.sub(r"<[^>]*>", " ", row).split())


@pytest.mark.slow
def test_each_training_has_a_row_with_its_figures() -> None:
    page = render(a_report(showing(some_trainings()[:2])), START_S)
    checked(page)
    assert row_of(page, ">3fa9c1d2e0</td>").split(" ", 2)[2] == (
        "3fa9c1d2e0 118 320Mi 700Mi 1.76Gi xgboost + smote 10.2 97.5% 14.7 s "
        "serves, cut by its budget"
    )
    failed = row_of(page, "killed by signal 9")
    assert failed.endswith(" - 117 - - - - - failed: killed by signal 9 (memory cap?)")


def test_the_serving_trainings_folds_seed_and_data_range_are_told() -> None:
    page = render(a_report(showing(some_trainings())), START_S)
    assert page.count("Fold by fold") == 1
    assert row_of(page, ">fold </span>2<") == "fold 2 48 24 9 96.0% 1.0%"
    assert "Seed 7" in page
    assert "2026-09-21 14:13 to 2026-10-21 14:13" in page


def test_a_training_of_which_little_can_be_read_still_has_its_row() -> None:
    bare = Training(row=1, task=TASK, at_s=1e300, report={"trials": 5})
    page = render(a_report(showing([bare])), START_S)
    checked(page)
    assert "Fold by fold" not in page
    assert row_of(page, "serves").endswith("serves")


def test_a_task_never_trained_has_no_such_section() -> None:
    assert "<h3>Trainings</h3>" not in render(a_report(showing([])), START_S)


def test_what_trainings_say_is_escaped_and_bounded() -> None:
    report = {**a_training_report(), "features": [HOSTILE]}
    report["recipe"] = {**report["recipe"], "classifier": HOSTILE}
    hostile = replace(some_trainings()[0], report=report, version=None)
    failed = replace(some_trainings()[1], failure=HOSTILE + "x" * 5_000)
    page = render(a_report(showing([hostile, failed])), START_S)
    assert "script" not in checked(page).tags
    assert "x" * 600 not in page


def test_the_search_is_drawn_trial_by_trial_and_never_without_bounds() -> None:
    drawn = search_plot(facts_of(a_training_report()))
    assert drawn.count("h0") == 3
    assert "3 trials" in drawn
    [steps] = re.findall(r'd="([^"]*)" class="allocation"', drawn)
    heights = [float(each) for each in re.findall(r"(?:M[\d.]+ |V)([\d.]+)", steps)]
    assert heights == sorted(heights), "the best so far only gets lower, and low is far down"
    many = {**a_training_report(), "trials": a_training_report()["trials"] * 1000}
    assert search_plot(facts_of(many)).count("h0") == DRAWN_TRIALS
    nothing = search_plot(facts_of({}))
    assert "nan" not in nothing
    assert nothing.count("h0") == 0


@pytest.mark.slow
def test_the_newest_trainings_are_gathered_from_the_store(tmp_path: Path) -> None:
    store = Store.open(f"sqlite:///{tmp_path}/plimsoll.db", clock=lambda: START_S)
    store.observations.record([an_attempt()])
    for seed in range(LISTED_TRAININGS + 2):
        report = {**a_training_report(), "seed": seed}
        store.models.save(TASK, a_model(), report)
    [shown] = gather(store).tasks
    store.close()
    assert shown.detail is not None
    seeds = [kept.facts.seed for kept in shown.detail.trainings]
    assert seeds == list(range(LISTED_TRAININGS + 1, 1, -1))
