"""Past runs that are imported after newer ones: an old level of needs does not win."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from plimsoll_operator.commands.past_runs import import_file
from plimsoll_operator.commands.past_runs.import_file import import_command
from plimsoll_predictor.core.record import Observation
from plimsoll_predictor.core.units import GIB
from tests.builders.experts.expert_lives import NOON_S, TRAIN, Life, a_life, a_run

HEADER = "namespace,task,run,started_s,finished_s,peak_bytes,image"


def write(path: Path, runs: Iterable[tuple[int, int]]) -> Path:
    """runs: the hour of each end, and its need in GiB."""
    ends = ((hour, NOON_S + hour * 3600, gib * GIB) for hour, gib in runs)
    rows = [f"shop,train-demand,r{hour},{end - 60},{end},{need},old:1" for hour, end, need in ends]
    path.write_text("\n".join((HEADER, *rows)))
    return path


def live(hour: int, gib: int) -> Observation:
    end_s = NOON_S + hour * 3600
    return replace(
        a_run(f"live-{hour}", gib * 1024), started_s=end_s - 60, finished_s=end_s, image="new:1"
    )


async def largest_gib(life: Life) -> float:
    await life.standings.fold()
    standing = life.standings.held(TRAIN)
    assert standing is not None
    return standing.past.largest_bytes / GIB


@pytest.mark.slow
@pytest.mark.parametrize("newest_first", [True, False])
async def test_a_file_teaches_the_latest_level_in_either_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, newest_first: bool
) -> None:
    monkeypatch.setattr(import_file, "BATCH", 20)
    runs = [(hour, 2 if hour < 40 else 6) for hour in range(80)]
    path = write(tmp_path / "past.csv", reversed(runs) if newest_first else runs)
    async with a_life(tmp_path) as life:
        assert import_command(path, life.store.where) == 0
        assert life.store.totals.of(TRAIN).runs_known == 80
        assert await largest_gib(life) == 6


@pytest.mark.slow
@pytest.mark.parametrize("lived", [4, 8, 16, 24])
async def test_a_past_from_before_the_installation_does_not_displace_larger_needs_since(
    tmp_path: Path, lived: int
) -> None:
    path = write(tmp_path / "past.csv", [(hour, 2) for hour in range(40)])
    async with a_life(tmp_path) as life:
        for hour in range(100, 100 + lived):
            await life.ended(live(hour, 6))
        assert import_command(path, life.store.where) == 0
        assert await largest_gib(life) == 6


@pytest.mark.slow
async def test_a_past_of_the_same_level_teaches_a_task_of_which_little_is_known(
    tmp_path: Path,
) -> None:
    path = write(tmp_path / "past.csv", [(hour, 5 + hour % 3) for hour in range(40)])
    async with a_life(tmp_path) as life:
        for hour in range(100, 108):
            await life.ended(live(hour, 6))
        assert import_command(path, life.store.where) == 0
        assert await largest_gib(life) == 7
        standing = life.standings.held(TRAIN)
        assert standing is not None
        assert standing.past.runs == 48
