"""The route on which agents raise the alarm."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from plimsoll_operator.attempts.alarms import ALARMS_PATH, MOST_ALARMS, Alarms
from plimsoll_operator.controller.serving.alarm_routes import (
    MOST_BYTES,
    BadAlarmsError,
    alarm_routes,
    read_alarms,
)
from plimsoll_predictor.core.documents import to_document
from tests.builders.agent.alarms import an_alarm

SAID = Alarms(node="node-1", pods_used_bytes=4096, alarms=(an_alarm(),))
BODY: dict[str, Any] = json.loads(json.dumps(to_document(SAID)))
Served = tuple[TestClient[web.Request, web.Application], list[Alarms]]


@pytest_asyncio.fixture
async def served() -> AsyncIterator[Served]:
    heard: list[Alarms] = []
    app = web.Application()

    async def hear(said: Alarms) -> list[str]:
        heard.append(said)
        return [alarm.pod_uid for alarm in said.alarms]

    app.add_routes(alarm_routes(hear, "secret"))
    async with TestClient(TestServer(app)) as client:
        yield client, heard


async def post(served: Served, body: object, token: str = "secret") -> int:
    client, _ = served
    headers = {"Authorization": f"Bearer {token}"}
    async with client.post(ALARMS_PATH, json=body, headers=headers) as answer:
        if answer.status == 200:
            assert await answer.json() == {"raised": ["uid-train-1"]}
        return answer.status


async def test_alarms_are_heard(served: Served) -> None:
    assert await post(served, BODY) == 200
    assert served[1] == [SAID]


async def test_alarms_without_the_token_are_not(served: Served) -> None:
    assert await post(served, BODY, token="another") == 401
    assert served[1] == []


async def test_what_is_wrong_with_alarms_is_said(served: Served) -> None:
    assert await post(served, {**BODY, "node": ""}) == 400
    assert served[1] == []


def alarm_with(**fields: Any) -> dict[str, Any]:
    return {**BODY, "alarms": [{**BODY["alarms"][0], **fields}]}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({**BODY, "alarms": []}, id="no alarm"),
        pytest.param({**BODY, "alarms": BODY["alarms"] * (MOST_ALARMS + 1)}, id="too many"),
        pytest.param({**BODY, "pods_used_bytes": -1}, id="less than nothing"),
        pytest.param(alarm_with(pod_uid="../../etc"), id="no UID"),
        pytest.param(alarm_with(used_bytes=2**60), id="more than there is"),
        pytest.param(alarm_with(growth_bytes_s="fast"), id="words"),
        pytest.param(alarm_with(growth_bytes_s=1e300), id="a pace that nothing has"),
        pytest.param(alarm_with(shape=[[0, 0]] * 100), id="a long shape"),
        pytest.param([], id="a list"),
    ],
)
def test_a_body_is_refused_that_has(body: object) -> None:
    with pytest.raises(BadAlarmsError):
        read_alarms(json.dumps(body).encode())


def test_a_body_is_refused_that_is_no_json_or_too_long() -> None:
    for body in (b"{", b" " * (MOST_BYTES + 1), b"NaN"):
        with pytest.raises(BadAlarmsError):
            read_alarms(body)
