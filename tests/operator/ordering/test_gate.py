"""The gate of a pod that waits for its turn: read, removed alone, and never for too long."""

from __future__ import annotations

from typing import Any

import jsonpatch
import pytest

from plimsoll_operator.names import labels
from plimsoll_operator.ordering.gate import is_held, opening, release_to
from plimsoll_operator.ordering.longest_wait import (
    MOST_WAIT_S,
    is_overdue,
    most_wait_s,
    note_of_wait,
)
from plimsoll_operator.pods.status import read_time
from plimsoll_operator.sizing.node_hint import PREFERRED, without_hint
from tests.builders.pods import APod, a_pod

CREATED = "2026-11-23T12:00:00Z"
CREATED_S = read_time(CREATED) or 0.0
OURS, KUEUES = {"name": labels.ORDER_GATE}, {"name": "kueue.x-k8s.io/admission"}


def gated(*gates: dict[str, str], **spec: Any) -> APod:
    return a_pod().named("train-1").with_spec(schedulingGates=list(gates), **spec)


def created(pod: APod, note: str | None = None) -> dict[str, Any]:
    document = (pod if note is None else pod.annotated({labels.HELD: note})).built()
    document["metadata"].update(creationTimestamp=CREATED, resourceVersion="7")
    return document


def test_only_plimsolls_gate_holds_a_pod_for_its_turn() -> None:
    assert is_held(gated(KUEUES, OURS).built())
    assert not is_held(gated(KUEUES).built())
    assert not is_held(a_pod().with_spec(schedulingGates="odd").built())


def test_opening_leaves_the_gates_of_others() -> None:
    pod = gated(KUEUES, OURS, {"name": "example.com/mine"}).built()
    after = jsonpatch.apply_patch(pod, opening(pod))
    assert after["spec"]["schedulingGates"] == [KUEUES, {"name": "example.com/mine"}]
    assert opening(gated(KUEUES).built()) == []


def test_opening_fails_where_another_gate_stands_there_by_now() -> None:
    operations = opening(gated(KUEUES, OURS).built())
    with pytest.raises(jsonpatch.JsonPatchException):
        jsonpatch.apply_patch(gated(OURS, KUEUES).built(), operations)


def test_a_release_names_a_version_and_keeps_what_was_preferred() -> None:
    own = {"weight": 1, "preference": {"matchExpressions": []}}
    affinity = {"nodeAffinity": {PREFERRED: [own]}, "podAffinity": {"odd": 1}}
    body = release_to(created(gated(OURS, KUEUES, affinity=affinity)), ["best", "next"])
    assert body["metadata"]["resourceVersion"] == "7"
    assert body["spec"]["schedulingGates"] == [KUEUES]
    terms = body["spec"]["affinity"]["nodeAffinity"][PREFERRED]
    assert terms[0] == own
    values = [each["preference"]["matchExpressions"][0]["values"] for each in terms[1:]]
    assert values == [["best"], ["best", "next"]]
    assert list(body["spec"]["affinity"]) == ["nodeAffinity"]  # a merge keeps the rest


def test_a_release_requires_no_node() -> None:
    """If a pod's required nodes were gone before it is bound, it would wait for ever."""
    assert "required" not in str(release_to(created(gated(OURS)), ["best"]))
    assert "affinity" not in release_to(created(gated(OURS)), [])["spec"]


def test_what_a_release_wrote_is_left_out_of_a_retry() -> None:
    before = created(gated())
    body = release_to(created(gated(OURS)), ["best", "next"])
    released = {
        **before,
        "metadata": {**before["metadata"], **body["metadata"]},
        "spec": {**before["spec"], **body["spec"]},
    }
    assert "affinity" not in without_hint(released)["spec"]


@pytest.mark.parametrize(
    ("note", "most_s"),
    [
        pytest.param(note_of_wait(30.0), 30.0, id="what is written"),
        pytest.param(None, MOST_WAIT_S, id="nothing is written"),
        pytest.param('{"mostS": 1e9}', MOST_WAIT_S, id="nobody writes more than the most"),
        pytest.param('{"mostS": -5}', 0.0, id="nothing below nothing"),
        pytest.param('{"mostS": true}', MOST_WAIT_S, id="no number"),
        pytest.param("[1]", MOST_WAIT_S, id="no object"),
        pytest.param("{", MOST_WAIT_S, id="no JSON"),
        pytest.param("x" * 100_000, MOST_WAIT_S, id="far too long"),
    ],
)
def test_how_long_a_pod_may_be_held(note: str | None, most_s: float) -> None:
    pod = created(gated(OURS), note)
    assert most_wait_s(pod) == most_s
    assert is_overdue(pod, CREATED_S + most_s)
    assert not is_overdue(pod, CREATED_S + most_s - 1)


def test_a_pod_of_unknown_age_waits_no_longer() -> None:
    assert is_overdue(gated(OURS).built(), 0.0)
