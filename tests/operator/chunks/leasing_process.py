"""A process that leases one job's items; a test runs it and kills it."""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncIterator

from aiohttp import web

from plimsoll_operator.chunks.lease_keeper import Keeper
from plimsoll_operator.chunks.server import ChunkServer
from plimsoll_operator.controller.splitting.job_shelf import JobShelf
from plimsoll_operator.splitting.job_tokens import JobName
from plimsoll_operator.splitting.leased_job import LeasedJob
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.splitting.jobs import Job
from plimsoll_predictor.store import Store, Writer

JOB = JobName("team", "scan", "run-1")
TASK = TaskId("team", "scan")
KEY = b"k" * 32


async def made(folder: str, items: int, shares: int) -> web.Application:
    store = Store.open(f"sqlite:///{folder}/store.db")
    writer = Writer(store)
    shelf = JobShelf(store, writer)
    keeper = Keeper(shelf, time.monotonic)
    document, taught = await shelf.read(JOB, TASK)
    leased = LeasedJob(JOB, "uid-1", Job(items, shares, 0.1, 0.01), shares)
    keeper.open(leased, document, taught)

    async def nothing(_: JobName) -> None:
        return None

    async def died(request: web.Request) -> web.Response:
        await keeper.died(JOB, request.match_info["worker"])
        return web.Response()

    async def progress(_: web.Request) -> web.Response:
        leases = keeper.find(JOB).leases
        return web.json_response([leases.done, leases.left, leases.reserved])

    async def closing(_: web.Application) -> AsyncIterator[None]:
        yield
        await writer.close()
        store.close()

    app = ChunkServer(keeper, lambda: KEY, nothing).app()
    app.add_routes([web.post("/died/{worker}", died), web.get("/progress", progress)])
    app.cleanup_ctx.append(closing)
    return app


def main() -> None:
    """Serve. The words: a folder, a port, how many items and how many shares."""
    folder, port, items, shares = sys.argv[1:]
    app = made(folder, int(items), int(shares))
    web.run_app(app, host="127.0.0.1", port=int(port), print=None, handle_signals=False)


if __name__ == "__main__":
    main()
