"""``plimsoll replay --runtime``: its figures and its words."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from plimsoll_operator.__main__ import app
from plimsoll_operator.commands.past_runs.runtime_replay import (
    runtime_replay_command,
)
from plimsoll_predictor.replay.runtimes.judging import METHODS, OWN
from plimsoll_predictor.runtimes.runs.log_run import LogRun
from tests.builders.runtimes.runtime_logs import a_log_run, write_log, write_rows

PROMISED = {
    "log",
    "method",
    "pin_runs",
    "pin_tasks",
    "p95_coverage",
    "p99_coverage",
    "skill_2x",
    "skill_10x",
    "us_per_forecast",
    "bytes_per_task",
}


def some_runs(count: int = 240) -> list[LogRun]:
    """Two tasks of one owner, minutes and hours; every tenth run takes fifteen times as long."""
    draws = np.random.default_rng(3).lognormal(0.0, 0.2, count)
    return [
        a_log_run(line)
        .of("short" if line % 2 else "long")
        .at(900.0 * line)
        .taking(float(draw) * (60 if line % 2 else 600) * (15 if line % 10 == 0 else 1))
        .asking(7200)
        .run
        for line, draw in enumerate(draws, start=2)
    ]


def replayed(**asked: object) -> tuple[int, str]:
    """The exit status and the output, a hundred columns wide."""
    printed = io.StringIO()
    asked = {"methods": ("all",), **asked}
    status = runtime_replay_command(**asked, console=Console(file=printed, width=100))  # type: ignore[arg-type]
    return status, printed.getvalue()


def figures(path: Path) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(path.read_text())
    return found


@pytest.mark.slow
def test_the_figures_have_all_that_was_promised_for_each_log_and_method(tmp_path: Path) -> None:
    logs = [
        write_log(tmp_path / "one.csv.gz", some_runs()),
        write_log(tmp_path / "two.csv", some_runs(60)),
    ]
    out = tmp_path / "out.json"
    status, printed = replayed(logs=logs, json_file=out)
    assert status == 0
    found = figures(out)
    assert [(each["log"], each["method"]) for each in found] == [
        (name, method) for name in ("one", "two") for method in METHODS
    ]
    assert all(set(each) >= PROMISED for each in found)
    assert "one: 240 runs, tested on the last 120 of 2 tasks" in printed
    assert all(f" {name} " in printed for name in METHODS)
    assert "…" not in printed


@pytest.mark.slow
def test_the_product_is_replayed_if_no_method_is_named_and_others_where_they_are(
    tmp_path: Path,
) -> None:
    log, out = write_log(tmp_path / "log.csv", some_runs(40)), tmp_path / "out.json"
    runner = CliRunner()
    words = ["replay", "--runtime", str(log), "--json", str(out)]
    assert runner.invoke(app, words).exit_code == 0
    assert [each["method"] for each in figures(out)] == [OWN]
    assert runner.invoke(app, [*words, "--method", "last-20"]).exit_code == 0
    assert [each["method"] for each in figures(out)] == ["last-20"]


@pytest.mark.slow
def test_the_products_state_of_a_task_is_measured_and_bounded(tmp_path: Path) -> None:
    log, out = write_log(tmp_path / "log.csv", some_runs()), tmp_path / "out.json"
    assert replayed(logs=[log], methods=(OWN,), json_file=out)[0] == 0
    (found,) = figures(out)
    assert 0 < float(str(found["bytes_per_task"])) <= 4096


@pytest.mark.slow
def test_the_forecasts_of_a_regular_task_beat_its_request(tmp_path: Path) -> None:
    log, out = write_log(tmp_path / "log.csv", some_runs()), tmp_path / "out.json"
    assert replayed(logs=[log], methods=(OWN, "requested-time"), json_file=out)[0] == 0
    own, requested = (float(str(each["pin_runs"])) for each in figures(out))
    assert own < 0.75 * requested


def test_what_was_left_out_or_put_right_is_told(tmp_path: Path) -> None:
    rows = [
        "t,10,10,5,u,5",
        "t,11,11,nan,u,5",
        "t,30,12,5,u,5",
        "t,20,20,0,u,5",
        "t,50,50,-4,u,5",
    ]
    status, printed = replayed(logs=[write_rows(tmp_path / "l.csv", rows)], methods=("last-20",))
    assert status == 0
    said = re.sub(r"\s+", " ", printed)
    assert (
        "1 left out: runtime_s is not a finite number; leave unknown cells empty (line 3)" in said
    )
    assert "1 left out: runtime_s is negative" in said
    assert "1 started before they were submitted: the clocks differ" in said
    assert "1 submitted before the row above: sorted by submission" in said
    assert "1 of 0 s: they count as the shortest runtime" in said


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        pytest.param({"methods": ("best",)}, "there is no method 'best'", id="no such method"),
        pytest.param({"logs": [Path("gone.csv")]}, "gone.csv cannot be read", id="no such log"),
        pytest.param(
            {"json_file": Path("gone") / "out.json"}, "there is no folder gone", id="no folder"
        ),
    ],
)
def test_what_cannot_be_done_is_said_in_words(
    tmp_path: Path, asked: dict[str, object], words: str
) -> None:
    log = write_log(tmp_path / "log.csv", some_runs(20))
    status, printed = replayed(**{"logs": [log], **asked})
    assert status == 1
    assert words in re.sub(r"\s+", " ", printed)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(["--method", "last-20"], "--method is of --runtime", id="no log"),
        pytest.param(["t.csv", "--runtime", "l.csv"], "replayed alone", id="a trace, too"),
    ],
)
def test_options_that_do_not_go_together_are_refused(words: list[str], said: str) -> None:
    found = CliRunner().invoke(app, ["replay", *words])
    assert found.exit_code == 2
    assert said in re.sub(r"[\s│]+", " ", found.output)
