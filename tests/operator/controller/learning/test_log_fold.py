"""What every user of LogFold keeps: however its controller ends, its state is the same."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.controller.learning.log_fold import LogFold
from tests.builders.experts import expert_lives
from tests.builders.runtimes import runtime_lives
from tests.rigs.drawing import drawn
from tests.rigs.processes.killed_lives import kills_until_the_end

Life = Any
pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class User:
    """One user of LogFold.

    name: as killed_lives knows it. fewest: events of a life, of which a controller sees nine or
    sixteen. undisturbed: what happens to those that are killed at any moment. entries: of its log
    that are still stored. state: all that it knows, and what others are told.
    """

    name: str
    a_life: Callable[[Path], AbstractAsyncContextManager[Life]]
    fewest: int
    steps: Callable[..., Iterator[Any]]
    undisturbed: Callable[[int], Iterator[Any]]
    take: Callable[[Life, Sequence[Any]], Awaitable[None]]
    fold: Callable[[Life], LogFold]
    entries: Callable[[Life], Sequence[object]]
    state: Callable[[Life], Awaitable[object]]

    @property
    def events(self) -> int:
        return max(drawn(self.fewest), self.fewest)


async def state_of_experts(life: expert_lives.Life) -> object:
    tasks = (expert_lives.TRAIN, expert_lives.JOIN)
    return life.state(), {task: life.book.look(task).champion for task in tasks}


async def state_of_forecasts(life: runtime_lives.Life) -> object:
    await life.runtimes.fold()
    return await runtime_lives.state_of(life)


EXPERTS = User(
    name="standings",
    a_life=expert_lives.a_life,
    fewest=36,
    steps=expert_lives.steps,
    undisturbed=lambda seed: expert_lives.steps(seed, trainings=False),
    take=expert_lives.take,
    fold=lambda life: life.standings,
    entries=lambda life: life.store.experts.lessons(0),
    state=state_of_experts,
)
FORECASTS = User(
    name="runtimes",
    a_life=runtime_lives.a_life,
    fewest=48,
    steps=runtime_lives.steps,
    undisturbed=runtime_lives.steps,
    take=runtime_lives.take,
    fold=lambda life: life.runtimes,
    entries=lambda life: life.store.runtimes.sightings(0),
    state=state_of_forecasts,
)

_WHOLE: dict[tuple[str, int], object] = {}


@pytest.fixture(params=[EXPERTS, FORECASTS], ids=lambda user: user.name)
def user(request: pytest.FixtureRequest) -> User:
    found: User = request.param
    return found


async def whole_life(user: User, seed: int, folder: Path) -> object:
    """The state after an uninterrupted life; made once for all tests."""
    if (user.name, seed) not in _WHOLE:
        async with user.a_life(folder) as whole:
            await user.take(whole, list(user.steps(seed, user.events)))
            _WHOLE[user.name, seed] = await user.state(whole)
    return _WHOLE[user.name, seed]


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Of a whole life, and of one that is killed."""
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir()
    killed.mkdir()
    return whole, killed


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("saved_after", [None, 0, 7])
async def test_the_state_is_the_same_whether_or_not_the_controller_was_killed(
    user: User, folders: tuple[Path, Path], seed: int, saved_after: int | None
) -> None:
    whole, killed = folders
    happening = list(user.steps(seed, user.events))
    wanted = await whole_life(user, seed, whole)
    done = 0
    while done < len(happening):
        async with user.a_life(killed) as life:
            if saved_after is not None:
                await user.take(life, happening[done : done + saved_after])
                await user.fold(life).save()
                done += saved_after
            await user.take(life, happening[done : done + 9])
            done += 9
    async with user.a_life(killed) as life:
        assert await user.state(life) == wanted


async def test_the_state_survives_processes_that_are_killed_at_any_moment(
    user: User, folders: tuple[Path, Path]
) -> None:
    whole, killed = folders
    async with user.a_life(whole) as life:
        await user.take(life, list(user.undisturbed(5)))
        wanted = await user.state(life)
    assert kills_until_the_end(user.name, killed, seed=5) >= 3
    async with user.a_life(killed) as life:
        assert await user.state(life) == wanted


async def test_an_orderly_end_leaves_nothing_to_fold_again(user: User, tmp_path: Path) -> None:
    async with user.a_life(tmp_path) as life:
        await user.take(life, list(user.steps(4)))
        wanted = await user.state(life)
        await user.fold(life).close()
        assert user.entries(life) == []
    async with user.a_life(tmp_path) as again:
        through = user.fold(again).through
        assert await user.state(again) == wanted
        await user.fold(again).fold()
        assert user.fold(again).through == through > 0
