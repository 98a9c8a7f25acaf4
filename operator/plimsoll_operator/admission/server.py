"""The HTTPS server: kopf's webhook server class with the sizing path answered directly.

kopf's own dispatch costs about a millisecond a request and turns an exception into a refusal;
the sizing path goes past it. Every other path is kopf's as ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from aiohttp import HttpVersion11, web

from plimsoll_operator.admission.answering import Answerer
from plimsoll_operator.admission.certificates import Certificate
from plimsoll_operator.admission.webhook_base import (
    Response,
    UnknownResourceError,
    WebhookClientConfig,
    WebhookFn,
    WebhookServer,
)

SIZING_PATH: Final = "/size"
MAX_BODY_BYTES: Final = 8 * 2**20
"""The API server takes objects of 3 MiB; a review may hold two, escaped."""
MAX_DRAINED_BYTES: Final = 64 * 2**20
"""A client that sends more than that is cut off instead of being answered."""


class SizingServer(WebhookServer):
    """Serves ``POST /size``; ``start`` it alone, or give it to kopf.

    port: 0 takes a free one. draining: set it before the end, while requests are still answered:
    each connection is then closed after its next answer, so that none is cut off in a request.
    """

    def __init__(
        self, answerer: Answerer, certificate: Certificate, *, addr: str, port: int, grace_s: float
    ) -> None:
        super().__init__(addr=addr, port=port, context=certificate.context)
        self._answerer = answerer
        self._grace_s = grace_s
        self._bound_port = 0
        self.draining = False

    async def start(self) -> int:
        """Listen, alone, without kopf's operator around it; gives the port.

        Ends with the server's own ``async with``, once requests in flight have been answered.
        """
        async for _ in self(_only_sizing):
            break
        return self._bound_port

    async def __call__(self, fn: WebhookFn) -> AsyncIterator[WebhookClientConfig]:
        """Serve until closed. As kopf's, but for the sizing path, the limit and the certificate."""

        async def others(request: web.Request) -> web.Response:
            return await self._serve(fn, request)

        app = web.Application(client_max_size=MAX_BODY_BYTES)
        app.add_routes([web.post(SIZING_PATH, self._size), web.post("/{id:.*}", others)])
        # An access log line per pod would cost more than sizing it.
        runner = web.AppRunner(
            app, handle_signals=False, access_log=None, shutdown_timeout=self._grace_s
        )
        await runner.setup()
        try:
            site = web.TCPSite(runner, self.addr, self.port, ssl_context=self.context)
            await site.start()
            self._bound_port = runner.addresses[0][1]
            yield WebhookClientConfig(url=f"https://{self.addr}:{self._bound_port}")
            # The consumer stays here for as long as it serves; the files' changes need no restart.
            await _forever()
        finally:
            await runner.cleanup()

    async def _size(self, request: web.Request) -> web.StreamResponse:
        body, whole = await _read_body(request)
        answer = self._answerer.answer(body) if whole else self._answerer.answer_oversized(body)
        # All pods that wait are decided before any is answered. Each part's code then stays in the
        # processor's cache: 15 % more requests a second and a shorter tail, measured.
        await asyncio.sleep(0)
        if request.version == HttpVersion11 and request.keep_alive and not self.draining:
            return OneWrite(answer)
        response = web.Response(body=answer, content_type="application/json")
        if self.draining:
            # The client's next request goes to another replica, not into our end.
            response.force_close()
        return response


class OneWrite(web.StreamResponse):
    """A JSON answer on a connection that stays open, head and body in one write.

    What aiohttp does beyond that (header objects, signals, compression, chunks) has no use here
    and costs as much as reading and deciding together.
    """

    def __init__(self, body: bytes) -> None:
        super().__init__()
        self._whole = b"%b%d\r\n\r\n%b" % (_HEAD, len(body), body)

    @property
    def keep_alive(self) -> bool:
        """Always: for other connections this class is not used."""
        return True

    async def prepare(self, request: web.BaseRequest) -> None:
        """Send everything."""
        if request.transport is None or request.transport.is_closing():
            raise ConnectionResetError("the client left before its answer")
        request.transport.write(self._whole)

    async def write_eof(self, data: bytes = b"") -> None:
        """Nothing is left to send."""


_HEAD: Final = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: "
)


async def _read_body(request: web.Request) -> tuple[bytes, bool]:
    """The body up to MAX_BODY_BYTES, and whether that is all of it.

    aiohttp's own reading would answer 413. What is over the limit is read and dropped: a client
    answered in the middle of its sending would see a broken connection, not the answer.
    """
    content = request.content
    if content.is_eof():  # as nearly always: it came with the head
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


async def _forever() -> None:
    await asyncio.Event().wait()


async def _only_sizing(*_: object, **__: object) -> Response:
    """What kopf's own paths answer in a process that has no other handlers: 404."""
    raise UnknownResourceError(f"only {SIZING_PATH} is served here")
