"""Observations and stores for the tests of the store and its users."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import Connection

from plimsoll_predictor.core.record import Observation, Outcome, PeakSource
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.store import Store

TRAIN = TaskId("shop", "train-demand")
JOIN = TaskId("shop", "join-sales")
NOON_S = 1_700_000_000.0


@dataclass(frozen=True, slots=True)
class AnAttempt:
    """Builds one observation; every step gives a new builder."""

    built: Observation

    def of(self, task: TaskId) -> AnAttempt:
        return AnAttempt(replace(self.built, task=task))

    def in_run(self, run: str) -> AnAttempt:
        return AnAttempt(replace(self.built, run=run))

    def peaking(self, peak_bytes: int | None) -> AnAttempt:
        return AnAttempt(replace(self.built, peak_bytes=peak_bytes))

    def asking(self, request_bytes: int | None) -> AnAttempt:
        return AnAttempt(replace(self.built, request_bytes=request_bytes))

    def given(self, allocation_bytes: int | None) -> AnAttempt:
        return AnAttempt(replace(self.built, allocation_bytes=allocation_bytes))

    def requesting(self, ran_bytes: int | None) -> AnAttempt:
        """With a request, after sizing; its limit stays."""
        return AnAttempt(replace(self.built, request_memory_ran_bytes=ran_bytes))

    def ending(self, outcome: Outcome) -> AnAttempt:
        return AnAttempt(replace(self.built, outcome=outcome))

    def running(self, started_s: float | None, finished_s: float | None) -> AnAttempt:
        return AnAttempt(replace(self.built, started_s=started_s, finished_s=finished_s))

    def knowing(self, **features: float | str) -> AnAttempt:
        return AnAttempt(replace(self.built, features=features))


def an_attempt(uid: str = "uid-1") -> AnAttempt:
    """One that succeeded: asked 4Gi, got 1Gi, peaked at 500 MB, ran an hour."""
    return AnAttempt(
        Observation(
            attempt_uid=uid,
            task=TRAIN,
            run=f"run-of-{uid}",
            features={"rows": 18234.0, "region": "eu"},
            outcome=Outcome.SUCCEEDED,
            request_bytes=4 * GIB,
            allocation_bytes=GIB,
            peak_bytes=500_000_000,
            peak_source=PeakSource.AGENT,
            started_s=NOON_S,
            finished_s=NOON_S + 3600,
        )
    )


def open_store(folder: Path, *, busy_timeout_s: float = 5.0, now_s: float = NOON_S) -> Store:
    """The SQLite store of a test's folder, with a clock that stands still."""
    return open_store_at(f"sqlite:///{folder}/store.db", busy_timeout_s=busy_timeout_s, now_s=now_s)


def open_store_at(url: str, *, busy_timeout_s: float = 5.0, now_s: float = NOON_S) -> Store:
    """The store of an address, with a clock that stands still."""
    return Store.open(url, clock=lambda: now_s, busy_timeout_s=busy_timeout_s)


@contextmanager
def noting_threads(store: Store) -> Iterator[set[int]]:
    """Numbers of the threads that call the database, and so may have to wait for it."""
    engine, threads = store.database.engine, set[int]()
    connect = engine.connect

    def noted() -> Connection:
        threads.add(threading.get_ident())
        return connect()

    engine.connect = noted  # type: ignore[method-assign]
    try:
        yield threads
    finally:
        engine.connect = connect  # type: ignore[method-assign]


def fill(path: Path, runs: int, padding: str = "") -> None:
    """Two kinds of runs, light and heavy, told apart by their feature; each asked for 4Gi."""
    chance = random.Random(1)
    store = Store.open(str(path))
    rows = []
    for run in range(runs):
        size = chance.random()
        peak_mib = (1500 if size > 0.7 else 200) + chance.random() * 50
        rows.append(
            Observation(
                attempt_uid=f"run-{run}",
                task=TRAIN,
                run=f"run-{run}",
                features={"size": size, **({"text": padding} if padding else {})},
                outcome=Outcome.SUCCEEDED,
                request_bytes=4 * GIB,
                allocation_bytes=4 * GIB,
                peak_bytes=int(peak_mib * MIB),
                started_s=1.7e9 + run * 100,
                finished_s=1.7e9 + run * 100 + 60,
            )
        )
    store.observations.record(rows)
    store.close()


def a_run(place: int, *, cpu_s: float | None = 1800.0, runtime_s: float = 3600.0) -> Observation:
    """An attempt that used half a core for an hour, asked for four, and ran with one."""
    at_s = NOON_S + 4000 * place
    return replace(
        an_attempt(f"uid-{place}").running(at_s, at_s + runtime_s).built,
        cpu_s=cpu_s,
        peak_cores=0.9,
        request_cores=4.0,
        allocated_cores=1.0,
    )
