"""A pod that had more than was written, and that its node refused before it started."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.names.labels import DECISION, RETRY, RUN_OF
from plimsoll_operator.pods.spec import container_of
from plimsoll_operator.sizing.decision_note import note_to_json, read_note
from plimsoll_predictor.core.units import MIB
from tests.builders.controller.ledgers import (
    NOW_S,
    TRAIN,
    Inside,
    a_cpu_note,
    a_train,
    an_inside,
    decided,
    ended,
    killed,
    made,
)
from tests.builders.controller.retried_pods import AS_WRITTEN, deleting, lowered, retries
from tests.builders.pods import JOB_UID, APod


def resized(pod: APod, from_mib: int | None) -> APod:
    """Late binding gave it what it has; it had another request before."""
    note = read_note(pod.built())
    assert note is not None
    before_bytes = None if from_mib is None else from_mib * MIB
    return pod.annotated({DECISION: note_to_json(replace(note, before_bytes=before_bytes))})


def with_two_cores(pod: APod, was: int | None) -> APod:
    """Plimsoll gave them to it. was: the CPU request in its author's manifest, in millicores."""
    note = read_note(pod.built())
    assert note is not None
    cpu = a_cpu_note(was)
    return pod.annotated({DECISION: note_to_json(replace(note, cpu=cpu))}).with_cpu("2")


def refused(pod: APod, reason: str = "OutOfmemory") -> APod:
    """The kubelet refused it before a container started."""
    words = "Pod was rejected: Node didn't have enough resource: memory"
    return pod.with_status(phase="Failed", reason=reason, message=words)


UNEXPECTED = "UnexpectedAdmissionError"
RAISED = resized(lowered(to_mib=256), from_mib=128)
MORE_CPU = with_two_cores(decided(a_train()), 500)


@pytest.mark.slow
@pytest.mark.parametrize("said", [{}, {"paused": True}, {"mode": "recommend"}])
async def test_a_bare_pod_is_made_again_as_its_author_wrote_it(
    tmp_path: Path, said: dict[str, Any]
) -> None:
    for _ in range(2):
        async with an_inside(tmp_path, said=said) as inside:
            for _ in range(2):
                await inside.see(refused(RAISED))
            [copy] = retries(inside, RAISED)
            assert container_of(copy, 0)["resources"] == AS_WRITTEN
            assert copy["metadata"]["annotations"][RUN_OF] == "uid-train-1"
            assert lifted(inside) == ("pod:uid-train-1", True, 0), "no size was too small"


def lifted(inside: Inside) -> tuple[str, bool, int] | None:
    """The run that has a lift, whether to exactly what was written, and what was too small."""
    stored = inside.store.lifts.waiting().get(TRAIN, {})
    assert stored == inside.known.lifts
    for run, lift in stored.items():
        return run, lift.exactly, lift.after_bytes
    return None


@pytest.mark.slow
@pytest.mark.parametrize("reason", ["OutOfmemory", "TopologyAffinityError", UNEXPECTED])
async def test_so_is_one_that_admission_raised(tmp_path: Path, reason: str) -> None:
    """Such as a Guaranteed pod that fits on no NUMA node any more."""
    raised = lowered(to_mib=256)
    async with an_inside(tmp_path) as inside:
        await inside.see(refused(raised, reason))
        [copy] = retries(inside, raised)
        assert container_of(copy, 0)["resources"] == AS_WRITTEN
        note = read_note(copy)
        assert note is not None
        assert "refused" in note.why
        assert lifted(inside) == ("pod:uid-train-1", True, 0)


@pytest.mark.slow
@pytest.mark.parametrize(("was", "cpu"), [(500, {"cpu": "500m"}), (None, {})])
async def test_so_is_one_whose_cpu_was_raised_if_its_node_lacked_cpu(
    tmp_path: Path, was: int | None, cpu: dict[str, str]
) -> None:
    pod = with_two_cores(decided(a_train()), was)
    async with an_inside(tmp_path) as inside:
        for _ in range(2):
            await inside.see(refused(pod, "OutOfcpu"))
        [copy] = retries(inside, pod)
        requests = {**AS_WRITTEN["requests"], **cpu}
        assert container_of(copy, 0)["resources"] == {**AS_WRITTEN, "requests": requests}
        note = read_note(copy)
        assert note is not None
        assert note.cpu is None, "else admission would raise it again"
        assert lifted(inside) == ("pod:uid-train-1", True, 0)


