"""Whether a task's attempts are measured, by those that ended last."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from plimsoll_operator.controller.profiles.gathering import PEAK_DELAY_S, Measured, measurement_of
from plimsoll_operator.profile.facts import Measurement
from plimsoll_predictor.core.record import Observation, Outcome, PeakSource
from tests.builders.reports import START_S, TASK


def an_end(number: int, source: PeakSource | None, **changes: Any) -> Observation:
    return Observation(
        attempt_uid=f"u{number}",
        task=TASK,
        run=f"r{number}",
        outcome=Outcome.SUCCEEDED,
        peak_source=source,
        node="n1",
        started_s=START_S,
        finished_s=START_S + 60 * number,
        **changes,
    )


NOW_S = START_S + 3600


@pytest.mark.parametrize(
    ("sources", "found"),
    [
        pytest.param([], None, id="nothing ended"),
        pytest.param([None, PeakSource.AGENT], Measurement(PeakSource.AGENT), id="the last was"),
        pytest.param([None, None], Measurement(None, 2, "n1"), id="none ever was"),
        pytest.param(
            [PeakSource.AGENT, None, None],
            Measurement(None, 2, "n1", START_S),
            id="the last two were not",
        ),
    ],
)
def test_whether_attempts_are_measured_follows_from_the_latest(
    sources: list[PeakSource | None], found: Measurement | None
) -> None:
    latest = [an_end(number, source) for number, source in enumerate(sources)]
    assert measurement_of(latest, NOW_S) == Measured(found)


def test_a_report_that_may_still_come_is_not_missed_yet() -> None:
    latest = [an_end(0, PeakSource.AGENT), an_end(1, None)]
    just_now_s = START_S + 60 + PEAK_DELAY_S - 1
    found = measurement_of(latest, just_now_s)
    assert found == Measured(Measurement(PeakSource.AGENT), awaited=True)
    assert measurement_of(latest, just_now_s + 2).measurement == Measurement(None, 1, "n1", START_S)


def test_an_attempt_that_failed_says_nothing_of_the_agent() -> None:
    failed = replace(an_end(1, None), outcome=Outcome.FAILED)
    assert measurement_of([an_end(0, PeakSource.AGENT), failed], NOW_S).measurement is not None
    assert measurement_of([failed], NOW_S) == Measured(None)
