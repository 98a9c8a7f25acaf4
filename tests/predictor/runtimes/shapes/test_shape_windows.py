"""The next window's shape, and features known at submission; neither contains the future."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from plimsoll_predictor.runtimes.runs.log_run import LogRun
from plimsoll_predictor.runtimes.shapes.catalogue import ShapeCatalogue
from plimsoll_predictor.runtimes.shapes.fitting import fit
from plimsoll_predictor.runtimes.shapes.normalising import Normalisation
from plimsoll_predictor.runtimes.shapes.run_table import table_of
from plimsoll_predictor.runtimes.shapes.submission_features import Moments, feature_rows
from plimsoll_predictor.runtimes.shapes.windows import next_windows
from tests.builders.runtimes.shapes import (
    HOUR_S,
    log_runs_of,
    spread_out,
    steady,
    the_tasks,
    two_moded,
)


def the_catalogue() -> ShapeCatalogue:
    return fit(the_tasks(1), Normalisation.RATIO, seed=1, n_shapes=3).catalogue


def the_runs() -> list[LogRun]:
    random = np.random.default_rng(3)
    return log_runs_of(
        {
            "lab/steady": steady(random, 60),
            "lab/double": two_moded(random, 60, (60.0, 300.0)),
            "ops/wide": spread_out(random, 60),
            "ops/rare": steady(random, 3),
        }
    )


def features_at(runs: list[LogRun], place: int) -> dict[str, float]:
    table = table_of(runs)
    moments = Moments(
        task=table.task[[place]], at_s=table.submitted_s[[place]], place=np.array([place])
    )
    rows = feature_rows(table, moments, the_catalogue())
    return dict(zip(rows.names, rows.values[0].tolist(), strict=True))


@pytest.mark.slow
def test_a_task_of_one_kind_keeps_its_shape_from_window_to_window() -> None:
    table = table_of(the_runs())
    found = next_windows(table, the_catalogue(), [20 * HOUR_S, 40 * HOUR_S, 60 * HOUR_S], seed=1)
    assert found.actual.size == 6
    assert (found.same == found.actual).mean() >= 0.8
    assert (found.posterior == found.actual).mean() >= 0.8
    assert found.ceiling() >= 0.6
    assert len(set(found.actual.tolist())) == 3


@pytest.mark.slow
def test_a_task_that_has_moved_is_seen_by_the_posterior_and_not_by_all_of_its_past() -> None:
    random = np.random.default_rng(4)
    moved = np.concatenate([two_moded(random, 200, (60.0, 300.0)), steady(random, 80, 60.0)])
    table = table_of(log_runs_of({"lab/moved": moved}))
    found = next_windows(table, the_catalogue(), [260 * HOUR_S, 280 * HOUR_S], seed=1)
    assert found.posterior.tolist() == found.actual.tolist()
    assert found.same.tolist() != found.actual.tolist()


def test_windows_come_in_the_order_of_time_and_need_runs_before_and_within() -> None:
    table = table_of(the_runs())
    found = next_windows(
        table, the_catalogue(), [hour * HOUR_S for hour in range(0, 61, 10)], seed=1
    )
    starts_s = found.moments.at_s.tolist()
    assert starts_s == sorted(starts_s)
    assert min(starts_s) == 10 * HOUR_S
    rare = table.tasks.index("ops/rare")
    assert rare not in found.moments.task


@pytest.mark.slow
def test_a_log_without_a_window_says_so() -> None:
    table = table_of(the_runs())
    with pytest.raises(ValueError, match="no task has 5 runs in a window"):
        next_windows(table, the_catalogue(), [0.0, HOUR_S], seed=1)


@pytest.mark.slow
def test_what_happens_after_a_submission_changes_no_feature_of_it() -> None:
    runs = the_runs()
    place = 90
    at_s = runs[place].submitted_s
    other = [
        replace(run, runtime_s=run.runtime_s * 7, finished_s=at_s + run.runtime_s * 7)
        if run.finished_s > at_s
        else run
        for run in runs
    ]
    before, after = features_at(runs, place), features_at(other, place)
    assert before == pytest.approx(after, nan_ok=True)
    assert before["known runs"] > 0


@pytest.mark.slow
def test_what_happened_before_a_submission_changes_its_features() -> None:
    runs = the_runs()
    changed = [
        replace(run, runtime_s=run.runtime_s * 7) if run.submitted_s < 10 * HOUR_S else run
        for run in runs
    ]
    before, after = features_at(runs, 150), features_at(changed, 150)
    assert before["usual runtime"] != after["usual runtime"]
    assert before["requested time"] == after["requested time"] == HOUR_S


@pytest.mark.slow
def test_a_first_run_has_no_past_and_what_the_log_does_not_tell_is_missing() -> None:
    found = features_at(the_runs(), 0)
    assert (found["known runs"], found["runs of the task in flight"]) == (0, 0)
    missing = ("usual runtime", "input size", "share of the cluster busy")
    assert all(np.isnan(found[name]) for name in missing)


@pytest.mark.slow
def test_runs_in_flight_are_those_submitted_and_not_over() -> None:
    runs = log_runs_of({"lab/slow": np.full(30, 5.5 * HOUR_S)})
    assert features_at(runs, 20)["runs of the task in flight"] == 5


@pytest.mark.slow
def test_an_owners_spread_is_of_runs_beside_their_tasks_usual() -> None:
    random = np.random.default_rng(5)
    runs = log_runs_of(
        {"lab/a": steady(random, 40, 10.0), "lab/b": steady(random, 40, 9000.0)}, 3 * HOUR_S
    )
    found = features_at(runs, len(runs) - 1)
    assert found["owner's spread"] < 0.1
    assert found["owner's known runs"] >= 70
