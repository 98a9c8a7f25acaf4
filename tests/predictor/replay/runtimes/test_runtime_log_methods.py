"""Every method by the same rules, and its answers for tasks whose answer is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import log

import numpy as np
import pytest

from plimsoll_predictor.replay.runtimes.baselines import (
    HISTORY,
    Drawn,
    OwnHistory,
    PastRuns,
    RequestedTime,
)
from plimsoll_predictor.replay.runtimes.judging import (
    METHODS,
    OWN,
    MethodKind,
    NoSuchMethod,
    judge,
    methods_named,
)
from plimsoll_predictor.replay.runtimes.method import Method
from plimsoll_predictor.replay.runtimes.protocol import replay_log
from plimsoll_predictor.replay.runtimes.scoring import Scored
from plimsoll_predictor.runtimes.runs.log_run import LogRun
from tests.builders.runtimes.runtime_logs import a_log, a_log_run

every_method = pytest.mark.parametrize("kind", METHODS.values(), ids=list(METHODS))


def mixed_runs(count: int = 300, seed: int = 5) -> list[LogRun]:
    """Seven tasks of three owners: recurring, rare, of 0 s, 1,000 times apart, overlapping."""
    rng = np.random.default_rng(seed)
    runs = []
    for line in range(2, count + 2):
        task = f"t{int(rng.integers(0, 6)) if line % 25 else 6}"
        taken = float(rng.lognormal(3 + int(task[1:]), 0.3)) * (1000 if line % 7 == 0 else 1)
        runs.append(
            a_log_run(line)
            .of(task, f"u{int(task[1:]) % 3}")
            .taking(0.0 if line % 40 == 0 else taken)
            .at(200.0 * line, waited_s=float(rng.integers(0, 300)))
            .asking(3600.0)
            .run
        )
    return runs


def scored(kind: MethodKind, runs: Sequence[LogRun]) -> Scored:
    return replay_log(a_log(runs), kind.make(len(runs))).scored


@pytest.mark.slow
@every_method
def test_the_same_log_gives_the_same_forecasts(kind: MethodKind) -> None:
    runs = mixed_runs()
    first, again = scored(kind, runs), scored(kind, runs)
    assert np.array_equal(first.quantiles_ln, again.quantiles_ln)
    assert np.array_equal(first.probabilities, again.probabilities, equal_nan=True)


@pytest.mark.slow
@every_method
def test_what_is_not_known_at_submission_does_not_change_a_forecast(kind: MethodKind) -> None:
    runs = mixed_runs()
    at_s = runs[250].submitted_s
    # Runs that have not finished by then end differently: no earlier forecast may know that.
    changed = [
        replace(run, runtime_s=run.runtime_s * 40 + 7, finished_s=run.finished_s + 1e6, status="x")
        if run.finished_s > at_s
        else run
        for run in runs
    ]
    first, again = scored(kind, runs), scored(kind, changed)
    assert np.array_equal(first.quantiles_ln[:101], again.quantiles_ln[:101])
    assert not np.array_equal(first.quantiles_ln[101:], again.quantiles_ln[101:])


@every_method
def test_longer_than_falls_as_the_time_grows(kind: MethodKind) -> None:
    runs = mixed_runs()
    method = kind.make(len(runs))
    replay_log(a_log(runs), method)
    for task in ("t0", "t6", "never seen"):
        # The number of the first tested run again: the shapes are learned at it.
        asked = a_log_run().of(task, "u0").at(1e6).asking(3600).run
        forecast = method.submit(10_000, asked)
        times = np.geomspace(0.01, 1e9, 60)
        said = [forecast.longer_than(float(time)) for time in times]
        assert all(0 <= probability <= 1 for probability in said)
        assert (np.diff(said) <= 1e-9).all()


@every_method
@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_log_of_a_few_runs_has_figures(kind: MethodKind, count: int) -> None:
    found = judge(a_log([a_log_run().at(1000.0 * at).run for at in range(count)]), kind)
    assert np.isfinite([found.score.pin_runs, found.score.pin_tasks]).all()
    assert found.score.skill_2x is None


@every_method
def test_figures_are_plain_json_types(kind: MethodKind) -> None:
    written = judge(a_log(mixed_runs(60)), kind).to_dict()
    assert all(value is None or type(value) in (str, int, float) for value in written.values())


def after(method: Method, runs: Sequence[LogRun]) -> Method:
    for number, run in enumerate(runs):
        method.submit(number, run)
        method.start(number, run)
        method.finish(number, run)
    return method


def test_own_history_draws_from_the_tasks_runs_and_from_all_for_a_task_without() -> None:
    runs = [a_log_run().taking(taken).run for taken in (10, 30, 20)]
    method = after(OwnHistory(), [*runs, a_log_run().of("other").taking(1000).run])
    own = method.submit(9, a_log_run().run)
    assert own.quantiles_ln()[[0, 10, 20]] == pytest.approx(np.log([10, 20, 30]), rel=0.01)
    everybodys = method.submit(9, a_log_run().of("new").run)
    assert everybodys.quantiles_ln()[20] > log(900)


def test_own_history_keeps_so_many_runs_and_no_more() -> None:
    old, new = ([a_log_run().taking(taken).run] * HISTORY for taken in (1000, 10))
    method = after(OwnHistory(), [*old, *new[1:]])
    assert method.submit(9, new[0]).quantiles_ln()[-1] == pytest.approx(log(10), rel=0.01)
    assert method.submit(9, new[0]).longer_than(100) == pytest.approx(1.5 / (HISTORY + 1))
    after(method, new[:1])
    assert method.submit(9, new[0]).longer_than(100) == pytest.approx(0.5 / (HISTORY + 1))


def test_the_newest_runs_push_out_the_oldest() -> None:
    past = PastRuns(newest=3)
    for value in (5.0, 1.0, 9.0, 1.0, 7.0):
        past.add(value)
    assert past.sorted_ln == [1.0, 7.0, 9.0]


def test_a_request_is_spread_as_requests_were_used() -> None:
    used = [a_log_run().asking(100).taking(taken).run for taken in (10, 50, 90)]
    method = after(RequestedTime(), [*used, a_log_run().taking(7).run])
    asked = method.submit(9, a_log_run().of("new").asking(1000).run)
    assert np.exp(asked.quantiles_ln()[[0, 10, 20]]) == pytest.approx([100, 500, 900], rel=0.05)
    unasked = method.submit(9, a_log_run().of("new").run)
    assert np.exp(unasked.quantiles_ln()) == pytest.approx([7] * 21)


def test_drawing_again_never_says_that_something_cannot_be() -> None:
    drawn = Drawn([log(10)] * 4)
    assert drawn.longer_than(5) == pytest.approx(4.5 / 5)
    assert drawn.longer_than(20) == pytest.approx(0.5 / 5)


@pytest.mark.slow
def test_shapes_forecast_in_proportion_to_the_tasks_median() -> None:
    rng = np.random.default_rng(8)
    runs = [
        a_log_run(line)
        .of(f"t{line % 10}")
        .taking(float(rng.lognormal(0, 0.1)) * 100 * 3 ** (line % 10))
        .at(1e7 * line)
        .run
        for line in range(2, 602)
    ]
    found = scored(METHODS["shapes-8"], runs)
    medians_ln = np.log([100 * 3 ** ((line + 300) % 10) for line in range(2, 302)])
    assert found.quantiles_ln[:, 10] == pytest.approx(medians_ln, abs=0.2)


def test_only_the_methods_asked_for_are_taken_each_once() -> None:
    assert [kind.name for kind in methods_named(("last-20", OWN, "last-20"))] == [OWN, "last-20"]
    assert [kind.name for kind in methods_named(("all",))] == list(METHODS)
    with pytest.raises(NoSuchMethod, match=r"no method 'best'.*own-history"):
        methods_named((OWN, "best"))
