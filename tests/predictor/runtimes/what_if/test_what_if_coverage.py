"""Intervals contain the truth as often as they say, on tasks whose truth is known."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from benchmarks.what_if.coverage import in_world, tables
from benchmarks.what_if.load import busy_against_quiet
from benchmarks.what_if.worlds import WORLDS, World
from plimsoll_predictor.runtimes.runs.log_run import LogRun
from plimsoll_predictor.runtimes.what_if.contrast import Effect, combined, pooled
from plimsoll_predictor.runtimes.what_if.measures import MEASURES, Measure

SEEDS = 50
LEAST = SEEDS * 0.95 - 3 * math.sqrt(SEEDS * 0.95 * 0.05)
"""Three standard deviations below the expected hits of that many intervals at 95%."""


@pytest.mark.slow
def test_intervals_hold_no_change_as_often_as_they_say_where_there_is_none() -> None:
    found = in_world("nothing", World(runs=160, weeks=14), SEEDS)
    for measure in (Measure.P50, Measure.SPREAD, Measure.OUTLIERS):
        assert found.tallies[measure].told == SEEDS
        assert found.tallies[measure].held_truth >= LEAST
        assert found.tallies[measure].cannot_tell >= LEAST


@pytest.mark.slow
def test_intervals_hold_a_known_change_and_tell_it_from_none() -> None:
    found = in_world(
        "half the spread", World(runs=300, weeks=20, spread_new=0.1, faster=0.3), SEEDS
    )
    for measure in MEASURES:
        tally = found.tallies[measure]
        assert tally.told > 0.9 * SEEDS
        assert tally.held_truth >= LEAST * tally.told / SEEDS
    assert found.tallies[Measure.P50].cannot_tell < 0.1 * SEEDS
    assert found.tallies[Measure.SPREAD].cannot_tell < 0.4 * SEEDS


@pytest.mark.slow
def test_slow_weeks_and_bursts_of_runs_alike_cost_no_coverage() -> None:
    found = in_world("slow weeks", World(runs=300, weeks=20, busy=1.0, burst=4), SEEDS)
    assert found.tallies[Measure.P50].held_truth >= LEAST


@pytest.mark.slow
def test_the_time_left_out_agrees_with_the_interval_of_the_rest() -> None:
    found = in_world("18% faster", World(runs=300, weeks=20, faster=0.2), SEEDS)
    assert found.held_out.checked > 3 * SEEDS
    assert found.held_out.within >= 0.93 * found.held_out.checked


def _holds(effect: Effect, truth: float) -> bool:
    return abs(truth - effect.difference) <= effect.half_width


def test_what_other_tasks_lead_to_expect_holds_a_further_tasks_own_effect() -> None:
    """Tasks really differ: the interval is for the next task, not for the mean."""
    random = np.random.default_rng(11)
    held = held_combined = 0
    tries = 400
    for _ in range(tries):
        truths = random.normal(-0.2, 0.15, 13)
        errors = random.uniform(0.05, 0.2, 13)
        effects = [
            Effect(Measure.P50, 5.0, float(truth + random.normal(0, error)), float(error), 15)
            for truth, error in zip(truths, errors, strict=True)
        ]
        expected = pooled(effects[:-1])
        held += _holds(expected, truths[-1])
        both = combined(effects[-1], expected)
        held_combined += _holds(both, truths[-1])
        assert both.half_width < max(expected.half_width, effects[-1].half_width)
    luck = 3 * math.sqrt(0.95 * 0.05 / tries)
    assert held / tries == pytest.approx(0.95, abs=luck + 0.02)
    assert held_combined / tries == pytest.approx(0.95, abs=luck + 0.02)


@pytest.mark.slow
def test_pooled_runs_seem_to_vary_more_under_load_where_no_task_does() -> None:
    """Tasks that vary much run in busy weeks. Each one varies equally in busy and quiet weeks."""
    random = np.random.default_rng(6)
    runs = []
    for task in range(60):
        spread = 0.1 if task % 2 else 1.0
        for line in range(80):
            busy = random.random() < (0.25 if task % 2 else 0.75)
            runs.append(
                LogRun(
                    line=line,
                    task=str(task),
                    owner="o",
                    submitted_s=float(random.random() * 4 * 604_800),
                    started_s=0.0,
                    runtime_s=math.exp(6 + random.normal(0, spread)),
                    finished_s=0.0,
                    busy=float(random.uniform(0.6, 1) if busy else random.uniform(0, 0.4)),
                )
            )
    found = busy_against_quiet("made-up", runs)
    assert [effect.fewest_runs for effect in found] == [5, 6]
    for effect in found:
        assert effect.pooled > 0.3
        assert effect.low < 0 < effect.high
        assert abs(effect.change) < 0.15
        assert effect.tasks > 20


@pytest.mark.slow
def test_the_tables_tell_of_made_up_tasks_and_of_every_log_that_knows_loads(tmp_path: Path) -> None:
    random = np.random.default_rng(8)
    lines = ["task,submit_s,start_s,runtime_s,user,busy_at_submit"]
    for row in range(400):
        submitted_s = row * 7_000
        lines.append(
            f"t{row % 4},{submitted_s},{submitted_s},{random.integers(50, 150)},u,"
            f"{random.random():.2f}"
        )
    (tmp_path / "runtime-small.csv").write_text("\n".join(lines) + "\n")
    printed = io.StringIO()
    rows = tables(tmp_path, Console(file=printed, width=120), seeds=1)

    assert json.loads(json.dumps(rows)) == rows
    assert [row["world"] for row in rows if "world" in row] == list(WORLDS)
    of_log = [row for row in rows if row.get("log") == "runtime-small"]
    assert [row["method"] for row in of_log] == [
        *["what-if: busy against quiet"] * 2,
        "what-if: busy against quiet, by task",
    ]
    assert sum(of_log[-1]["p50"].values()) == of_log[-1]["tasks"] == 4
    assert "runtime-small" in printed.getvalue()
    assert all(name in printed.getvalue() for name in WORLDS)
