"""Questions to a Prometheus, or what speaks its API: bounded answers, bounded time, tried again."""

from __future__ import annotations

import asyncio
import base64
import math
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import aiohttp
import orjson
from yarl import URL

MAX_ANSWER_BYTES: Final = 64 << 20
MAX_SERIES: Final = 200_000
MAX_LABEL_CHARS: Final = 1024
TRIES: Final = 5
FIRST_PAUSE_S: Final = 0.5
LONGEST_PAUSE_S: Final = 20.0
_NOT_NOW: Final = frozenset({408, 429, 500, 502, 504})
_WORDS: Final = 300


class PrometheusError(Exception):
    """The server cannot be asked, or not this; the message says what to do."""


class TooMuch(PrometheusError):
    """The question was too large for the server, or its answer for us; ask for less."""


class _NotNow(Exception):
    """Worth another try. pause_s: how long the server asked to wait; None if it did not say."""

    def __init__(self, words: str, pause_s: float | None = None) -> None:
        super().__init__(words)
        self.pause_s = pause_s


@dataclass(frozen=True, slots=True)
class Sample:
    """One series of an answer and its value."""

    labels: Mapping[str, str]
    value: float

    def get(self, label: str) -> str:
        """The label's value; empty if it has none, as Prometheus has it."""
        return self.labels.get(label, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class PrometheusServer:
    """Where the server is, and how to show who asks.

    login: an Authorization header from the address. token_file: holds a bearer token, read for each
        question since it may be changed; it comes before the login.
    ca_file: certificates to trust for https; None for the system's.
    timeout_s: of one question, all of it. pause_s: before the second try.
    """

    base: URL
    login: str | None = field(default=None, repr=False)
    token_file: Path | None = None
    ca_file: Path | None = None
    timeout_s: float = 60.0
    pause_s: float = FIRST_PAUSE_S

    @classmethod
    def at(cls, address: str, **settings: Any) -> PrometheusServer:
        """A server by its http(s) address, which may hold ``user:password@`` and a path.

        Raises:
            PrometheusError: if it is no address. It is not quoted: it may hold a password.

        """
        try:
            url = URL(address)
        except ValueError:
            url = URL()
        if url.scheme not in ("http", "https") or not url.host or url.query or url.fragment:
            raise PrometheusError(
                "--prometheus is no address of a Prometheus; write"
                " http(s)://[user:password@]HOST[:PORT][/PATH], as far as its /api/v1"
            )
        login = None
        if url.user is not None:
            named = f"{url.user}:{url.password or ''}".encode()
            login = f"Basic {base64.b64encode(named).decode()}"
        path = url.path.rstrip("/").removesuffix("/api/v1") + "/"
        return cls(base=url.with_user(None).with_path(path), login=login, **settings)


class PrometheusClient:
    """One server's questions, over one session: an ``async with``."""

    def __init__(self, server: PrometheusServer) -> None:
        self._server = server
        self._session: aiohttp.ClientSession | None = None
        self.warnings: dict[str, None] = {}
        """What the server warned of, such as an answer that lacks a store's part."""

    async def __aenter__(self) -> PrometheusClient:
        server = self._server
        try:
            trust = ssl.create_default_context(cafile=server.ca_file) if server.ca_file else True
        except (OSError, ssl.SSLError) as error:
            raise PrometheusError(
                f"{server.ca_file} holds no certificates to trust: {error}; give it PEM"
            ) from error
        self._session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=server.timeout_s, connect=10.0),
            connector=aiohttp.TCPConnector(ssl=trust),
            headers={"Accept": "application/json"},
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._session is not None
        await self._session.close()

    async def ask(self, promql: str, at_s: float) -> list[Sample]:
        """The answer to an instant query at ``at_s``, Unix seconds; what is no number is left out.

        Raises:
            TooMuch: if less should be asked at once.
            PrometheusError: if the server cannot be asked; the message says what to do.

        """
        for tried in range(1, TRIES + 1):
            try:
                return list(_samples(await self._once(promql, at_s), self.warnings))
            except (aiohttp.ClientError, OSError, _NotNow) as error:
                if isinstance(error, TimeoutError):
                    raise TooMuch(
                        f"{self._where()} did not answer within {self._server.timeout_s:.0f} s"
                    ) from error
                if tried == TRIES or isinstance(error, aiohttp.ClientSSLError):
                    raise PrometheusError(f"{self._where()}: {_words(error)}") from error
                await asyncio.sleep(self._pause_s(tried, error))
        raise AssertionError("unreachable: the last try returns or raises")

    async def _once(self, promql: str, at_s: float) -> dict[str, Any]:
        assert self._session is not None
        headers = {}
        authorization = self._authorization()
        if authorization is not None:
            headers["Authorization"] = authorization
        async with self._session.post(
            self._server.base.joinpath("api/v1/query"),
            data={"query": promql, "time": f"{at_s:.3f}", "timeout": self._timeout()},
            headers=headers,
            allow_redirects=False,
        ) as response:
            body = await self._read(response)
            return self._judged(response, body)

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        body = bytearray()
        async for piece in response.content.iter_chunked(1 << 16):
            body += piece
            if len(body) > MAX_ANSWER_BYTES:
                raise TooMuch(f"{self._where()} answered more than {MAX_ANSWER_BYTES >> 20} MiB")
        return bytes(body)

    def _judged(self, response: aiohttp.ClientResponse, body: bytes) -> dict[str, Any]:
        answer = _json(body)
        status, said = response.status, str(answer.get("error") or "")[:_WORDS]
        if status == 200 and answer.get("status") == "success":
            return answer
        if status == 422 or answer.get("errorType") in ("timeout", "execution"):
            raise TooMuch(f"{self._where()} could not work it out: {said or status}")
        if status in (401, 403):
            raise PrometheusError(
                f"{self._where()} refused with {status}: give --token-file, or"
                " user:password@ in PLIMSOLL_PROMETHEUS_URL, of someone who may query"
            )
        if status in _NOT_NOW or status == 503:
            raise _NotNow(f"it answered {status} {said}", _retry_after_s(response))
        if 300 <= status < 400:
            to = response.headers.get("Location", "")[:_WORDS]
            raise PrometheusError(
                f"{self._where()} points to {to!r}; give that address, if it is it"
            )
        if status == 200 or not said:
            raise PrometheusError(
                f"{self._where()} answered {status} and not as a Prometheus does; the address"
                " should be all that comes before /api/v1/query"
            )
        raise PrometheusError(f"{self._where()} answered {status}: {said}")

    def _authorization(self) -> str | None:
        file = self._server.token_file
        if file is None:
            return self._server.login
        try:
            token = file.read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            raise PrometheusError(f"{file} cannot be read: {error}; put the token there") from error
        if not token.isascii() or not token.isprintable() or not token:
            raise PrometheusError(f"{file} holds no bearer token; write just the token into it")
        return f"Bearer {token}"

    def _pause_s(self, tried: int, error: Exception) -> float:
        asked_s = error.pause_s if isinstance(error, _NotNow) else None
        pause_s = asked_s if asked_s is not None else self._server.pause_s * 2.0 ** (tried - 1)
        return min(LONGEST_PAUSE_S, pause_s)

    def _timeout(self) -> str:
        # The server should give up before we do: then it says why.
        return f"{max(1, math.floor(self._server.timeout_s * 0.9))}s"

    def _where(self) -> str:
        return str(self._server.base)


