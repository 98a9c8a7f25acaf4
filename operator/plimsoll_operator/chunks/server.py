"""The HTTP of leases: ``GET next``, ``POST done``, ``POST renew``, each for one job.

Every request has the job's own token. 401: no token of this job; 404: this job leases nothing, or
another has its name now; 400: the request makes no sense, or is of one worker too many; 503: the
record could not be read or written now, so ask again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final

import msgspec
from aiohttp import web

from plimsoll_operator.chunks.lease_keeper import Keeper, TooManyJobs, UnknownJob, WorkerReport
from plimsoll_operator.splitting.job_tokens import JobName, is_token_of
from plimsoll_predictor.splitting.costs import MOST_ITEMS, MOST_S
from plimsoll_predictor.splitting.jobs import MOST_WORKERS
from plimsoll_predictor.splitting.lease_records import MOST_LIFE_CHARS
from plimsoll_predictor.splitting.leases import MOST_NAME_CHARS, Heard, Lease, Worker
from plimsoll_predictor.splitting.peaks import MOST_BYTES

MAX_BODY_BYTES: Final = 4096
MOST_OWED: Final = 64
"""The most pieces of its share held by others that a worker is sent; more are sent as one, from the
first to the last."""
LEAST_AGAIN_S: Final = 0.25
MOST_AGAIN_S: Final = 10.0
WORKERS_A_SECOND: Final = 100.0
"""How many workers a second may report that they are at work."""
_BEARER: Final = "Bearer "

Opens = Callable[[JobName], Awaitable[None]]
"""Opens the job that has this name now, if it leases; UnknownJob if it does not."""
Key = Callable[[], bytes | None]
"""Returns the key of the tokens; None while it is unknown."""
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=MOST_NAME_CHARS)]
_Number = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
_Index = Annotated[int, msgspec.Meta(ge=0, lt=MOST_WORKERS)]
_Item = Annotated[int, msgspec.Meta(ge=0, le=MOST_ITEMS)]
_Bytes = Annotated[int, msgspec.Meta(ge=1, le=MOST_BYTES)]
_Uid = Annotated[str, msgspec.Meta(max_length=MOST_NAME_CHARS)]


class _Said(msgspec.Struct):
    """What a worker says in any request; in a query, all is text.

    lease, end: of the newest answer that it has read; with an end it goes on to it by itself. to:
    all items before it are done. job_uid: of the Job that its pod belongs to; None if not told.
    """

    worker: _Name
    index: _Index = 0
    life: Annotated[str, msgspec.Meta(max_length=MOST_LIFE_CHARS)] = ""
    lease: _Number | None = None
    end: _Item | None = None
    to: _Item | None = None
    seconds: Annotated[float, msgspec.Meta(ge=0, le=MOST_S)] | None = None
    peak_bytes: _Bytes | None = None
    limit_bytes: _Bytes | None = None
    job_uid: _Uid | None = None

    @property
    def who(self) -> Worker:
        return Worker(self.worker, self.index, self.life, self.end is not None)

    @property
    def heard(self) -> Heard:
        """ValueError if it names no lease."""
        if self.lease is None:
            raise ValueError("say which lease it is")
        # A worker that names no end knows none, and does not go on by itself.
        return Heard(self.lease, MOST_ITEMS if self.end is None else self.end)

    @property
    def report(self) -> WorkerReport:
        return WorkerReport(self.seconds, self.peak_bytes, self.limit_bytes)


Handler = Callable[[JobName, _Said], Awaitable[web.Response]]


@dataclass(slots=True)
class ChunkServer:
    """The routes of a job's workers. key: of the tokens."""

    keeper: Keeper
    key: Key
    opens: Opens

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
            shown = self._shown(request)
            if shown is None:
                return _said(401, "no token of this job")
            job, token = shown
            try:
                said = await _said_in(request)
                await self._find(job, said.job_uid)
                self.keeper.trust(job, token)
                return await handler(job, said)
            except UnknownJob as error:
                return _said(404, str(error))
            except (ValueError, msgspec.MsgspecError) as error:
                return _said(400, str(error))
            except (OSError, TooManyJobs) as error:
                return _said(503, str(error))

        return handle

    async def _find(self, job: JobName, uid: str | None) -> None:
        """Open the job unless it is open; UnknownJob if it is not the one of a worker's pod.

        A Job that replaces another of its name has its run, too, if it was copied from it.
        """
        kept = self.keeper.jobs.get(job)
        if kept is None or uid not in (None, kept.uid):
            await self.opens(job)
        if uid not in (None, self.keeper.find(job).uid):
            raise UnknownJob(f"{job}: another Job has its name")

    def _shown(self, request: web.Request) -> tuple[JobName, str] | None:
        """Return a job and its token; None without the token, whether or not the job exists.

        It is made from the key, or is the one that the job's pods showed under an earlier key.
        """
        told, key = request.headers.get("Authorization", ""), self.key()
        try:
            job = JobName(*(request.match_info[part] for part in ("namespace", "job", "run")))
        except ValueError:
            return None
        token = told.removeprefix(_BEARER)
        made = token != told and key is not None and is_token_of(key, job, token)
        return (job, token) if made or self.keeper.trusts(job, token) else None

    async def _next(self, job: JobName, said: _Said) -> web.Response:
        heard = None if said.lease is None else said.heard
        found = await self.keeper.next(job, said.who, heard, said.report)
        answer: dict[str, Any] = {"none": str(found)}
        if isinstance(found, Lease):
            answer = {
                "lease": found.number,
                "first": found.first,
                "items": found.items,
                "end": found.end,
            }
        return web.json_response({**answer, **self._more(job, said)})

    async def _done(self, job: JobName, said: _Said) -> web.Response:
        ack = await self.keeper.done(job, said.who, said.heard, said.to, said.report)
        part = self.keeper.find(job).leases.parts.get(said.worker)
        # The end of a part other than its lease's would mislead it.
        its = part is not None and part.worker.life == said.life and part.has(said.heard)
        end = {"end": part.told} if part is not None and its else {}
        return web.json_response({"ack": ack.value, **end, **self._more(job, said)})

    async def _renew(self, job: JobName, said: _Said) -> web.Response:
        part = await self.keeper.renew(job, said.who, said.heard)
        end = {} if part is None else {"end": part.told}
        return web.json_response({"kept": part is not None, **end, **self._more(job, said)})

    def _more(self, job: JobName, said: _Said) -> dict[str, Any]:
        """What every answer contains: when to ask again, and what others have of its share."""
        leases = self.keeper.find(job).leases
        again_s = len(leases.parts) / WORKERS_A_SECOND
        owed = leases.owed(said.who)
        if len(owed) > MOST_OWED:
            owed = [(owed[0][0], owed[-1][1])]
        return {"again_s": min(max(again_s, LEAST_AGAIN_S), MOST_AGAIN_S), "owed": owed}


async def _said_in(request: web.Request) -> _Said:
    """Return what a worker says, in the query of a GET or in the body of a POST."""
    if request.method == "POST":
        return msgspec.json.decode(await request.read(), type=_Said)
    if "index" not in request.query:
        raise ValueError("say which index the worker has")
    return msgspec.convert(dict(request.query), _Said, strict=False)


def _said(status: int, why: str) -> web.Response:
    body: dict[str, Any] = {"error": why}
    return web.json_response(body, status=status)
