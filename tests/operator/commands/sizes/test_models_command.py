"""`plimsoll models`: what it lists, one training in full, and missing ones."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.sizes.models import models_command
from plimsoll_predictor.store import Store
from tests.builders.reports import START_S, TASK, a_model, a_training_report
from tests.rigs.processes.command_lines import run_here

HOSTILE = "[red]oh[/red] [/] \x1b[31mred"


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A store with a training, one that failed, and one that serves."""
    address = f"sqlite:///{tmp_path}/plimsoll.db"
    times = iter([START_S, START_S + 600])
    store = Store.open(address, clock=lambda: next(times))
    store.models.save(TASK, None, {**a_training_report(), "cut_by_budget": False})
    store.trainings.record_failure(TASK, "killed by signal 9 (memory cap?)", START_S + 300)
    store.models.save(TASK, a_model(), a_training_report())
    store.close()
    return address


def printed(capsys: pytest.CaptureFixture[str], *given: Any) -> str:
    assert models_command(*given) == 0
    return capsys.readouterr().out


def row_of(text: str, words: str) -> str:
    [row] = [line for line in text.splitlines() if words in line]
    return row


def test_trainings_are_listed_newest_first_with_their_figures(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = printed(capsys, str(TASK), url, OutputForm.TABLE, None)
    assert "shop/train-demand: 3 trainings kept, newest first" in text
    newest = row_of(text, a_model().version)
    for words in ("118", "320Mi 700Mi 1.76Gi", "xgboost + smote", "10.2", "97.5%"):
        assert words in newest
    assert "14.7 s" in newest
    assert "serves, cut by its budget" in newest
    failed = row_of(text, "killed by signal 9")
    assert "failed: killed by signal 9 (memory cap?)" in failed
    places = [text.index(words) for words in (a_model().version, "killed by", "2026-09-21 14:13")]
    assert places == sorted(places)


def test_one_training_is_shown_with_confusion_folds_trials_and_costs(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = printed(capsys, str(TASK), url, OutputForm.TABLE, a_model().version[:4])
    for words in (
        "2026-09-21 14:13 to 2026-10-21 14:13",
        "rows, region",
        "320Mi (71), 700Mi (35), 1.76Gi (12)",
        "learning_rate=0.1, max_depth=6",
        "needed ↓ predicted →",
        "fold by fold",
        "3 trials, the best 3; none better after trial 2",
        "out-of-time costs over 100 runs",
        "not logged to a tracking server",
    ):
        assert words in text
    assert re.search(r"seed +7 ", text)


@pytest.mark.slow
def test_json_holds_all_that_is_kept(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    listed = json.loads(printed(capsys, str(TASK), url, OutputForm.JSON, None))
    assert [each["serves"] for each in listed] == [True, False, False]
    assert listed[0]["report"] == a_training_report()
    assert listed[1]["failure"] == "killed by signal 9 (memory cap?)"
    one: Mapping[str, Any] = json.loads(
        printed(capsys, str(TASK), url, OutputForm.JSON, a_model().version)
    )
    assert one == listed[0]


@pytest.mark.parametrize(
    ("task", "version", "words"),
    [
        pytest.param("shop/nobody", None, "shop/nobody: never trained", id="an unknown task"),
        pytest.param("nobody", None, "write 'shop/train'", id="not a task's name"),
        pytest.param(str(TASK), "zzz", "no version kept begins with 'zzz'", id="no version"),
        pytest.param(str(TASK), "", "no version", id="an empty version"),
    ],
)
def test_what_is_not_there_is_said_and_fails(
    url: str, task: str, version: str | None, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert models_command(task, url, OutputForm.TABLE, version) == 1
    said = capsys.readouterr()
    assert said.err.startswith("plimsoll models: ")
    assert words in said.err
    assert said.out == ""


def test_words_from_outside_are_neither_markup_nor_colour(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address = f"sqlite:///{tmp_path}/plimsoll.db"
    store = Store.open(address)
    store.trainings.record_failure(TASK, HOSTILE, START_S)
    report = {**a_training_report(), "features": [HOSTILE]}
    store.models.save(TASK, a_model(), report)
    store.close()
    text = printed(capsys, str(TASK), address, OutputForm.TABLE, None)
    text += printed(capsys, str(TASK), address, OutputForm.TABLE, a_model().version)
    assert text.count("[red]oh[/red] [/]") == 2
    assert "\x1b" not in text


@pytest.mark.slow
def test_the_command_line_takes_it(url: str) -> None:
    done = run_here("models", str(TASK), "--store", url, "--output", "json")
    assert len(json.loads(done.stdout)) == 3
