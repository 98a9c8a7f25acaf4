"""The route on which agents get grants, and report their raises."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from plimsoll_operator.attempts.grants import (
    GRANTS_PATH,
    MOST_ASKED,
    MOST_TOLD,
    AskedGrants,
    Granted,
    OwnRaise,
)
from plimsoll_operator.controller.serving.grant_routes import (
    MOST_BYTES,
    BadAskedError,
    grant_routes,
    read_asked,
)
from plimsoll_predictor.core.documents import from_document, to_document
from tests.builders.agent.alarms import an_alarm
from tests.builders.agent.grants import a_grant

RAISED = OwnRaise(alarm=an_alarm(), limit_bytes=4096, probability=0.5, raises=1)
ASKED = AskedGrants(node="node-1", raised=(RAISED,), pods=("uid-train-1",))
BODY: dict[str, Any] = json.loads(json.dumps(to_document(ASKED)))
GRANTED = Granted(grants=(a_grant(),))
Served = tuple[TestClient[web.Request, web.Application], list[AskedGrants]]


@pytest_asyncio.fixture
async def served() -> AsyncIterator[Served]:
    heard: list[AskedGrants] = []

    async def give(asked: AskedGrants) -> Granted:
        heard.append(asked)
        return GRANTED

    app = web.Application()
    app.add_routes(grant_routes(give, "secret"))
    async with TestClient(TestServer(app)) as client:
        yield client, heard


async def post(served: Served, body: object, token: str = "secret") -> int:
    headers = {"Authorization": f"Bearer {token}"}
    async with served[0].post(GRANTS_PATH, json=body, headers=headers) as answer:
        if answer.status == 200:
            assert from_document(Granted, await answer.json(), "it") == GRANTED
        return answer.status


async def test_who_asks_with_the_token_is_answered(served: Served) -> None:
    assert await post(served, BODY) == 200
    assert served[1] == [ASKED]


async def test_who_asks_without_it_or_wrongly_is_not(served: Served) -> None:
    assert await post(served, BODY, token="another") == 401
    assert await post(served, {**BODY, "node": ""}) == 400
    assert served[1] == []


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({**BODY, "pods": ["uid"] * (MOST_ASKED + 1)}, id="too many pods"),
        pytest.param({**BODY, "raised": BODY["raised"] * (MOST_TOLD + 1)}, id="too many raises"),
        pytest.param({**BODY, "pods": ["../../etc"]}, id="no UID"),
        pytest.param(
            {**BODY, "raised": [{**BODY["raised"][0], "limit_bytes": 2**60}]}, id="too much"
        ),
        pytest.param([], id="no object"),
    ],
)
def test_what_is_wrong_is_said(body: object) -> None:
    with pytest.raises(BadAskedError, match=r"what is asked: "):
        read_asked(json.dumps(body).encode())


@pytest.mark.parametrize("body", [b"{", b"[" * 100_000, b" " * (MOST_BYTES + 1)])
def test_what_is_no_json_or_too_long_is_refused(body: bytes) -> None:
    with pytest.raises(BadAskedError):
        read_asked(body)
