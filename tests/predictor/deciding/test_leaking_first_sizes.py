"""First sizes of a task whose run leaked, by each champion."""

from __future__ import annotations

import pytest

from plimsoll_predictor.core.decision import Ask, Bounds
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.deciding.memory import decide
from plimsoll_predictor.knowledge.expert_names import BOOSTING, CLASSIFIER, MAX_SEEN
from tests.builders.experts.serving import AKnownTask, a_model, with_boosted

CUT = "no more than 200Mi, as only kills show a larger need"
LARGE: dict[str, float | str] = {
    "rows": "990",
    "columns": 5.0,
    "region": "eu",
    "since": "2025-01-01",
}


def leaking(champion: str) -> AKnownTask:
    """A task whose runs need 80 Mi and ask for 100; one was killed at 8000 Mi."""
    known = AKnownTask().needing(80).under(mode=Mode.ENFORCE)
    known = known._with(max_need_bytes=8000 * MIB)
    return known.served_by(champion, with_boosted(a_model(300, 600, 900)))


@pytest.mark.parametrize("champion", [MAX_SEEN, CLASSIFIER, BOOSTING])
def test_no_first_size_is_more_than_twice_what_was_written_or_sufficed(champion: str) -> None:
    ask = Ask(features=LARGE, request_bytes=100 * MIB)
    decision = decide(ask, leaking(champion).built, Bounds())
    assert decision.allocation_bytes == 200 * MIB
    assert CUT in decision.why


@pytest.mark.parametrize("champion", [CLASSIFIER, BOOSTING])
def test_a_size_within_twice_what_was_written_is_not_cut(champion: str) -> None:
    ask = Ask(features=LARGE, request_bytes=1000 * MIB)
    known = leaking(champion)._with(max_need_bytes=80 * MIB).built
    decision = decide(ask, known, Bounds())
    assert (decision.allocation_bytes or 0) >= 900 * MIB
    assert "only kills" not in decision.why
