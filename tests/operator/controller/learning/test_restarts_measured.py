"""The controller measures how long a killed run waits for its next attempt."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from plimsoll_operator.names.labels import RUN_OF
from plimsoll_predictor.experts.restarts import LEAST
from plimsoll_predictor.knowledge.measured_constants import SERVED
from tests.builders.controller.ledgers import a_final, a_train, an_inside, decided, ended
from tests.builders.controller.ledgers import killed as killed_pod
from tests.builders.experts.expert_lives import TRAIN, a_life, a_run, following, killed
from tests.builders.pods import APod


def second_try(name: str, of: str, *, started: str, at: str) -> APod:
    """The next attempt of a bare pod's run, which succeeded."""
    pod = decided(a_train(name, "256Mi"), attempt=2).annotated({RUN_OF: f"uid-{of}"})
    built = ended(pod, at=at).built()
    state = built["status"]["containerStatuses"][0]["state"]
    state["terminated"]["startedAt"] = started
    return APod(built)


@pytest.mark.slow
async def test_a_kill_and_the_start_of_the_next_attempt_are_measured(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.report(a_final("train-2", need_bytes=200 << 20))
        await inside.see(killed_pod(decided(a_train("train-1")), at="2026-01-01T00:00:30Z"))
        second = second_try(
            "train-2", "train-1", started="2026-01-01T00:00:47Z", at="2026-01-01T00:01:05Z"
        )
        await inside.see(second)
        await inside.controller.standings.fold()
        pool = await inside.controller.standings.pool(inside.known.task)
        assert pool.restarts.seconds == [17.0]
        registry = inside.controller.metrics.registry
        assert registry.get_sample_value("plimsoll_restart_seconds_sum") == 17.0


@pytest.mark.slow
async def test_sizes_after_a_restart_of_the_controller_go_by_the_same_figure(
    tmp_path: Path,
) -> None:
    async with a_life(tmp_path) as life:
        for number in range(LEAST + 1):
            first = killed(f"k{number}", f"r{number}", 100)
            second = replace(a_run(f"s{number}", 300), run=f"r{number}")
            await life.ended(first)
            await life.ended(following(second, first, 6.0 + number % 3))
            if number == LEAST // 2:
                await life.standings.save()
        wanted = life.state()
        pool = await life.standings.pool(TRAIN)
        assert pool.constants.restart_s == 7.0 != SERVED.restart_s
    async with a_life(tmp_path) as again:
        assert again.state() == wanted
        assert (await again.standings.pool(TRAIN)).constants == pool.constants