def _samples(answer: Mapping[str, Any], warnings: dict[str, None]) -> Iterator[Sample]:
    for warning in list(answer.get("warnings") or ())[:3]:
        warnings[str(warning)[:_WORDS]] = None
    data = answer.get("data")
    result = data.get("result") if isinstance(data, dict) else None
    if not (
        isinstance(data, dict) and isinstance(result, list) and data.get("resultType") == "vector"
    ):
        raise PrometheusError("the answer holds no vector; is this a Prometheus?")
    if len(result) > MAX_SERIES:
        raise TooMuch(f"more than {MAX_SERIES} series in one answer")
    for row in result:
        try:
            labels, value = row["metric"], float(row["value"][1])
            sample = Sample({str(name): _plain(text) for name, text in labels.items()}, value)
        except (TypeError, KeyError, IndexError, ValueError, AttributeError) as error:
            raise PrometheusError(
                "the answer's series are not as Prometheus writes them"
            ) from error
        if math.isfinite(value):
            yield sample


def _plain(text: object) -> str:
    """A label's value, bounded, without the one character that PostgreSQL does not take."""
    return str(text)[:MAX_LABEL_CHARS].replace("\0", "")


def _json(body: bytes) -> dict[str, Any]:
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _retry_after_s(response: aiohttp.ClientResponse) -> float | None:
    try:
        return max(0.0, float(response.headers.get("Retry-After", "")))
    except ValueError:
        return None


def _words(error: Exception) -> str:
    return str(error)[:_WORDS] or type(error).__name__
