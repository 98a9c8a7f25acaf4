"""A killed pod whose container restarts in place: deleted only where the next one is lifted."""

from __future__ import annotations

from pathlib import Path

import pytest

from plimsoll_predictor.core.units import MIB
from tests.builders.controller.ledgers import a_train, an_inside, decided, ended, killed
from tests.builders.kubernetes.pod_servers import a_pod_server
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
async def test_a_pod_that_somebody_deletes_is_left_to_them(tmp_path: Path) -> None:
    async with a_pod_server() as server, an_inside(tmp_path, host=server.url) as inside:
        built = killed(RESTARTING.owned_by_job(), phase="Running").built()
        built["metadata"].update(
            deletionTimestamp="2026-01-01T00:02:00Z", deletionGracePeriodSeconds=30
        )
        server.has(APod(built))
        await inside.see(APod(built))
        assert server.calls == []