@pytest.mark.slow
async def test_the_next_pod_of_a_job_is_raised_no_more_if_a_node_lacked_cpu(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(refused(MORE_CPU.owned_by_job(), "OutOfcpu"))
        assert retries(inside, MORE_CPU) == []
        assert lifted(inside) == (f"job:{JOB_UID}", True, 0)


@pytest.mark.slow
async def test_whoever_makes_its_next_pod_it_is_raised_no_more(tmp_path: Path) -> None:
    raised = lowered(to_mib=256).owned_by_job()
    async with an_inside(tmp_path) as inside:
        await inside.see(refused(raised, "TopologyAffinityError"))
        assert retries(inside, raised) == []
        assert lifted(inside) == (f"job:{JOB_UID}", True, 0)
        again = decided(a_train("train-2").owned_by_job(), attempt=2)
        await inside.see(refused(again, "TopologyAffinityError"))
        assert lifted(inside) == (f"job:{JOB_UID}", True, 0)
        await inside.see(ended(decided(a_train("train-3").owned_by_job(), attempt=2)))
        assert lifted(inside) is None, "the run has succeeded"


@pytest.mark.slow
@pytest.mark.parametrize("scheduled", ["2026-01-01T00:00:00Z", None])
async def test_a_run_that_has_succeeded_since_is_not_lifted_again_at_a_start(
    tmp_path: Path, scheduled: str | None
) -> None:
    """The refused pod stays there for as long as its Job, and each start sees it."""
    bound = {"type": "PodScheduled", "status": "True", "lastTransitionTime": scheduled}
    pod = made(refused(lowered(to_mib=256).owned_by_job()), "2026-01-01T00:00:00Z")
    pod = pod.with_status(conditions=[bound] if scheduled else [])
    again = made(decided(a_train("train-2").owned_by_job(), attempt=2), "2026-01-01T00:00:02Z")
    async with an_inside(tmp_path) as inside:
        await inside.see(pod)
        assert lifted(inside) == (f"job:{JOB_UID}", True, 0)
        if scheduled is None:
            assert inside.known.lifts[f"job:{JOB_UID}"].killed_s == NOW_S
            again = made(again, "2026-01-01T00:01:00Z")
        await inside.see(ended(again, at="2026-01-01T00:01:30Z"))
        assert lifted(inside) is None
    async with an_inside(tmp_path) as inside:
        await inside.see(pod)
        assert lifted(inside) is None


@pytest.mark.slow
@pytest.mark.parametrize("restarts", ["OnFailure", "Always"])
async def test_a_bare_pod_that_its_kubelet_would_restart_is_made_again_too(
    tmp_path: Path, restarts: str
) -> None:
    """A kubelet restarts no pod that it has refused."""
    raised = lowered(to_mib=256).restarting(restarts)
    others = {
        "somebody owns it": lowered("a", to_mib=256).owned_by("Cron", "n", version="apps/v1"),
        "an engine makes the next": lowered("b", to_mib=256).labelled(dag_id="n", task_id="t"),
    }
    async with an_inside(tmp_path) as inside:
        for words, pod in others.items():
            await inside.see(refused(pod.restarting(restarts)))
            assert retries(inside, pod) == [], words
        await inside.see(refused(raised))
        [copy] = retries(inside, raised)
        assert container_of(copy, 0)["resources"] == AS_WRITTEN


@pytest.mark.slow
async def test_a_run_that_was_killed_at_what_was_written_keeps_its_lift(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(killed(decided(a_train()).owned_by_job()))
        before = lifted(inside)
        again = lowered("train-2", to_mib=256, attempt=2).owned_by_job()
        await inside.see(refused(again, "TopologyAffinityError"))
        assert lifted(inside) == before == (f"job:{JOB_UID}", False, 128 * MIB)


@pytest.mark.slow
async def test_a_refusal_uses_up_no_lift(tmp_path: Path) -> None:
    run = f"job:{JOB_UID}"
    async with an_inside(tmp_path, said={"maxLifts": 1}) as inside:
        await inside.see(refused(lowered(to_mib=256).owned_by_job(), "TopologyAffinityError"))
        await inside.see(killed(decided(a_train("train-2").owned_by_job(), attempt=2)))
        lift = inside.known.lifts[run]
        assert (lift.attempt, lift.tells_need) == (3, True)
        await inside.see(killed(lowered("train-3", to_mib=256, attempt=3).owned_by_job()))
        assert inside.known.lifts[run] == lift, "there was one, and it is used up"


@pytest.mark.slow
async def test_nor_does_the_refusal_of_a_bare_pod(tmp_path: Path) -> None:
    async with an_inside(tmp_path, said={"maxLifts": 1}) as inside:
        raised = lowered(to_mib=256)
        await inside.see(refused(raised))
        [second] = retries(inside, raised)
        again = APod(second).named("train-1-a2", "uid-train-1-a2")
        await inside.see(killed(again))
        [*_, third] = retries(inside, again)
        assert third["metadata"]["annotations"][RUN_OF] == "uid-train-1"
        [lift] = inside.known.lifts.values()
        assert (lift.attempt, lift.tells_need) == (3, True)


@pytest.mark.slow
async def test_nobody_is_promised_an_attempt_that_a_job_does_not_make(tmp_path: Path) -> None:
    async with an_inside(tmp_path, said={"maxLifts": 1}) as inside:
        raised = lowered(to_mib=256).owned_by_job(attempts=2)
        await inside.see(refused(raised, "TopologyAffinityError"))
        before = lifted(inside)
        last = decided(a_train("train-2").owned_by_job(attempts=2), attempt=2)
        await inside.see(killed(last))
        assert lifted(inside) == before == (f"job:{JOB_UID}", True, 0)


@pytest.mark.slow
async def test_it_may_have_waited_for_long(tmp_path: Path) -> None:
    bound = {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    pod = refused(made(RAISED, "2025-12-30T00:00:00Z")).with_status(conditions=[bound])
    async with an_inside(tmp_path) as inside:
        await inside.see(pod)
        assert len(retries(inside, RAISED)) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(refused(decided(a_train())), id="it had what was written"),
        pytest.param(refused(resized(lowered(), from_mib=128)), id="it was lowered"),
        pytest.param(refused(RAISED, "OutOfcpu"), id="for lack of something else"),
        pytest.param(refused(MORE_CPU), id="for lack of memory, with more CPU"),
        pytest.param(refused(MORE_CPU.with_cpu("3"), "OutOfcpu"), id="with CPU of somebody else"),
        pytest.param(
            refused(with_two_cores(decided(a_train()), 3000), "OutOfcpu"), id="its CPU was lowered"
        ),
        pytest.param(refused(RAISED.owned_by_job()), id="its Job makes another"),
        pytest.param(refused(RAISED.annotated({RETRY: "never"})), id="its author forbids it"),
        pytest.param(deleting(refused(RAISED)), id="somebody deletes it"),
    ],
)
async def test_no_other_refused_pod_is_made_again(tmp_path: Path, pod: APod) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(pod)
        assert retries(inside, pod) == []
