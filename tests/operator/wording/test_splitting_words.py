"""Words for a Job that stays as it is cut."""

from __future__ import annotations

import pytest

from plimsoll_operator.wording.splitting_words import words_for_cut
from plimsoll_predictor.splitting.cutting import Cut, CuttableJob
from plimsoll_predictor.splitting.proposing import Proposal, Verdict


@pytest.mark.parametrize(
    ("verdict", "why"),
    [
        (Verdict.RISKY, "another number could take longer"),
        (Verdict.NOTHING_TO_GAIN, "nothing to gain"),
        (Verdict.UNKNOWN, "nothing known"),
    ],
)
def test_a_job_that_stays_as_it_is_has_the_reason_as_a_clause(verdict: Verdict, why: str) -> None:
    job = CuttableJob(items=240, workers=4, pods=16, limit_bytes=None)
    stays = Cut(pods=16, items=15, grows=False, proposal=Proposal(verdict, None, None, workers=4))
    assert words_for_cut(job, stays) == f"as it is, 16 pods: {why}"
