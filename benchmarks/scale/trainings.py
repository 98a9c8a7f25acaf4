"""`make bench-trainings`: rounds of trainings on PostgreSQL, by one worker, by two, and with kills.

The third round has two workers; again and again, one of the two is killed. With --sample, two
workers train all tasks in a fourth round.

Workers are the processes that a Job's pods run. They are started as the Job's controller does it:
one index after another, a fixed number at once, and failed ones again. The figures leave out the
start of pods.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.scale import results_file
from plimsoll_operator.training.round_job import SHARDS_A_WORKER
from plimsoll_predictor.core.record import Observation, Outcome, PeakSource
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.store import DueTraining, Store, Work, WorkKind
from tests.rigs.servers.databases import postgresql_server

WORKER: Final = (sys.executable, "-P", "-m", "plimsoll_operator.processes.training_worker")
RUNS: Final = 40
NOW_S: Final = 1_790_000_000.0
LEAST_SPEEDUP: Final = 1.7
MANY: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """How a round went. kills: of workers. seconds: from the first worker's start on."""

    workers: int
    trainings: int
    seconds: float
    kills: int
    twice: int
    missing: int
    failed: int

    @property
    def seconds_each(self) -> float:
        """Seconds per training, whichever worker did it."""
        return self.seconds / max(self.trainings, 1)


@dataclass(frozen=True, slots=True)
class Size:
    """tasks: each with ``RUNS`` runs of one feature. budget_s: of a training's search."""

    tasks: int
    budget_s: float


def fill(store: Store, tasks: int) -> None:
    """Two kinds of runs in each task, light and heavy ones, separated by a feature."""
    draws = random.Random(1)
    for number in range(tasks):
        task = TaskId("bench", f"task-{number:05}")
        store.observations.record([_run(task, run, draws) for run in range(RUNS)])


def _run(task: TaskId, run: int, draws: random.Random) -> Observation:
    size = draws.random()
    peak_mib = (1500 if size > 0.7 else 200) * math.exp(draws.gauss(0, 0.05))
    return Observation(
        attempt_uid=f"{task.name}-{run}",
        task=task,
        run=f"run-{run}",
        features={"size": size},
        outcome=Outcome.SUCCEEDED,
        request_bytes=4 * GIB,
        allocation_bytes=4 * GIB,
        peak_bytes=int(peak_mib * MIB),
        peak_source=PeakSource.AGENT,
        started_s=NOW_S + 100 * run,
        finished_s=NOW_S + 100 * run + 60,
    )


class Pods:
    """Starts workers as the Job's controller does, and kills some on request."""

    def __init__(self, url: str, size: Size, workers: int) -> None:
        self._words = ("--budget", str(size.budget_s), "--store", url)
        self._workers = workers
        self._indexes = list(range(workers * SHARDS_A_WORKER))
        self._running: dict[int, subprocess.Popen[bytes]] = {}

    def go(self, round_: str, tick: Callable[[], None], kill_every_s: float | None) -> int:
        """Run until every index has succeeded; return how many workers were killed."""
        draws, kills = random.Random(2), 0
        due_s = math.inf if kill_every_s is None else time.monotonic() + kill_every_s
        while self._indexes or self._running:
            while self._indexes and len(self._running) < self._workers:
                index = self._indexes.pop(0)
                words = (*WORKER, "--round", round_, "--shard", str(index), *self._words)
                self._running[index] = subprocess.Popen(
                    words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
                )
            time.sleep(0.2)
            tick()
            if time.monotonic() > due_s and kill_every_s is not None and self._running:
                draws.choice(list(self._running.values())).send_signal(signal.SIGKILL)
                kills += 1
                due_s = time.monotonic() + draws.uniform(0.5, 1.5) * kill_every_s
            for index, process in list(self._running.items()):
                if (status := process.poll()) is not None:
                    del self._running[index]
                    if status != 0:
                        self._indexes.append(index)
        return kills


