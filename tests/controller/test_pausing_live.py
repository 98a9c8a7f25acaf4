"""A pause, from a person's patch to its effect in admission and the controller."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from kubernetes_asyncio import client

from plimsoll_operator.names import labels
from tests.apiserver.controllers import PATIENCE_S, Shop, a_controller, observed, until
from tests.apiserver.policies import GROUP, MERGE, say
from tests.apiserver.sentinels import a_later_kill_is_retried, attempts_are_counted, is_in_force
from tests.apiserver.waiting import LARGE, logged, queued, request_of, teach
from tests.builders.pods import APod, a_pod
from tests.conftest import Cluster
from tests.rigs.processes.preloaded import start_plimsoll
from tests.rigs.servers.admission_servers import Caller, calling, patch_in, settings_in
from tests.rigs.servers.ports import free_port
from tests.rigs.speed import Speed

pytestmark = pytest.mark.cluster

WITHIN_S = 3.0
"""From the patch of a SizingPolicy to admission's change."""
TASK = "train"


@asynccontextmanager
async def an_admission(folder: Path) -> AsyncIterator[Caller]:
    """``plimsoll admission`` in a process of its own, fed by the folder's controller."""
    (serves, *_) = await until("it serves", lambda: logged(folder, "controller serves")[-1:])
    settings = settings_in(
        folder / "admission", f"http://127.0.0.1:{serves['port']}", listen_port=free_port()
    )
    settings.feed_token_file.write_text("secret")
    with (folder / "admission.log").open("wb") as log:
        words = (
            "admission",
            *("--certificate", str(settings.certificate_file), "--key", str(settings.key_file)),
            *("--feed", settings.feed_url, "--token-file", str(settings.feed_token_file)),
            *("--address", "127.0.0.1", "--port", str(settings.listen_port)),
            *("--metrics-port", "0", "--drain", "0"),
        )
        process = start_plimsoll(words, log, os.environ)
    try:
        async with calling(settings.listen_port, folder / "admission") as caller:
            yield caller
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        await process.wait()


def a_train_pod(shop: Shop) -> APod:
    """A pod that asks to be sized, as its author may."""
    pod = a_pod().labelled(TASK).in_namespace(shop.namespace).asking(LARGE).limited(LARGE)
    return pod.in_mode("enforce")


async def is_sized(caller: Caller, pod: APod) -> bool | None:
    """Whether admission changes the pod's resources; None while nobody answers."""
    try:
        patch = patch_in(await caller.review(pod))
    except OSError:
        return None
    return any("resources" in operation["path"] for operation in patch)


async def seconds_until(caller: Caller, pod: APod, wanted: bool) -> float:
    began_s = time.monotonic()
    while await is_sized(caller, pod) is not wanted:
        assert time.monotonic() - began_s < PATIENCE_S, f"sized does not become {wanted}"
        await asyncio.sleep(0.02)
    return time.monotonic() - began_s


@pytest.mark.timed
async def test_a_cluster_wide_pause_holds_within_seconds_and_ends_as_fast(
    own: Shop,
    shop: Shop,
    cluster: Cluster,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    speed: Speed,
) -> None:
    await say(shop, "default", mode="enforce", minRuns=1)
    took_s = {}
    async with a_controller(cluster.kubeconfig, tmp_path), an_admission(tmp_path) as caller:
        await until("it starts", lambda: logged(tmp_path, "controller started"))
        await teach(shop, tmp_path)
        pod = a_train_pod(shop)
        await until("sized", lambda: is_sized(caller, pod))
        await say(own, "cluster", paused=True)
        took_s["pause"] = await seconds_until(caller, pod, wanted=False)
        await until("phase", lambda: _phase_is(shop, "Paused"))
        await say(own, "cluster", paused=False)
        took_s["resume"] = await seconds_until(caller, pod, wanted=True)
        await until("phase", lambda: _phase_is(shop, "Sizing"))
    with capsys.disabled():
        print("".join(f"\n{what} reached admission in {s:.2f} s" for what, s in took_s.items()))
    for what, seconds in took_s.items():
        speed.within(what, seconds, WITHIN_S)


