"""A kubelet that does not find a container makes up its end, and counts a restart with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.pods.status import NOT_FOUND
from plimsoll_predictor.core.record import Cause, Outcome
from plimsoll_predictor.core.units import MIB
from tests.builders.controller.ledgers import (
    TRAIN,
    Inside,
    a_final,
    a_train,
    an_inside,
    decided,
    ended,
    made,
)
from tests.builders.kubernetes.pod_servers import a_pod_server
from tests.builders.pods import APod

pytestmark = pytest.mark.slow

MADE_UP = {"reason": NOT_FOUND, "exitCode": 137, "startedAt": None, "finishedAt": None}
STARTING: dict[str, Any] = {"waiting": {"reason": "ContainerCreating"}}
FULL_DISK = "The node was low on resource: ephemeral-storage."


def a_lowered_pod() -> APod:
    pod = decided(a_train(), was_bytes=256 * MIB).with_spec(nodeName="n1")
    return made(pod, "2026-01-01T00:00:00Z")


def shown(pod: APod, state: dict[str, Any], restarts: int, phase: str = "Running") -> APod:
    """The pod after its container was not found."""
    container = {
        "name": "main",
        "restartCount": restarts,
        "containerID": f"containerd://{restarts}",
        "state": state,
        "lastState": {"terminated": MADE_UP},
    }
    return pod.with_status(phase=phase, containerStatuses=[container])


def evicted(pod: APod) -> APod:
    """Its containers were removed at once: present and last state are the same end."""
    disruption = {"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet"}
    return shown(pod, {"terminated": MADE_UP}, 1, "Failed").with_status(
        reason="Evicted", message=FULL_DISK, conditions=[disruption]
    )


def ends(inside: Inside) -> list[tuple[str, Outcome, Cause | None]]:
    """The life that began first comes first."""
    seen = sorted(inside.store.observations.of_task(TRAIN), key=lambda each: each.attempt_uid)
    return [(each.attempt_uid, each.outcome, each.cause) for each in seen]


@pytest.mark.parametrize("need_mib", [40, 120])
async def test_an_evicted_pod_counts_once_and_never_as_a_kill(
    tmp_path: Path, need_mib: int
) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.report(a_final(need_bytes=need_mib * MIB))
        await inside.see(evicted(a_lowered_pod().owned_by_job()))
        await inside.see(evicted(a_lowered_pod().owned_by_job()), gone=True)
        assert ends(inside) == [("uid-train-1", Outcome.EVICTED, Cause.EVICTED)]
        totals = inside.store.totals.of(TRAIN)
        assert (totals.observations, totals.oom_kills, totals.failed) == (1, 0, 0)
        await inside.controller.standings.fold()
        assert inside.known.floor is None


async def test_an_evicted_bare_pod_is_not_run_again(tmp_path: Path) -> None:
    async with a_pod_server() as server, an_inside(tmp_path, host=server.url) as inside:
        await inside.report(a_final(need_bytes=120 * MIB))
        server.has(evicted(a_lowered_pod()))
        await inside.see(evicted(a_lowered_pod()))
        assert inside.store.retries.waiting() == []
        assert server.created == []


async def test_each_life_around_a_reboot_is_observed_once(tmp_path: Path) -> None:
    """A runtime may forget all containers at a reboot; the kubelet starts the pod's again."""
    pod = a_lowered_pod().restarting("OnFailure").owned_by_job()
    times = {"startedAt": "2026-01-01T00:00:45Z", "finishedAt": "2026-01-01T00:00:58Z"}
    done = {"terminated": {"reason": "Completed", "exitCode": 0, **times}}
    async with a_pod_server() as server, an_inside(tmp_path, host=server.url) as inside:
        server.has(pod)
        await inside.see(pod.with_status(phase="Running"))
        await inside.see(shown(pod, STARTING, 1))
        assert ends(inside) == [("uid-train-1", Outcome.EVICTED, Cause.NODE_LOST)]
        await inside.see(shown(pod, {"running": {"startedAt": times["startedAt"]}}, 1))
        await inside.see(shown(pod, done, 1, "Succeeded"))
        first, second = ends(inside)
        assert first == ("uid-train-1", Outcome.EVICTED, Cause.NODE_LOST)
        assert second == ("uid-train-1/1", Outcome.SUCCEEDED, None)
        await inside.replaced()
        assert server.deleted == []


async def test_a_later_life_that_is_not_found_is_that_life(tmp_path: Path) -> None:
    """It had restarted once before its node evicted it."""
    pod = a_lowered_pod().restarting("OnFailure").owned_by_job()
    failed = ended(pod, "Error", 1, phase="Running").built()
    [main] = failed["status"]["containerStatuses"]
    running = {"running": {"startedAt": "2026-01-01T00:01:01Z"}}
    main.update(restartCount=1, lastState=main["state"], state=running)
    again = evicted(pod).built()
    again["status"]["containerStatuses"][0]["restartCount"] = 2
    async with an_inside(tmp_path) as inside:
        await inside.see(APod(failed))
        await inside.see(APod(again))
        assert ends(inside) == [
            ("uid-train-1", Outcome.FAILED, Cause.OWN_MISTAKE),
            ("uid-train-1/1", Outcome.EVICTED, Cause.EVICTED),
        ]
