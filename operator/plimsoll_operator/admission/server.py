"""The HTTPS server: aiohttp with one path, which is answered without a framework in between.

It is not kopf's webhook server class: docs/adr/0017-webhook-server.md says why.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from aiohttp import HttpVersion11, web

from plimsoll_operator.admission.answering import Answerer
from plimsoll_operator.admission.answering_jobs import Cutting
from plimsoll_operator.admission.waiting_for_lift import AwaitedLift, longest_s
from plimsoll_operator.names import labels

SIZING_PATH: Final = "/size"
JOB_PATH: Final = "/job"
UNLABELLED_PATH: Final = "/unlabelled"
UNLABELLED_JOB_PATH: Final = "/unlabelled-job"
MAX_BODY_BYTES: Final = 8 * 2**20
"""The API server takes objects of 3 MiB; a review may hold two, escaped."""
MOST_WAITING: Final = 1000
"""Pods that wait for their lift at once; others are answered with what is known."""
LOOK_S: Final = 0.01
LONGEST_TURN_S: Final = 0.5
"""The longest wait of a Job over items while others are cut, which takes some tenths of a second
each. The API server waits for two seconds, or as long as it is configured to."""
_OVER_ITEMS: Final = (labels.ITEMS.encode(), labels.LEASES.encode())
MAX_DRAINED_BYTES: Final = 64 * 2**20
"""A client that sends more than that is cut off instead of being answered."""

AnswersJobs = Callable[[bytes, Cutting], bytes]
"""Answers a Job's creation."""


class SizingServer:
    """Answers ``POST`` at four paths, and every other path with 404.

    ``/size`` and ``/job``: pods with a label, and Jobs that make such pods. ``/unlabelled`` and
    ``/unlabelled-job``: those without, in namespaces whose people want them recognised.

    draining: set it before the end, while requests are still answered: each connection is then
    closed after its next answer, so that none is cut off in a request.
    waiting: pods that came before their lift, and are answered in a moment.
    """

    def __init__(self, answerer: Answerer) -> None:
        self._answerer = answerer
        self.waiting = 0
        self.draining = False
        self._apart = ThreadPoolExecutor(1, "cutting")
        self._cutting = asyncio.Semaphore(1)

    def app(self) -> web.Application:
        """The application of the port that the API server asks."""
        app = web.Application(client_max_size=MAX_BODY_BYTES)
        app.add_routes(
            [
                web.post(SIZING_PATH, self._size),
                web.post(JOB_PATH, self._job),
                web.post(UNLABELLED_PATH, self._unlabelled),
                web.post(UNLABELLED_JOB_PATH, self._unlabelled_job),
                web.post("/{path:.*}", _elsewhere),
            ]
        )
        return app

    def close(self) -> None:
        """Cut no more Jobs. The port is closed before."""
        self._apart.shutdown(wait=False, cancel_futures=True)

    async def _size(self, request: web.Request) -> web.StreamResponse:
        return await self._answered(request, self._answerer.answer_unless_lift_awaited)

    async def _job(self, request: web.Request) -> web.StreamResponse:
        return await self._answered_job(request, self._answerer.answer_job)

    async def _unlabelled(self, request: web.Request) -> web.StreamResponse:
        return await self._answered(request, self._answerer.answer_unlabelled)

    async def _unlabelled_job(self, request: web.Request) -> web.StreamResponse:
        return await self._answered_job(request, self._answerer.answer_unlabelled_job)

    async def _answered(
        self, request: web.Request, answer_to: Callable[[bytes], bytes | AwaitedLift]
    ) -> web.StreamResponse:
        body, complete = await _read_body(request)
        answer = answer_to(body) if complete else self._answerer.answer_oversized(body)
        if isinstance(answer, AwaitedLift):
            await self._until_news(answer, longest_s(request.query.get("timeout")))
            answer = self._answerer.answer_waited(body, answer)
        return await self._sent(request, answer)

    async def _answered_job(
        self, request: web.Request, answer_to: AnswersJobs
    ) -> web.StreamResponse:
        body, complete = await _read_body(request)
        if not complete:
            answer = self._answerer.answer_oversized(body)
        elif not any(name in body for name in _OVER_ITEMS):
            answer = answer_to(body, Cutting.NO_TIME)
        else:
            answer = await self._items_job(body, answer_to)
        return await self._sent(request, answer)

    async def _items_job(self, body: bytes, answer_to: AnswersJobs) -> bytes:
        """Answer a Job over items, which takes as long as thousands of pods, in the background.

        One after the other: several would leave the pods no processor. If many come at once, the
        last ones stay as they are written.
        """
        try:
            await asyncio.wait_for(self._cutting.acquire(), LONGEST_TURN_S)
        except TimeoutError:
            return answer_to(body, Cutting.NO_TIME)
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._apart, answer_to, body, Cutting.IN_TIME)
        finally:
            self._cutting.release()

    async def _sent(self, request: web.Request, answer: bytes) -> web.StreamResponse:
        # All waiting pods are decided before any is answered. Each part's code then stays in the
        # processor's cache: 15 % more requests a second and a shorter tail, measured.
        await asyncio.sleep(0)
        if request.version == HttpVersion11 and request.keep_alive and not self.draining:
            return OneWrite(answer)
        response = web.Response(body=answer, content_type="application/json")
        if self.draining:
            # The client's next request goes to another replica, not into our end.
            response.force_close()
        return response

    async def _until_news(self, awaited: AwaitedLift, longest_s: float) -> None:
        """Wait for a pod's lift, and not for long: its engine waits, too."""
        if self.waiting >= MOST_WAITING:
            return
        self.waiting += 1
        try:
            now_s = asyncio.get_running_loop().time
            until_s = now_s() + longest_s
            while now_s() < until_s and not self.draining and not self._answerer.has_news(awaited):
                await asyncio.sleep(LOOK_S)
        finally:
            self.waiting -= 1


async def _elsewhere(_: web.Request) -> web.StreamResponse:
    raise web.HTTPNotFound(reason=f"only {SIZING_PATH} and {JOB_PATH} are served here")


class OneWrite(web.StreamResponse):
    """A JSON answer on a connection that stays open, head and body in one write.

    aiohttp's own answer adds header objects, signals, compression and chunks, which have no use
    here and cost as much as reading and deciding together.
    """

    def __init__(self, body: bytes) -> None:
        super().__init__()
        self._message = b"%b%d\r\n\r\n%b" % (_HEAD, len(body), body)

    @property
    def keep_alive(self) -> bool:
        """Always true: other connections get another class of answer."""
        return True

    async def prepare(self, request: web.BaseRequest) -> None:
        """Send everything."""
        if request.transport is None or request.transport.is_closing():
            raise ConnectionResetError("the client left before its answer")
        request.transport.write(self._message)

    async def write_eof(self, data: bytes = b"") -> None:
        """Nothing is left to send."""


_HEAD: Final = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: "
)


async def _read_body(request: web.Request) -> tuple[bytes, bool]:
    """The body up to MAX_BODY_BYTES, and whether that is all of it.

    aiohttp's own reading would answer 413. A longer body is read and dropped: a client
    answered in the middle of its sending would see a broken connection, not the answer.
    """
    content = request.content
    if content.is_eof():  # nearly always so: it came with the head
        return content.read_nowait(), True
    body = bytearray()
    dropped_bytes = 0
    while chunk := await content.readany():
        if len(body) + len(chunk) <= MAX_BODY_BYTES and not dropped_bytes:
            body += chunk
            continue
        dropped_bytes += len(chunk)
        if dropped_bytes > MAX_DRAINED_BYTES:
            break
    return bytes(body), not dropped_bytes
