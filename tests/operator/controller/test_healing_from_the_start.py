"""From its start until it has seen all pods, and once it ends, a controller says nobody heals."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import orjson
import pytest
from aiohttp import web

from plimsoll_operator.controller.placing import listed_pods
from plimsoll_operator.controller.tasks.healing import ENDING, UNSEEN
from tests.builders.controller.ledgers import Inside, a_train, an_inside, decided, killed
from tests.builders.pods import APod
from tests.rigs.servers.admission_servers import until_true
from tests.rigs.servers.serving import answering, serving

KILLED = killed(decided(a_train()))


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine the first call of a client may take seconds."""
    monkeypatch.setattr(listed_pods, "FIRST_WITHIN_S", 60.0)


@asynccontextmanager
async def a_started(folder: Path, pods: Sequence[APod]) -> AsyncIterator[Inside]:
    """A controller as it starts in a cluster with some pods; a test watches for it."""

    async def answer(request: web.Request) -> web.Response:
        if request.method != "GET":
            return web.json_response({"message": "busy"}, status=503)
        if "/namespaces/" in request.path:
            return web.json_response({"message": "not there"}, status=404)
        there = [pod.built() for pod in pods] if request.path == "/api/v1/pods" else []
        return web.json_response({"items": there})

    async with serving(answering(answer)) as url, an_inside(folder, host=url) as inside:
        try:
            await inside.controller.start()
            yield inside
        finally:
            await inside.controller.close()


def told(inside: Inside) -> object:
    return orjson.loads(inside.controller.board.message(0, None))["defaults"]["unhealed"]


@pytest.mark.slow
async def test_nobody_heals_until_a_run_that_was_killed_meanwhile_is_lifted(tmp_path: Path) -> None:
    async with a_started(tmp_path, [KILLED]) as inside:
        controller = inside.controller
        assert controller.started, "admission reads the feed"
        assert told(inside) == UNSEEN
        assert not controller.watch.releases.store_is_stuck(), "pods keep their order"
        await controller.watch.see_pod(KILLED.built(), gone=False, listed=True)
        assert len(inside.known.lifts) == 1
        await until_true(lambda: told(inside) is None)


@pytest.mark.slow
async def test_in_a_cluster_without_pods_sizes_are_lowered_from_the_first_answer_on(
    tmp_path: Path,
) -> None:
    async with a_started(tmp_path, []) as inside:
        assert told(inside) is None
        inside.controller.healing.end()
        assert told(inside) == ENDING


@pytest.mark.slow
async def test_a_waiting_pod_is_not_resized_before_all_pods_were_seen(tmp_path: Path) -> None:
    """Each would get what was written, and its size again a moment later."""
    waiting = decided(a_train("waits")).with_status(phase="Pending")
    async with a_started(tmp_path, [KILLED, waiting]) as inside:
        await inside.controller.watch.see_pod(waiting.built(), gone=False, listed=True)
        assert not inside.controller.healing.begun.is_set()
        assert inside.controller.late_binding._logged_why == "", "it has not begun"
        await inside.controller.watch.see_pod(KILLED.built(), gone=False, listed=True)
        # This API server cannot resize, and late binding says so once it begins.
        await until_true(lambda: bool(inside.controller.late_binding._logged_why))
