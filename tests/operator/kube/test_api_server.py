"""Objects by their paths: what is sent, and the effect of each answer. A real HTTP server."""

from __future__ import annotations

import asyncio
import json

import pytest
from aiohttp import web

from plimsoll_operator.kube import api_server
from plimsoll_operator.kube.api_server import (
    CORE,
    MERGE_PATCH,
    STRATEGIC_PATCH,
    custom_path,
    path_of,
)
from plimsoll_operator.kube.errors import AlreadyThere, Refused, Unreachable
from tests.rigs.servers.api_servers import an_api_server

POD = path_of(CORE, "pods", "shop", "train-x7")


async def echo(request: web.Request) -> web.Response:
    """The request as an object."""
    body = await request.text()
    return web.json_response(
        {
            "method": request.method,
            "path": request.raw_path,
            "content": request.content_type,
            "body": json.loads(body) if body else None,
        }
    )


@pytest.mark.parametrize(
    ("path", "written"),
    [
        (path_of(CORE, "nodes"), "/api/v1/nodes"),
        (path_of(CORE, "pods", "shop"), "/api/v1/namespaces/shop/pods"),
        (
            custom_path("taskprofiles", "shop", "../secrets"),
            "/apis/plimsoll.dev/v1alpha1/namespaces/shop/taskprofiles/..%2Fsecrets",
        ),
    ],
)
def test_a_path_leads_to_what_is_named_and_nowhere_else(path: str, written: str) -> None:
    assert path == written


async def test_each_kind_of_call_is_sent_as_the_api_server_expects_it() -> None:
    body = {"metadata": {"name": "a"}}
    async with an_api_server(echo) as server:
        assert await server.create(path_of(CORE, "pods", "shop"), body) == {
            "method": "POST",
            "path": "/api/v1/namespaces/shop/pods",
            "content": "application/json",
            "body": body,
        }
        sent = [await server.patch(POD, body), await server.patch(POD, body, STRATEGIC_PATCH)]
        assert [each["content"] for each in sent] == [MERGE_PATCH, STRATEGIC_PATCH]
        assert [each["method"] for each in sent] == ["PATCH", "PATCH"]
        assert (await server.replace(POD, body))["method"] == "PUT"


async def test_a_deletion_names_the_very_object_that_is_meant() -> None:
    seen = []

    async def answer(request: web.Request) -> web.Response:
        seen.append((request.method, await request.json()))
        return web.json_response({})

    async with an_api_server(answer) as server:
        await server.delete(POD, {"uid": "u1"})
    assert seen == [("DELETE", {"preconditions": {"uid": "u1"}})]


async def test_a_list_is_read_to_its_last_page() -> None:
    async def answer(request: web.Request) -> web.Response:
        assert request.query["labelSelector"] == "a=b"
        page = int(request.query.get("continue", "0"))
        more = {"continue": str(page + 1)} if page < 2 else {}
        return web.json_response({"metadata": more, "items": [{"page": page}]})

    async with an_api_server(answer) as server:
        found = await server.items(path_of(CORE, "nodes"), {"labelSelector": "a=b"})
    assert [each["page"] for each in found] == [0, 1, 2]


@pytest.mark.parametrize(
    ("status", "reason", "kind"),
    [(409, "AlreadyExists", AlreadyThere), (403, "Forbidden", Refused), (503, "", Unreachable)],
)
async def test_a_refusal_is_the_error_that_says_what_follows(
    status: int, reason: str, kind: type[Exception]
) -> None:
    async def answer(_: web.Request) -> web.Response:
        said = {"kind": "Status", "reason": reason, "message": "because"}
        return web.json_response(said, status=status)

    async with an_api_server(answer) as server:
        with pytest.raises(kind, match="because"):
            await server.get(POD)


async def test_an_answer_that_never_comes_is_waited_for_no_longer_than_is_said() -> None:
    given_up = asyncio.Event()

    async def answer(_: web.Request) -> web.Response:
        await given_up.wait()
        return web.json_response({})

    async with an_api_server(answer) as server:
        with pytest.raises(Unreachable, match=r"no answer within 0\.1 s"):
            await server.within(0.1).get(POD)
        given_up.set()


@pytest.mark.slow
async def test_an_answer_that_is_too_large_or_no_json_is_an_error_of_ours() -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(text="<html>" + " " * 2**20)

    async with an_api_server(answer, most_bytes=2**20) as server:
        with pytest.raises(Unreachable, match="more than 1 MiB; ask for less"):
            await server.get(POD)
    async with an_api_server(answer) as server:
        with pytest.raises(Unreachable, match="no JSON"):
            await server.get(POD)


async def test_the_names_of_a_list_are_read_to_its_end_however_long_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(api_server, "MOST_OBJECTS", 2)

    async def answer(request: web.Request) -> web.Response:
        page = int(request.query.get("continue", "0"))
        meta = {"namespace": "shop", "name": f"train-{page}", "uid": f"uid-{page}"}
        more = {"continue": str(page + 1)} if page < 3 else {}
        return web.json_response({"metadata": more, "items": [{"metadata": meta}]})

    pods = path_of(CORE, "pods")
    async with an_api_server(answer) as server:
        assert await server.names(pods) == {
            f"uid-{page}": f"shop/train-{page}" for page in range(4)
        }
        assert len(await server.metadata(pods)) == 2
