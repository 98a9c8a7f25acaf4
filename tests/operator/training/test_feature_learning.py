"""A separate process fits what features say about runtimes, when enough is new."""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from plimsoll_operator.training.feature_learning import (
    COMMAND,
    FIT_ANYWAY_S,
    TRY_AGAIN_S,
    FeatureLesson,
    should_fit,
)
from plimsoll_operator.training.features import fit_and_keep
from plimsoll_operator.training.store_learning import StoreLearning
from plimsoll_predictor.core.record import Outcome
from plimsoll_predictor.runtimes.features.fitting import GROWTH, LEAST_RUNS
from plimsoll_predictor.store import LastTry, Store, Writer
from tests.builders.runtimes.telling_pasts import AFTER_S, NIGHTLY, timed_runs

FITS = (sys.executable, "-c", """print('{"ok": true, "words": "fitted"}')""")
FAILS = (
    sys.executable,
    "-c",
    """print('{"ok": false, "message": "no luck"}'); raise SystemExit(1)""",
)


@dataclass(slots=True)
class Yard:
    """A store and its fitting process. heard: times the controller was told. now_s: the clock."""

    store: Store
    learning: StoreLearning
    heard: list[str]
    now_s: float = AFTER_S


@asynccontextmanager
async def a_yard(folder: Path, command: Sequence[str] = COMMAND) -> AsyncIterator[Yard]:
    url, heard = f"sqlite:///{folder}/plimsoll.db", list[str]()
    store = Store.open(url)
    writer = Writer(store)
    yard: Yard
    lesson = FeatureLesson(
        store=store,
        writer=writer,
        now_s=lambda: yard.now_s,
        fitted=lambda: heard.append("fitted"),
        command=command,
    )
    learning = StoreLearning(lesson=lesson, store_url=url, turn=asyncio.Semaphore(1))
    yard = Yard(store, learning, heard)
    try:
        yield yard
    finally:
        await writer.close()
        store.close()


def record(store: Store, runs: int) -> None:
    """Their request says which of them take ten times as long."""
    dice = random.Random(3)
    long = [dice.random() < 0.5 for _ in range(runs)]
    found = timed_runs([(60.0, 600.0)[each] + dice.uniform(0, 7) for each in long], NIGHTLY)
    store.observations.record(
        [
            replace(run, requested_s=(100.0, 1000.0)[each])
            for run, each in zip(found, long, strict=True)
        ]
    )


@pytest.mark.parametrize(
    ("last", "known", "due"),
    [
        pytest.param(None, LEAST_RUNS - 1, False, id="too few runs"),
        pytest.param(None, LEAST_RUNS, True, id="enough for the first time"),
        pytest.param((TRY_AGAIN_S - 1, 1000, None), 9000, False, id="not twice in an hour"),
        pytest.param((TRY_AGAIN_S, 1000, None), int(1000 * GROWTH), True, id="enough is new"),
        pytest.param((TRY_AGAIN_S, 1000, None), int(1000 * GROWTH) - 1, False, id="nearly"),
        pytest.param((TRY_AGAIN_S, 1000, "no luck"), 1000, True, id="again after a failure"),
        pytest.param((FIT_ANYWAY_S, 1000, None), 1001, True, id="a week, and one is new"),
        pytest.param((FIT_ANYWAY_S, 1000, None), 1000, False, id="a week, and none is new"),
        pytest.param((FIT_ANYWAY_S, 1000, None), 900, True, id="old ones were pruned"),
    ],
)
def test_when_to_fit(last: tuple[float, int, str | None] | None, known: int, *, due: bool) -> None:
    before = None
    if last is not None:
        ago_s, then, failure = last
        before = LastTry(AFTER_S - ago_s, then, failure)
    assert should_fit(before, known, AFTER_S) is due


@pytest.mark.parametrize("failure", [None, "no luck"])
def test_a_fit_in_the_future_by_a_clock_that_was_ahead_counts_as_long_ago(
    failure: str | None,
) -> None:
    ahead = LastTry(AFTER_S + 4 * 30 * 86400, LEAST_RUNS, failure)
    assert should_fit(ahead, LEAST_RUNS + 1, AFTER_S)


@pytest.mark.slow
async def test_a_process_fits_and_keeps_an_expert(tmp_path: Path) -> None:
    async with a_yard(tmp_path) as yard:
        record(yard.store, LEAST_RUNS + 50)
        assert await yard.learning.look()
        assert yard.heard == ["fitted"]
        assert yard.store.features.fitted() is not None
        explanation = yard.store.features.explanation()
        assert explanation is not None
        assert "requested time" in explanation.effects[0].feature
        last = yard.store.features.last_try()
        assert last is not None
        yard.now_s = last.at_s + 1
        assert not await yard.learning.look()


@pytest.mark.slow
async def test_too_few_runs_start_no_process(tmp_path: Path) -> None:
    async with a_yard(tmp_path, FITS) as yard:
        record(yard.store, LEAST_RUNS - 1)
        assert not await yard.learning.look()
        assert yard.heard == []
        record(yard.store, LEAST_RUNS)
        assert await yard.learning.look()


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.OOM_KILLED])
async def test_attempts_that_taught_nothing_start_no_process(
    tmp_path: Path, outcome: Outcome
) -> None:
    async with a_yard(tmp_path, FITS) as yard:
        runs = timed_runs([60.0] * (LEAST_RUNS + 100), NIGHTLY)
        yard.store.observations.record([replace(run, outcome=outcome) for run in runs])
        assert not await yard.learning.look()


async def test_where_too_few_succeeded_it_waits_for_more_and_does_not_fail(tmp_path: Path) -> None:
    """Evicted attempts count before they are looked at, but nothing can be fitted to them."""
    async with a_yard(tmp_path, FITS) as yard:
        runs = timed_runs([60.0] * (LEAST_RUNS + 100), NIGHTLY)
        yard.store.observations.record([replace(run, outcome=Outcome.EVICTED) for run in runs])
        words = fit_and_keep(yard.store, AFTER_S)
        assert words == f"not fitted yet: 0 of {LEAST_RUNS} runs have succeeded"
        assert yard.store.features.last_try() == LastTry(AFTER_S, LEAST_RUNS + 100)
        yard.now_s += TRY_AGAIN_S
        assert not await yard.learning.look()


@pytest.mark.slow
async def test_a_failure_is_kept_and_tried_again_after_an_hour(tmp_path: Path) -> None:
    async with a_yard(tmp_path, FAILS) as yard:
        record(yard.store, LEAST_RUNS)
        assert not await yard.learning.look()
        assert yard.heard == []
        failed = yard.store.features.last_try()
        assert failed == LastTry(AFTER_S, LEAST_RUNS, "no luck")
        yard.now_s += TRY_AGAIN_S - 1
        assert not await yard.learning.look()
        assert yard.store.features.last_try() == failed
        yard.now_s += 1
        assert not await yard.learning.look()
        assert yard.store.features.last_try() != failed
