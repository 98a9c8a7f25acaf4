"""Which real attempts the guard counts: those that were sized, by their lessons."""

from __future__ import annotations

from pathlib import Path

import pytest

from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.units import MIB, gb_hours
from plimsoll_predictor.experts.guard import Guard
from tests.builders.controller.ledgers import (
    TRAIN,
    Inside,
    a_final,
    a_train,
    an_inside,
    decided,
    ended,
    killed,
)


async def ran(inside: Inside, name: str, mode: Mode = Mode.ENFORCE) -> None:
    """A pod that got what it asked for, from its creation to its end."""
    pod = decided(a_train(name), mode=mode)
    await inside.see(pod)
    await inside.report(a_final(name, 80 * MIB))
    await inside.see(ended(pod))
    await inside.controller.standings.fold()


def guard_of(inside: Inside) -> Guard:
    standing = inside.controller.standings.held(TRAIN)
    assert standing is not None
    return standing.guard


@pytest.mark.slow
async def test_a_run_that_was_sized_is_counted_beside_its_request(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await ran(inside, "first")
        guard = guard_of(inside)
        assert guard.runs == 1
        assert guard.request.served == pytest.approx(guard.request.rule)
        assert inside.controller.book.fleet.ratios() == {"": pytest.approx(1.0)}


@pytest.mark.slow
async def test_a_run_that_was_only_recommended_for_is_not_counted(tmp_path: Path) -> None:
    async with an_inside(tmp_path, Mode.RECOMMEND) as inside:
        await ran(inside, "first", Mode.RECOMMEND)
        assert guard_of(inside).runs == 0
        assert inside.controller.book.fleet.ratios() == {}


@pytest.mark.slow
async def test_a_killed_attempt_is_awaited_with_the_time_that_it_held_its_memory(
    tmp_path: Path,
) -> None:
    async with an_inside(tmp_path) as inside:
        await ran(inside, "first")
        await inside.see(decided(a_train("second")))
        await inside.see(killed(decided(a_train("second"))))
        await inside.controller.standings.fold()
        [lost] = guard_of(inside).lost.values()
        [lesson] = [
            each for each in inside.store.experts.lessons(0) if each.need_bytes == 128 * MIB
        ]
        assert lesson.runtime_s is not None
        assert lost.gb_h == pytest.approx(gb_hours(128 * MIB, lesson.runtime_s))


@pytest.mark.slow
async def test_after_a_restart_the_same_is_counted_once(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await ran(inside, "first")
        await ran(inside, "second")
        before = guard_of(inside)
        await inside.controller.standings.save()
    async with an_inside(tmp_path) as again:
        await again.controller.standings.restore()
        standing = await again.controller.standings.standing(TRAIN)
        assert standing is not None
        assert standing.guard == before
        assert again.controller.book.fleet.ratios() == {"": pytest.approx(1.0)}
