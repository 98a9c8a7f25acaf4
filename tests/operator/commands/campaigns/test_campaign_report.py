"""`plimsoll campaign report`: what it prints of a campaign's findings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from plimsoll_operator.commands.campaigns.report import report_command
from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_predictor.store import Store
from tests.builders.campaigns import a_record, keep_campaign, some_runs
from tests.builders.reports import START_S

HOSTILE = "[red]oh[/red] [/] \x1b[31mred"


def test_words_from_outside_are_neither_markup_nor_colour(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address = f"sqlite:///{tmp_path}/plimsoll.db"
    store = Store.open(address)
    runs = [
        replace(run, values={**run.values, "region": HOSTILE}, note=run.note and HOSTILE)
        if run.values["region"] == "south"
        else run
        for run in some_runs(left=4)
    ]
    keep_campaign(store, a_record(), runs)
    store.close()
    assert report_command("shop/learn-join", address, OutputForm.TABLE, now_s=START_S) == 0
    text = capsys.readouterr().out
    for title in ("need by region", "what is still uncertain", "1 scenario without a need"):
        _, _, table = text.partition(title)
        assert "[red]oh[/red] [/]" in table.split("\n\n")[0], title
    assert "\x1b" not in text
