"""A run whose pod a node refused at more than was written: admission raises it no more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from plimsoll_operator.names.labels import DECISION, RETRY_OF, RUN_OF
from plimsoll_operator.sizing.decision_note import note_to_json
from plimsoll_operator.sizing.pod_sizing import size
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.cpu import CpuUse
from plimsoll_predictor.core.decision import Reason
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.units import GIB
from plimsoll_predictor.knowledge.knowledge import Lift
from tests.builders.pods import JOB_UID, POD_UID, APod, a_pod, cpu_of, decision_of, memory_of
from tests.rigs.servers.admission_servers import knowledge_of

RUNS = (f"job:{JOB_UID}", f"pod:{POD_UID}")


def needing_more(lift: Lift | None) -> AdmissionState:
    known = replace(knowledge_of(), max_need_bytes=2 * GIB)
    known = replace(known, lifts={} if lift is None else dict.fromkeys(RUNS, lift))
    return AdmissionState(default_policy=Policy(mode=Mode.ENFORCE), tasks={known.task: known})


def copied(pod: APod) -> APod:
    """As Plimsoll makes a bare pod again."""
    note = size(pod.built(), needing_more(None)).note
    assert note is not None
    note = replace(note, attempt=2, allocation_bytes=2 * GIB, reason=Reason.NOT_LOWERED)
    links = {RUN_OF: POD_UID, RETRY_OF: POD_UID}
    return pod.annotated({DECISION: note_to_json(note), **links})


@pytest.mark.parametrize("made", [APod.owned_by_job, copied], ids=["by its Job", "by Plimsoll"])
@pytest.mark.parametrize("limit", ["2Gi", "6Gi", None])
def test_its_next_pod_has_exactly_what_was_written(
    made: Callable[[APod], APod], limit: str | None
) -> None:
    pod = made(a_pod().asking("2Gi").limited(limit))
    refused = Lift(2 * GIB, 2, 0, as_written=True, exactly=True)
    sized = size(pod.built(), needing_more(refused))
    assert memory_of(pod.patched(sized.patch)) == ("2Gi", limit)
    assert sized.note is not None
    assert (sized.note.attempt, sized.note.reason) == (2, Reason.KEPT)
    raised = size(pod.built(), needing_more(replace(refused, exactly=False)))
    assert memory_of(pod.patched(raised.patch))[0] != "2Gi"


def using_half_a_core(lift: Lift | None) -> AdmissionState:
    """Its CPU request is 600m, unless something speaks against that."""
    [known] = needing_more(lift).tasks.values()
    policy = replace(known.policy, cpu=replace(known.policy.cpu, mode=Mode.ENFORCE))
    known = replace(known, policy=policy, cpu=CpuUse(runs=20, high_cores=0.5))
    return AdmissionState(tasks={known.task: known})


@pytest.mark.parametrize("written", ["250m", None])
def test_its_next_pod_has_exactly_the_cpu_that_was_written(written: str | None) -> None:
    pod = a_pod().asking("2Gi").limited("2Gi").owned_by_job()
    refused = Lift(2 * GIB, 2, 0, as_written=True, exactly=True)
    exactly = using_half_a_core(refused)
    otherwise = using_half_a_core(replace(refused, exactly=False))
    asking = pod.with_cpu(written)
    sized = asking.patched(size(asking.built(), exactly).patch)
    assert cpu_of(sized) == (written, None)
    assert "refused" in decision_of(sized)["cpu"]["why"]
    assert cpu_of(asking.patched(size(asking.built(), otherwise).patch)) == ("600m", None)
    large = pod.with_cpu("4")
    kept = large.patched(size(large.built(), exactly).patch)
    assert cpu_of(kept) == ("4", None), "nor less"


def cpu_with(pod: APod, lift: Lift | None) -> str | None:
    sized = pod.patched(size(pod.built(), using_half_a_core(lift)).patch)
    return cpu_of(sized)[0]


def test_a_run_that_ended_too_early_has_no_less_cpu_than_was_written() -> None:
    pod = a_pod().asking("2Gi").limited("2Gi").with_cpu("4")
    of_a_job = pod.owned_by_job()
    failed = Lift(2 * GIB, 2, GIB, as_written=True)
    assert cpu_with(of_a_job, None) == "600m"
    assert cpu_with(of_a_job, failed) == "4"
    sized = of_a_job.patched(size(of_a_job.built(), using_half_a_core(failed)).patch)
    assert "ended too early" in decision_of(sized)["cpu"]["why"]
    assert cpu_with(of_a_job, replace(failed, as_written=False)) == "600m", "memory is what helps"


def test_a_retry_made_as_written_has_its_cpu_before_the_feed_tells_of_its_lift() -> None:
    pod = a_pod().asking("2Gi").limited("2Gi").with_cpu("4")
    assert cpu_with(pod, None) == "600m"
    assert cpu_with(copied(pod), None) == "4"
