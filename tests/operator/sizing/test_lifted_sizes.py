"""Retries and next pods of a run: what a lift gives them, and what does not lift."""

from __future__ import annotations

from dataclasses import replace

import pytest

from plimsoll_operator.names import labels
from plimsoll_operator.pods.identity import identify
from plimsoll_operator.sizing.bounds.namespaces import read_namespace
from plimsoll_operator.sizing.decision_note import DecisionNote, note_to_json
from plimsoll_operator.sizing.pod_sizing import size
from plimsoll_operator.sizing.state import AdmissionState, NamespaceState
from plimsoll_predictor.core.decision import Bounds, Reason
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.units import GIB
from plimsoll_predictor.deciding.lifting import FailedAttempt, next_allocation
from plimsoll_predictor.knowledge.knowledge import Lift
from tests.builders.nodes import a_node, nodes_of
from tests.builders.pods import JOB_UID, APod, a_pod, decision_of, memory_of
from tests.operator.sizing.admitted import ASKING, FITS, after, lifted, state_of
from tests.rigs.servers.admission_servers import knowledge_of


def test_the_last_attempt_of_a_run_that_a_cap_kept_from_its_own_limit_has_that_limit() -> None:
    known = knowledge_of(max_bytes=2 * GIB)
    pod = a_pod().asking("1Gi").limited("8Gi")
    failed = FailedAttempt(
        killed_at_bytes=2 * GIB,
        attempt=1,
        request_bytes=GIB,
        limit_bytes=8 * GIB,
        attempts_left=3,
    )
    lift = next_allocation(failed, known, Bounds())
    assert isinstance(lift, Lift)
    retry = pod.annotated({labels.RUN_OF: "first"})
    run = identify(retry.built())
    assert run is not None
    state = state_of(replace(known, lifts={str(run.run): lift}))
    assert memory_of(after(retry, state)) == ("1Gi", "8Gi")
    note = note_to_json(
        DecisionNote(
            task="shop/train",
            run=run.run,
            attempt=lift.attempt,
            allocation_bytes=lift.allocation_bytes,
            was_request_bytes=GIB,
            was_limit_bytes=8 * GIB,
            bin=None,
            probability=None,
            model=None,
            reason=Reason.LIFTED,
            why="",
            mode=Mode.ENFORCE,
            container="main",
        )
    )
    size_ = str(lift.allocation_bytes)
    clone = retry.asking(size_).limited(size_).annotated({labels.DECISION: note})
    assert memory_of(after(clone, state))[1] == "8Gi"


def test_a_retry_keeps_its_lifted_size_above_the_policys_maximum() -> None:
    """It was lifted to what its author wrote; the maximum never cut that."""
    lift = Lift(allocation_bytes=4 * GIB, attempt=2, after_bytes=GIB)
    known = knowledge_of(max_bytes=2 * GIB)
    state = state_of(replace(known, lifts={"pod:train-1": lift}))
    pod = ASKING.annotated({labels.RUN_OF: "train-1"})
    assert memory_of(after(pod, state)) == ("4Gi", "4Gi")


def test_a_jobs_next_pod_gets_the_lifted_size() -> None:
    pod = ASKING.owned_by_job()
    sized = after(pod, lifted(f"job:{JOB_UID}"))
    assert memory_of(sized) == ("6Gi", "6Gi")
    assert decision_of(sized)["attempt"] == 2
    assert decision_of(sized)["reason"] == "lifted"


@pytest.mark.parametrize(
    ("limit", "then"), [(None, ("0", None)), ("1Gi", ("0", "0"))], ids=["no limit", "a limit"]
)
def test_where_the_cluster_leaves_nothing_no_limit_of_zero_is_made(
    limit: str | None, then: tuple[str | None, str | None]
) -> None:
    """Beside a written limit the zero stays: a LimitRange refuses the pod with that limit."""
    of_the_side = {"requests": {"memory": "512Mi"}, "limits": {"memory": "2Gi"}}
    pod = a_pod().owned_by_job(attempts=7).with_container("side", resources=of_the_side)
    limits = {"spec": {"limits": [{"type": "Pod", "max": {"memory": "2Gi"}}]}}
    state = lifted(f"job:{JOB_UID}")
    state.namespaces["shop"] = NamespaceState(None, read_namespace([limits], []))
    sized = after(pod.asking("1Gi").limited(limit), state)
    assert "cut to the LimitRange's maximum of 0Ki" in decision_of(sized)["why"]
    assert memory_of(sized) == then
    assert size(sized.built(), state).patch == []


def test_another_jobs_pod_does_not() -> None:
    assert memory_of(after(ASKING.owned_by_job(), lifted("job:another"))) == (FITS, FITS)


def a_retry(state: AdmissionState) -> APod:
    """As the controller makes it: the sized pod, its memory and annotation lifted."""
    return after(ASKING.annotated({labels.RUN_OF: "first"}), state)


def test_an_older_feed_does_not_lower_a_retry_again() -> None:
    retry = a_retry(lifted("pod:first"))
    assert memory_of(retry) == ("6Gi", "6Gi")
    behind = state_of(knowledge_of())
    sized = size(retry.built(), behind)
    assert sized.decision is not None
    assert sized.decision.reason is Reason.LIFTED
    again = retry.patched(sized.patch)
    assert memory_of(again) == ("6Gi", "6Gi")
    assert decision_of(again)["attempt"] == 2
    assert decision_of(again)["was"] == {"request": "4Gi", "limit": "4Gi"}


def test_a_retry_is_raised_if_more_is_known_by_now() -> None:
    retry = a_retry(lifted("pod:first"))
    assert memory_of(after(retry, lifted("pod:first", 7 * GIB))) == ("7Gi", "7Gi")


def test_a_retry_is_cut_to_a_cap_that_came_since() -> None:
    retry = a_retry(lifted("pod:first"))
    capped = state_of(knowledge_of(max_bytes=5 * GIB))
    assert memory_of(after(retry, capped)) == ("5Gi", "5Gi")


@pytest.mark.parametrize(
    ("node", "size"),
    [
        pytest.param("5Gi", "4608Mi", id="nine tenths of the largest node"),
        pytest.param("4Gi", "4Gi", id="what was written, on a smaller one"),
        pytest.param("8Gi", "6Gi", id="the lift, where there is room for it"),
    ],
)
def test_a_retry_never_asks_for_more_than_a_node_can_give(node: str, size: str) -> None:
    """No scheduler would place it, and nobody lowers a later attempt while it waits."""
    retry = a_retry(lifted("pod:first"))
    behind = state_of(knowledge_of())
    behind.nodes = nodes_of(a_node(node))
    assert memory_of(after(retry, behind)) == (size, size)


def test_an_annotation_copied_from_elsewhere_lifts_nothing() -> None:
    """Without its memory the annotation says nothing, and without run-of the pod is no retry."""
    state = state_of(knowledge_of())
    retry = a_retry(lifted("pod:first"))
    assert memory_of(after(retry.asking("4Gi").limited("4Gi"), state)) == (FITS, FITS)
    body = retry.built()
    del body["metadata"]["annotations"][labels.RUN_OF]
    assert memory_of(after(APod(body), state)) == (FITS, FITS)
