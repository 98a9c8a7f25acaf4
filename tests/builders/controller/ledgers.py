"""A controller's inside without a cluster: ledger, book, store and all parts between, all real.

Its Kube points at a port where nobody listens, unless a test has a server of pods, so pods that it
would create stay intended.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from kubernetes_asyncio import client

from plimsoll_operator.attempts.peaks import PeakReport
from plimsoll_operator.controller.controller import Controller
from plimsoll_operator.controller.settings import ControllerSettings
from plimsoll_operator.credentials.issuing import issue
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.names.labels import DECISION
from plimsoll_operator.sizing.decision_note import CpuNote, DecisionNote, note_to_json
from plimsoll_operator.training.spawning import Spawner
from plimsoll_predictor.core.decision import Reason
from plimsoll_predictor.core.documents import to_document
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.deciding.cpu import CpuReason
from plimsoll_predictor.knowledge.knowledge import Knowledge
from plimsoll_predictor.store import Store
from tests.builders.pods import APod, a_pod

TRAIN = TaskId("shop", "train")
NOW_S = 1_767_225_660.0
"""2026-01-01T00:01:00Z, when an attempt of these pods ends by default."""
NOBODY = "http://127.0.0.1:9"


@dataclass(slots=True)
class Inside:
    """A controller as production builds it, and its store."""

    controller: Controller
    store: Store

    async def see(self, pod: APod, *, gone: bool = False) -> None:
        await self.controller.watch.see_pod(pod.built(), gone=gone)

    async def replaced(self) -> None:
        """Wait until no killed pod is to be deleted any more."""
        under_way = [each for each in asyncio.all_tasks() if each.get_name().startswith("replace ")]
        async with asyncio.timeout(30):
            await asyncio.gather(*under_way)

    async def report(self, *reports: PeakReport) -> None:
        """An agent's final reports: stored, then known, as the route does it."""
        self.store.peaks.put([to_document(each) for each in reports])
        self.controller.peaks.add(reports)

    @property
    def known(self) -> Knowledge:
        return self.controller.book.look(TRAIN)


@cache
def _authority() -> bytes:
    """One certificate: otherwise a client reads all that this machine trusts, for some 10 ms."""
    return issue(["nobody"], datetime.now(UTC), timedelta(days=1)).authority


@cache
def _settings(mode: Mode, excluded: frozenset[str], tasks_shown: int) -> ControllerSettings:
    """Made once, as nobody changes them: each field's look into the environment takes time."""
    return ControllerSettings(
        mode=mode, instance="test", excluded_namespaces=excluded, task_metrics=tasks_shown
    )


@asynccontextmanager
async def an_inside(
    folder: Path,
    mode: Mode = Mode.ENFORCE,
    host: str = NOBODY,
    excluded: frozenset[str] = frozenset(),
    said: Mapping[str, Any] | None = None,
    now_s: float = NOW_S,
    shown: Mapping[str, Any] | None = None,
    tasks_shown: int = 0,
) -> AsyncIterator[Inside]:
    """Started on the folder's store as the controller starts, with nothing running beside.

    said: the spec of the namespace's SizingPolicy, which is read first. now_s: its clock stands.
    shown: the status of the task's profile. tasks_shown: how many tasks have series of their own.
    """
    store = Store.open(f"sqlite:///{folder}/store.db", clock=lambda: now_s)
    spawner = Spawner(store_url="", command=("false",))
    address = client.Configuration(host=host)
    address.ssl_ca_cert = str(folder / "authority.pem")
    (folder / "authority.pem").write_bytes(_authority())
    async with client.ApiClient(address) as api:
        settings = _settings(mode, excluded, tasks_shown)
        controller = Controller(settings, Kube(api), store, spawner, lambda: now_s)
        controller.book.policies.set_namespace_spec("shop", said)
        controller.profiles.shown(TRAIN, shown or {}, None)
        await controller.restore()
        if not excluded:
            controller.book.get(TRAIN)
        try:
            yield Inside(controller, store)
        finally:
            # As with kill -9, except for threads and processes: what was learned is not saved.
            await controller.retries.close()
            await controller.queue.close()
            await controller.writer.close()
            store.close()


def ended(
    pod: APod,
    reason: str = "Completed",
    exit_code: int = 0,
    *,
    phase: str | None = None,
    at: str | None = "2026-01-01T00:01:00Z",
) -> APod:
    """The pod's sized container has ended. at: when; None if nobody knows."""
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


def a_cpu_note(was: int | None, mode: Mode = Mode.ENFORCE) -> CpuNote:
    """Plimsoll decided on two cores. was: the request in its author's manifest, in millicores."""
    return CpuNote(
        request_millicores=2000,
        was_millicores=was,
        mode=mode,
        reason=CpuReason.USED,
        why="a test says so",
    )


def decided(
    pod: APod, *, attempt: int = 1, mode: Mode = Mode.ENFORCE, was_bytes: int = 128 * MIB
) -> APod:
    """A pod as admission leaves it. was_bytes: what its author asked for."""
    note = DecisionNote(
        task=str(TRAIN),
        run=None,
        attempt=attempt,
        allocation_bytes=128 * MIB,
        was_request_bytes=was_bytes,
        was_limit_bytes=was_bytes,
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
    """The agent's last report of a whole pod."""
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


def made(pod: APod, at: str) -> APod:
    """Say when the pod was created."""
    built = pod.built()
    built["metadata"]["creationTimestamp"] = at
    return APod(built)
