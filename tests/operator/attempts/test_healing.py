"""How far healing may go, by what people say now and what the attempt had."""

from __future__ import annotations

import pytest

from plimsoll_operator.attempts.healing import Healing, healing_of
from plimsoll_predictor.core.policy import Mode


@pytest.mark.parametrize("lowered", [True, False])
def test_everything_is_healed_while_people_let_it(lowered: bool) -> None:
    assert healing_of(Mode.ENFORCE, paused=False, lowered=lowered) is Healing.ALL


@pytest.mark.parametrize(
    ("mode", "paused"),
    [
        pytest.param(Mode.ENFORCE, True, id="paused"),
        pytest.param(Mode.RECOMMEND, False, id="recommend"),
        pytest.param(Mode.RECOMMEND, True, id="recommend, and paused"),
        pytest.param(Mode.OFF, False, id="off"),
    ],
)
def test_what_was_lowered_is_owed_and_nothing_else(mode: Mode, paused: bool) -> None:
    assert healing_of(mode, paused=paused, lowered=True) is Healing.AS_WRITTEN
    assert healing_of(mode, paused=paused, lowered=False) is Healing.NONE
