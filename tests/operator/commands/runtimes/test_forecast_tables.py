"""`plimsoll forecast` for people: where the figures come from, and in narrow terminals."""

from __future__ import annotations

from pathlib import Path

import pytest

from plimsoll_operator.commands.printing import printing
from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.commands.runtimes.forecast import forecast_command
from plimsoll_predictor.runtimes.forecasting.forecaster import Forecaster
from plimsoll_predictor.store import Store, UnsavedRuntimes
from tests.builders.runtimes.telling_pasts import (
    AFTER_S,
    NIGHTLY,
    a_steady_store,
    telling_runs,
)


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A store with a steady task of five minutes."""
    return a_steady_store(tmp_path)


def forecast(url: str) -> int:
    named = str(NIGHTLY)
    return forecast_command(named, url, Installation(), OutputForm.TABLE, now_s=AFTER_S)


def test_a_forecast_that_no_controller_has_learned_says_that_other_tasks_do_not_count(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "its newest runs alone, 60, usually"
    assert forecast(url) == 0
    assert words in capsys.readouterr().out
    store = Store.open(url)
    forecaster = Forecaster()
    forecaster.learn(str(NIGHTLY), NIGHTLY.namespace, 300.0, AFTER_S - 60)
    states = {str(NIGHTLY): forecaster.state.task(str(NIGHTLY))}
    store.runtimes.save(UnsavedRuntimes(through=0, tasks=states), {0})
    store.close()
    assert forecast(url) == 0
    assert words not in capsys.readouterr().out


@pytest.mark.parametrize("width", [60, 70, 80])
def test_no_figure_is_cut_in_a_narrow_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int
) -> None:
    """Two modes far apart, so that the rows' edges and marks are long."""
    address = f"sqlite:///{tmp_path}/telling.db"
    store = Store.open(address)
    store.observations.record(telling_runs())
    store.close()
    monkeypatch.setattr(printing, "PIPED_WIDTH", width)
    assert forecast(address) == 0
    histogram = capsys.readouterr().out.partition("how long it takes")[2]
    rows = histogram.partition("last attempts")[0]
    assert "2× the usual" in rows
    assert "…" not in rows
    assert "█" in rows
