"""A question is read as kube-scheduler writes it, bounded, and answered in its words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_operator.extender.questions import (
    EQUAL,
    MOST_NODES,
    BadQuestion,
    TooManyNodes,
    answer,
    read_question,
)
from tests.builders.pods import a_pod
from tests.rigs.servers.extenders import by_names, by_nodes

POD = a_pod()


def read(args: Any) -> tuple[list[str], list[str]]:
    question = read_question(json.dumps(args).encode())
    assert question.pod == POD.built()
    return [*question.names], [*question.hosts]


def test_names_alone_are_host_names_as_well() -> None:
    assert read(by_names(POD, "n1", "n2")) == (["n1", "n2"], ["n1", "n2"])


def test_whole_nodes_have_names_and_host_names() -> None:
    assert read(by_nodes(POD, n1="host-1", n2="host-2")) == (["n1", "n2"], ["host-1", "host-2"])


def test_a_node_without_that_label_has_its_name() -> None:
    nodes = {"items": [{"metadata": {"name": "n1"}}, {"metadata": {"name": "n2", "labels": {}}}]}
    assert read({"Pod": POD.built(), "Nodes": nodes}) == (["n1", "n2"], ["n1", "n2"])


def test_names_in_lower_case_are_read_too() -> None:
    assert read({"pod": POD.built(), "nodenames": ["n1"]}) == (["n1"], ["n1"])
    nodes = {"items": [{"metadata": {"name": "n1"}}]}
    assert read({"pod": POD.built(), "nodes": nodes, "nodenames": None}) == (["n1"], ["n1"])


def test_a_question_about_no_node_is_one() -> None:
    assert read(by_names(POD)) == ([], [])
    assert read({"Pod": POD.built(), "Nodes": {"items": None}, "NodeNames": None}) == ([], [])


def test_five_thousand_nodes_are_scored_and_no_more() -> None:
    names = [f"n{number}" for number in range(MOST_NODES)]
    assert len(read(by_names(POD, *names))[0]) == MOST_NODES == 5000
    with pytest.raises(TooManyNodes, match="5001 nodes are more than 5000"):
        read(by_names(POD, *names, "one-more"))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"{", id="cut off"),
        pytest.param(b"null", id="null"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b"{}", id="no pod"),
        pytest.param(b'{"Pod": 7, "NodeNames": []}', id="no such pod"),
        pytest.param(b'{"Pod": {"a": 1}, "NodeNames": "n1"}', id="a text for names"),
        pytest.param(b'{"Pod": {"a": 1}, "NodeNames": [1]}', id="numbers for names"),
        pytest.param(b'{"Pod": {"a": 1}, "NodeNames": [""]}', id="an empty name"),
        pytest.param(b'{"Pod": {"a": 1}, "Nodes": {"items": [{}]}}', id="a node without a name"),
        pytest.param(json.dumps(by_names(POD, "n" * 254)).encode(), id="a long name"),
        pytest.param(b'{"Pod": {"a": ' + b"[" * 100_000, id="deep"),
        pytest.param("{\"Pod\": \"\udc80\"}".encode(errors="surrogateescape"), id="no UTF-8"),
    ],
)  # fmt: skip
def test_anything_else_is_no_question(body: bytes) -> None:
    with pytest.raises(BadQuestion):
        read_question(body)


@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(body: bytes) -> None:
    with pytest.raises(BadQuestion):
        read_question(body)


def test_an_answer_has_the_words_of_a_host_priority_list() -> None:
    assert answer(["n1", "n2"], [10, 3]) == (b'[{"Host":"n1","Score":10},{"Host":"n2","Score":3}]')
    assert answer([], []) == EQUAL


def test_a_node_that_gets_nothing_is_not_in_the_answer() -> None:
    assert answer(["n1", "n2", "n3"], [0, 7, 0]) == b'[{"Host":"n2","Score":7}]'
    assert answer(["n1"], [0]) == EQUAL
