"""Before Kubernetes 1.34 no limit falls, however often a waiting pod's request falls below it.

What its author wrote stays known all the same.
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations

import pytest

from plimsoll_operator.attempts.watched_pod import read_pod
from plimsoll_operator.late_binding.resizing import Resize, resize_for, unapplied
from plimsoll_operator.late_binding.restoring_written import WAITS_RAISED_S
from plimsoll_operator.names.labels import DECISION
from plimsoll_operator.names.quantity import format_bytes
from plimsoll_operator.pods.spec import SizedContainer, sized_container
from plimsoll_operator.sizing.decision_note import (
    DecisionNote,
    memory_asked,
    note_to_json,
    read_note,
)
from plimsoll_operator.sizing.patch import Memory
from plimsoll_operator.sizing.pod_sizing import size
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.cpu import CpuUse
from plimsoll_predictor.core.policy import CpuPolicy, Limits, Mode
from plimsoll_predictor.core.units import GIB, MIB
from tests.builders.pods import APod, a_pod, cpu_of, memory_of
from tests.rigs.servers.admission_servers import knowledge_of

NEEDS = (100 * MIB, 500 * MIB, GIB, 3 * GIB)
SINCE_S = 1767225600.0
PASSED_OVER = {
    "type": "PodScheduled",
    "status": "False",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
    "message": "0/3 nodes are available: 3 Insufficient memory, 3 Insufficient cpu.",
}
JOB = a_pod().named("train-1").owned_by_job(attempts=7)
WRITTEN = {
    "nothing": (a_pod().named("train-1"), Memory(None, None)),
    "a request": (a_pod().named("train-1").asking("300Mi"), Memory(300 * MIB, None)),
    "a large request": (JOB.asking("4Gi"), Memory(4 * GIB, None)),
    "equal ones": (JOB.asking("300Mi").limited("300Mi"), Memory(300 * MIB, 300 * MIB)),
    "a higher limit": (JOB.asking("300Mi").limited("2Gi"), Memory(300 * MIB, 2 * GIB)),
    "nearly Guaranteed": (
        JOB.asking("1Gi").limited("2Gi").with_cpu("1", "1"),
        Memory(GIB, 2 * GIB),
    ),
}


def needing(need_bytes: int, limits: Limits = Limits.EQUAL) -> AdmissionState:
    known = knowledge_of(max_need_bytes=need_bytes, limits=limits, cpu=CpuPolicy(mode=Mode.ENFORCE))
    known = replace(known, cpu=CpuUse(runs=20, high_cores=0.5))
    return AdmissionState(tasks={known.task: known})


def admitted(pod: APod, state: AdmissionState) -> APod:
    sized = pod.patched(size(pod.built(), state).patch).built()
    sized["metadata"]["resourceVersion"] = "1"
    return APod(sized).with_status(phase="Pending", conditions=[PASSED_OVER])


def resized(pod: APod, state: AdmissionState, after_s: float = 10) -> Resize | None:
    found = resize_for(pod.built(), state, SINCE_S + after_s, limits_fall=False)
    return found if isinstance(found, Resize) else None


def noted(pod: APod, note: DecisionNote) -> APod:
    return pod.annotated({DECISION: note_to_json(note)})


def carried_out(pod: APod, found: Resize) -> APod:
    [container] = found.body()["spec"]["containers"]
    resources = container["resources"]
    done = noted(pod, found.note).asking(resources["requests"]["memory"])
    if "cpu" in resources["requests"]:
        done = done.with_cpu(resources["requests"]["cpu"], cpu_of(pod)[1])
    limit = resources.get("limits", {}).get("memory")
    return done if limit is None else done.limited(limit)


def asked(pod: APod) -> Memory:
    container = sized_container(pod.built())
    assert isinstance(container, SizedContainer)
    return memory_asked(container, read_note(pod.built()))


@pytest.mark.parametrize("after_s", [10, WAITS_RAISED_S + 10], ids=["at once", "after hours"])
@pytest.mark.parametrize("limits", Limits)
@pytest.mark.parametrize("written", WRITTEN)
def test_what_was_written_stays_known_at_every_moment(
    written: str, limits: Limits, after_s: float
) -> None:
    first, wrote = WRITTEN[written]
    for needs in permutations(NEEDS, 3):
        pod = admitted(first, needing(needs[0], limits))
        for need_bytes in needs[1:]:
            found = resized(pod, needing(need_bytes, limits), after_s)
            if found is None:
                continue
            between, pod = noted(pod, found.note), carried_out(pod, found)
            assert asked(between) == wrote, "noted, and not resized yet"
            right = unapplied(between.built())
            assert right is None or asked(noted(between, right)) == wrote, "it never was"
            assert asked(pod) == wrote


def twice_resized() -> APod:
    """A bare pod that requests 550Mi beside the limit of its first size."""
    pod = admitted(WRITTEN["a request"][0], needing(3 * GIB))
    assert memory_of(pod) == ("3380Mi", "3380Mi")
    for need_bytes in (GIB, 500 * MIB):
        found = resized(pod, needing(need_bytes))
        assert found is not None
        pod = carried_out(pod, found)
    assert memory_of(pod) == ("550Mi", "3380Mi")
    return pod


def test_a_run_that_fails_at_such_a_limit_counts_as_lowered() -> None:
    watched = read_pod(twice_resized().built(), lambda _: knowledge_of())
    assert watched is not None
    assert watched.attempt.written_limit_bytes == 0
    assert watched.is_lowered


def test_the_limit_stays_known_where_only_the_cpu_is_given_back() -> None:
    no_cpu = {**PASSED_OVER, "message": "0/3 nodes are available: 3 Insufficient cpu."}
    pod = twice_resized().with_status(phase="Pending", conditions=[no_cpu])
    found = resized(pod, needing(500 * MIB), WAITS_RAISED_S + 10)
    assert found is not None
    assert (found.cpu_millicores, found.freed_bytes) == (0, 0)
    done = carried_out(pod, found)
    assert memory_of(done) == ("550Mi", "3380Mi")
    assert asked(done) == Memory(300 * MIB, None)


def test_the_note_names_the_limit_only_while_nothing_else_in_it_does() -> None:
    pod = twice_resized()
    assert json.loads(pod.built()["metadata"]["annotations"][DECISION])["limit"] == "3380Mi"
    found = resized(pod, needing(3 * GIB))
    assert found is not None
    assert found.memory == Memory(3380 * MIB, 3380 * MIB)
    assert found.note.own_limit_bytes is None


def test_a_limit_that_somebody_else_writes_is_not_plimsolls() -> None:
    pod = twice_resized().limited("5Gi")
    found = resized(pod, needing(GIB))
    assert found is not None
    assert found.note.own_limit_bytes is None
    assert asked(carried_out(pod, found)) == Memory(300 * MIB, 5 * GIB)


def test_a_note_of_the_version_before_is_read_and_its_limit_stays_known() -> None:
    pod = admitted(WRITTEN["a request"][0], needing(3 * GIB))
    once = resized(pod, needing(GIB))
    assert once is not None
    assert "limit" not in json.loads(note_to_json(once.note)), "as the version before wrote it"
    again = resized(carried_out(pod, once), needing(500 * MIB))
    assert again is not None
    assert format_bytes(again.note.own_limit_bytes or 0) == "3380Mi"
