"""The decision annotation, written and read back."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_operator.names import labels
from plimsoll_operator.sizing.decision_note import (
    MAX_ANNOTATION_CHARS,
    DecisionNote,
    note_from_json,
    note_to_json,
    read_note,
)
from plimsoll_predictor.core.decision import Reason
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.units import GIB, MIB
from tests.builders.pods import a_pod

NOTE = DecisionNote(
    task="shop/train",
    run="job:1",
    attempt=2,
    allocation_bytes=900 * MIB,
    was_request_bytes=4 * GIB,
    was_limit_bytes=None,
    bin=1,
    probability=0.97,
    model="ab12",
    reason=Reason.PREDICTED,
    why="bin 2 of 3",
    mode=Mode.ENFORCE,
    container="main",
)


def test_it_reads_well() -> None:
    assert json.loads(note_to_json(NOTE)) == {
        "task": "shop/train",
        "run": "job:1",
        "attempt": 2,
        "container": "main",
        "allocation": "900Mi",
        "was": {"request": "4Gi", "limit": None},
        "bin": 1,
        "probability": 0.97,
        "model": "ab12",
        "mode": "enforce",
        "reason": "predicted",
        "why": "bin 2 of 3",
    }


@pytest.mark.slow
@given(
    st.builds(
        DecisionNote,
        task=st.just("shop/train"),
        run=st.none() | st.text(max_size=100),
        attempt=st.integers(1, 1000),
        allocation_bytes=st.none() | st.integers(0, 2**50),
        was_request_bytes=st.none() | st.integers(0, 2**50),
        was_limit_bytes=st.none() | st.integers(0, 2**50),
        bin=st.none() | st.integers(0, 7),
        probability=st.none() | st.integers(0, 10_000).map(lambda n: n / 10_000),
        model=st.none() | st.text(max_size=20),
        reason=st.sampled_from(Reason),
        why=st.text(max_size=200),
        mode=st.sampled_from(Mode),
        container=st.text(max_size=63),
        before_bytes=st.none() | st.integers(0, 2**50),
        own_limit_bytes=st.none() | st.integers(0, 2**50),
    )
)
def test_what_was_written_is_read_back(note: DecisionNote) -> None:
    text = note_to_json(note)
    assert note_from_json(text) == (note if len(text) <= MAX_ANNOTATION_CHARS else None)


def test_a_pod_without_one_has_no_note() -> None:
    assert read_note(a_pod().built()) is None


def test_a_pod_with_one_has_a_note() -> None:
    assert read_note(a_pod().annotated({labels.DECISION: note_to_json(NOTE)}).built()) == NOTE


def changed(**fields: Any) -> str:
    return json.dumps({**json.loads(note_to_json(NOTE)), **fields})


def test_a_limit_of_plimsolls_is_in_it_only_where_one_stayed() -> None:
    noted = json.loads(note_to_json(replace(NOTE, own_limit_bytes=3 * GIB)))
    assert noted.pop("limit") == "3Gi"
    # The version before wrote no such field, and passes over fields that it does not know.
    assert noted == json.loads(note_to_json(NOTE))
    assert note_from_json(json.dumps(noted)) == NOTE
    assert note_from_json(changed(later="3Gi")) == NOTE


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("{", id="cut off"),
        pytest.param("[]", id="a list"),
        pytest.param("null", id="null"),
        pytest.param("[" * 3000, id="deep"),
        pytest.param("{}", id="nothing in it"),
        pytest.param(changed(attempt=0), id="attempt 0"),
        pytest.param(changed(attempt=10**9), id="attempt 1e9"),
        pytest.param(changed(attempt=True), id="attempt true"),
        pytest.param(changed(attempt="2"), id="attempt as text"),
        pytest.param(changed(allocation="lots"), id="an unreadable allocation"),
        pytest.param(changed(allocation="-1Gi"), id="a negative allocation"),
        pytest.param(changed(was=None), id="no was"),
        pytest.param(changed(limit="lots"), id="an unreadable limit"),
        pytest.param(changed(probability=2), id="probability 2"),
        pytest.param(changed(probability="x"), id="probability x"),
        pytest.param(changed(mode="always"), id="an unknown mode"),
        pytest.param(changed(reason="because"), id="an unknown reason"),
        pytest.param(changed(task=3), id="a number for a task"),
        pytest.param(changed(why=7), id="a number for a reason"),
        pytest.param(changed(why=["x"]), id="a list for a reason"),
        pytest.param(changed(why="x" * 5000), id="too long"),
    ],
)
def test_what_plimsoll_would_not_have_written_counts_as_absent(text: str) -> None:
    assert note_from_json(text) is None
    assert read_note(a_pod().annotated({labels.DECISION: text}).built()) is None


@pytest.mark.slow
@given(st.text(max_size=200))
def test_any_text_is_a_note_or_none(text: str) -> None:
    assert note_from_json(text) is None


def test_a_reason_that_somebody_made_longer_costs_nothing_else() -> None:
    cpu = {"request": "200m", "was": "1", "mode": "enforce", "reason": "used", "why": "y" * 300}
    note = note_from_json(changed(why="x" * 600, cpu=cpu))
    assert note is not None
    assert (note.why, note.was_request_bytes) == ("x" * 512, NOTE.was_request_bytes)
    assert note.cpu is not None
    assert (note.cpu.why, note.cpu.was_millicores) == ("y" * 256, 1000)


def test_a_long_reason_is_cut() -> None:
    note = note_from_json(note_to_json(replace(NOTE, why="x" * 3000)))
    assert note is not None
    assert len(note.why) == 512
