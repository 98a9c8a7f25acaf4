"""Forecasts read from the store are the controller's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from plimsoll_operator.views.runtimes.stored_forecasts import stored_forecast, stored_forecasts
from plimsoll_predictor.runtimes.features.explanation import FeatureExplanation
from plimsoll_predictor.runtimes.forecasting.settings import MAX_SURVIVORS
from plimsoll_predictor.store import NewSighting, SightingKind
from tests.builders.experts.feature_experts import an_expert
from tests.builders.runtimes.runtime_lives import JOIN, NOON_S, TRAIN, a_life

LATER_S = NOON_S + 20_000


@pytest.mark.parametrize("overdue", [1, 6, MAX_SURVIVORS + 9])
@pytest.mark.parametrize("featured", [False, True])
async def test_runs_under_way_count_in_them_as_in_the_controller(
    tmp_path: Path, overdue: int, featured: bool
) -> None:
    async with a_life(tmp_path) as life:
        await life.ran(30)
        if featured:
            expert = an_expert(asked_ln=0.5, ruling="runs under way")
            life.store.features.keep(expert, FeatureExplanation(1, (), ()), known=600)
            life.runtimes.expert_fitted()
        await life.runtimes.save()
        before = await life.runtimes.forecast(TRAIN, LATER_S)
        seen = [
            NewSighting(task=task, kind=kind, attempt_uid=f"{task}-{number}-open", at_s=at_s)
            for task in (TRAIN, JOIN)
            for number in range(overdue)
            for kind, at_s in (
                (SightingKind.SUBMITTED, LATER_S - 3 * number - 90),
                (SightingKind.STARTED, LATER_S - 3 * number - 80),
            )
        ]
        waits = NewSighting(
            task=TRAIN, kind=SightingKind.SUBMITTED, attempt_uid="waits", at_s=LATER_S - 10
        )
        life.store.keep(seen=[*seen, waits])
        await life.runtimes.fold()
        await life.runtimes.save()
        asked = await life.runtimes.forecast(TRAIN, LATER_S)
        read = stored_forecast(life.store, TRAIN, LATER_S, [])
        assert before is not None
        assert asked is not None
        assert asked.to_dict() != before.to_dict(), "they are overdue"
        assert read.forecast.to_dict() == asked.to_dict()
        assert stored_forecasts(life.store, [TRAIN], LATER_S)[TRAIN].to_dict() == asked.to_dict()
