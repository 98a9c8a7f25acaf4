"""The replay of a log of runtimes: what is known when, and what is tested."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf, log, nan

import numpy as np
import pytest

from plimsoll_predictor.replay.runtimes.method import SHARES, FloatArray, RuntimeForecast
from plimsoll_predictor.replay.runtimes.protocol import MethodBroken, replay_log
from plimsoll_predictor.runtimes.runs.log_run import LogRun
from tests.builders.runtimes.runtime_logs import a_log, a_log_run


@dataclass(frozen=True)
class Always:
    """A forecast of one runtime."""

    at_ln: FloatArray
    probability: float = 0.5

    def quantiles_ln(self) -> FloatArray:
        return self.at_ln

    def longer_than(self, _seconds: float) -> float:
        return self.probability


@dataclass
class Listening:
    """A method that notes what it hears, and gives prescribed forecasts."""

    says: RuntimeForecast = field(default_factory=lambda: Always(np.zeros(len(SHARES))))
    heard: list[tuple[str, int]] = field(default_factory=list)

    def submit(self, number: int, _run: LogRun) -> RuntimeForecast:
        self.heard.append(("submit", number))
        return self.says

    def start(self, number: int, _run: LogRun) -> None:
        self.heard.append(("start", number))

    def finish(self, number: int, _run: LogRun) -> None:
        self.heard.append(("finish", number))

    def bytes_per_task(self) -> float | None:
        return None


def test_a_method_hears_of_runs_in_the_order_of_time() -> None:
    runs = [
        a_log_run().taking(50).at(0, waited_s=20).run,
        a_log_run().taking(5).at(10).run,
        a_log_run().taking(5).at(30).run,
        a_log_run().taking(5).at(100).run,
    ]
    method = Listening()
    replay_log(a_log(runs), method)
    assert method.heard == [
        ("submit", 0),
        ("submit", 1),
        ("start", 1),
        ("finish", 1),
        ("start", 0),
        ("submit", 2),
        ("start", 2),
        ("finish", 2),
        ("finish", 0),
        ("submit", 3),
    ]


def test_a_run_is_known_once_it_has_finished_by_the_submission() -> None:
    runs = [
        a_log_run().taking(10).at(0).run,
        a_log_run().taking(99).at(0).run,
        a_log_run().at(9.999).run,
        a_log_run().at(10).run,
    ]
    scored = replay_log(a_log(runs), Listening()).scored
    assert scored.known.tolist() == [0, 1]


def test_the_last_half_of_the_submissions_is_tested() -> None:
    for count, tested in ((1, 1), (2, 1), (7, 3), (8, 4)):
        runs = [a_log_run().of(str(number)).at(number).run for number in range(count)]
        scored = replay_log(a_log(runs), Listening()).scored
        assert len(scored.runtimes_ln) == tested


def test_what_happened_is_held_against_the_median_of_the_known_runs() -> None:
    known = [a_log_run().taking(taken).at(0).run for taken in (10, 20, 1000, 30)]
    tested = [a_log_run().taking(taken).at(2000 + taken).run for taken in (50, 51, 250, 251)]
    scored = replay_log(a_log(known + tested), Listening()).scored
    # Medians of 25, then of 10, 20, 30, 50 and so on as the tested runs become known.
    assert scored.happened.tolist() == [
        [False, False],
        [True, False],
        [True, False],
        [True, False],
    ]
    assert scored.known.tolist() == [4, 4, 6, 6]


def test_a_task_without_known_runs_has_no_usual_runtime() -> None:
    runs = [a_log_run().of(task).taking(5).at(0).run for task in ("a", "b")]
    scored = replay_log(a_log(runs), Listening()).scored
    assert np.isnan(scored.probabilities).all()


def test_a_runtime_of_zero_seconds_counts_as_half_a_second() -> None:
    runs = [a_log_run().taking(0).at(number).run for number in range(4)]
    scored = replay_log(a_log(runs), Listening()).scored
    assert scored.runtimes_ln.tolist() == [log(0.5)] * 2
    # Not longer than twice the usual, which is the same.
    assert not scored.happened.any()


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(Always(np.full(len(SHARES), nan)), id="no number"),
        pytest.param(Always(np.full(len(SHARES), inf)), id="no finite number"),
        pytest.param(Always(-np.arange(21.0)), id="quantiles that fall"),
        pytest.param(Always(np.zeros(21), probability=1.5), id="no probability"),
        pytest.param(Always(np.zeros(21), probability=nan), id="no number as probability"),
    ],
)
def test_a_method_that_answers_no_distribution_is_refused_by_name(said: RuntimeForecast) -> None:
    runs = [a_log_run(line).of("mine").at(100.0 * line).run for line in range(2, 6)]
    with pytest.raises(MethodBroken, match=r"log, line 4: .*'mine' is no distribution"):
        replay_log(a_log(runs), Listening(says=said))


def test_progress_is_told_in_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plimsoll_predictor.replay.runtimes.protocol.PROGRESS_EVERY", 2)
    told: list[int] = []
    replay_log(a_log([a_log_run().at(at).run for at in range(5)]), Listening(), told.append)
    assert told == [0, 2, 4]
