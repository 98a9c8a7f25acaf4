"""At its start a controller reads long lists page by page: one piece would stop its event loop."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from plimsoll_operator.controller import controller
from plimsoll_operator.controller.placing import listed_pods
from tests.builders.controller.ledgers import an_inside
from tests.rigs.servers.serving import answering, serving

OURS = "/apis/plimsoll.dev/v1alpha1"
NODES = "/api/v1/nodes"
AT_THE_START = {
    f"{OURS}/sizingpolicies",
    f"{OURS}/taskprofiles",
    "/api/v1/limitranges",
    "/api/v1/resourcequotas",
    NODES,
}


def node(number: int) -> dict[str, Any]:
    meta = {"name": f"node-{number}", "uid": f"uid-{number}"}
    return {"metadata": meta, "status": {"allocatable": {"memory": "64Gi", "cpu": "16"}}}


class ManyNodes:
    """An API server with 1,200 nodes, which is away once. asked: the pages of each list."""

    def __init__(self) -> None:
        self.asked: Counter[tuple[str, str | None, str | None]] = Counter()
        self.is_away_once = True

    async def answer(self, request: web.Request) -> web.Response:
        if request.method != "GET" or "/namespaces/" in request.path:
            return web.json_response({"message": "not there"}, status=404)
        limit, more = request.query.get("limit"), request.query.get("continue")
        self.asked[request.path, limit, more] += 1
        if request.path != NODES:
            return web.json_response({"items": []})
        if more == "500" and self.is_away_once:
            self.is_away_once = False
            return web.json_response({"message": "busy"}, status=503)
        first, size = int(more or 0), int(limit or 1200)
        last = min(first + size, 1200)
        page = {"items": [node(number) for number in range(first, last)]}
        return web.json_response(
            page | ({"metadata": {"continue": str(last)}} if last < 1200 else {})
        )


async def test_all_nodes_are_seen_though_no_answer_holds_them_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(controller, "UNREACHABLE_PAUSE_S", 0.0)
    monkeypatch.setattr(listed_pods, "FIRST_WITHIN_S", 60.0)
    server = ManyNodes()
    async with serving(answering(server.answer)) as url, an_inside(tmp_path, host=url) as inside:
        try:
            await inside.controller.start()
            asked = server.asked.copy()
        finally:
            await inside.controller.close()
        nodes = inside.controller.bounds._nodes
    assert {nodes.capacity(f"node-{number}").cpu for number in range(1200)} == {16.0}
    assert nodes.total.cpu == 1200 * 16, "those that came twice count once"
    assert {path for path, _, _ in asked} >= AT_THE_START
    assert {limit for path, limit, _ in asked if path in AT_THE_START} == {"500"}
    assert {more for path, _, more in asked if path == NODES} == {None, "500", "1000"}
