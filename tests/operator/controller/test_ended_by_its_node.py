"""A pod that its node ends: first it shows that its containers have ended, a second later why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from plimsoll_predictor.core.policy import Mode
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
    killed,
    made,
)
from tests.builders.pods import APod

pytestmark = pytest.mark.slow

BY_KUBELET = {"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet"}
FULL_DISK = {"reason": "Evicted", "message": "The node was low on resource: ephemeral-storage."}
SHUTDOWN = {"reason": "Terminated", "message": "Terminated in response to imminent node shutdown."}
DEADLINE = {"reason": "DeadlineExceeded"}
BY_THE_NODE = [
    pytest.param(FULL_DISK, Cause.EVICTED, id="evicted"),
    pytest.param(SHUTDOWN, Cause.NODE_LOST, id="its node shuts down"),
    pytest.param(DEADLINE, Cause.DEADLINE, id="its deadline is over"),
]
TEKTON = {"tekton.dev/pipelineRun": "run-1", "tekton.dev/taskRun": "run-1-train"}
ANSWERS = [
    pytest.param(("Completed", 0), id="it saves its work"),
    pytest.param(("Error", 143), id="it ends by SIGTERM"),
    pytest.param(("Error", 137), id="it does not heed SIGTERM"),
]


def lowered(name: str = "train-1", attempt: int = 1) -> APod:
    """A Job's pod, which had half of what was written."""
    pod = decided(a_train(name), was_bytes=256 * MIB, attempt=attempt)
    return made(pod.owned_by_job(), "2026-01-01T00:00:00Z")


def stopping(pod: APod, end: tuple[str, int]) -> APod:
    """All its containers have ended, and nothing says why."""
    return ended(pod, *end, phase="Running")


def stopped(pod: APod, end: tuple[str, int], said: dict[str, Any]) -> APod:
    conditions = [] if said is DEADLINE else [BY_KUBELET]
    return ended(pod, *end, phase="Failed").with_status(conditions=conditions, **said)


def ends(inside: Inside) -> list[tuple[Outcome, Cause | None]]:
    return [(each.outcome, each.cause) for each in inside.store.observations.of_task(TRAIN)]


@pytest.mark.parametrize("policy", ["Never", "OnFailure"])
@pytest.mark.parametrize("end", ANSWERS)
@pytest.mark.parametrize(("said", "cause"), BY_THE_NODE)
async def test_why_a_pod_ended_counts_and_not_how_its_program_answered(
    tmp_path: Path, said: dict[str, Any], cause: Cause, end: tuple[str, int], policy: str
) -> None:
    pod = lowered().restarting(policy)
    async with an_inside(tmp_path) as inside:
        # As much as a good size leaves: SIGKILL near the limit looks like a kill.
        await inside.report(a_final(need_bytes=120 * MIB))
        await inside.see(stopping(pod, end))
        assert ends(inside) == []
        for _ in range(2):
            await inside.see(stopped(pod, end, said))
        assert ends(inside) == [(cause.outcome, cause)]
        assert inside.store.totals.of(TRAIN).observations == 1
        await inside.controller.publications.publish()
        assert inside.known.runs == 0


async def test_a_run_that_is_evicted_after_a_kill_keeps_its_lift(tmp_path: Path) -> None:
    second = made(decided(a_train("train-2", "200Mi"), attempt=2), "2026-01-01T00:00:25Z")
    second, end = second.owned_by_job(), ("Completed", 0)
    async with an_inside(tmp_path) as inside:
        await inside.see(killed(lowered(), at="2026-01-01T00:00:20Z"))
        lifts = dict(inside.known.lifts)
        assert lifts
        await inside.see(stopping(second, end))
        await inside.see(stopped(second, end, FULL_DISK))
        assert inside.known.lifts.keys() == lifts.keys()


