"""Pods that wait, resized on the real API server: the promises for races, crashes, refusals."""

from __future__ import annotations

import asyncio
import random
import signal
from pathlib import Path
from typing import Any

import pytest
from kubernetes_asyncio import client

from plimsoll_operator.kube.api_server import CORE, path_of
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.kube.resizing import read_resizing
from plimsoll_operator.late_binding.resizing import Resize
from plimsoll_operator.sizing.decision_note import read_note
from plimsoll_operator.sizing.patch import Memory
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import MIB
from tests.apiserver.controllers import Shop, a_controller, until
from tests.apiserver.sentinels import a_later_pod_is_resized, attempts_are_counted
from tests.apiserver.waiting import (
    LARGE,
    RUNS,
    a_node_of_nobody,
    a_role,
    allow_resizing,
    are_resized,
    are_sized,
    bind,
    fits,
    logged,
    metric,
    note_of,
    pass_over,
    queued,
    request_of,
    teach,
    watching,
)
from tests.builders.controller.ledgers import a_train, decided
from tests.conftest import Cluster

pytestmark = pytest.mark.cluster


async def test_two_hundred_waiting_pods_are_resized_when_their_task_learns(
    shop: Shop, cluster: Cluster, tmp_path: Path
) -> None:
    await shop.enforce(minRuns=RUNS)
    names = await queued(shop, 200)
    async with a_controller(cluster.kubeconfig, tmp_path):
        await until("late binding", lambda: logged(tmp_path, "late binding is on"))
        assert not await are_resized(shop, names[:1])
        await teach(shop, tmp_path)
        await until("all resized", lambda: are_resized(shop, names))
        pods = await shop.pods()
        await until("Events", lambda: _as_many_events(shop, len(names)))
        assert await metric(tmp_path, "plimsoll_late_binding_waiting_pods") == len(names)
        assert await metric(tmp_path, 'plimsoll_late_binding_resizes_total{result="failed"}') == 0
    for name in names:
        note = note_of(pods[name])
        assert note["was"] == {"request": LARGE, "limit": LARGE}
        assert (note["before"], note["mode"]) == (LARGE, "enforce")
        assert note["why"].startswith("resized while waiting: ")
        sizes = pods[name].spec.containers[0].resources
        assert note["allocation"] == sizes.limits["memory"] == sizes.requests["memory"]
    # One Event and two patches a pod, however many completions taught the task.
    assert {pods[name].metadata.generation for name in names} == {2}


async def _as_many_events(shop: Shop, count: int) -> bool:
    return len(await shop.events("Resized")) == count


