"""What enforcing would have done, counted in recommend mode, compared with a replay."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from plimsoll_operator.profile.facts import ProfileFacts
from plimsoll_operator.profile.standing_facts import standing_facts
from plimsoll_operator.profile.status import status_of
from plimsoll_operator.sizing.pod_sizing import size
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.units import GIB, MIB, gb_hours
from plimsoll_predictor.experts.charging import DECIDED, GIVEN, EndedRun, Would
from plimsoll_predictor.knowledge.knowledge import Knowledge
from plimsoll_predictor.replay.sizes.engine import replay
from plimsoll_predictor.replay.sizes.product import ProductSizer
from plimsoll_predictor.replay.sizes.sizer import Knobs
from plimsoll_predictor.store import TaskSummary
from tests.builders.controller.ledgers import TRAIN, Inside, a_final, an_inside, ended
from tests.builders.experts.standings import a_fleet
from tests.builders.pods import APod, a_pod
from tests.builders.replays import RunBuilder

REQUEST_BYTES = 4 * GIB
MINUTE = EndedRun(need_bytes=300 * MIB, runtime_s=3600.0, request_bytes=REQUEST_BYTES)


@dataclass(frozen=True)
class PastRun:
    """A run's need and runtime."""

    need_bytes: int
    minutes: int


def history(seed: int, n: int = 80) -> list[PastRun]:
    """Runs of one level, and some far above it, which a learned size kills."""
    chance = random.Random(seed)
    return [
        PastRun(
            round(chance.gauss(400, 40) * (chance.choice((2, 3)) if chance.random() < 0.08 else 1))
            * MIB,
            chance.randint(1, 9),
        )
        for _ in range(n)
    ]


def a_train(name: str) -> APod:
    return a_pod().named(name, uid=f"uid-{name}").asking(REQUEST_BYTES).limited(REQUEST_BYTES)


async def ran(inside: Inside, number: int, run: PastRun) -> None:
    """Decide a run by what is known now without changing it, observe it, and learn from it."""
    pod = a_train(f"train-{number}")
    decided = pod.patched(size(pod.built(), AdmissionState(tasks={TRAIN: inside.known})).patch)
    assert decided.built()["spec"] == pod.built()["spec"]
    await inside.see(decided)
    final = a_final(f"train-{number}", run.need_bytes)
    await inside.report(replace(final, measured_s=final.measured_s + 60 * run.minutes))
    await inside.see(ended(decided, at=f"2026-01-01T00:{run.minutes:02}:00Z"))
    await inside.controller.standings.fold()


async def recommended(folder: Path, runs: list[PastRun]) -> Would:
    """Recommend mode's counts over a task's life."""
    async with an_inside(folder, Mode.RECOMMEND) as inside:
        for number, run in enumerate(runs):
            await ran(inside, number, run)
        standing = inside.controller.standings.held(TRAIN)
        assert standing is not None
        return standing.would


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
async def test_what_recommend_mode_counts_is_what_a_replay_of_the_same_runs_finds(
    tmp_path: Path, seed: int
) -> None:
    runs = history(seed)
    would = await recommended(tmp_path, runs)
    day_s = 86_400.0
    rows = [
        RunBuilder()
        .line(number + 2)
        .of("train")
        .asking(REQUEST_BYTES)
        .needing(run.need_bytes)
        .at(number * day_s, number * day_s, number * day_s + 60 * run.minutes)
        .row
        for number, run in enumerate(runs)
    ]
    replayed = replay(rows, ProductSizer(Knobs()))
    asked = sum(gb_hours(REQUEST_BYTES, 60 * run.minutes) for run in runs)
    needed = sum(gb_hours(run.need_bytes, 60 * run.minutes) for run in runs)
    wasted = sum(row.waste_gb_h for row in replayed.rows)
    killed = sum(row.failed_attempts > 0 for row in replayed.rows)
    assert killed > 0
    assert (would.runs, would.killed) == (len(runs), killed)
    assert would.asked_gb_h == pytest.approx(asked)
    assert would.decided_gb_h == pytest.approx(needed + wasted, rel=0.01)


