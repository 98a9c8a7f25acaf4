"""The HTTP of leases: ``GET next``, ``POST done``, ``POST renew``, each of one job.

Every request has the job's own token. 401: no token of this job; 404: this job leases nothing;
400: the request makes no sense; 503: the record could not be written, so ask again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final

import msgspec
from aiohttp import web

from plimsoll_operator.chunks.job_tokens import JobName, is_token_of
from plimsoll_operator.chunks.keeping import Keeper, Told, UnknownJob
from plimsoll_predictor.splitting.costs import MOST_S
from plimsoll_predictor.splitting.jobs import MOST_WORKERS
from plimsoll_predictor.splitting.leases import MOST_NAME_CHARS, Lease
from plimsoll_predictor.splitting.peaks import MOST_BYTES

MAX_BODY_BYTES: Final = 4096
WAIT_S: Final = 2.0
"""How long a worker waits before it asks again, where others have all that is left."""
_BEARER: Final = "Bearer "

Handler = Callable[[web.Request, JobName], Awaitable[web.Response]]
_Worker = Annotated[str, msgspec.Meta(min_length=1, max_length=MOST_NAME_CHARS)]
_Number = Annotated[int, msgspec.Meta(ge=0, le=2**53)]


class _Done(msgspec.Struct):
    worker: _Worker
    lease: _Number
    seconds: Annotated[float, msgspec.Meta(ge=0, le=MOST_S)] | None = None
    peak_bytes: Annotated[int, msgspec.Meta(ge=1, le=MOST_BYTES)] | None = None


@dataclass(slots=True)
class ChunkServer:
    """The routes of a job's workers. key: of the tokens."""

    keeper: Keeper
    key: bytes

    def app(self) -> web.Application:
        """The application."""
        app = web.Application(client_max_size=MAX_BODY_BYTES)
        base = "/v1/chunks/{namespace}/{job}/{run}"
        app.add_routes(
            [
                web.get(f"{base}/next", self._of_job(self._next)),
                web.post(f"{base}/done", self._of_job(self._done)),
                web.post(f"{base}/renew", self._of_job(self._renew)),
            ]
        )
        return app

    def _of_job(self, handler: Handler) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def handle(request: web.Request) -> web.Response:
            job = self._job(request)
            if job is None:
                return _said(401, "no token of this job")
            try:
                return await handler(request, job)
            except UnknownJob as error:
                return _said(404, str(error))
            except (ValueError, msgspec.MsgspecError) as error:
                return _said(400, str(error))
            except OSError:
                return _said(503, "the record could not be written; ask again")

        return handle

    def _job(self, request: web.Request) -> JobName | None:
        """None without the job's token, whether there is such a job or not."""
        told = request.headers.get("Authorization", "")
        try:
            job = JobName(*(request.match_info[part] for part in ("namespace", "job", "run")))
        except ValueError:
            return None
        token = told.removeprefix(_BEARER)
        return job if token != told and is_token_of(self.key, job, token) else None

    async def _next(self, request: web.Request, job: JobName) -> web.Response:
        worker = request.query.get("worker", "")
        found = self.keeper.next(job, worker, _index(request.query.get("index")))
        if isinstance(found, Lease):
            range_of = {"lease": found.number, "first": found.first, "items": found.items}
            return web.json_response(range_of)
        return web.json_response({"none": found.value, "again_s": WAIT_S})

    async def _done(self, request: web.Request, job: JobName) -> web.Response:
        read = msgspec.json.decode(await request.read(), type=_Done)
        told = Told(read.seconds, read.peak_bytes)
        answered = self.keeper.done(job, read.worker, read.lease, told)
        return web.json_response({"ack": answered.ack.value})

    async def _renew(self, request: web.Request, job: JobName) -> web.Response:
        read = msgspec.json.decode(await request.read(), type=_Done)
        kept = self.keeper.renew(job, read.worker, read.lease)
        return web.json_response({"kept": kept})


def _index(told: str | None) -> int | None:
    """Return a worker's index; None if it has none. ValueError for what is no index."""
    if told is None:
        return None
    if not (told.isascii() and told.isdigit() and len(told) <= 6 and int(told) < MOST_WORKERS):
        raise ValueError(f"an index is a number from 0 to {MOST_WORKERS - 1}")
    return int(told)


def _said(status: int, why: str) -> web.Response:
    body: dict[str, Any] = {"error": why}
    return web.json_response(body, status=status)
