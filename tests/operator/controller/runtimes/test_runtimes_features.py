"""The controller takes up a fitted expert, and a restart leads to the same state."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from plimsoll_operator.views.runtimes.task_runtimes import gather_runtimes
from plimsoll_predictor.runtimes.features.asked import AskedRun
from plimsoll_predictor.runtimes.features.explanation import (
    FeatureExplanation,
    FeatureReason,
    TaskReasons,
)
from plimsoll_predictor.store import NewSighting, SightingKind, UnsavedRuntimes
from tests.builders.experts.feature_experts import an_expert
from tests.builders.runtimes.runtime_lives import NOON_S, TRAIN, Life, a_life, a_run

REASONS = TaskReasons(str(TRAIN), (FeatureReason("the requested time", 0.2),))
EXPLAINED = FeatureExplanation(rows=1, effects=(), tasks=(REASONS,))
SHORT_S, LONG_S = 60.0, 3600.0


async def runs(life: Life, numbers: Sequence[int]) -> None:
    """Every second one asks for an hour, and takes ten times as long."""
    for number in numbers:
        uid, at_s = f"u{number}", NOON_S + 1000.0 * number
        asked = AskedRun(requested_s=(SHORT_S, LONG_S)[number % 2])
        seen = NewSighting(
            task=TRAIN, kind=SightingKind.SUBMITTED, attempt_uid=uid, at_s=at_s, asked=asked
        )
        life.store.keep(seen=[seen])
        life.started(uid, at_s=at_s + 1)
        runtime_s = (30.0, 300.0)[number % 2] + number % 5
        life.ended(replace(a_run(uid, runtime_s, at_s=at_s + 1), requested_s=asked.requested_s))
    await life.runtimes.fold()


def fit(life: Life, made_s: float = NOON_S) -> None:
    life.store.features.keep(an_expert(made_s), EXPLAINED, known=600)
    life.runtimes.expert_fitted()


async def lived(folder: Path, *, restarts: bool) -> dict[str, object]:
    """An expert is fitted between two saves; every save is followed by a restart, or none is."""
    folder.mkdir()
    parts = (range(20), range(20, 30), range(30, 60))
    if not restarts:
        async with a_life(folder) as life:
            for place, part in enumerate(parts):
                await runs(life, part)
                if place == 1:
                    fit(life)
                await life.runtimes.save()
            return life.state()
    for place, part in enumerate(parts):
        async with a_life(folder) as life:
            await runs(life, part)
            if place == 1:
                fit(life)
            await life.runtimes.save()
    async with a_life(folder) as life:
        await life.runtimes.fold()
        await life.runtimes.forecast(TRAIN, NOON_S)
        return life.state()


@pytest.mark.slow
async def test_a_restart_comes_to_the_same_with_an_expert_that_was_fitted(tmp_path: Path) -> None:
    whole = await lived(tmp_path / "whole", restarts=False)
    killed = await lived(tmp_path / "killed", restarts=True)
    assert killed == whole


@pytest.mark.slow
async def test_what_is_folded_again_after_a_kill_is_forecast_by_the_same_expert(
    tmp_path: Path,
) -> None:
    async with a_life(tmp_path) as life:
        await runs(life, range(20))
        await life.runtimes.save()
        fit(life)
        await runs(life, range(20, 30))
        # Fitted, but not taken up by a save: the kill comes before.
        wanted = life.state()
    async with a_life(tmp_path) as life:
        await life.runtimes.fold()
        await life.runtimes.forecast(TRAIN, NOON_S)
        assert life.state() == wanted
        await life.runtimes.save()
        assert life.runtimes._folding.forecaster.expert is not None


@pytest.mark.slow
async def test_forecasts_say_what_features_count(tmp_path: Path) -> None:
    async with a_life(tmp_path) as life:
        await runs(life, range(40))
        await life.runtimes.save()
        none = gather_runtimes(life.store, TRAIN, NOON_S + 1e6).features
        assert none.words == "the past alone, until 400 attempts have been learned from"
        life.store.features.record_failure(NOON_S, 500, "no memory")
        failed = gather_runtimes(life.store, TRAIN, NOON_S + 1e6).features
        assert failed.words == "the past alone; they could not be fitted: no memory"
        fit(life)
        await life.runtimes.save()
        await runs(life, range(40, 80))
        await life.runtimes.save()
        served = gather_runtimes(life.store, TRAIN, NOON_S + 1e6).features
        assert served.weight is not None
        assert served.weight > 0.6
        assert "fitted to 600 runs; of its newest run: the requested time: longer" in served.words
        life.store.features.record_failure(NOON_S, 700, "no memory")
        again = gather_runtimes(life.store, TRAIN, NOON_S + 1e6).features
        assert "fitting again failed at" in again.words


async def test_the_same_expert_is_not_taken_up_twice(tmp_path: Path) -> None:
    async with a_life(tmp_path) as life:
        await runs(life, range(4))
        fit(life)
        await life.runtimes.save()
        first = life.runtimes._folding.forecaster.expert
        life.runtimes.expert_fitted()
        await life.runtimes.save()
        assert life.runtimes._folding.forecaster.expert is first
        fit(life, made_s=NOON_S + 1)
        await life.runtimes.save()
        second = life.runtimes._folding.forecaster.expert
        assert second is not None
        assert second.made_s == NOON_S + 1


async def test_an_expert_that_is_fitted_during_a_save_serves_from_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_life(tmp_path) as life:
        await runs(life, range(4))
        fit(life)
        save = life.store.runtimes.save

        def fitted_meanwhile(unsaved: UnsavedRuntimes, follows: Collection[int]) -> bool:
            fit(life, made_s=NOON_S + 1)
            return save(unsaved, follows)

        with monkeypatch.context() as patch:
            patch.setattr(life.runtimes._records, "save", fitted_meanwhile)
            await life.runtimes.save()
        assert served_s(life) == NOON_S
        await life.runtimes.save()
        assert served_s(life) == NOON_S + 1


async def test_an_expert_whose_save_failed_serves_from_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_life(tmp_path) as life:
        await runs(life, range(4))
        await life.runtimes.save()
        fit(life)

        def fails(_unsaved: UnsavedRuntimes, _follows: Collection[int]) -> bool:
            raise MemoryError("no room for what is saved")

        with monkeypatch.context() as patch:
            patch.setattr(life.runtimes._records, "save", fails)
            with pytest.raises(MemoryError):
                await life.runtimes.save()
        await life.runtimes.save()
        assert served_s(life) == NOON_S


def served_s(life: Life) -> float | None:
    expert = life.runtimes._folding.forecaster.expert
    return None if expert is None else expert.made_s
