"""What a measured peak may teach: only one whose end was seen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from plimsoll_operator.attempts.observation import END_SEEN_WITHIN_S, with_peak
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