@pytest.mark.slow
async def test_a_restart_counts_nothing_twice_and_forgets_nothing(tmp_path: Path) -> None:
    runs = history(7, n=12)
    (tmp_path / "whole").mkdir()
    whole = await recommended(tmp_path / "whole", runs)
    for number, run in enumerate(runs):
        async with an_inside(tmp_path, Mode.RECOMMEND) as inside:
            standings = inside.controller.standings
            await standings.restore()
            await ran(inside, number, run)
            if number % 2:
                await standings.save()
            standing = standings.held(TRAIN)
    assert standing is not None
    assert standing.would == whole


@pytest.mark.slow
async def test_enforced_runs_are_not_counted_as_recommended(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        pod = a_train("train-1")
        decided = pod.patched(size(pod.built(), AdmissionState(tasks={TRAIN: inside.known})).patch)
        await inside.see(decided)
        bids = inside.store.experts.bids("uid-train-1")
        assert DECIDED not in (bids or {})
        assert (bids or {})[GIVEN] > 0


def test_a_size_that_fits_is_held_for_the_runs_time() -> None:
    would = Would()
    would.add(400 * MIB, MINUTE, largest_bytes=300 * MIB)
    assert (would.runs, would.killed) == (1, 0)
    assert would.saved_gb_h == pytest.approx(gb_hours(REQUEST_BYTES - 400 * MIB, 3600))


def test_a_size_too_small_is_paid_for_until_a_lift_fits() -> None:
    would = Would()
    would.add(200 * MIB, MINUTE, largest_bytes=0)
    assert would.killed == 1
    assert would.decided_gb_h == pytest.approx(gb_hours((200 + 400) * MIB, 3600))


def test_no_lift_goes_beyond_the_request_where_that_is_a_step() -> None:
    would, run = Would(), replace(MINUTE, need_bytes=float(REQUEST_BYTES))
    would.add(3 * GIB, run, largest_bytes=0)
    assert would.decided_gb_h == pytest.approx(gb_hours(3 * GIB + REQUEST_BYTES, 3600))


def test_a_run_that_asked_for_nothing_has_nothing_to_be_compared_with() -> None:
    would = Would()
    would.add(3 * GIB, replace(MINUTE, request_bytes=None), largest_bytes=0)
    assert would == Would()


def status_in(mode: Mode, would: Would) -> dict[str, object]:
    fleet = a_fleet(task=TRAIN)
    standing = fleet.standing(str(TRAIN))
    standing.would = would
    facts = ProfileFacts(
        knowledge=Knowledge(task=TRAIN, policy=Policy(mode=mode), runs=40),
        tally=TaskSummary(task=TRAIN),
        standing=standing_facts(standing, fleet.pool),
    )
    return status_of(facts, now_s=0.0)


COUNTED = Would(runs=40, asked_gb_h=20.0, decided_gb_h=7.6, killed=2)


def test_in_recommend_mode_the_status_says_what_enforcing_would_have_saved_and_killed() -> None:
    status = status_in(Mode.RECOMMEND, COUNTED)
    assert (status["wouldRuns"], status["wouldSave"]) == (40, "62% (12.4 GB·h)")
    assert (status["wouldSaveGbH"], status["wouldKill"], status["wouldKillShare"]) == (
        12.4,
        2,
        0.05,
    )
    assert status["wouldAskedGbH"] == 20.0
    about = status["about"]
    assert isinstance(about, list)
    assert any(words.startswith("Enforcing would have saved 62% (12.4 GB·h)") for words in about)
    assert any("killed 2 of them at the first size (5.0%)" in words for words in about)


@pytest.mark.parametrize(
    ("mode", "would"),
    [
        pytest.param(Mode.ENFORCE, COUNTED, id="what was enforced is told by what was saved"),
        pytest.param(Mode.RECOMMEND, Would(), id="nothing was decided"),
    ],
)
def test_elsewhere_it_says_nothing_of_it(mode: Mode, would: Would) -> None:
    status = status_in(mode, would)
    fields = ("wouldRuns", "wouldSave", "wouldSaveGbH", "wouldAskedGbH", "wouldKill")
    assert [status[field] for field in (*fields, "wouldKillShare")] == [None] * 6
