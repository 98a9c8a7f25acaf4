"""A killed pod whose container restarts in place: deleted only where the next one is lifted."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.pods.spec import Pod
from plimsoll_operator.wording.event_words import Happening
from plimsoll_predictor.core.units import MIB
from tests.builders.controller.ledgers import TRAIN, a_train, an_inside, decided, ended, killed
from tests.builders.kubernetes.pod_servers import PodServer, a_pod_server
from tests.builders.pods import APod

RESTARTING = decided(a_train()).restarting("OnFailure")


def owned(kind: str, version: str, name: str = "bert") -> APod:
    return RESTARTING.owned_by(kind, name, version=version)


def generated(pod: APod) -> APod:
    built = pod.named("web-bcdfg", uid="uid-train-1").built()
    built["metadata"]["generateName"] = "web-"
    return APod(built)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pod", "is_deleted"),
    [
        pytest.param(RESTARTING.owned_by_job(), True, id="a Job's"),
        pytest.param(owned("PyTorchJob", "kubeflow.org/v1"), True, id="a PyTorchJob's"),
        pytest.param(owned("StatefulSet", "apps/v1"), True, id="a StatefulSet's"),
        pytest.param(generated(owned("PyTorchJob", "kubeflow.org/v1")), False, id="generated"),
        pytest.param(owned("Job", "batch.volcano.sh/v1alpha1"), False, id="Volcano's Job's"),
        pytest.param(owned("RayCluster", "ray.io/v1"), False, id="an unknown owner's"),
        pytest.param(generated(owned("ReplicaSet", "apps/v1")), False, id="a ReplicaSet's"),
        pytest.param(RESTARTING, False, id="bare"),
        pytest.param(RESTARTING.labelled(dag_id="nightly"), False, id="polled"),
    ],
)
async def test_a_pod_is_deleted_only_where_the_next_one_is_sure_to_be_lifted(
    tmp_path: Path, pod: APod, is_deleted: bool
) -> None:
    async with a_pod_server() as server, an_inside(tmp_path, host=server.url) as inside:
        name = server.has(killed(pod, phase="Running"))["metadata"]["name"]
        await inside.see(killed(pod, phase="Running"))
        await inside.replaced()
        assert server.deleted == ([name] if is_deleted else [])
        assert len(inside.known.lifts) == is_deleted, "nobody makes a next attempt of the others"


def beside(pod: APod, state: str) -> APod:
    """A pod whose task was killed at 128Mi, and whose proxy is in this state."""
    with_proxy = killed(pod.with_container("proxy"), phase="Running").built()
    started = {"startedAt": "2026-01-01T00:00:00Z"}
    proxy = {"name": "proxy", "restartCount": 0, "state": {state: started}}
    with_proxy["status"]["containerStatuses"].append(proxy)
    return APod(with_proxy)


LOWERED = decided(a_train(), was_bytes=256 * MIB)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pod", "is_deleted"),
    [
        pytest.param(beside(LOWERED.owned_by_job(), "running"), True, id="a Job's"),
        pytest.param(
            beside(LOWERED.owned_by("PyTorchJob", "b", version="kubeflow.org/v1"), "running"),
            True,
            id="a PyTorchJob's",
        ),
        pytest.param(beside(LOWERED.owned_by_job(), "terminated"), False, id="the proxy ended"),
        pytest.param(
            beside(decided(a_train()).owned_by_job(), "running"), False, id="killed as written"
        ),
        pytest.param(beside(LOWERED, "running"), False, id="bare"),
        pytest.param(
            beside(LOWERED.labelled(dag_id="n", task_id="t", run_id="1"), "running"),
            False,
            id="an engine's, which looks at its container",
        ),
    ],
)
async def test_a_pod_whose_proxy_waits_for_its_killed_task_is_replaced(
    tmp_path: Path, pod: APod, is_deleted: bool
) -> None:
    """The task would have told it to end; now the pod would run for ever, and its Job wait."""
    async with a_pod_server() as server, an_inside(tmp_path, host=server.url) as inside:
        name = server.has(pod)["metadata"]["name"]
        await inside.see(pod)
        await inside.replaced()
        assert server.deleted == ([name] if is_deleted else [])


@pytest.mark.slow
async def test_a_pod_whose_work_is_done_is_never_deleted_or_copied(tmp_path: Path) -> None:
    """A child was killed, the main process ended with 0, and a sidecar still runs or failed."""
    for phase in ("Running", "Failed"):
        for pod in (RESTARTING.owned_by_job(), decided(a_train())):
            async with a_pod_server() as server, an_inside(tmp_path, host=server.url) as inside:
                done = ended(pod.with_container("proxy"), "OOMKilled", 0, phase=phase)
                server.has(done)
                await inside.see(done)
                assert inside.store.retries.waiting() == []
                assert server.calls == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pod", "phases", "lifts"),
    [
        pytest.param(LOWERED, ["Running", "Succeeded"], 0, id="bare"),
        pytest.param(LOWERED, ["Running", "Failed"], 0, id="bare, and its sidecar failed"),
        pytest.param(LOWERED.owned_by_job(), ["Running", "Succeeded"], 0, id="a Job's"),
        pytest.param(
            LOWERED.owned_by_job(),
            ["Running", "Failed"],
            1,
            id="a Job's, which makes another for the sidecar that failed",
        ),
        pytest.param(
            owned("StatefulSet", "apps/v1").restarting("Always"),
            ["Running"],
            1,
            id="its container is started again, whatever it ended with",
        ),
    ],
)
async def test_a_killed_child_lifts_only_a_run_that_goes_on(
    tmp_path: Path, pod: APod, phases: list[str], lifts: int
) -> None:
    """The kubelet shows the end of the container a second before that of the pod."""
    async with an_inside(tmp_path) as inside:
        told: list[str] = []

        def announce(happening: Happening, pod: Pod) -> None:
            assert pod["metadata"]["name"] == "train-1"
            told.append(happening.note)

        inside.controller.announcer.announce = announce  # type: ignore[method-assign]
        for phase in phases:
            await inside.see(ended(pod, "OOMKilled", 0, phase=phase))
        assert len(inside.known.lifts) == lifts
        assert len([note for note in told if "killed" in note]) == lifts
        assert inside.store.totals.of(TRAIN).oom_kills == 1


@pytest.mark.slow
async def test_a_pod_that_somebody_deletes_is_left_to_them(tmp_path: Path) -> None:
    async with a_pod_server() as server, an_inside(tmp_path, host=server.url) as inside:
        built = killed(RESTARTING.owned_by_job(), phase="Running").built()
        built["metadata"].update(
            deletionTimestamp="2026-01-01T00:02:00Z", deletionGracePeriodSeconds=30
        )
        server.has(APod(built))
        await inside.see(APod(built))
        assert server.calls == []


@pytest.mark.slow
async def test_a_jobs_pod_killed_as_written_restarts_in_place_if_its_job_may_make_no_other(
    tmp_path: Path,
) -> None:
    """Workers of a queue are not made again once one of them has succeeded."""
    pod = killed(RESTARTING.owned_by_job(attempts=None), phase="Running")
    async with a_pod_server() as server, an_inside(tmp_path, host=server.url) as inside:
        told: list[str] = []

        def announce(happening: Happening, pod: Pod) -> None:
            assert pod["metadata"]["name"] == "train-1"
            told.append(happening.note)

        inside.controller.announcer.announce = announce  # type: ignore[method-assign]
        server.has(pod)
        await inside.see(pod)
        await inside.replaced()
        assert server.deleted == []
        assert told[-1] == (
            "killed for lack of memory and restarted in place at the same size: it is not known"
            " whether the Job makes another pod, so Plimsoll does not delete this one; use"
            " restartPolicy Never"
        )


async def is_deleted(server: PodServer) -> None:
    async with asyncio.timeout(30):
        while not server.deleted:
            await asyncio.sleep(0.01)


@pytest.mark.slow
@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(beside(LOWERED.owned_by_job(), "running"), id="its proxy waits"),
        pytest.param(killed(RESTARTING.owned_by_job(), phase="Running"), id="restarts in place"),
    ],
)
async def test_a_deletion_that_fails_is_tried_again_without_another_event(
    tmp_path: Path, pod: APod
) -> None:
    """A pod whose proxy waits changes no more, so nothing else would ever delete it."""
    async with a_pod_server() as server, an_inside(tmp_path, host=server.url) as inside:
        server.deletes_failing = 2
        server.has(pod)
        await inside.see(pod)
        await is_deleted(server)
        await inside.see(pod)
        await inside.replaced()
        assert server.deleted == ["train-1"]


def again(pod: APod, since: str) -> APod:
    """A pod whose killed container has restarted in place, and runs since then."""
    built = killed(pod, phase="Running").built()
    (main,) = built["status"]["containerStatuses"]
    main.update(restartCount=1, lastState=main["state"], state={"running": {"startedAt": since}})
    return APod(built)


def mounting(pod: APod, volume: dict[str, Any]) -> APod:
    built = pod.built()
    built["spec"]["volumes"] = [{"name": "state", **volume}]
    built["spec"]["containers"][0]["volumeMounts"] = [{"name": "state", "mountPath": "/state"}]
    return APod(built)


def done_beside(pod: APod, exit_code: int) -> APod:
    """A pod whose other container has ended."""
    built = killed(pod.with_container("first"), phase="Running").built()
    state = {"terminated": {"exitCode": exit_code, "reason": "Completed"}}
    built["status"]["containerStatuses"].append({"name": "first", "state": state})
    return APod(built)


JOBS = RESTARTING.owned_by_job()
EMPTY_DIR: dict[str, Any] = {"emptyDir": {}}
SHARED_MEMORY = {"emptyDir": {"medium": "Memory"}}
CLAIM = {"persistentVolumeClaim": {"claimName": "state"}}
KEEPING = [
    pytest.param(done_beside(JOBS, 0), False, id="another container is done"),
    pytest.param(done_beside(JOBS, 1), True, id="another container has failed"),
    pytest.param(killed(mounting(JOBS, EMPTY_DIR), phase="Running"), False, id="an emptyDir"),
    pytest.param(killed(mounting(JOBS, SHARED_MEMORY), phase="Running"), True, id="/dev/shm"),
    pytest.param(killed(mounting(JOBS, CLAIM), phase="Running"), True, id="a claim"),
    pytest.param(again(JOBS, "2026-01-01T00:00:30Z"), True, id="it runs again for 30 s"),
    pytest.param(again(JOBS, "2025-12-31T22:00:00Z"), False, id="it runs again for two hours"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("pod", "is_replaced"), KEEPING)
async def test_a_pod_killed_as_written_is_left_if_a_new_one_would_do_its_work_again(
    tmp_path: Path, pod: APod, is_replaced: bool
) -> None:
    """Its author would get a restart of the killed container alone."""
    async with a_pod_server() as server, an_inside(tmp_path, host=server.url) as inside:
        server.has(pod)
        await inside.see(pod)
        await inside.replaced()
        assert server.deleted == (["train-1"] if is_replaced else [])


@pytest.mark.slow
@pytest.mark.parametrize("pod", [each.values[0] for each in KEEPING])
async def test_a_lowered_pod_is_replaced_whatever_it_keeps(tmp_path: Path, pod: Any) -> None:
    """Left at less than was written, it might never end."""
    lowered = decided(pod, was_bytes=256 * MIB)
    async with a_pod_server() as server, an_inside(tmp_path, host=server.url) as inside:
        server.has(lowered)
        await inside.see(lowered)
        await inside.replaced()
        assert server.deleted == ["train-1"]


@pytest.mark.slow
async def test_a_pod_that_has_ended_before_its_deletion_is_tried_again_is_kept(
    tmp_path: Path,
) -> None:
    """Its work is done, and somebody may want to read its log."""
    async with a_pod_server() as server, an_inside(tmp_path, host=server.url) as inside:
        server.deletes_failing = 1
        server.has(killed(JOBS, phase="Running"))
        await inside.see(killed(JOBS, phase="Running"))
        async with asyncio.timeout(30):
            while server.deletes_failing:
                await asyncio.sleep(0.01)
            server.has(ended(JOBS))
            while server.reads < 2:
                await asyncio.sleep(0.01)
        await inside.controller.retries.close()
        assert server.calls == []
