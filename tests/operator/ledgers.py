"""A controller's inside without a cluster: ledger, book, store and all between, none replaced.

Its Kube points at a port where nobody listens: what would be created stays intended.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kubernetes_asyncio import client

from plimsoll_operator.annotation import DecisionNote, note_to_json
from plimsoll_operator.controller.announcer import Announcer
from plimsoll_operator.controller.attempts import AttemptLedger, Tools
from plimsoll_operator.controller.book import TaskBook
from plimsoll_operator.controller.item_needs import ItemNeeds
from plimsoll_operator.controller.kube import Kube
from plimsoll_operator.controller.learning import Learning
from plimsoll_operator.controller.nodes import ClusterNodes
from plimsoll_operator.controller.peak_book import PeakBook
from plimsoll_operator.controller.profiles import Known, ProfileKeeper
from plimsoll_operator.controller.retries import Kept, Retries
from plimsoll_operator.controller.runtimes import Runtimes
from plimsoll_operator.controller.runtimes_running import RunningRuns, Told
from plimsoll_operator.controller.runtimes_seen import RunSightings
from plimsoll_operator.controller.standings import Standings
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.labels import DECISION
from plimsoll_operator.metrics import ControllerMetrics
from plimsoll_operator.peaks import PeakReport
from plimsoll_operator.standing_facts import StandingFacts, facts_or_none
from plimsoll_operator.training.queue import TrainingQueue
from plimsoll_operator.training.spawning import Spawner
from plimsoll_predictor.decision import Bounds, Reason
from plimsoll_predictor.documents import to_document
from plimsoll_predictor.knowledge import Knowledge
from plimsoll_predictor.policy import Mode, Policy
from plimsoll_predictor.store import Store, Writer
from plimsoll_predictor.task import TaskId
from plimsoll_predictor.units import MIB
from tests.builders import APod, a_pod

TRAIN = TaskId("shop", "train")
NOBODY = "http://127.0.0.1:9"


@dataclass(slots=True)
class Inside:
    """What the tests look at."""

    ledger: AttemptLedger
    book: TaskBook
    peaks: PeakBook
    store: Store
    writer: Writer
    profiles: ProfileKeeper
    items: ItemNeeds
    metrics: ControllerMetrics
    nodes: ClusterNodes
    runtimes: Runtimes

    async def see(self, pod: APod, *, gone: bool = False) -> None:
        await self.ledger.see(pod.built(), gone=gone)

    async def report(self, *reports: PeakReport) -> None:
        """An agent's final reports: stored, then known, as the route does it."""
        self.store.peaks.put([to_document(each) for each in reports])
        self.peaks.add(reports)

    @property
    def known(self) -> Knowledge:
        return self.book.look(TRAIN)


@asynccontextmanager
async def an_inside(folder: Path, policy: Policy | None = None) -> AsyncIterator[Inside]:
    """Started on the folder's store as the controller starts: what it has added up is known."""
    store = Store.open(f"sqlite:///{folder}/store.db")
    async with client.ApiClient(client.Configuration(host=NOBODY)) as api:
        kube, writer = Kube(api), Writer(store)
        book = TaskBook(policy or Policy(mode=Mode.ENFORCE), lambda _: None)
        announcer = Announcer(kube, store, writer, _now_s, "test")
        standings = Standings(store, writer, book)

        async def experts(task: TaskId) -> StandingFacts | None:
            return facts_or_none(await standings.standing(task), await standings.pool(task))

        profiles = ProfileKeeper(kube, store, writer, Known(book, experts, announcer.tell), _now_s)
        retries = Retries(kube, Kept(store, writer), announcer, book.pauses, _now_s)
        queue = TrainingQueue(Spawner(store_url="", command=("false",)), store, _nothing)
        learning = Learning(book, profiles, queue, store, writer)
        items = ItemNeeds(FeedBoard("test"))
        items.restore(store.observations.item_needs())
        metrics, nodes = ControllerMetrics(), ClusterNodes()
        running = RunningRuns(Told(announcer.tell, profiles.mark), metrics.runs, _now_s)
        runtimes = await _runtimes(store, writer, running)
        ledger: AttemptLedger
        peaks = PeakBook(on_final=lambda pod_uid: ledger.peak_came(pod_uid))
        ledger = AttemptLedger(
            Tools(
                store=store,
                writer=writer,
                book=book,
                peaks=peaks,
                learning=learning,
                standings=standings,
                sightings=RunSightings(writer, runtimes, running),
                items=items,
                retries=retries,
                announcer=announcer,
                bounds=lambda _: Bounds(),
                nodes=nodes,
                metrics=metrics,
                now_s=_now_s,
            )
        )
        summary = store.totals.of(TRAIN)
        book.add_up(TRAIN, summary.runs_known, summary.max_need_bytes)
        try:
            yield Inside(
                ledger, book, peaks, store, writer, profiles, items, metrics, nodes, runtimes
            )
        finally:
            await retries.close()
            await queue.close()
            await writer.close()
            store.close()


async def _runtimes(store: Store, writer: Writer, running: RunningRuns) -> Runtimes:
    runtimes = Runtimes(store, writer, running)
    running.noted = runtimes.told
    await runtimes.restore()
    return runtimes


def ended(
    pod: APod,
    reason: str = "Completed",
    exit_code: int = 0,
    *,
    phase: str | None = None,
    at: str = "2026-01-01T00:01:00Z",
) -> APod:
    """The pod's sized container has ended."""
    terminated = {
        "reason": reason,
        "exitCode": exit_code,
        "startedAt": "2026-01-01T00:00:00Z",
        "finishedAt": at,
        "containerID": "containerd://main",
    }
    return pod.with_status(
        phase=phase or ("Succeeded" if exit_code == 0 else "Failed"),
        containerStatuses=[
            {
                "name": "main",
                "restartCount": 0,
                "containerID": "containerd://main",
                "state": {"terminated": terminated},
            }
        ],
    )


def killed(pod: APod, **how: Any) -> APod:
    return ended(pod, "OOMKilled", 137, **how)


def a_train(name: str = "train-1", memory: str = "128Mi") -> APod:
    return a_pod().named(name, uid=f"uid-{name}").asking(memory).limited(memory)


def decided(pod: APod, *, attempt: int = 1, mode: Mode = Mode.ENFORCE) -> APod:
    """As admission leaves it."""
    note = DecisionNote(
        task=str(TRAIN),
        run=None,
        attempt=attempt,
        allocation_bytes=128 * MIB,
        was_request_bytes=128 * MIB,
        was_limit_bytes=128 * MIB,
        bin=None,
        probability=None,
        model=None,
        reason=Reason.KEPT,
        why="a test says so",
        mode=mode,
        container="main",
    )
    return pod.annotated({DECISION: note_to_json(note)})


def a_final(pod: str = "train-1", need_bytes: int = 90 * MIB) -> PeakReport:
    """What the agent says of a whole pod at last."""
    return PeakReport(
        pod_uid=f"uid-{pod}",
        container_id=None,
        need_peak_bytes=need_bytes,
        kernel_peak_bytes=need_bytes,
        working_set_peak_bytes=need_bytes,
        anon_peak_bytes=need_bytes,
        cpu_s=1.0,
        limit_bytes=128 * MIB,
        final=True,
        measured_s=1_767_225_665.0,
    )


async def _nothing(_: object) -> None:
    """What follows a training is not looked at here."""


def _now_s() -> float:
    return 1_767_225_660.0
