"""The benchmark of forecasts: which logs it takes, what it compares, and when a bar holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.bar import Bar
from benchmarks.forecast.bars import (
    AIMS,
    BOOSTED,
    HPC2N,
    LLNL,
    NFCORE,
    NFCORE_FILES,
    OWN,
    PUBLISHED,
    bars,
    by_log_and_method,
    shape_bars,
)
from benchmarks.forecast.comparison import KEYS, log_sources
from benchmarks.forecast.left_out import SETTINGS, left_out
from benchmarks.forecast.peers import PEERS, judge_peer
from plimsoll_predictor.replay.runtimes.judging import METHODS, judge
from plimsoll_predictor.replay.runtimes.log_reading import LogError
from tests.builders.runtimes.runtime_logs import a_log, a_log_run


def a_figure(log: str = LLNL, method: str = OWN, **changed: Any) -> dict[str, Any]:
    """Figures of LLNL's log, each just good enough."""
    figure = {
        "log": log,
        "method": method,
        "pin_runs": 0.250,
        "pin_tasks": 0.303,
        "p95_coverage": 0.94,
        "p99_coverage": 0.99,
        "skill_2x": 0.32,
        "skill_10x": 0.42,
        "us_per_forecast": 120.0,
        "bytes_per_task": 4096.0,
    }
    return {**figure, **changed}


def lines_of(*figures: dict[str, Any]) -> dict[str, Bar]:
    return {line.what: line for line in bars(by_log_and_method(figures))}


def test_figures_as_good_as_they_are_to_be_hold_every_bar() -> None:
    lines = lines_of(a_figure())
    assert len(lines) == 8
    assert all(line.holds for line in lines.values())


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"pin_runs": 0.2506}, "pin over runs"),
        ({"pin_tasks": 0.3036}, "pin over tasks"),
        ({"p95_coverage": 0.961}, "runs within P95"),
        ({"p95_coverage": 0.939}, "runs within P95"),
        ({"skill_2x": 0.319}, "skill at > 2×"),
        ({"skill_10x": None}, "skill at > 10×"),
        ({"us_per_forecast": 120.1}, "µs a forecast"),
        ({"bytes_per_task": 4097.0}, "bytes a task"),
    ],
)
def test_a_figure_that_is_worse_misses_its_bar_and_no_other(
    changed: dict[str, Any], what: str
) -> None:
    missed = [each for each, line in lines_of(a_figure(**changed)).items() if not line.holds]
    assert missed == [f"{LLNL}: {what}"]


def test_ours_must_be_a_fifth_below_own_history_and_below_boosted_quantiles() -> None:
    own = a_figure()
    history = a_figure(method="own-history", pin_tasks=0.39)
    boosted = a_figure(method=BOOSTED, pin_runs=0.249)
    lines = lines_of(own, history, boosted)
    assert lines[f"{LLNL}: below own history, per task"].holds
    assert not lines[f"{LLNL}: pin over runs, below that of our own {BOOSTED}"].holds
    assert lines[f"{LLNL}: pin over runs, below LightGBM's as published"].holds
    closer = a_figure(method="own-history", pin_tasks=0.37)
    assert not lines_of(own, closer)[f"{LLNL}: below own history, per task"].holds


@pytest.mark.parametrize(("factor", "holds"), [(1.019, True), (0.981, True), (1.021, False)])
def test_a_baseline_is_to_be_within_two_percent_of_what_was_published(
    factor: float, holds: bool
) -> None:
    for method, logs in PUBLISHED.items():
        for log, (runs, tasks) in logs.items():
            figure = a_figure(log, method, pin_runs=runs * factor, pin_tasks=tasks * factor)
            found = lines_of(figure)
            assert len(found) == 2
            assert all(line.holds is holds for line in found.values())


def test_a_log_without_an_aim_has_only_the_bars_of_every_log() -> None:
    assert list(lines_of(a_figure("runtime-other"))) == [
        "runtime-other: µs a forecast",
        "runtime-other: bytes a task",
    ]
    assert HPC2N in AIMS


def test_every_log_in_the_folder_is_replayed_and_nf_core_together(tmp_path: Path) -> None:
    for name in (
        "runtime-a.csv",
        "runtime-b.csv.gz",
        "runtime-c.parquet",
        "runtime-d.txt",
        "e.csv",
    ):
        (tmp_path / name).write_bytes(b"x")
    names = {source.name for source in log_sources(tmp_path, quick=False)}
    assert names == {"runtime-a", "runtime-b", "runtime-c"}
    for name in NFCORE_FILES:
        (tmp_path / f"{name}.csv.gz").write_bytes(b"xx")
    sources = log_sources(tmp_path, quick=False)
    assert (sources[0].name, len(sources[0].paths)) == (NFCORE, len(NFCORE_FILES))


def test_a_folder_without_logs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LogError, match=r"has no runtime-\*\.csv"):
        log_sources(tmp_path, quick=False)


def test_what_is_written_has_all_that_was_promised() -> None:
    log = a_log([a_log_run().at(100.0 * at).run for at in range(8)])
    assert set(KEYS) <= set(judge(log, METHODS["last-20"]).to_dict())


@pytest.mark.slow
@pytest.mark.parametrize("name", list(PEERS))
def test_a_peer_learns_what_its_features_tell(name: str) -> None:
    rng = np.random.default_rng(4)
    runs = [
        a_log_run(line)
        .of(f"t{line % 4}")
        .taking(float(rng.lognormal(0, 0.1)) * 10 * 8 ** (line % 4))
        .at(2e4 * line)
        .run
        for line in range(2, 402)
    ]
    log = a_log(runs)
    found = judge_peer(log, name).score
    # Nothing was asked for: a request tells only what all runs took.
    assert found.pin_runs < 0.2 * judge(log, METHODS["requested-time"]).score.pin_runs
    assert 0.85 <= found.p95_coverage <= 1


@pytest.mark.parametrize(
    ("posteriors", "missed"),
    [
        pytest.param((0.55, 0.49), 0, id="above on average"),
        pytest.param((0.60, 0.47), 1, id="too far below on one log"),
        pytest.param((0.50, 0.49), 1, id="below on average"),
    ],
)
def test_shapes_by_posterior_are_held_against_the_shape_of_before(
    posteriors: tuple[float, float], missed: int
) -> None:
    judged = [
        {"log": "l", "normalisation": kind, "next_window": {"posterior": posterior, "same": 0.5}}
        for kind, posterior in zip(("ratio", "delta"), posteriors, strict=True)
    ]
    lines = shape_bars(judged)
    assert len(lines) == 3
    assert [bool(line.holds) for line in lines].count(False) == missed


def test_shapes_that_could_not_be_judged_hold_nothing() -> None:
    (line,) = shape_bars(
        [{"log": "l", "normalisation": "ratio", "next_window": {"posterior": None, "same": 0.5}}]
    )
    assert not line.holds


def test_each_log_gets_the_setting_that_is_best_on_the_others() -> None:
    names = list(SETTINGS)
    pins = {"a": (3.0, 1.0, 2.0), "b": (2.0, 3.0, 1.0), "c": (2.0, 3.0, 1.9)}
    figures = [
        {"log": log, "method": name, "pin_runs": pin}
        for log, of_log in pins.items()
        for name, pin in zip(names, of_log, strict=True)
    ]
    found = {each.log: each for each in left_out(figures)}
    assert found["a"].chosen == names[2]
    assert found["a"].lost == pytest.approx(1.0)
    assert found["c"].chosen == names[2]
    assert found["c"].lost == 0
    assert left_out(figures[:3]) == []