async def test_a_task_gets_no_floor_for_its_nodes_shutdown(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(stopping(lowered(), ("Error", 143)))
        await inside.see(stopped(lowered(), ("Error", 143), SHUTDOWN))
        await inside.controller.standings.fold()
        assert inside.known.floor is None


@pytest.mark.parametrize("mode", [Mode.ENFORCE, Mode.OFF])
async def test_a_lowered_pod_that_failed_is_given_back_what_was_written_a_second_later(
    tmp_path: Path, mode: Mode
) -> None:
    end = ("Error", 1)
    async with an_inside(tmp_path, mode) as inside:
        await inside.see(stopping(lowered(), end))
        assert inside.known.lifts == {}
        await inside.see(ended(lowered(), *end))
        [lift] = inside.known.lifts.values()
        assert lift.as_written


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(killed(lowered(), phase="Running"), id="killed at its limit"),
        pytest.param(ended(lowered(), "OOMKilled", 1, phase="Running"), id="its child was"),
        pytest.param(
            stopping(lowered().with_container("proxy"), ("Error", 1)), id="another goes on"
        ),
        pytest.param(ended(lowered(), "StartError", 128, phase="Running"), id="never started"),
    ],
)
async def test_what_no_later_state_explains_is_judged_at_once(tmp_path: Path, pod: APod) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(pod)
        assert len(ends(inside)) == 1


def by_tekton() -> APod:
    pod = decided(a_train("run-1-train-pod"), was_bytes=256 * MIB)
    return pod.labelled(**TEKTON).owned_by("TaskRun", "run-1-train", version="tekton.dev/v1")


@pytest.mark.parametrize("exit_code", [1, 3, 52, 137])
async def test_an_engine_that_makes_the_next_pod_at_once_does_not_wait_for_a_phase(
    tmp_path: Path, exit_code: int
) -> None:
    async with an_inside(tmp_path) as inside:
        # SIGKILL near the limit looks like a kill.
        await inside.report(a_final("run-1-train-pod", need_bytes=120 * MIB))
        await inside.see(stopping(by_tekton(), ("Error", exit_code)))
        assert len(ends(inside)) == 1
        assert len(inside.known.lifts) == 1


@pytest.mark.parametrize("end", [("Completed", 0), ("Error", 143)])
async def test_an_engines_pod_waits_if_it_may_have_answered_its_node(
    tmp_path: Path, end: tuple[str, int]
) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(stopping(by_tekton(), end))
        assert ends(inside) == []
        await inside.see(stopped(by_tekton(), end, FULL_DISK))
        assert ends(inside) == [(Outcome.EVICTED, Cause.EVICTED)]


async def test_a_pod_that_goes_before_its_phase_says_why_is_observed_once(tmp_path: Path) -> None:
    pod = stopping(lowered(), ("Completed", 0))
    async with an_inside(tmp_path) as inside:
        await inside.see(pod)
        for _ in range(2):
            await inside.see(pod, gone=True)
        assert ends(inside) == [(Outcome.SUCCEEDED, None)]


async def test_a_controller_that_starts_meanwhile_waits_for_the_reason_too(tmp_path: Path) -> None:
    end = ("Completed", 0)
    for _ in range(2):
        async with an_inside(tmp_path) as inside:
            await inside.see(stopping(lowered(), end))
            assert ends(inside) == []
    async with an_inside(tmp_path) as inside:
        await inside.see(stopped(lowered(), end, FULL_DISK))
        assert ends(inside) == [(Outcome.EVICTED, Cause.EVICTED)]


async def test_a_pod_whose_node_is_gone_is_observed_when_it_is_deleted(tmp_path: Path) -> None:
    pod = stopping(lowered(), ("Completed", 0))
    built = pod.built()
    built["metadata"]["deletionTimestamp"] = "2026-01-01T00:06:00Z"
    disruption = {**BY_KUBELET, "reason": "DeletionByTaintManager"}
    tainted = APod(built).with_status(conditions=[disruption])
    async with an_inside(tmp_path) as inside:
        await inside.see(pod)
        await inside.see(tainted)
        await inside.see(tainted, gone=True)
        assert ends(inside) == [(Outcome.EVICTED, Cause.EVICTED)]


async def test_a_restart_in_place_tells_why_the_life_before_it_ended(tmp_path: Path) -> None:
    pod = stopping(lowered().restarting("OnFailure"), ("Error", 1))
    restarted = pod.built()
    [main] = restarted["status"]["containerStatuses"]
    running = {"running": {"startedAt": "2026-01-01T00:01:01Z"}}
    main.update(restartCount=1, lastState=main["state"], state=running)
    async with an_inside(tmp_path) as inside:
        await inside.see(pod)
        assert ends(inside) == []
        for _ in range(2):
            await inside.see(APod(restarted))
        assert ends(inside) == [(Outcome.FAILED, Cause.OWN_MISTAKE)]
