"""A process that leases one job's items: run by a test, and killed by it."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from aiohttp import web

from plimsoll_operator.chunks.file_shelf import FileShelf
from plimsoll_operator.chunks.job_tokens import JobName
from plimsoll_operator.chunks.keeping import Keeper
from plimsoll_operator.chunks.server import ChunkServer
from plimsoll_predictor.splitting.jobs import Job

JOB = JobName("team", "scan", "run-1")
KEY = b"k" * 32


def main(folder: str, port: str, items: str, shares: str) -> None:
    keeper = Keeper(FileShelf(Path(folder)), time.monotonic)
    keeper.open(JOB, Job(int(items), int(shares), 0.1, 0.01), int(shares))

    async def died(request: web.Request) -> web.Response:
        keeper.died(JOB, request.match_info["worker"])
        return web.Response()

    async def progress(_: web.Request) -> web.Response:
        return web.json_response(keeper.progress(JOB))

    app = ChunkServer(keeper, KEY).app()
    app.add_routes([web.post("/died/{worker}", died), web.get("/progress", progress)])
    web.run_app(app, host="127.0.0.1", port=int(port), print=None, handle_signals=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
