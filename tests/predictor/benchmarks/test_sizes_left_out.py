"""Constants chosen on the other traces, without the one that is left out."""

from __future__ import annotations

import gzip
import json
from dataclasses import fields
from pathlib import Path

import pytest

from benchmarks.public_traces import QUICK_TRACES
from benchmarks.sizes.kept import Figures, Kept
from benchmarks.sizes.left_out import (
    GRID,
    configurations,
    left_out,
    main,
    played,
)
from benchmarks.sizes.unseen import RULES
from plimsoll_predictor.knowledge.measured_constants import SERVED, Constants

TRACES = ("a", "b", "c")
NAMES = [each.words for each in configurations()]


def found(**waste_gb_h: dict[str, float]) -> dict[tuple[str, str], Figures]:
    """Rules waste 100 with ten failures; so does each trial, except the given ones."""
    return {
        (trace, name): Figures(waste_gb_h.get(trace, {}).get(name, 100.0), 10)
        for trace in TRACES
        for name in (*RULES, *NAMES)
    }


def test_what_is_served_is_tried_first_and_each_change_once() -> None:
    tried = configurations()
    assert tried[0].constants == SERVED
    assert len(set(NAMES)) == len(tried)
    names = {each.name for each in fields(Constants)}
    assert set(GRID) <= names
    for name, values in GRID.items():
        assert getattr(SERVED, name) not in values


def test_the_others_choose_and_the_trace_itself_is_not_asked() -> None:
    lines = left_out(found(a={NAMES[1]: 10.0}, b={NAMES[2]: 90.0}, c={NAMES[2]: 90.0}), TRACES)
    assert [line.chosen for line in lines] == [NAMES[2], NAMES[1], NAMES[1]]
    assert lines[0].own == NAMES[1]
    assert lines[0].found == Figures(100.0, 10)
    assert lines[0].best_own == Figures(10.0, 10)


def test_where_nothing_is_better_what_is_served_stays() -> None:
    lines = left_out(found(), TRACES)
    assert {line.chosen for line in lines} == {NAMES[0]}


def test_failures_count_beside_waste() -> None:
    figures = found()
    for trace in TRACES:
        figures[trace, NAMES[3]] = Figures(103.0, 0)
    assert {line.chosen for line in left_out(figures, TRACES)} == {NAMES[3]}
    for trace in TRACES:
        figures[trace, NAMES[3]] = Figures(140.0, 0)
    assert {line.chosen for line in left_out(figures, TRACES)} == {NAMES[0]}


def test_a_configuration_that_a_trace_lacks_is_not_chosen() -> None:
    figures = found(a={NAMES[1]: 10.0}, b={NAMES[1]: 10.0}, c={NAMES[1]: 10.0})
    del figures["c", NAMES[1]]
    assert NAMES[1] not in played(figures, TRACES)
    assert {line.chosen for line in left_out(figures, TRACES)} == {NAMES[0]}


def test_what_was_played_is_not_played_again_while_what_is_served_stays_the_same(
    tmp_path: Path,
) -> None:
    path = tmp_path / "kept.json"
    first = Kept(path, "submit")
    assert first.add("a", NAMES[0], Figures(1 / 3, 10, 0.1)) == 0
    first.add("a", NAMES[1], Figures(0.7, 11, 0.2))
    first.add("b", NAMES[0], Figures(5.0, 1, 2.0))
    Kept(path, "start").add("a", NAMES[0], Figures(9.0, 1, 2.0))
    again = Kept(path, "submit")
    assert again.found == {}
    assert again.add("a", NAMES[0], Figures(1 / 3, 10, 0.1)) == 1
    assert again.found == {
        ("a", NAMES[0]): Figures(1 / 3, 10, 0.1),
        ("a", NAMES[1]): Figures(0.7, 11, 0.2),
    }


@pytest.mark.slow
def test_a_second_time_goes_on_where_the_first_one_ended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in QUICK_TRACES:
        with gzip.open(tmp_path / f"{name}.csv.gz", "wt") as trace:
            trace.write("task,submit_ms,start_ms,complete_ms,peak_rss_bytes,preset_bytes\n")
            for run in range(1, 9):
                at = f"{run * 100_000},{run * 100_000},{run * 100_000 + 60_000}"
                trace.write(f"align,{at},{run * 10**8},{10**9}\n")
    kept, figures = tmp_path / "kept.json", tmp_path / "figures.json"
    given = ["--traces", str(tmp_path), "--quick", "--workers", "1", "--json", str(figures)]
    given += ["--kept", str(kept)]
    assert main([*given, "--minutes", "0"]) == 0
    assert {line["chosen"] for line in json.loads(figures.read_text())} == {NAMES[0]}
    capsys.readouterr()
    assert main(given) == 0
    printed = capsys.readouterr().out
    assert printed.count("6 older figures hold") == len(QUICK_TRACES)
    assert "max-seen: " not in printed, "rules are not played again"
    assert printed.count(NAMES[-1] + ": ") == len(QUICK_TRACES)


def test_figures_of_code_that_sizes_otherwise_are_dropped(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    first = Kept(path, "submit")
    first.add("a", NAMES[0], Figures(0.3, 10))
    first.add("a", NAMES[1], Figures(0.7, 11))
    changed = Kept(path, "submit")
    assert changed.add("a", NAMES[0], Figures(0.30000000000000004, 10)) == -1
    assert set(changed.found) == {("a", NAMES[0])}
    assert Kept(path, "submit").add("a", NAMES[0], Figures(0.30000000000000004, 10)) == 0


def test_the_folder_of_what_is_kept_is_made(tmp_path: Path) -> None:
    path = tmp_path / "new" / "kept.json"
    Kept(path, "submit").add("a", "as served", Figures(100.0, 10))
    assert json.loads(path.read_text())["submit"]["a"]["as served"]["waste_gb_h"] == 100