async def test_while_paused_nothing_is_retried_or_resized_and_all_is_observed(
    own: Shop, shop: Shop, cluster: Cluster, tmp_path: Path
) -> None:
    await say(shop, "default", mode="enforce", minRuns=1)
    await say(own, "cluster", paused=True)
    async with a_controller(cluster.kubeconfig, tmp_path):
        await until("late binding", lambda: logged(tmp_path, "late binding is on"))
        await until("the pause", lambda: is_in_force(own, "cluster"))
        names = await queued(shop, 5)
        await teach(shop, tmp_path)
        await shop.pod("heavy")
        await shop.end("heavy", "killed")
        await until("all observed", lambda: len(observed(tmp_path, shop.task())) == 3)
        await attempts_are_counted(shop, 3)
        await shop.pod("done")
        await shop.end("done", "succeeded")
        await attempts_are_counted(shop, 4)
        pods = await shop.pods()
        assert {request_of(pods[name]) for name in names} == {LARGE}
        retried = [labels.RETRY_OF in (p.metadata.annotations or {}) for p in pods.values()]
        assert not any(retried)
        assert await shop.events("Lifted") == []
        await say(own, "cluster", paused=False)
        # Waiting pods are decided again; pods killed meanwhile were their owner's matter.
        await until("resized", lambda: _none_asks(shop, names, LARGE))
        await shop.pod("later", memory="64Mi")
        await shop.end("later", "killed")
        await until("a retry", lambda: _retries_are(shop, 1))
    async with a_controller(cluster.kubeconfig, tmp_path):
        await until("it starts", lambda: len(logged(tmp_path, "controller started")) == 2)
        await a_later_kill_is_retried(cluster)
    assert await _retries_are(shop, 1)


@pytest.mark.timed
async def test_a_paused_namespace_and_a_paused_task_pause_just_that(
    shop: Shop, cluster: Cluster, tmp_path: Path, speed: Speed
) -> None:
    await shop.enforce(minRuns=1)
    async with a_controller(cluster.kubeconfig, tmp_path), an_admission(tmp_path) as caller:
        await until("it starts", lambda: logged(tmp_path, "controller started"))
        await teach(shop, tmp_path)
        pod = a_train_pod(shop)
        await until("sized", lambda: is_sized(caller, pod))
        await until("its profile", lambda: shop.profile(TASK))
        await shop.custom.patch_namespaced_custom_object(
            *(*GROUP, shop.namespace, "taskprofiles", TASK),
            {"spec": {"paused": True}},
            _content_type=MERGE,
        )
        speed.within("a task's pause", await seconds_until(caller, pod, wanted=False), WITHIN_S)
        await say(shop, "default", paused=True)
        other = pod.labelled("other")
        await until("the namespace", lambda: _is_unsized(caller, other))
        await until("phase", lambda: _phase_is(shop, "Paused"))


async def test_a_pause_under_a_wrong_name_is_refused_with_a_sentence(shop: Shop) -> None:
    with pytest.raises(client.ApiException) as refused:
        await say(shop, "stop", paused=True)
    assert "paused here would pause nothing" in refused.value.body


async def _is_unsized(caller: Caller, pod: APod) -> bool:
    return not patch_in(await caller.review(pod))


async def _status(shop: Shop, task: str) -> dict[str, Any]:
    return dict((await shop.profile(task)).get("status") or {})


async def _phase_is(shop: Shop, phase: str) -> bool:
    return (await _status(shop, TASK)).get("phase") == phase


async def _none_asks(shop: Shop, names: list[str], memory: str) -> bool:
    pods = await shop.pods()
    return all(request_of(pods[name]) != memory for name in names)


async def _retries_are(shop: Shop, count: int) -> bool:
    pods = (await shop.pods()).values()
    return sum(labels.RETRY_OF in (pod.metadata.annotations or {}) for pod in pods) == count
