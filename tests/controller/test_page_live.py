"""The page of a running controller shows people's settings and the profiles within seconds."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import ClientSession

from tests.apiserver.controllers import Shop, a_controller, until
from tests.apiserver.policies import say
from tests.conftest import Cluster
from tests.rigs.processes.log_records import log_records

pytestmark = pytest.mark.cluster


@asynccontextmanager
async def a_page(folder: Path) -> AsyncIterator[ClientSession]:
    """The page of the folder's controller."""
    served = await until("the page is served", lambda: _served(folder))
    async with ClientSession(f"http://127.0.0.1:{served}") as session:
        yield session


def _served(folder: Path) -> int | None:
    for said in log_records((folder / "controller.log").read_text()):
        if said.get("event") == "page served":
            return int(said["port"])
    return None


async def text_of(page: ClientSession, path: str) -> str:
    async with page.get(path) as answer:
        return await answer.text()


async def test_the_page_follows_what_people_set_and_what_the_profile_says(
    own: Shop, shop: Shop, knowing_cluster: Cluster, tmp_path: Path
) -> None:
    index, task = f"/?q={shop.namespace}%2Ftrain", f"/tasks/{shop.namespace}/train"
    async with a_controller(knowing_cluster.kubeconfig, tmp_path), a_page(tmp_path) as page:
        assert "Nothing matches" in (text := await text_of(page, index)) or "No task yet" in text
        for number in range(3):
            await shop.pod(f"p{number}")
            await shop.end(f"p{number}", "killed" if number == 1 else "succeeded")

        async def says(path: str, *words: str) -> bool:
            text = await text_of(page, path)
            return all(each in text for each in words)

        recommend, enforce = '<span class="mode recommend">', '<span class="mode enforce">'
        await until("the task is listed", lambda: says(index, "1 task", recommend))
        await until("its profile is told", lambda: says(task, "Conditions", "ModelReady"))
        assert await says(task, 'data-label="killed at">128Mi')
        await shop.enforce()
        await until("it is enforced", lambda: says(index, enforce))
        await say(own, "cluster", paused=True)
        await until("it is paused", lambda: says(index, "<b>Paused.</b>", "phase Paused"))
