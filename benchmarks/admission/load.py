"""A load client that is not the bottleneck: raw HTTP/1.1 over TLS keep-alive, on uvloop.

Each connection sends one prepared request, waits for its answer, sends the next.
"""

from __future__ import annotations

import asyncio
import re
import ssl
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

_HEAD_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"content-length:\s*([0-9]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One server under load."""

    port: int
    path: str


@dataclass(frozen=True, slots=True)
class Round:
    """The times of one burst of requests.

    latencies_s: of each request, from its first byte sent to its answer's last byte read.
    """

    wall_s: float
    latencies_s: Sequence[float]

    @property
    def rps(self) -> float:
        """Requests a second."""
        return len(self.latencies_s) / self.wall_s

    @property
    def p50_ms(self) -> float:
        """Median latency."""
        return percentile(self.latencies_s, 0.50) * 1000

    @property
    def p99_ms(self) -> float:
        """Latency that one in a hundred exceeds."""
        return percentile(self.latencies_s, 0.99) * 1000


def percentile(values: Sequence[float], share: float) -> float:
    """The value that ``share`` of the values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def post(endpoint: Endpoint, body: bytes) -> bytes:
    """Build a whole request."""
    head = (
        f"POST {endpoint.path} HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


@dataclass(slots=True)
class _Shared:
    """The shared state of one burst's connections."""

    size: int
    left: int
    done: asyncio.Event = field(default_factory=asyncio.Event)
    latencies_s: list[float] = field(default_factory=list)
    failure: Exception | None = None

    def fail(self, error: Exception) -> None:
        self.failure = error
        self.done.set()


class _Connection(asyncio.Protocol):
    def __init__(self, request: bytes) -> None:
        self._request = request
        self._buffer = bytearray()
        self._expected_bytes = 0
        self._sent_s = 0.0
        self._burst: _Shared | None = None
        self.transport: asyncio.WriteTransport | None = None
        self.last_answer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are writable, but their class does not say so.
        self.transport = cast(asyncio.WriteTransport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._burst is not None:
            self._burst.fail(exc or ConnectionError("the server closed a connection under load"))

    def start(self, burst: _Shared) -> None:
        """Take part in a burst."""
        self._burst = burst
        self._next()

    def _next(self) -> None:
        burst = self._burst
        assert burst is not None
        assert self.transport is not None
        if burst.left == 0:
            self._burst = None
            return
        burst.left -= 1
        self._sent_s = time.perf_counter()
        self.transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self._expected_bytes:
            end = self._buffer.find(_HEAD_END)
            if end < 0:
                return
            self._expected_bytes = end + len(_HEAD_END) + _body_bytes(self._buffer, end)
        if len(self._buffer) < self._expected_bytes:
            return
        self._answered()

    def _answered(self) -> None:
        burst = self._burst
        if burst is None:
            return
        burst.latencies_s.append(time.perf_counter() - self._sent_s)
        self.last_answer = bytes(self._buffer[: self._expected_bytes])
        self._buffer.clear()
        self._expected_bytes = 0
        self._next()
        if len(burst.latencies_s) == burst.size:
            burst.done.set()


def _body_bytes(head: bytearray, end: int) -> int:
    if not head.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(f"the server answered {bytes(head[:end])!r}")
    length = _LENGTH.search(head, 0, end)
    if length is None:
        raise RuntimeError(f"an answer without a length: {bytes(head[:end])!r}")
    return int(length[1])


class Load:
    """Open connections to one server, used burst after burst."""

    def __init__(self, connections: Sequence[_Connection]) -> None:
        self._connections = connections

    @classmethod
    async def connect(cls, endpoint: Endpoint, body: bytes, n_connections: int) -> Load:
        """Open keep-alive connections that all send the same request."""
        tls = ssl.create_default_context()
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
        loop = asyncio.get_running_loop()
        request = post(endpoint, body)
        made = [
            await loop.create_connection(
                lambda: _Connection(request), "127.0.0.1", endpoint.port, ssl=tls
            )
            for _ in range(n_connections)
        ]
        return cls([connection for _, connection in made])

    async def burst(self, n_requests: int) -> Round:
        """Send so many requests, each connection one after the other; wait for all answers."""
        shared = _Shared(size=n_requests, left=n_requests)
        began_s = time.perf_counter()
        for connection in self._connections:
            connection.start(shared)
        await shared.done.wait()
        if shared.failure is not None:
            raise shared.failure
        return Round(time.perf_counter() - began_s, shared.latencies_s)

    @property
    def answer_body(self) -> bytes:
        """The last answer's body."""
        return self._connections[0].last_answer.partition(_HEAD_END)[2]

    def close(self) -> None:
        """Close all connections."""
        for connection in self._connections:
            if connection.transport is not None:
                connection.transport.close()
