"""A store with many tasks as a cluster has them, a controller's knowledge of them, and the page."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from plimsoll_operator.controller.serving.page_routes import LiveTasks, page_app
from plimsoll_operator.controller.tasks.book import TaskBook
from plimsoll_operator.processes.serving import listening
from plimsoll_operator.profile.facts import Measurement, ProfileFacts, TrainingFact
from plimsoll_operator.profile.runtime_status import RuntimeFacts
from plimsoll_operator.profile.standing_facts import standing_facts
from plimsoll_operator.profile.status import status_of
from plimsoll_operator.views.runtimes.stored_forecasts import READ_RUNS, stored_forecast, succeeded
from plimsoll_operator.web.page.rows import Live
from plimsoll_operator.web.page.serving import Pages
from plimsoll_operator.wording.lending_words import LendingNow
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.record import Observation, Outcome, PeakSource
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GIB, MIB, words_for_bytes
from plimsoll_predictor.experts.charging import EndedRun
from plimsoll_predictor.experts.panel import words_for_expert
from plimsoll_predictor.experts.standing import Ended
from plimsoll_predictor.experts.task_standings import TaskStandings
from plimsoll_predictor.knowledge.knowledge import Knowledge
from plimsoll_predictor.model.task_model import Model
from plimsoll_predictor.store import DecisionRecord, Store
from tests.builders.controller.books import books
from tests.builders.experts.serving import a_model as a_model_of_bins
from tests.builders.experts.standings import a_fleet, keep
from tests.builders.reports import START_S, TASK, a_life, a_training_report

MODES = {"shop": "enforce", "lab": "recommend", "risk": "recommend", "genomics": "enforce"}
VERBS = ("train", "join", "score", "fold", "align", "merge", "index", "call", "rank", "clean")
NOUNS = ("demand", "sales", "churn", "reads", "variants", "prices", "clicks", "images", "routes")
CEILINGS_MIB = (160, 240, 320, 450, 700, 1100, 1800)
CONFUSION = tuple(
    tuple(max(0, 41 - 5 * row if row == column else 2 - abs(row - column)) for column in range(7))
    for row in range(7)
)


@dataclass(slots=True)
class ACluster:
    """A store with tasks in it, and the controller's knowledge of them."""

    store: Store
    fleet: TaskStandings
    book: TaskBook = field(default_factory=lambda: books().book)
    statuses: dict[TaskId, Mapping[str, Any]] = field(default_factory=dict)
    lending: LendingNow | None = None

    @property
    def live(self) -> LiveTasks:
        return LiveTasks(self.book, lambda task: self.statuses.get(task, {}), lambda: self.lending)

    def take_up(self) -> None:
        """Know what the store knows, as the controller does, and write every profile's status."""
        for namespace, mode in MODES.items():
            self.book.policies.set_namespace_spec(namespace, {"mode": mode})
        for task, summary in self.store.totals.by_task().items():
            saved = self.store.models.newest(task)
            known = Knowledge(
                task=task,
                policy=Policy(),
                runs=summary.runs_known,
                max_need_bytes=summary.max_need_bytes,
                champion=self.fleet.standing(str(task)).champion,
                model=saved.model if saved else None,
            )
            self.book.restore(known)
            self.statuses[task] = self._status(task)

    def _status(self, task: TaskId) -> dict[str, Any]:
        known, summary = self.book.look(task), self.store.totals.of(task)
        last = self.store.trainings.last(task)
        facts = ProfileFacts(
            knowledge=known,
            tally=summary,
            decisions=[each.words for each in self.store.decisions.newest(task, limit=10)],
            training=TrainingFact(at_s=last.at_s, failure=last.failure) if last else None,
            standing=standing_facts(self.fleet.standing(str(task)), self.fleet.pool),
            measurement=Measurement(PeakSource.AGENT),
            runtime=self._runtime(task),
        )
        return status_of(facts, now_s=START_S)

    def _runtime(self, task: TaskId) -> RuntimeFacts:
        past = self.store.runtimes.history(task, limit=READ_RUNS)
        found = stored_forecast(self.store, task, START_S, past)
        return RuntimeFacts(found.forecast, [each.ran_s for each in succeeded(past)])


def a_cluster(store: Store, tasks: int, seed: int = 7) -> ACluster:
    """That many tasks, among them the one that has everything to show: shop/train-demand."""
    dice = random.Random(seed)
    runs = [each for index in range(tasks) for each in some_runs(dice, a_name(index))]
    store.observations.record(runs)
    fleet = a_fleet()
    for each in runs:
        if each.outcome is Outcome.SUCCEEDED and each.attempt == 1:
            _learn(fleet, each)
    keep(store, fleet)
    a_telling_task(store)
    for task in map(a_name, range(tasks)):
        store.keep(decided=[a_decision(task, fleet.standing(str(task)).champion)])
    cluster = ACluster(store, fleet)
    cluster.take_up()
    return cluster