async def test_a_pod_that_is_bound_meanwhile_is_never_changed_after(
    shop: Shop, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Slowly: if the machine delayed the binding, all would be resized before the last is bound.
    monkeypatch.setenv("PLIMSOLL_LATE_BINDINGS_PER_S", "20")
    await shop.enforce(minRuns=RUNS)
    names = await queued(shop, 120)
    random.Random(7).shuffle(names)
    async with (
        a_node_of_nobody(shop) as node,
        watching(shop) as watched,
        a_controller(cluster.kubeconfig, tmp_path),
    ):
        await until("late binding", lambda: logged(tmp_path, "late binding is on"))
        await teach(shop, tmp_path)
        await until("some", lambda: len(logged(tmp_path, "resized while waiting")) >= 10)
        await asyncio.gather(*(bind(shop, name, node) for name in names))
        await until("annotations that are true", lambda: _say_what_is(shop, names))
        await a_later_pod_is_resized(cluster, tmp_path)
        assert await _say_what_is(shop, names)
    promised = {name: _sizes_on_a_node(watched.versions[name]) for name in names}
    assert all(len(sizes) == 1 for sizes in promised.values()), promised
    sizes = [size for (size,) in promised.values()]
    resized = [fits(size) for size in sizes if size != LARGE]
    assert all(resized)
    assert 5 < len(resized) < len(sizes) - 5


def _sizes_on_a_node(versions: list[tuple[str, bool]]) -> set[str]:
    return {size for size, has_node in versions if has_node}


async def _say_what_is(shop: Shop, names: list[str]) -> bool:
    pods = await shop.pods()
    notes = {name: note_of(pods[name]) for name in names}
    assert all(note.get("was", {"request": LARGE})["request"] == LARGE for note in notes.values())
    return all(
        note.get("allocation", LARGE) == request_of(pods[name]) for name, note in notes.items()
    )


async def test_a_controller_killed_in_the_middle_goes_on_where_it_was(
    shop: Shop, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Ten seconds pass between the event that the test waits for and the last: enough to kill it
    # before.
    monkeypatch.setenv("PLIMSOLL_LATE_BINDINGS_PER_S", "5")
    await shop.enforce(minRuns=RUNS)
    names = await queued(shop, 60)
    async with a_controller(cluster.kubeconfig, tmp_path) as controller:
        await teach(shop, tmp_path)
        await until("some", lambda: len(logged(tmp_path, "resized while waiting")) >= 10)
        await controller.end(signal.SIGKILL)
    assert not await are_resized(shop, names)
    monkeypatch.delenv("PLIMSOLL_LATE_BINDINGS_PER_S")
    async with a_controller(cluster.kubeconfig, tmp_path):
        await until("all resized", lambda: are_resized(shop, names))
    pods = await shop.pods()
    assert {note_of(pods[name])["was"]["request"] for name in names} == {LARGE}
    assert {pods[name].metadata.generation for name in names} == {2}


async def test_a_new_policy_is_a_reason_to_decide_again(
    shop: Shop, cluster: Cluster, tmp_path: Path
) -> None:
    names = await queued(shop, 3)
    async with a_controller(cluster.kubeconfig, tmp_path):
        await teach(shop, tmp_path)
        await until("a profile", lambda: shop.profile("train"))
        assert not await are_resized(shop, names[:1])
        await shop.enforce(minRuns=RUNS, min="200Mi")
        await until("all resized", lambda: are_sized(shop, names, "200Mi"))


async def test_gates_qos_classes_and_limits_are_respected(
    shop: Shop, cluster: Cluster, tmp_path: Path
) -> None:
    await shop.enforce(minRuns=RUNS)
    both = {"requests": {"memory": LARGE}, "limits": {"memory": LARGE}}
    cpu = {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}
    memory = {"requests": {"memory": LARGE}}
    nearly = {"requests": {**cpu["requests"], **memory["requests"]}, "limits": cpu["limits"]}
    await _create(shop, "gated", both, schedulingGates=[{"name": "example.com/later"}])
    await _create(shop, "kueues", both, schedulingGates=[{"name": "kueue.x-k8s.io/admission"}])
    await _create(shop, "best-effort", {})
    await _create(shop, "no-limit", memory)
    await _create(shop, "nearly-guaranteed", nearly)
    async with a_controller(cluster.kubeconfig, tmp_path):
        await teach(shop, tmp_path)
        resized = ["gated", "no-limit", "nearly-guaranteed"]
        await until("the sizable ones", lambda: are_resized(shop, resized))
        assert await metric(tmp_path, 'plimsoll_late_binding_resizes_total{result="refused"}') == 0
    pods = await shop.pods()
    assert (request_of(pods["kueues"]), request_of(pods["best-effort"])) == (LARGE, "None")
    classes = {name: pods[name].status.qos_class for name in ("best-effort", *resized)}
    assert set(classes.values()) == {"BestEffort", "Burstable"}
    assert pods["nearly-guaranteed"].spec.containers[0].resources.limits == {"cpu": "1"}


async def test_a_pod_that_no_node_could_hold_is_raised_within_the_quota_that_is_left(
    shop: Shop, cluster: Cluster, tmp_path: Path
) -> None:
    need_bytes = 200 * MIB
    await shop.enforce(minRuns=RUNS, max="300Mi")
    await queued(shop, 3, memory="64Mi")
    await pass_over(shop, "waiting-000")
    await pass_over(shop, "waiting-001")
    quota = {"metadata": {"name": "narrow"}, "spec": {"hard": {"requests.memory": "450Mi"}}}
    async with a_controller(cluster.kubeconfig, tmp_path):
        await teach(shop, tmp_path, need_bytes=need_bytes)
        looked_at = ["waiting-000", "waiting-001"]
        await until("raised", lambda: are_resized(shop, looked_at, need_bytes))
        # No scheduler has looked at the third yet: it might be bound at any moment.
        await a_later_pod_is_resized(cluster, tmp_path)
        assert await are_sized(shop, ["waiting-002"], "64Mi")
        await shop.core.create_namespaced_resource_quota(shop.namespace, quota)
        await until("the quota's use", lambda: _is_used(shop))
        await pass_over(shop, "waiting-002")
        await a_later_pod_is_resized(cluster, tmp_path)
    pods = await shop.pods()
    assert request_of(pods["waiting-002"]) == "64Mi"
    assert note_of(pods["waiting-002"]).get("allocation", "64Mi") == "64Mi"


async def _is_used(shop: Shop) -> bool:
    quota = await shop.core.read_namespaced_resource_quota("narrow", shop.namespace)
    return bool(quota.status.used)


async def test_a_resize_that_is_refused_is_taken_back_and_not_tried_again(
    shop: Shop, cluster: Cluster, tmp_path: Path
) -> None:
    # The minimum keeps the size the same, whatever more runs teach: only a new size is tried again.
    await shop.enforce(minRuns=RUNS, min="200Mi")
    names = await queued(shop, 3)
    refusal = await _refuse_resizes(shop)
    try:
        async with a_controller(cluster.kubeconfig, tmp_path):
            await teach(shop, tmp_path)
            await until("refused", lambda: len(logged(tmp_path, "resize refused")) == len(names))
            await teach(shop, tmp_path, need_bytes=80 * MIB)
            await attempts_are_counted(shop, 2 * RUNS)
            await a_later_pod_is_resized(cluster, tmp_path)
            assert len(logged(tmp_path, "resize refused")) == len(names)
            assert await metric(tmp_path, "plimsoll_late_binding_on") == 1
    finally:
        await refusal
    pods = await shop.pods()
    assert {request_of(pods[name]) for name in names} == {LARGE}
    assert [note_of(pods[name]) for name in names] == [{}, {}, {}]


async def _refuse_resizes(shop: Shop) -> Any:
    """A policy of the cluster's admin against resizes; returns what removes it again."""
    policies = client.AdmissionregistrationV1Api(shop.core.api_client)
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"]}
    spec = {
        "matchConstraints": {"resourceRules": [{**rule, "resources": ["pods/resize"]}]},
        "validations": [{"expression": "false", "message": "not here"}],
    }
    name = shop.namespace
    here = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}
    await policies.create_validating_admission_policy({"metadata": {"name": name}, "spec": spec})
    binding = {"policyName": name, "validationActions": ["Deny"], "matchResources": here}
    await policies.create_validating_admission_policy_binding(
        {"metadata": {"name": name}, "spec": binding}
    )
    await until("resizes are refused", lambda: _is_refused(shop, "waiting-000"))

    async def take_away() -> None:
        await policies.delete_validating_admission_policy_binding(name)
        await policies.delete_validating_admission_policy(name)

    return take_away()


async def _is_refused(shop: Shop, name: str) -> bool:
    resources = {"requests": {"memory": "1Gi"}, "limits": {"memory": "1Gi"}}
    body = {"spec": {"containers": [{"name": "main", "resources": resources}]}}
    answer = await shop.core.patch_namespaced_pod_resize(
        name, shop.namespace, body, dry_run="All", _preload_content=False
    )
    return bool(answer.status == 422)


async def test_a_role_that_may_not_resize_is_said_once_and_mended_without_a_restart(
    shop: Shop, cluster: Cluster, tmp_path: Path
) -> None:
    await shop.enforce(minRuns=RUNS)
    names = await queued(shop, 20)
    async with (
        a_role(shop, cluster, tmp_path) as limited,
        a_controller(limited, tmp_path),
    ):
        await teach(shop, tmp_path)
        (said,) = await until("said", lambda: logged(tmp_path, _OFF))
        assert said["why"] == (
            f'its role lacks the verb "patch" on pods/resize in {shop.namespace}'
        )
        await teach(shop, tmp_path, need_bytes=80 * MIB)
        await attempts_are_counted(shop, 2 * RUNS)
        assert await metric(tmp_path, "plimsoll_late_binding_on") == 0
        pods = await shop.pods()
        assert {request_of(pods[name]) for name in names} == {LARGE}
        await allow_resizing(shop)
        await until("all resized", lambda: are_resized(shop, names))
        assert await metric(tmp_path, "plimsoll_late_binding_on") == 1
    assert len(logged(tmp_path, _OFF)) == 1
    # The notes on pods from before their refused resize did not mislead anybody.
    pods = await shop.pods()
    assert {note_of(pods[name])["was"]["request"] for name in names} == {LARGE}


_OFF = "late binding is off: pods that wait keep their size"


async def test_switched_off_it_leaves_every_pod_alone(
    shop: Shop, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLIMSOLL_LATE_BINDINGS_PER_S", "0")
    await shop.enforce(minRuns=RUNS)
    names = await queued(shop, 3)
    async with a_controller(cluster.kubeconfig, tmp_path):
        await teach(shop, tmp_path)
        await attempts_are_counted(shop, RUNS)
        assert await metric(tmp_path, "plimsoll_late_binding_on") == 0
    pods = await shop.pods()
    assert {request_of(pods[name]) for name in names} == {LARGE}
    assert [note_of(pods[name]) for name in names] == [{}, {}, {}]


async def test_the_real_server_is_found_able_and_would_not_be_one_version_too_old(
    cluster: Cluster,
) -> None:
    kube = await Kube.connect(str(cluster.kubeconfig), None)
    try:
        version, resources = await kube.api.get("/version"), await kube.api.get(CORE)
    finally:
        await kube.close()
    assert read_resizing(version, resources).why_not is None
    older = read_resizing({**version, "minor": "32"}, resources)
    assert "1.33" in (older.why_not or "")
    without = [each for each in resources["resources"] if each["name"] != "pods/resize"]
    unable = read_resizing(version, {**resources, "resources": without})
    assert "pods/resize" in (unable.why_not or "")


async def test_a_cpu_request_may_become_zero_and_the_pod_keeps_its_class(
    shop: Shop, cluster: Cluster
) -> None:
    """So a request is given back that nobody wrote; the API server lets none be removed."""
    await _create(shop, "raised", {"requests": {"cpu": "2", "memory": "64Mi"}})
    resized = await _resized(shop, cluster, Memory(64 * MIB, None), cpu_millicores=0)
    requests = resized["spec"]["containers"][0]["resources"]["requests"]
    assert requests == {"cpu": "0", "memory": "64Mi"}
    assert resized["status"]["qosClass"] == "Burstable"


@pytest.mark.parametrize("limit", [None, "64Mi"], ids=["no limit", "a limit that stays"])
async def test_so_may_a_memory_request(shop: Shop, cluster: Cluster, limit: str | None) -> None:
    limits = {} if limit is None else {"limits": {"memory": limit}}
    await _create(shop, "raised", {"requests": {"cpu": "100m", "memory": "64Mi"}, **limits})
    resized = await _resized(shop, cluster, Memory(0, None if limit is None else 64 * MIB))
    resources = resized["spec"]["containers"][0]["resources"]
    assert resources == {"requests": {"cpu": "100m", "memory": "0"}, **limits}
    assert resized["status"]["qosClass"] == "Burstable"


async def _resized(
    shop: Shop, cluster: Cluster, memory: Memory, cpu_millicores: int | None = None
) -> Any:
    """The pod ``raised`` after late binding's own patch."""
    note = read_note(decided(a_train()).built())
    assert note is not None
    resize = Resize(TaskId(shop.namespace, "train"), "main", memory, 0, note, cpu_millicores)
    kube = await Kube.connect(str(cluster.kubeconfig), None)
    try:
        pod = await kube.api.get(path_of(CORE, "pods", shop.namespace, "raised"))
        return await kube.resize_pod(pod, resize.body())
    finally:
        await kube.close()


async def _create(shop: Shop, name: str, resources: Any, **spec: Any) -> None:
    container = {"name": "main", "image": "localhost/none:1", "resources": resources}
    await shop.core.create_namespaced_pod(
        shop.namespace,
        {
            "metadata": {"name": name, "labels": {"plimsoll.dev/task": "train"}},
            "spec": {
                "restartPolicy": "Never",
                "schedulerName": "nobody",
                "containers": [container],
                **spec,
            },
        },
    )
