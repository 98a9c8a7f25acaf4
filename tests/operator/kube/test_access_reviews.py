"""How the API server is asked about one's own rights. A real HTTP server."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import web

from tests.rigs.servers.api_servers import an_api_server


@pytest.mark.parametrize(
    ("answer", "allowed"),
    [
        pytest.param({"status": {"allowed": True}}, True, id="allowed"),
        pytest.param({"status": {"allowed": False}}, False, id="not allowed"),
        pytest.param({"status": {"allowed": "false"}}, False, id="no boolean"),
        pytest.param({"status": {}}, False, id="it does not say"),
        pytest.param({}, False, id="no status"),
    ],
)
async def test_only_an_answer_that_says_so_gives_a_right(
    answer: dict[str, Any], allowed: bool
) -> None:
    seen = []

    async def answered(request: web.Request) -> web.Response:
        seen.append((request.path, (await request.json())["spec"]["resourceAttributes"]))
        return web.json_response(answer)

    async with an_api_server(answered) as server:
        assert await server.may("patch", "", "pods/resize", "shop") is allowed
    ((path, asked),) = seen
    assert path == "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    assert asked == {
        "verb": "patch",
        "group": "",
        "resource": "pods",
        "subresource": "resize",
        "namespace": "shop",
    }
