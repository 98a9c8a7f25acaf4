"""Admission's reading of a pod's own words where one could be taken for another."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from plimsoll_operator.names import labels
from plimsoll_operator.names.labels import MAX_ALL_ANNOTATIONS_BYTES
from plimsoll_operator.pods.identity import identify
from plimsoll_operator.sizing.bounds.namespaces import read_namespace
from plimsoll_operator.sizing.decision_note import note_to_json
from plimsoll_operator.sizing.pod_sizing import size
from plimsoll_operator.sizing.sized import Treatment
from plimsoll_operator.sizing.state import NamespaceState
from plimsoll_predictor.core.decision import Reason
from plimsoll_predictor.core.units import GIB
from plimsoll_predictor.knowledge.knowledge import Lift
from tests.builders.pods import APod, a_pod, decision_of, memory_of
from tests.operator.sizing.admitted import ASKING, FITS, after, bounded, state_of
from tests.rigs.servers.admission_servers import knowledge_of

KNOWN = state_of(knowledge_of())
TRIES_THREE_QUARTERS = state_of(replace(knowledge_of(first_size=0.75), runs=0, max_need_bytes=None))


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(a_pod().asking("4Gi"), id="without a limit"),
        pytest.param(ASKING, id="Burstable, with a limit that equals its request"),
        pytest.param(ASKING.with_cpu("1", "1"), id="Guaranteed"),
    ],
)
def test_a_pod_whose_limit_says_no_more_than_its_request_gets_the_first_size(pod: APod) -> None:
    sized = after(pod, TRIES_THREE_QUARTERS)
    assert decision_of(sized)["reason"] == "first-size"
    assert memory_of(sized)[0] == "3Gi"


def test_a_guaranteed_pod_stays_guaranteed_with_its_first_size() -> None:
    assert memory_of(after(ASKING.with_cpu("1", "1"), TRIES_THREE_QUARTERS)) == ("3Gi", "3Gi")


def test_a_limit_above_the_request_keeps_a_pod_from_its_first_size() -> None:
    sized = after(a_pod().asking("4Gi").limited("8Gi"), TRIES_THREE_QUARTERS)
    assert decision_of(sized)["reason"] == "cold-start"
    assert memory_of(sized) == ("4Gi", "8Gi")


def full(pod: APod, *, left_bytes: int) -> APod:
    """The pod with annotations up to that many bytes below the API server's limit."""
    key = "example.com/notes"
    return pod.annotated({key: "x" * (MAX_ALL_ANNOTATIONS_BYTES - len(key) - left_bytes)})


def test_a_pod_whose_annotations_leave_no_room_for_the_decision_is_not_touched_and_said() -> None:
    sized = size(full(ASKING, left_bytes=100).built(), KNOWN)
    assert (sized.treatment, sized.patch) == (Treatment.NOT_SIZABLE, [])
    assert sized.warning == "not sized: its annotations leave no room for the decision"


def test_a_container_that_a_pod_misnames_is_warned_of_and_the_pod_stays_as_it_is() -> None:
    sized = size(ASKING.annotated({labels.CONTAINER: "mian"}).built(), KNOWN)
    assert (sized.treatment, sized.patch) == (Treatment.NOT_SIZABLE, [])
    assert sized.warning is not None
    assert "plimsoll.dev/container names 'mian', which is none of its containers" in sized.warning
    assert size({**ASKING.built(), "spec": {}}, KNOWN).warning is None, "nobody meant it"


def test_a_pod_whose_annotations_leave_just_enough_room_is_sized() -> None:
    assert memory_of(after(full(ASKING, left_bytes=4096), KNOWN)) == (FITS, FITS)


@pytest.mark.parametrize(
    ("container", "asked"),
    [
        pytest.param("main", "4Gi", id="its own: what the author asked stands in the note"),
        pytest.param("other", FITS, id="another one's: what the container says is what was asked"),
    ],
)
def test_a_note_speaks_of_the_container_it_names(container: str, asked: str) -> None:
    note = size(ASKING.built(), KNOWN).note
    assert note is not None
    noted = (
        ASKING.asking(FITS)
        .limited(FITS)
        .annotated({labels.DECISION: note_to_json(replace(note, container=container))})
    )
    assert decision_of(after(noted, KNOWN))["was"]["request"] == asked


def a_quota(hard: str, used: str) -> dict[str, Any]:
    memory = {"requests.memory": hard}
    return {"spec": {"hard": memory}, "status": {"hard": memory, "used": {"requests.memory": used}}}


@pytest.mark.parametrize(
    ("killed_gib", "memory"),
    [
        pytest.param(4, ("4Gi", "16Gi"), id="at its request: as written, it may live"),
        pytest.param(16, ("18Gi", "18Gi"), id="at its limit: it needs more"),
    ],
)
def test_a_next_attempt_takes_of_a_quota_what_was_written_until_that_was_too_little(
    killed_gib: int, memory: tuple[str, str]
) -> None:
    pod = a_pod().owned_by_job().asking("4Gi").limited("16Gi")
    identity = identify(pod.built())
    assert identity is not None
    lift = Lift(allocation_bytes=18 * GIB, attempt=4, after_bytes=killed_gib * GIB)
    state = state_of(replace(knowledge_of(), lifts={str(identity.run): lift}))
    bounds = read_namespace([], [a_quota("20Gi", used="16Gi")])
    state.namespaces["shop"] = NamespaceState(None, bounds)
    assert memory_of(after(pod, state)) == memory


def test_where_a_quota_counts_pods_a_retry_is_raised_and_a_first_attempt_is_not() -> None:
    first = a_pod().asking("1Gi").limited("1Gi")
    retry = first.annotated({labels.RUN_OF: "first"})
    identity = identify(retry.built())
    assert identity is not None
    lift = Lift(allocation_bytes=3 * GIB, attempt=2, after_bytes=GIB)
    known = replace(knowledge_of(max_need_bytes=3 * GIB), lifts={str(identity.run): lift})
    state = state_of(known)
    bounds = read_namespace([], [a_quota("8Gi", used="6Gi")])
    state.namespaces["shop"] = NamespaceState(None, bounds)
    for pod, reason, allocation in (
        (first, Reason.MAX_SEEN, "1Gi"),
        (retry, Reason.LIFTED, "3Gi"),
    ):
        sized = size(pod.built(), state)
        assert sized.decision is not None
        assert sized.decision.reason is reason
        assert decision_of(pod.patched(sized.patch))["allocation"] == allocation


@pytest.mark.parametrize(
    ("bound", "written", "sized"),
    [
        # 2127Mi of requests would be above the maximum, so the pod is left as it was admitted.
        ({"max": {"memory": "2Gi"}}, ("512Mi", "1500Mi"), ("512Mi", "1500Mi")),
        # 1127Mi of limits would be below the minimum.
        ({"min": {"memory": "2Gi"}}, ("4Gi", "4Gi"), ("2Gi", "2Gi")),
    ],
)
def test_a_limit_range_for_pods_counts_what_a_proxy_requests(
    bound: dict[str, dict[str, str]], written: tuple[str, str], sized: tuple[str, str]
) -> None:
    request, limit = written
    limit_range = {"spec": {"limits": [{"type": "Pod", **bound}]}}
    pod = a_pod().asking(request).limited(limit).owned_by_job()
    pod = pod.with_sidecar("proxy", resources={"requests": {"memory": "1000Mi"}})
    assert memory_of(after(pod, bounded(read_namespace([limit_range], [])))) == sized
