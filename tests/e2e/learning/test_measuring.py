"""What the agent learns about pods on the real node."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from plimsoll_operator.agent.spool import FILE_NAME, Spool
from plimsoll_operator.attempts.observation import END_SEEN_WITHIN_S
from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.core.units import MIB
from tests.apiserver.controllers import Shop, until
from tests.e2e.plimsolls import AGENT, Plimsoll
from tests.e2e.seeing import WITHIN_S, create, ended, go_on, running
from tests.e2e.workloads import LONG_S, Manifest, a_pod
from tests.rigs.images.eater import STREAMER_MIB
from tests.rigs.node.real_pods import a_cold_file

pytestmark = [pytest.mark.node, pytest.mark.asyncio(loop_scope="module")]

LIMIT_MIB = 96


def streaming(file: Path, task: str) -> Manifest:
    pod = a_pod("streaming", "stream /data/file", task=task, memory=f"{LIMIT_MIB}Mi")
    pod["spec"]["volumes"] = [{"name": "data", "hostPath": {"path": str(file.parent)}}]
    mount = {"name": "data", "mountPath": "/data", "readOnly": True}
    pod["spec"]["containers"][0]["volumeMounts"] = [mount]
    return pod


async def measured(plimsoll: Plimsoll, shop: Shop, task: str) -> Observation:
    """A task's single observation, once its peak is known."""
    (found,) = await until(
        f"the peak of {task}",
        lambda: [o for o in plimsoll.observations(shop.task(task)) if o.peak_bytes is not None],
        WITHIN_S,
    )
    assert isinstance(found, Observation)
    return found


async def test_a_task_that_reads_a_file_beyond_its_limit_is_not_learned_as_needing_its_limit(
    shop: Shop, plimsoll: Plimsoll, tmp_path: Path
) -> None:
    file = a_cold_file(tmp_path / "file", 2 * LIMIT_MIB * MIB)
    await create(shop, streaming(file, "streaming"))
    assert (await ended(shop, "streaming")).status.phase == "Succeeded"
    seen = await measured(plimsoll, shop, "streaming")
    assert seen.kernel_peak_bytes is not None
    assert seen.peak_bytes is not None
    assert seen.kernel_peak_bytes > 0.9 * LIMIT_MIB * MIB
    assert STREAMER_MIB * MIB <= seen.peak_bytes < LIMIT_MIB * MIB / 3


async def test_a_pod_of_a_moment_is_measured(shop: Shop, plimsoll: Plimsoll) -> None:
    await create(shop, a_pod("brief", "eat 40", task="brief"))
    seen = await measured(plimsoll, shop, "brief")
    assert seen.peak_bytes is not None
    assert 40 * MIB <= seen.peak_bytes <= 56 * MIB


async def test_an_agent_killed_while_a_pod_runs_still_learns_its_peak(
    shop: Shop, plimsoll: Plimsoll
) -> None:
    watched = a_pod("watched", f"eat 40 {LONG_S}", task="watched")
    uid = (await create(shop, watched)).metadata.uid
    await running(shop, "watched")
    await plimsoll.killed(AGENT)
    killed_s = time.time()
    await until("another agent measures", lambda: noted_since(plimsoll, killed_s), WITHIN_S)
    await go_on(uid)
    seen = await measured(plimsoll, shop, "watched")
    assert seen.peak_bytes is not None
    assert 40 * MIB <= seen.peak_bytes <= 56 * MIB


async def test_a_pod_whose_end_no_agent_saw_is_observed_and_teaches_no_need(
    shop: Shop, plimsoll: Plimsoll
) -> None:
    """Only half of the run was seen: if that taught, the next run's size would be too small."""
    uid = (await create(shop, a_pod("left", f"eat 40 {LONG_S}", task="left"))).metadata.uid
    await running(shop, "left")
    await until("it was seen to eat", lambda: noted_peak(plimsoll, uid) >= 40 * MIB, WITHIN_S)
    before = plimsoll.pid(AGENT)
    with plimsoll.without(AGENT):
        await go_on(uid)
        (container,) = (await ended(shop, "left")).status.container_statuses
        finished_s = container.state.terminated.finished_at.timestamp()
        await gone_for(finished_s, END_SEEN_WITHIN_S)
    await plimsoll.back(AGENT, before)
    await until("the agent's last word", lambda: told_last(plimsoll, uid), WITHIN_S)
    (seen,) = plimsoll.observations(shop.task("left"))
    assert seen.outcome is Outcome.SUCCEEDED
    assert seen.need is None


async def gone_for(since_s: float, seconds: float) -> None:
    """Wait until the pod's cgroup is gone: the agent can only report what it had written down."""
    await until("the cgroup is gone", lambda: time.time() > since_s + seconds, WITHIN_S)


def told_last(plimsoll: Plimsoll, uid: str) -> bool:
    return any(report["final"] for report in plimsoll.store.peaks.of_pod(uid))


def noted_since(plimsoll: Plimsoll, since_s: float) -> bool:
    """Whether an agent has written down the pods that it follows since then, in Unix seconds."""
    return (plimsoll.state / "agent" / FILE_NAME).stat().st_mtime > since_s


def noted_peak(plimsoll: Plimsoll, uid: str) -> int:
    """What the agent has noted of a running pod, in bytes, in case the agent dies."""
    peaks = Spool(plimsoll.state / "agent").load().running.get((uid, None))
    return peaks.need_peak_bytes if peaks is not None else 0
