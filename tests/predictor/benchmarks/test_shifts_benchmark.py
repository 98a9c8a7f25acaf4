"""The shift benchmark: how traces are cut and joined, and that its figures are a replay's."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from benchmarks.shifts import comparison
from benchmarks.shifts.sizers import Eye, ShiftSizer
from benchmarks.shifts.traces import LEAST_RUNS, joined, scaled, unchanged
from plimsoll_predictor.replay.sizes.engine import replay
from plimsoll_predictor.replay.sizes.rows import TraceRow
from plimsoll_predictor.replay.sizes.traces import read_trace
from tests.builders.replays import GB, START_S, RunBuilder

RUNS = 60
COLUMNS = "run,task,submit_ms,start_ms,complete_ms,runtime_s,preset_bytes,peak_rss_bytes"


def history(task: str, first_line: int, peak_bytes: int, runs: int = RUNS) -> list[TraceRow]:
    """One run after the other, each ended before the next begins."""
    return [
        RunBuilder()
        .line(first_line + place)
        .of(task)
        .at(100.0 * place, 100.0 * place, 100.0 * place + 60)
        .needing(peak_bytes + 1_000 * (place * 7 % 10))
        .asking(8 * GB)
        .row
        for place in range(runs)
    ]


def test_from_the_middle_on_a_scaled_task_needs_so_many_times_as_much() -> None:
    rows = history("a", 2, GB)
    shifted = scaled(rows, 0.5)
    assert list(shifted.after) == ["a"]
    changed = {row.line: row.peak_bytes for row in shifted.rows}
    middle = 2 + RUNS // 2
    assert all(changed[row.line] == row.peak_bytes for row in rows if row.line < middle)
    assert all(changed[row.line] == row.peak_bytes / 2 for row in rows if row.line >= middle)


def test_a_task_of_few_runs_is_left_as_it_is() -> None:
    rows = history("a", 2, GB, LEAST_RUNS - 1)
    assert scaled(rows, 2.0).rows == rows
    assert joined(rows).after == {}


def test_joined_the_second_task_follows_the_first_under_its_name_and_asks_for_the_same() -> None:
    first, second = history("a", 2, GB), history("b", 500, 4 * GB, RUNS + 1)
    shifted = joined([*second, *first])
    assert {row.task for row in shifted.rows} == {"a"}
    assert shifted.after == {"a": [row.line for row in second]}
    ended_s = max(row.complete_s for row in first)
    later = [row for row in shifted.rows if row.line >= 500]
    assert min(row.submit_s for row in later) > ended_s
    assert {row.runtime_s for row in later} == {60.0}


def test_nothing_of_the_trace_itself_is_altered() -> None:
    rows = history("a", 2, GB)
    before = list(rows)
    for made in (unchanged(rows), scaled(rows, 2.0), joined(rows)):
        assert len(made.rows) == len(rows)
    assert rows == before


@pytest.mark.parametrize(
    ("eye", "seen"), [(Eye.NONE, []), (Eye.LEVELS, [RUNS // 2 + 8]), (Eye.IMAGES, [RUNS // 2 + 4])]
)
def test_a_shift_is_seen_as_soon_as_the_eye_allows(eye: Eye, seen: list[int]) -> None:
    shifted = scaled(history("a", 2, GB), 0.25)
    sizer = ShiftSizer(eye, set(shifted.after["a"]))
    replay(shifted.rows, sizer)
    assert sizer.fleet.noticed.get("a", []) == seen


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    lines = [
        f"r,a,{1000 * (START_S + 100 * place):.0f},{1000 * (START_S + 100 * place):.0f},"
        f"{1000 * (START_S + 100 * place + 60):.0f},60,{8 * GB},{GB + place % 10}"
        for place in range(RUNS)
    ]
    for name in ("nfcore-eager", "nfcore-rnaseq"):
        path = tmp_path / f"{name}.csv.gz"
        path.write_bytes(gzip.compress("\n".join((COLUMNS, *lines)).encode()))
    return tmp_path


@pytest.mark.slow
def test_it_prints_and_writes_what_it_measured(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = trace / "shifts.json"
    given = ["--traces", str(trace), "--quick", "--json", str(out)]
    assert comparison.main(given) == 0
    figures = json.loads(out.read_text())
    assert len(figures) == 2 * (2 + 3 * 3)
    half = {each["eye"]: each for each in figures if each["kind"].startswith("half")}
    assert [half[eye.value]["noticed"] for eye in Eye] == [0, 1, 1]
    assert [half[eye.value]["delay_runs"] for eye in Eye] == [None, 8, 4]
    assert half["none"]["waste_gb_h"] >= half["levels"]["waste_gb_h"]
    as_is = [each for each in figures if each["kind"] == comparison.AS_IS]
    rows = read_trace(trace / "nfcore-eager.csv.gz").rows
    assert [each["false"] for each in as_is] == [0] * 4
    assert {each["runs"] for each in as_is} == {len(rows)}
    assert "half from the middle" in capsys.readouterr().out


def test_missing_traces_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert comparison.main(["--traces", str(tmp_path), "--quick"]) == 2
    assert "set TRACES to the folder" in capsys.readouterr().out