def _learn(fleet: TaskStandings, each: Observation) -> None:
    assert each.peak_bytes
    assert each.runtime_s
    run = EndedRun(
        need_bytes=float(each.peak_bytes),
        runtime_s=each.runtime_s,
        request_bytes=float(each.request_bytes or 0),
    )
    standing = fleet.standing(str(each.task))
    bids = standing.bids(run.request_bytes, {})
    decided = bids.get(standing.champion) if MODES[each.task.namespace] == "recommend" else None
    ended = Ended(run=run, features={}, bids=None, overhead_s=2400.0, decided_bytes=decided)
    fleet.learn(str(each.task), ended)


def a_decision(task: TaskId, champion: str) -> DecisionRecord:
    """The decision of its last pod."""
    return DecisionRecord(
        task=task,
        attempt_uid=f"decided-{task}",
        at_s=START_S + 86_400 * 2,
        words=f"{champion}: {words_for_expert(champion)}",
        allocation_bytes=600 * MIB,
        request_bytes=4 * GIB,
        reason="predicted",
    )


def a_name(index: int) -> TaskId:
    """Tasks' names as people give them, each once."""
    namespaces = tuple(MODES)
    verb, noun = VERBS[index % len(VERBS)], NOUNS[index // len(VERBS) % len(NOUNS)]
    rest = index // (len(VERBS) * len(NOUNS))
    suffix = "" if rest < len(namespaces) else f"-{rest // len(namespaces)}"
    return TaskId(
        namespaces[rest % len(namespaces)], f"{verb}-{noun}{suffix}".replace("n-demand", "n-stock")
    )


def some_runs(dice: random.Random, task: TaskId) -> list[Observation]:
    """A few runs; in enforce mode they are sized, and now and then one is killed and lifted."""
    middle = dice.choice([120, 400, 900, 2600, 9000])
    request = dice.choice([2, 4, 8]) * 2 ** (middle.bit_length() - 8) * GIB // 2
    attempts: list[Observation] = []
    at_s = START_S + dice.randrange(86_400)
    for place in range(dice.randrange(2, 40)):
        need = int(dice.lognormvariate(0, 0.25) * middle * MIB)
        sized = MODES[task.namespace] == "enforce" and place > 4
        allocation = int(1.35 * middle * MIB) if sized else max(request, 2 * need)
        at_s += dice.randrange(300, 9000)
        base = Observation(
            attempt_uid=f"{task}-{place}-1",
            task=task,
            run=f"{task.name}-{place:04d}",
            outcome=Outcome.SUCCEEDED,
            request_bytes=max(request, 2 * need),
            allocation_bytes=allocation,
            peak_bytes=need,
            peak_source=PeakSource.AGENT,
            started_s=at_s,
            finished_s=at_s + dice.randrange(60, 5400),
        )
        if need <= allocation:
            attempts.append(base)
            continue
        attempts.append(replace(base, outcome=Outcome.OOM_KILLED, peak_bytes=allocation))
        lifted = replace(base, attempt_uid=f"{task}-{place}-2", attempt=2)
        attempts.append(replace(lifted, allocation_bytes=2 * need))
    return attempts


def a_telling_task(store: Store) -> None:
    """shop/train-demand: history, sized runs, kills and lifts, a model of seven bins, experts."""
    store.observations.record(a_life(38))
    store.models.save(TASK, a_telling_model(), a_training_report())
    for place in range(6):
        ceiling = CEILINGS_MIB[place % 4 + 1] * MIB
        words = (
            f"bin {place % 4 + 2} of 7 (up to {words_for_bytes(ceiling)}): 97% of its probability"
            " lies at or below; rows 434300, region coast"
        )
        store.keep(
            decided=[
                DecisionRecord(
                    task=TASK,
                    attempt_uid=f"decided-{place}",
                    at_s=START_S + 86_400 * 30 + 90 * (54 + place),
                    words=words,
                    allocation_bytes=ceiling,
                    request_bytes=4 * GIB,
                    reason="predicted",
                )
            ]
        )


def a_telling_model() -> Model:
    """A real classifier of seven bins, with the figures of a long past."""
    model = a_model_of_bins(*CEILINGS_MIB)
    metrics = replace(model.metrics, confusion=CONFUSION, u_score=10.2, accuracy=0.975)
    return replace(
        model, task=str(TASK), version="", metrics=metrics, trained_s=START_S, observations=212
    )


@contextmanager
def served(store: Store, live: Live) -> Iterator[str]:
    """The page on a port of its own, as the controller serves it; gives its address."""
    ready, stop = threading.Event(), threading.Event()
    found: list[str] = []

    async def serve() -> None:
        pages = Pages(store, live, time.monotonic)
        pages.warm()
        async with listening(page_app(pages, "127.0.0.1"), "127.0.0.1", 0) as port:
            found.append(f"http://127.0.0.1:{port}")
            ready.set()
            while not stop.is_set():
                await asyncio.sleep(0.05)
        pages.close()

    thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
    thread.start()
    assert ready.wait(180), "the page's server did not start"
    try:
        yield found[0]
    finally:
        stop.set()
        thread.join(20)
