"""What the experts by models bid: their own choice, by which all experts are compared."""

from __future__ import annotations

import pytest

from plimsoll_predictor.core.decision import Ask
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.deciding.modelled import modelled_bids
from plimsoll_predictor.knowledge.error_budget import Spent
from plimsoll_predictor.knowledge.expert_names import BOOSTING, CLASSIFIER
from plimsoll_predictor.knowledge.floor import Floor, FloorKind
from plimsoll_predictor.knowledge.shown import Shown
from tests.builders.experts.serving import AKnownTask, a_model, with_boosted

ASK = Ask(
    features={"rows": "20", "columns": 5.0, "region": "eu", "since": "2025-01-01"},
    request_bytes=1000 * MIB,
)


KNOWN = AKnownTask().served_by(CLASSIFIER, with_boosted(a_model(300, 600, 900)))


def test_both_models_bid_for_a_run() -> None:
    bids = modelled_bids(KNOWN.built, ASK)
    assert bids.keys() == {CLASSIFIER, BOOSTING}
    assert bids[CLASSIFIER] == 300 * MIB


@pytest.mark.parametrize(
    "held",
    [
        pytest.param(KNOWN.under(error_budget=0.02)._with(spent=Spent(100, 1)), id="half a budget"),
        pytest.param(KNOWN.under(error_budget=0.02)._with(spent=Spent(100, 2)), id="all of it"),
        pytest.param(
            KNOWN._with(shown=Shown(floor_bytes=850 * MIB)), id="what running attempts reached"
        ),
        pytest.param(
            KNOWN._with(floor=Floor(700 * MIB, FloorKind.FAILED)), id="the floor of a failure"
        ),
        pytest.param(KNOWN.under(min_bytes=500 * MIB), id="the policy's least size"),
        pytest.param(KNOWN.under(max_bytes=200 * MIB), id="the policy's largest size"),
    ],
)
def test_what_holds_or_raises_any_experts_size_is_in_no_bid(held: AKnownTask) -> None:
    assert modelled_bids(held.built, ASK) == modelled_bids(KNOWN.built, ASK)
