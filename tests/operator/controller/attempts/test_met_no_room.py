"""A pod that was raised while it waited, and found its node taken by its old request."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.names.labels import DECISION, RETRY, RUN_OF
from plimsoll_operator.pods.spec import container_of
from plimsoll_operator.sizing.decision_note import note_to_json, read_note
from plimsoll_predictor.core.units import MIB
from tests.builders.controller.ledgers import an_inside, made
from tests.builders.pods import APod
from tests.operator.controller.attempts.test_own_failures import AS_WRITTEN, lowered, retries
from tests.operator.controller.attempts.test_retry_creation import deleting


def resized(pod: APod, from_mib: int | None) -> APod:
    """Late binding gave it what it has; it had another request before."""
    note = read_note(pod.built())
    assert note is not None
    before_bytes = None if from_mib is None else from_mib * MIB
    return pod.annotated({DECISION: note_to_json(replace(note, before_bytes=before_bytes))})


def refused(pod: APod, reason: str = "OutOfmemory") -> APod:
    """The kubelet refused it before a container started."""
    words = "Pod was rejected: Node didn't have enough resource: memory"
    return pod.with_status(phase="Failed", reason=reason, message=words)


RAISED = resized(lowered(to_mib=256), from_mib=128)


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
            assert inside.known.lifts == {}, "no size was too small"


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
        pytest.param(refused(lowered(to_mib=256)), id="admission raised it"),
        pytest.param(refused(resized(lowered(), from_mib=128)), id="it was lowered"),
        pytest.param(refused(RAISED, "OutOfcpu"), id="for lack of something else"),
        pytest.param(refused(RAISED.owned_by_job()), id="its Job makes another"),
        pytest.param(refused(RAISED.annotated({RETRY: "never"})), id="its author forbids it"),
        pytest.param(deleting(refused(RAISED)), id="somebody deletes it"),
    ],
)
async def test_no_other_refused_pod_is_made_again(tmp_path: Path, pod: APod) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(pod)
        assert retries(inside, pod) == []