def play(store: Store, url: str, size: Size, workers: int, kill_every_s: float | None) -> Round:
    """Have the first ``size.tasks`` tasks trained, and count the results."""
    name = f"bench-{workers}-{time.time_ns()}"
    before = _trained(store)
    store.due.ask(
        DueTraining(work=Work(WorkKind.MODEL, TaskId.parse(task)), why="bench", since_s=NOW_S)
        for task in sorted(str(each) for each in store.totals.by_task())[: size.tasks]
    )
    planned = store.due.plan(name, size.tasks, workers * SHARDS_A_WORKER)
    began_s = time.monotonic()
    with Progress(console=Console(stderr=True)) as progress:
        bar = progress.add_task(f"{workers} workers", total=planned)
        kills = Pods(url, size, workers).go(
            name,
            lambda: progress.update(bar, completed=store.due.backlog().ended),
            kill_every_s,
        )
    seconds = time.monotonic() - began_s
    failed = 0
    while ended := store.due.ended():
        failed += sum(each.failure is not None for each in ended)
        store.due.forget_ended(ended)
    new = _trained(store) - before
    return Round(
        workers=workers,
        trainings=planned,
        seconds=seconds,
        kills=kills,
        twice=sum(count - 1 for count in new.values()),
        missing=size.tasks - len(new),
        failed=failed,
    )


def _trained(store: Store) -> Counter[str]:
    return Counter(str(each.task) for each in store.trainings.untracked(limit=1_000_000))


@contextlib.contextmanager
def a_store(size: Size) -> Iterator[tuple[Store, str]]:
    """A new database with the tasks."""
    with postgresql_server() as server:
        url = server.url(server.new_database(empty=True))
        with contextlib.closing(Store.open(url)) as store:
            fill(store, size.tasks)
            yield store, url


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, write. Returns 0 if every bound holds."""
    parser = argparse.ArgumentParser(prog="benchmarks.scale.trainings", description=__doc__)
    parser.add_argument("--tasks", type=int, default=1_000)
    parser.add_argument(
        "--sample", type=int, help="tasks that one worker, two, and two that are killed train; all"
    )
    parser.add_argument("--budget", type=float, default=60.0, help="seconds of each search")
    chosen = parser.parse_args(arguments)
    size = Size(chosen.tasks, chosen.budget)
    sample = replace(size, tasks=min(chosen.sample or size.tasks, size.tasks))
    with a_store(size) as (store, url):
        one = play(store, url, sample, 1, None)
        two = play(store, url, sample, 2, None)
        killed = play(store, url, sample, 2, max(5.0, one.seconds / 40))
        rounds = [one, two, killed]
        if sample != size:
            rounds.append(play(store, url, size, 2, None))
    # Over the same tasks: each worker's start counts less among many.
    speedup = one.seconds / two.seconds
    found = {
        "rounds": [asdict(each) for each in rounds],
        "speedup": speedup,
        "hours_of_10000_by_8_workers": MANY * one.seconds_each / 8 / 3600,
    }
    results_file.keep({"trainings": found})
    Console().print(_table(rounds, speedup))
    lost = sum(each.twice + each.missing for each in rounds)
    return 0 if speedup >= LEAST_SPEEDUP and not lost else 1


def _table(rounds: Sequence[Round], speedup: float) -> Table:
    title = f"two workers are {speedup:.2f} times as fast as one (bound {LEAST_SPEEDUP:g})"
    table = Table(title=title)
    for column in ("workers", "trainings", "s", "s each", "killed", "twice", "missing", "failed"):
        table.add_column(column, justify="right")
    for each in rounds:
        table.add_row(
            str(each.workers),
            f"{each.trainings:,}",
            f"{each.seconds:,.0f}",
            f"{each.seconds_each:.2f}",
            *(str(count) for count in (each.kills, each.twice, each.missing, each.failed)),
        )
    return table


if __name__ == "__main__":
    sys.exit(main())
