"""`plimsoll status`: its exit status, and the clock by which the cluster's times are judged."""

from __future__ import annotations

import time
from email.utils import format_datetime
from io import StringIO
from typing import Any

import pytest
from aiohttp import web
from rich.console import Console

from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.commands.status import status as status_module
from plimsoll_operator.commands.status.cluster_reader import ClusterReader
from plimsoll_operator.commands.status.cluster_state import ClusterState
from plimsoll_operator.commands.status.status import status_command
from plimsoll_operator.commands.status.summary import summary_of
from plimsoll_operator.commands.status.tables import status_tables
from tests.builders.kubernetes.cluster_status import NOW, NOW_S, what_is_seen
from tests.rigs.servers.api_servers import an_api_server

GMT = format_datetime(NOW, usegmt=True)


def test_who_may_see_nothing_of_what_runs_is_not_told_that_it_is_healthy() -> None:
    nothing: dict[str, Any] = dict.fromkeys(("deployments", "agents", "lease", "webhooks"))
    unread: dict[str, Any] = {**nothing, "feed_ages_s": None, "certificates_end_s": None}
    told = summary_of(what_is_seen(**unread, installed_in=None), NOW_S)
    console = Console(width=200, record=True, file=StringIO())
    console.print(status_tables(told, 40))
    assert "you may not see whether Plimsoll in this cluster is healthy" in console.export_text()
    assert told.to_dict()["healthy"] is None


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        pytest.param({}, 0, id="healthy"),
        pytest.param({"lease": {}}, 1, id="not healthy"),
        pytest.param(
            {"deployments": None, "agents": None, "lease": None, "webhooks": None}
            | {"feed_ages_s": None, "certificates_end_s": None, "installed_in": None},
            1,
            id="unknown",
        ),
    ],
)
def test_the_exit_status_is_0_only_where_it_is_seen_to_be_healthy(
    monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], status: int
) -> None:
    async def read(*_: object) -> ClusterState:
        # Judged by the API server's clock, which may stand at another time than ours.
        return what_is_seen(**changes, ahead_s=NOW_S - time.time())

    monkeypatch.setattr(status_module, "_read", read)
    assert status_command(Installation(), None, 40, OutputForm.JSON) == status


@pytest.mark.parametrize("told", [GMT, None, "yesterday"])
async def test_the_api_servers_clock_is_asked_how_far_ours_is_off(told: str | None) -> None:
    async def answer(request: web.Request) -> web.Response:
        if request.path == "/version":
            return web.json_response({}, headers={"Date": told or ""})
        return web.json_response({}, status=404)

    async with an_api_server(answer) as objects:
        reader = ClusterReader(objects, Installation(), None, lambda: NOW_S + 60)
        assert (await reader.read()).ahead_s == (-60.0 if told == GMT else 0.0)
