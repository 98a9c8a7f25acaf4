"""What a burst of runs that are killed again and again shows about the next run."""

from __future__ import annotations

import pytest

from plimsoll_operator.names.labels import RUN_OF
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.knowledge.measured_constants import SERVED
from tests.builders.controller.ledgers import NOW_S, TRAIN, a_final, a_train, decided, ended, killed
from tests.builders.controller.shown import KNOWN_MIB, Told, reached, running
from tests.builders.pods import APod


@pytest.mark.slow
async def test_where_many_runs_are_killed_another_is_expected_to_need_what_they_got(
    told: Told,
) -> None:
    for name in ("r1", "r2", "r3"):
        first = decided(a_train(name))
        await told.inside.see(running(name, pod=first))
        await told.inside.see(killed(first))
    await told.publish()
    lifted = {lift.allocation_bytes for lift in told.inside.known.lifts.values()}
    assert len(lifted) == 1
    assert told.floor_mib == pytest.approx(lifted.pop() / MIB / SERVED.shown_room, abs=1)


class Burst:
    """Three killed runs, and what their running second attempts show."""

    NAMES = ("r1", "r2", "r3")

    def __init__(self, told: Told) -> None:
        self.told = told
        self.seconds: list[APod] = []

    async def begins(self) -> None:
        see = self.told.inside.see
        await self.told.inside.report(a_final("large", need_bytes=KNOWN_MIB * MIB))
        await see(ended(a_train("large", "1Gi")))
        for name in self.NAMES:
            first = decided(a_train(name), was_bytes=1024 * MIB)
            await see(running(name, pod=first))
            await see(killed(first))
        runs = list(self.told.inside.known.lifts)
        for name, run in zip(self.NAMES, runs, strict=True):
            again = decided(a_train(f"{name}-again"), attempt=2, was_bytes=1024 * MIB)
            self.seconds.append(again.annotated({RUN_OF: run.removeprefix("pod:")}))
            await see(running(f"{name}-again", pod=self.seconds[-1]))
        await self.told.publish()

    async def reach(self, mib: int, after_s: float) -> None:
        """They have reached that much, that long after they were seen."""
        self.told.inside.controller.live_needs.now_s = lambda: NOW_S + after_s
        self.told.report(*(reached(f"{name}-again", mib) for name in self.NAMES))
        await self.told.publish()

    @property
    def rung_mib(self) -> float:
        (lifted,) = {lift.allocation_bytes for lift in self.told.inside.known.lifts.values()}
        return lifted / MIB / SERVED.shown_room


@pytest.fixture
async def burst(told: Told) -> Burst:
    made = Burst(told)
    await made.begins()
    assert told.floor_mib == pytest.approx(made.rung_mib, abs=1)
    return made


@pytest.mark.slow
async def test_a_size_in_which_killed_runs_climb_again_is_not_offered(burst: Burst) -> None:
    """They were killed at 128 MiB and have 256 now; they asked for 1024."""
    told = burst.told
    for mib, after_s in ((2, 0), (150, 1)):
        await burst.reach(mib, after_s)
        assert told.floor_mib == pytest.approx(512 / SERVED.shown_room, abs=1), mib
    told.inside.controller.live_needs.now_s = lambda: NOW_S + 60
    await told.publish()
    assert told.floor_mib == pytest.approx(burst.rung_mib, abs=1), "they stay below it"


@pytest.mark.slow
async def test_what_an_agent_says_first_after_a_restart_is_no_climb(burst: Burst) -> None:
    await burst.reach(150, 0)
    assert burst.told.floor_mib == pytest.approx(burst.rung_mib, abs=1)
    await burst.reach(200, 1)
    assert burst.told.floor_mib == pytest.approx(512 / SERVED.shown_room, abs=1)


@pytest.mark.slow
async def test_who_was_killed_again_climbs_no_more(burst: Burst) -> None:
    await burst.reach(2, 0)
    needs = burst.told.inside.controller.live_needs
    for pod in burst.seconds:
        await burst.told.inside.see(killed(pod))
    await burst.told.publish()
    assert (len(needs), len(needs._climbs)) == (0, 0)


@pytest.mark.slow
async def test_of_a_climb_nothing_is_left_when_its_pod_or_task_is_gone(burst: Burst) -> None:
    needs = burst.told.inside.controller.live_needs
    assert len(needs._climbs) == 3
    await burst.told.inside.see(burst.seconds[0], gone=True)
    assert len(needs._climbs) == 2
    burst.told.inside.controller.book.forget(TRAIN)
    await burst.told.publish()
    assert len(needs._climbs) == 0
