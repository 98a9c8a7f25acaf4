"""The use of a node is sent after peaks, and never harms them, whatever the answer."""

from __future__ import annotations

import http.client
import math
from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest
import pytest_asyncio
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from plimsoll_operator.agent.node_use_sender import NodeUseSender
from plimsoll_operator.agent.peak_sender import Answer, Reply
from plimsoll_operator.attempts.node_use import LONGEST_WINDOW_S, MOST_PODS, NODE_USE_PATH, NodeUse
from plimsoll_operator.attempts.peaks import MAX_MEMORY_BYTES
from plimsoll_operator.controller.serving.node_use_routes import (
    MOST_BYTES,
    BadNodeUseError,
    node_use_routes,
    read_node_use,
)
from plimsoll_predictor.core.documents import to_document

USE = NodeUse(node="n1", over_s=10.0, cpu_share=0.5, memory_share=0.4, pods_cores={"a": 1.5})
BODY: dict[str, Any] = to_document(USE)
TAKEN = Reply(Answer.TAKEN, "")


class Wire:
    """Answers each use with ``answer``, or fails with it."""

    def __init__(self, answer: int | Exception = 204) -> None:
        self.answer = answer
        self.sent: list[tuple[str, object]] = []

    def send(self, path: str, body: object) -> tuple[int, str]:
        self.sent.append((path, body))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer, "nothing is here"


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(204, id="a controller of today"),
        pytest.param(404, id="one from before node use"),
        pytest.param(500, id="one in trouble"),
        pytest.param(ConnectionResetError(), id="one that goes away"),
        pytest.param(http.client.BadStatusLine("x"), id="no HTTP"),
    ],
)
def test_peaks_are_taken_whatever_becomes_of_the_use(answer: int | Exception) -> None:
    wire = Wire(answer)
    uses = NodeUseSender(wire.send)
    post = uses.after(lambda _: TAKEN)
    assert post([]) is TAKEN
    assert wire.sent == []  # nothing was measured yet

    uses.offer(USE)
    assert post([]) is TAKEN
    assert post([]) is TAKEN
    assert wire.sent == [(NODE_USE_PATH, BODY)]  # once: another comes soon


@pytest.mark.parametrize("answer", [Answer.UNREACHED, Answer.REFUSED])
def test_while_peaks_are_not_taken_nothing_else_is_sent(answer: Answer) -> None:
    wire = Wire()
    uses = NodeUseSender(wire.send)
    uses.offer(USE)
    assert uses.after(lambda _: Reply(answer, "no"))([]).answer is answer
    assert wire.sent == []


def test_a_newer_use_takes_the_place_of_one_that_waits() -> None:
    wire = Wire()
    uses = NodeUseSender(wire.send)
    uses.offer(NodeUse(node="n1", over_s=1.0))
    uses.offer(USE)
    uses.offer(None)
    uses.send_newest()
    assert wire.sent == [(NODE_USE_PATH, BODY)]


Served = tuple[TestClient[web.Request, web.Application], list[NodeUse]]


@pytest_asyncio.fixture
async def served() -> AsyncIterator[Served]:
    heard: list[NodeUse] = []
    app = web.Application()
    app.add_routes(node_use_routes(heard.append, "secret"))
    async with TestClient(TestServer(app)) as client:
        yield client, heard


async def post_body(served: Served, body: object, token: str = "secret") -> int:
    headers = {"Authorization": f"Bearer {token}"}
    async with served[0].post(NODE_USE_PATH, json=body, headers=headers) as answer:
        return answer.status


async def test_a_use_arrives_as_it_was_sent(served: Served) -> None:
    assert await post_body(served, BODY) == 204
    assert await post_body(served, {**BODY, "of_tomorrow": 1}) == 204
    assert served[1] == [USE, USE]


async def test_a_use_without_the_agents_token_is_not_taken(served: Served) -> None:
    assert await post_body(served, BODY, token="another") == 401
    assert await post_body(served, {**BODY, "node": ""}) == 400
    assert served[1] == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"node": "x" * 254},
        {"node": None},
        {"over_s": 0},
        {"over_s": -1.0},
        {"over_s": LONGEST_WINDOW_S + 1},
        {"over_s": math.nan},
        {"cpu_share": -0.01},
        {"cpu_share": 1.01},
        {"cpu_share": math.nan},
        {"memory_share": math.inf},
        {"memory_share": "0.5"},
        {"pods_cores": {"a": -1.0}},
        {"pods_cores": {"a": math.nan}},
        {"pods_cores": {"a": 1e300}},
        {"pods_cores": {"a b": 1.0}},
        {"pods_cores": {"a" * 129: 1.0}},
        {"pods_cores": {f"p{n}": 1.0 for n in range(MOST_PODS + 1)}},
        {"pods_cores": [1.0]},
        {"pods_bytes": {"a": -1}},
        {"pods_bytes": {"a": 0.5}},
        {"pods_bytes": {"a": 2**63}},
        {"pods_bytes": {f"p{n}": 1 for n in range(MOST_PODS + 1)}},
    ],
    ids=lambda wrong: str(wrong)[:40],
)
async def test_what_is_out_of_bounds_is_refused(served: Served, wrong: dict[str, Any]) -> None:
    assert await post_body(served, {**BODY, **wrong}) == 400
    assert served[1] == []


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{", b"[" * 50_000, b'{"node":"n","over_s":1e999}', b" " * (MOST_BYTES + 1)],
)
def test_what_is_no_use_is_refused(body: bytes) -> None:
    with pytest.raises(BadNodeUseError):
        read_node_use(body)


def test_the_largest_use_is_taken() -> None:
    pods = {f"{n:0>128}": 99_999.123 for n in range(MOST_PODS)}
    used = dict.fromkeys(pods, MAX_MEMORY_BYTES)
    largest = NodeUse(node="n" * 253, over_s=1.0, pods_cores=pods, pods_bytes=used)
    assert read_node_use(orjson.dumps(to_document(largest))) == largest
