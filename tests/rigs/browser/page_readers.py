"""Readers of a served page, and the store's queries meanwhile."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import ClientResponse, ClientSession
from sqlalchemy import event

from plimsoll_operator.controller.serving.page_routes import page_app
from plimsoll_operator.processes.serving import listening
from plimsoll_operator.web.page.serving import Pages
from plimsoll_predictor.experts.task_standings import TaskStandings
from plimsoll_predictor.store import Store
from tests.builders.page_stores import ACluster


@dataclass(slots=True)
class Asking:
    """A reader of a served page. now_s: the page's clock."""

    session: ClientSession
    address: str = ""
    pages: Pages = field(init=False)
    now_s: float = 0.0

    async def get(self, path: str, **headers: str) -> tuple[ClientResponse, str]:
        async with self.session.get(f"{self.address}{path}", headers=headers) as answer:
            return answer, await answer.text()


@asynccontextmanager
async def asking(cluster: ACluster, host: str = "127.0.0.1") -> AsyncIterator[Asking]:
    async with ClientSession() as session:
        reader = Asking(session)
        reader.pages = Pages(cluster.store, cluster.live, lambda: reader.now_s)
        async with listening(page_app(reader.pages, host), "127.0.0.1", 0) as port:
            reader.address = f"http://127.0.0.1:{port}"
            yield reader
        reader.pages.close()


def bare(store: Store) -> ACluster:
    """A store whose controller knows nothing yet."""
    return ACluster(store, TaskStandings())


@contextmanager
def statements_of(store: Store) -> Iterator[list[str]]:
    """The store's queries meanwhile."""
    asked: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        asked.append(statement)

    engine = store.database.engine
    event.listen(engine, "before_cursor_execute", note)
    try:
        yield asked
    finally:
        event.remove(engine, "before_cursor_execute", note)
