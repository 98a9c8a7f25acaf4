"""What commands print: JSON that every program reads, and tables in any terminal's encoding."""

from __future__ import annotations

import io
import json
import math
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
import yaml

from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.printing.printing import document_text, print_output
from plimsoll_operator.commands.reaching.in_controller import terminal_words
from plimsoll_operator.wording.figure_words import number_words, words_for_gb_h, words_for_size
from plimsoll_predictor.core.durations import clock_words
from plimsoll_predictor.store import Store
from tests.builders.experts.standings import a_fleet, keep
from tests.builders.reports import START_S, TASK, an_attempt
from tests.rigs.processes.command_lines import run_apart, run_here


def refuse(constant: str) -> Any:
    raise AssertionError(f"{constant} is no JSON")


@pytest.mark.parametrize("figure", [math.nan, math.inf, -math.inf])
def test_a_figure_that_is_not_finite_is_null(figure: float) -> None:
    document = {"costs": [{"times": figure}, (1.5, figure)]}
    finite = {"costs": [{"times": None}, [1.5, None]]}
    said = document_text(document, OutputForm.JSON)
    assert json.loads(said, parse_constant=refuse) == finite
    assert yaml.safe_load(document_text(document, OutputForm.YAML)) == finite


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "utf8"])
def test_yaml_loses_no_character_whatever_the_encoding_of_the_output(encoding: str) -> None:
    document, printed = {"words": "würde → 3 GB·h — “é”"}, io.BytesIO()
    with io.TextIOWrapper(printed, encoding, errors="replace") as out:
        with redirect_stdout(out):
            print_output(document, "", OutputForm.YAML)
        out.flush()
        text = printed.getvalue().decode()
    assert yaml.safe_load(text) == document
    assert ("→" in text) is (encoding == "utf8"), "people read it"


@pytest.mark.parametrize("figure", [math.nan, math.inf])
def test_in_words_it_is_a_dash(figure: float) -> None:
    words = (number_words(figure), words_for_size(figure), clock_words(figure))
    assert words == ("-", "-", "-")
    assert words_for_gb_h(figure) == "- GB·h"


def test_a_terminal_narrower_than_commands_take_is_sent_as_the_narrowest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "10")
    monkeypatch.setenv("FORCE_COLOR", "1")
    width = terminal_words()[1]
    told = run_here("--terminal-width", width, "--version")
    assert (told.returncode, told.stderr) == (0, "")


@pytest.mark.slow
def test_a_table_is_shown_where_the_encoding_lacks_its_characters(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/plimsoll.db"
    store = Store.open(url, clock=lambda: START_S)
    store.observations.record([an_attempt()])
    keep(store, a_fleet())
    store.close()
    told = run_apart("explain", str(TASK), "--store", url, PYTHONIOENCODING="ascii")
    assert (told.returncode, told.stderr) == (0, "")
    assert "?" in told.stdout
