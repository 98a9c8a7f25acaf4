"""What a measured peak may teach: only one whose end was seen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from plimsoll_operator.attempts.observation import (
    BEGINNING_SEEN_WITHIN_S,
    END_SEEN_WITHIN_S,
    UNSEEN_WITHIN_S,
    with_peak,
)
from plimsoll_operator.attempts.peaks import PeakReport
from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import MIB

FINISHED_S = 1_700_000_000.0
ENDED = Observation(
    attempt_uid="u1",
    task=TaskId("shop", "train"),
    run="pod:u1",
    outcome=Outcome.SUCCEEDED,
    finished_s=FINISHED_S,
)
FINAL = PeakReport(
    pod_uid="u1",
    container_id=None,
    need_peak_bytes=40 * MIB,
    kernel_peak_bytes=40 * MIB,
    working_set_peak_bytes=40 * MIB,
    anon_peak_bytes=40 * MIB,
    cpu_s=1.0,
    limit_bytes=None,
    final=True,
    measured_s=FINISHED_S + 2,
)


def test_a_final_peak_read_after_the_end_is_the_need() -> None:
    assert with_peak(ENDED, FINAL).peak_bytes == 40 * MIB


@pytest.mark.parametrize(
    "peak",
    [
        pytest.param(replace(FINAL, final=False), id="more may come"),
        pytest.param(replace(FINAL, measured_s=0.0), id="an agent killed meanwhile read it"),
        pytest.param(
            replace(FINAL, measured_s=FINISHED_S - END_SEEN_WITHIN_S - 1), id="read too early"
        ),
    ],
)
def test_a_peak_whose_end_was_not_seen_teaches_nothing(peak: PeakReport) -> None:
    observation = with_peak(ENDED, peak)
    assert observation.peak_bytes is None
    assert observation.need is None


LONG = replace(ENDED, started_s=FINISHED_S - 600.0)


@pytest.mark.parametrize(
    ("since_s", "learns"),
    [
        pytest.param(None, True, id="an older agent does not say"),
        pytest.param(FINISHED_S - 598.0, True, id="from its beginning"),
        pytest.param(FINISHED_S - 545.0, True, id="all but a little of it"),
        pytest.param(FINISHED_S - 300.0, False, id="its second half"),
    ],
)
def test_a_peak_whose_beginning_was_not_seen_teaches_nothing(
    since_s: float | None, *, learns: bool
) -> None:
    observation = with_peak(LONG, replace(FINAL, since_s=since_s))
    assert (observation.peak_bytes is not None) == learns


def test_a_short_run_may_begin_some_seconds_before_it_is_seen() -> None:
    short = replace(ENDED, started_s=FINISHED_S - 10.0)
    for late_s, learns in ((BEGINNING_SEEN_WITHIN_S, True), (BEGINNING_SEEN_WITHIN_S + 1, False)):
        found = with_peak(short, replace(FINAL, since_s=FINISHED_S - 10.0 + late_s))
        assert (found.peak_bytes is not None) == learns


@pytest.mark.parametrize(
    ("life_s", "late_s", "unseen_s", "learns"),
    [
        pytest.param(600.0, 0.0, None, True, id="an older agent does not say"),
        pytest.param(600.0, 0.0, 60.0, True, id="a tenth of it"),
        pytest.param(600.0, 0.0, 61.0, False, id="more than a tenth of it"),
        pytest.param(600.0, 30.0, 30.0, True, id="a tenth with its beginning"),
        pytest.param(600.0, 31.0, 30.0, False, id="more than a tenth with its beginning"),
        pytest.param(30.0, 0.0, UNSEEN_WITHIN_S, True, id="some seconds of a short run"),
        pytest.param(30.0, 0.0, UNSEEN_WITHIN_S + 1, False, id="more seconds of it"),
        pytest.param(30.0, -60.0, UNSEEN_WITHIN_S, True, id="a pod seen long before it starts"),
    ],
)
def test_a_peak_whose_middle_was_not_seen_teaches_nothing(
    life_s: float, late_s: float, unseen_s: float | None, *, learns: bool
) -> None:
    started_s = FINISHED_S - life_s
    peak = replace(FINAL, since_s=started_s + late_s, unseen_s=unseen_s)
    observation = with_peak(replace(ENDED, started_s=started_s), peak)
    assert (observation.peak_bytes is not None) == learns
