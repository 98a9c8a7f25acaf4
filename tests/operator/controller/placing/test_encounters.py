"""The controller sees which tasks run side by side, and learns which task slows which."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
from prometheus_client import CollectorRegistry

from plimsoll_operator.controller.hub.hub import AttemptEnded, RunEnded
from plimsoll_operator.controller.placing import encounters
from plimsoll_operator.controller.placing.encounters import SEEN_WITHIN_S, Encounters
from plimsoll_operator.controller.placing.first_list import QUIET_S, FirstList
from plimsoll_operator.controller.placing.node_clocks import LEAST_STARTS
from plimsoll_operator.metrics.placing import PlacingMetrics
from plimsoll_operator.pods.status import AttemptStatus
from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.placing.interference import learned_from
from plimsoll_predictor.placing.matrix import Matrix
from plimsoll_predictor.placing.placed_run import PlacedRun
from plimsoll_predictor.store import ForecastScore, Novelty, Store, Writer
from plimsoll_predictor.store.attempts.encounters import NEWEST
from plimsoll_predictor.store.learned.runtimes import UnsavedRuntimes
from tests.builders.controller.ledgers import TRAIN, a_train, an_inside, ended
from tests.builders.controller.rescues import running

JOIN = TaskId("shop", "join")
NOVEL = Novelty(new=True, learned=False)


def status(
    uid: str,
    started_s: float | None,
    finished_s: float | None = None,
    node: str | None = "n",
    restarts: int = 0,
) -> AttemptStatus:
    return AttemptStatus(
        uid=uid,
        phase="Running" if finished_s is None else "Succeeded",
        pod_reason=None,
        disruption=None,
        restarts=restarts,
        ended=finished_s is not None,
        terminated=None,
        container_id=None,
        submitted_s=started_s,
        started_s=started_s,
        finished_s=finished_s,
        node=node,
        being_deleted=False,
    )


@dataclass(slots=True)
class Watching:
    """Encounters with a clock that tests set, on a store of their own."""

    store: Store
    writer: Writer
    now_s: float = 1_000.0
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)
    encounters: Encounters = field(init=False)

    def __post_init__(self) -> None:
        metrics = PlacingMetrics(self.registry)
        self.encounters = Encounters(self.store, self.writer, metrics, lambda: self.now_s)

    async def matrix(self) -> Matrix:
        """The matrix, fitted again from all that it has seen."""
        await self.encounters.fit()
        return self.encounters.matrix

    def value(self, name: str) -> float:
        return self.registry.get_sample_value(f"plimsoll_placing_{name}") or 0.0

    def ends(
        self,
        uid: str,
        task: TaskId,
        times: tuple[float, float],
        outcome: Outcome = Outcome.SUCCEEDED,
    ) -> None:
        """Let its end be seen and committed."""
        beside = self.encounters.ended(task, status(uid, *times))
        made = Observation(
            attempt_uid=uid,
            task=task,
            run=uid,
            outcome=outcome,
            started_s=times[0],
            finished_s=times[1],
            node="n",
            beside=beside,
        )
        self.store.observations.record([made])
        nothing = cast(Any, None)
        self.encounters.attempt_ended(AttemptEnded(made, NOVEL, nothing, nothing, nothing))


@asynccontextmanager
async def watching(folder: Path) -> AsyncIterator[Watching]:
    store = Store.open(f"sqlite:///{folder}/store.db")
    writer = Writer(store)
    try:
        yield Watching(store, writer)
    finally:
        await writer.close()
        store.close()


async def test_a_run_is_told_what_ran_beside_it(tmp_path: Path) -> None:
    async with watching(tmp_path) as seen:
        seen.encounters.living(TRAIN, status("a", 900.0))
        seen.encounters.living(TRAIN, status("a", 900.0))
        seen.encounters.living(JOIN, status("b", 950.0))
        seen.encounters.living(JOIN, status("waits", None, node=None))
        assert seen.encounters.residents() == {"n": {str(TRAIN): 1, str(JOIN): 1}}
        assert seen.encounters.ended(TRAIN, status("a", 900.0, 1_000.0)) == {str(JOIN): 0.5}
        assert seen.encounters.residents() == {"n": {str(JOIN): 1}}


async def test_an_end_that_is_told_late_says_nothing_of_neighbours(tmp_path: Path) -> None:
    async with watching(tmp_path) as seen:
        seen.encounters.living(TRAIN, status("a", 900.0))
        seen.encounters.living(JOIN, status("b", 900.0))
        ended_s = seen.now_s - SEEN_WITHIN_S - 1
        assert seen.encounters.ended(TRAIN, status("a", 900.0, ended_s)) is None
        # For pods that still live, it was there until then.
        found = seen.encounters.ended(JOIN, status("b", 900.0, 1_000.0))
        assert found is not None
        assert found[str(TRAIN)] == pytest.approx((ended_s - 900) / 100, abs=0.001)


async def test_on_a_node_whose_clock_is_behind_ends_are_not_late(tmp_path: Path) -> None:
    behind_s = 10 * SEEN_WITHIN_S
    async with watching(tmp_path) as seen:
        for number in range(LEAST_STARTS):
            start_s = seen.now_s - behind_s
            seen.encounters.living(TRAIN, status(f"u{number}", start_s))
            seen.now_s += 100.0
        ended_s = seen.now_s - behind_s
        assert seen.encounters.ended(TRAIN, status("u0", start_s, ended_s)) is not None
        late_s = ended_s - SEEN_WITHIN_S - 1
        assert seen.encounters.ended(TRAIN, status("u1", start_s, late_s)) is None
        elsewhere = status("elsewhere", start_s, ended_s, node="other")
        assert seen.encounters.ended(TRAIN, elsewhere) is None


async def test_starts_that_were_there_before_say_nothing_of_clocks(tmp_path: Path) -> None:
    async with watching(tmp_path) as seen:
        clock_s = 0.0
        seen.encounters.first_list = FirstList(lambda: clock_s)
        seen.encounters.first_list.begin()
        for number in range(LEAST_STARTS):
            seen.encounters.living(TRAIN, status(f"u{number}", 0.0))
        seen.encounters.first_list.see(listed=False)
        clock_s = QUIET_S
        for number in range(LEAST_STARTS):  # they are seen again
            seen.encounters.living(TRAIN, status(f"u{number}", 0.0))
        late_s = seen.now_s - SEEN_WITHIN_S - 1
        assert seen.encounters.ended(TRAIN, status("u0", 0.0, late_s)) is None


async def test_a_clock_that_was_set_right_is_believed_again(tmp_path: Path) -> None:
    async with watching(tmp_path) as seen:
        for number in range(LEAST_STARTS):
            seen.encounters.living(TRAIN, status(f"u{number}", seen.now_s - 500.0))
        seen.encounters.living(TRAIN, status("right", seen.now_s - 1.0))
        late_s = seen.now_s - SEEN_WITHIN_S - 2
        assert seen.encounters.ended(TRAIN, status("u0", 0.0, late_s)) is None


@pytest.mark.parametrize(
    "ended_status",
    [
        status("a", None, 1_000.0),
        status("a", 900.0, 1_000.0, node=None),
        status("a", 1_000.0, 999.0),
    ],
)
async def test_an_end_without_times_or_node_says_nothing(
    tmp_path: Path, ended_status: AttemptStatus
) -> None:
    async with watching(tmp_path) as seen:
        seen.encounters.living(TRAIN, status("a", 900.0))
        assert seen.encounters.ended(TRAIN, ended_status) is None
        assert seen.encounters.residents() == {}


async def test_a_pod_that_is_gone_lives_no_more(tmp_path: Path) -> None:
    async with watching(tmp_path) as seen:
        seen.encounters.living(TRAIN, status("a", 900.0))
        seen.encounters.gone(status("a", 900.0))
        assert seen.encounters.residents() == {}


async def test_a_life_whose_end_was_missed_lives_no_more(tmp_path: Path) -> None:
    """Its node was cut off, and the pod has restarted twice when it is seen again."""
    async with watching(tmp_path) as seen:
        seen.encounters.living(TRAIN, status("a", 900.0))
        seen.encounters.ended(TRAIN, status("a", 910.0, 920.0, restarts=1))
        seen.encounters.living(TRAIN, status("a", 930.0, restarts=2))
        seen.encounters.ended(TRAIN, status("a", 910.0, 920.0, restarts=1))
        assert seen.encounters.residents() == {"n": {str(TRAIN): 1}}
        seen.encounters.gone(status("a", 930.0, restarts=2))
        assert seen.encounters.residents() == {}


async def test_what_ran_beside_is_unknown_until_all_pods_were_seen(tmp_path: Path) -> None:
    async with watching(tmp_path) as seen:
        clock_s = 0.0
        seen.encounters.first_list = FirstList(lambda: clock_s)
        seen.encounters.first_list.begin()
        assert seen.encounters.ended(TRAIN, status("a", 900.0, 1_000.0)) is None
        seen.encounters.first_list.see(listed=False)
        clock_s = QUIET_S
        assert seen.encounters.ended(TRAIN, status("b", 900.0, 1_000.0)) is not None


@pytest.mark.slow
@pytest.mark.parametrize("forecast_first", [False, True])
async def test_a_run_teaches_once_its_end_and_its_forecast_are_known(
    tmp_path: Path, forecast_first: bool
) -> None:
    async with watching(tmp_path) as seen:
        for number in range(30):
            uid, start_s = f"u{number}", 900.0
            seen.encounters.living(JOIN, status("beside", start_s))
            forecast = RunEnded(uid, 0.9, 25.0)
            if forecast_first:
                seen.encounters.run_ended(forecast)
            seen.ends(uid, TRAIN, (start_s, 1_000.0))
            if not forecast_first:
                seen.encounters.run_ended(forecast)
        assert seen.value("runs_learned_total") == 30
        slowdown = (await seen.matrix()).slowdown(str(TRAIN), str(JOIN))
        # It took four times as long as forecast, always beside one: part of it may be its own.
        assert slowdown.times > 1.5
        assert seen.value("tasks") == 1


async def test_runs_that_say_nothing_of_a_slowdown_teach_nothing(tmp_path: Path) -> None:
    async with watching(tmp_path) as seen:
        seen.ends("k", TRAIN, (900.0, 1_000.0), outcome=Outcome.OOM_KILLED)
        seen.ends("late", TRAIN, (100.0, 200.0))
        seen.ends("unforecast", TRAIN, (900.0, 1_000.0))
        seen.ends("short", TRAIN, (999.5, 1_000.0))
        for uid in ("k", "late", "short"):
            seen.encounters.run_ended(RunEnded(uid, 0.5, 50.0))
        seen.encounters.run_ended(RunEnded("unforecast", None))
        assert seen.value("runs_learned_total") == 0


@pytest.mark.slow
async def test_a_controller_that_starts_knows_what_the_store_knows(tmp_path: Path) -> None:
    async with watching(tmp_path) as seen:
        seen.encounters.living(JOIN, status("beside", 500.0))
        for number in range(30):
            seen.ends(f"u{number}", TRAIN, (900.0, 1_000.0))
            seen.encounters.run_ended(RunEnded(f"u{number}", 0.9, 25.0))
        scores = {f"u{number}": ForecastScore(0.9, 25.0) for number in range(30)}
        seen.store.runtimes.save(UnsavedRuntimes(through=100, scores=scores), {0})
        before = (await seen.matrix()).slowdown(str(TRAIN), str(JOIN))

        again = Watching(seen.store, seen.writer, now_s=1_010.0)
        await again.encounters.restore()
        after = again.encounters.matrix.slowdown(str(TRAIN), str(JOIN))
        assert math.isclose(after.times, before.times, rel_tol=0.1)
        # It lived through the restart, and its earlier neighbours are known.
        again.encounters.living(JOIN, status("beside", 500.0))
        again.now_s = 1_100.0
        found = again.encounters.ended(JOIN, status("beside", 500.0, 1_100.0))
        assert found is not None
        assert found[str(TRAIN)] == pytest.approx(30 * 100 / 600)
        # The neighbours of a pod that ended while nobody looked are unknown.
        assert again.encounters.ended(TRAIN, status("meanwhile", 900.0, 1_005.0)) is None


def a_partly_slowed_run(number: int, times: float) -> PlacedRun:
    """JOIN slows TRAIN by ``times`` while it is there, for a fifth of its time or more.

    Of three runs, one is TRAIN's alone, and one is JOIN's, which nobody slows.
    """
    task, beside, took_s = TRAIN, 0.2 + 0.1 * (number % 5), 100.0
    if number % 3 == 0:
        beside = 0.0
    elif number % 3 == 1:
        task = JOIN
    else:
        took_s /= 1.0 - beside * (1.0 - 1.0 / times)
    other = JOIN if task is TRAIN else TRAIN
    noise = 1.0 + 0.03 * ((number * 7) % 5 - 2)
    started_s = 1_000.0 * number
    return PlacedRun(
        kind=str(task),
        node="n",
        submitted_s=started_s,
        started_s=started_s,
        finished_s=started_s + took_s * noise,
        forecast_s=100.0,
        beside={str(other): beside} if beside else {},
    )


def takes_in(seen: Watching, placed: PlacedRun) -> None:
    uid = f"u{placed.started_s}"
    made = Observation(
        attempt_uid=uid,
        task=TaskId.parse(placed.kind),
        run=uid,
        outcome=Outcome.SUCCEEDED,
        started_s=placed.started_s,
        finished_s=placed.finished_s,
        node=placed.node,
        beside=placed.beside,
    )
    nothing = cast(Any, None)
    seen.encounters.attempt_ended(AttemptEnded(made, NOVEL, nothing, nothing, nothing))
    seen.encounters.run_ended(RunEnded(uid, 0.9, placed.forecast_s))


@pytest.mark.slow
async def test_who_goes_on_believes_what_a_controller_that_starts_would(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each run was learned by the belief of its time: for long, that JOIN slows nobody."""
    runs = [a_partly_slowed_run(number, 1.0 if number < 150 else 10.0) for number in range(450)]
    started = learned_from(runs).matrix().slowdown(str(TRAIN), str(JOIN))
    told = {}
    for every_s in (math.inf, 0.0):
        monkeypatch.setattr(encounters, "LEARN_AGAIN_EVERY_S", every_s)
        folder = tmp_path / str(every_s)
        folder.mkdir()
        async with watching(folder) as seen:
            for placed in runs:
                takes_in(seen, placed)
                await seen.encounters.fit()
            told[every_s] = (await seen.matrix()).slowdown(str(TRAIN), str(JOIN)).times
    assert told[0.0] == pytest.approx(started.times, rel=0.05)
    assert told[math.inf] != pytest.approx(started.times, rel=0.15)


@pytest.mark.slow
async def test_no_run_is_lost_that_ends_while_all_are_learned_again(tmp_path: Path) -> None:
    async with watching(tmp_path) as seen:
        for number in range(200):
            takes_in(seen, a_partly_slowed_run(number, 4.0))
        again = asyncio.create_task(seen.encounters.fit())
        more = 0
        while not again.done():
            # Fewer than are kept to be learned again, however long the fit takes.
            if more < NEWEST // 2:
                takes_in(seen, a_partly_slowed_run(1_000 + more, 4.0))
                more += 1
            await asyncio.sleep(0)
        await again
        assert more > 0
        assert seen.encounters._interference.runs == 200 + more


@pytest.mark.slow
async def test_the_ledger_writes_down_what_ran_beside(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(running("other"))
        alone = ended(a_train("alone").with_spec(nodeName="node-2"), at="2026-01-01T00:01:01Z")
        await inside.see(alone)
        await inside.see(ended(running("one"), at="2026-01-01T00:01:01Z"))
        seen = {each.run: each.beside for each in inside.store.observations.of_task(TRAIN)}
        assert list(seen.values()) == [{}, {str(TRAIN): 1.0}]


@pytest.mark.slow
@pytest.mark.parametrize("running_at_first", [True, False])
async def test_the_pods_of_a_task_that_is_switched_off_run_nowhere(
    tmp_path: Path, running_at_first: bool
) -> None:
    """Nobody sees their ends, and they may stay for days."""
    async with an_inside(tmp_path) as inside:
        controller = inside.controller
        if running_at_first:
            await inside.see(running("one"))
            assert controller.encounters.residents() == {"node-1": {str(TRAIN): 1}}
        controller.book.policies.set_namespace_spec("shop", {"mode": "off"})
        await inside.see(running("one"))
        assert controller.encounters.residents() == {}
        assert len(controller.watch.ledger.placement) == 0
        assert controller.loads._running == {}
        assert not controller.loads._is_task("uid-one")
        await inside.see(ended(running("one")))
        controller.book.policies.set_namespace_spec("shop", {"mode": "recommend"})
        await inside.see(running("two"))
        assert controller.encounters.residents() == {"node-1": {str(TRAIN): 1}}
