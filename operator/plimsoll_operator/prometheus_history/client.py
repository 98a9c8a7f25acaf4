"""Questions to a Prometheus, or a server with its API: bounded answers and times, with retries."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Self

import aiohttp

from plimsoll_operator.credentials.http_session import (
    Answer,
    AnswerTooLarge,
    HttpService,
    HttpSession,
    SessionError,
)

MAX_ANSWER_BYTES: Final = 64 << 20
MAX_SERIES: Final = 200_000
MAX_LABEL_CHARS: Final = 1024
TRIES: Final = 5
FIRST_PAUSE_S: Final = 0.5
LONGEST_PAUSE_S: Final = 20.0
_NOT_NOW: Final = frozenset({408, 429, 500, 502, 504})
_WORDS: Final = 300


class PrometheusError(Exception):
    """The server cannot answer at all, or not this question; the message says what to do."""


class TooMuch(PrometheusError):
    """The question was too large for the server, or the answer too large for us; ask for less."""


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
        """The label's value; empty if it has none, as in Prometheus."""
        return self.labels.get(label, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class PrometheusServer(HttpService):
    """The server's address and our credentials. pause_s: before the second try."""

    pause_s: float = FIRST_PAUSE_S

    @classmethod
    def at(cls, address: str, **settings: Any) -> Self:
        """A server by its http(s) address, which may hold ``user:password@`` and a path.

        Raises:
            PrometheusError: if it is no address.

        """
        try:
            # super() without arguments does not work in a dataclass with slots.
            server = super(PrometheusServer, cls).at(address, **settings)
        except ValueError:
            # The error is neither quoted nor chained, because the address may hold a password.
            raise PrometheusError(
                "--prometheus is no address of a Prometheus; write"
                " http(s)://[user:password@]HOST[:PORT][/PATH], as far as its /api/v1"
            ) from None
        path = server.base.path.removesuffix("api/v1/")
        return replace(server, base=server.base.with_path(path))


class PrometheusClient:
    """Asks one server, over one session: use it in an ``async with``."""

    def __init__(self, server: PrometheusServer) -> None:
        self._server = server
        try:
            self._session = HttpSession(server, most_bytes=MAX_ANSWER_BYTES)
        except SessionError as error:
            raise PrometheusError(str(error)) from error
        self._answered = False
        """Whether the server has answered before: then it is the right address."""
        self.warnings: dict[str, None] = {}
        """Warnings of the server, for instance that an answer lacks a store's part."""

    async def __aenter__(self) -> PrometheusClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def ask(self, promql: str, at_s: float) -> list[Sample]:
        """The answer to an instant query at ``at_s``, Unix seconds; only its finite values.

        Raises:
            TooMuch: if less should be asked at once.
            PrometheusError: if the server cannot be asked; the message says what to do.

        """
        for tried in range(1, TRIES + 1):
            try:
                return list(_samples(await self._once(promql, at_s), self.warnings))
            except AnswerTooLarge as error:
                raise TooMuch(f"{self._server.where}: {error}") from error
            except SessionError as error:
                raise PrometheusError(f"{self._server.where}: {error}") from error
            except (aiohttp.ClientError, OSError, _NotNow) as error:
                unreached = isinstance(error, aiohttp.ConnectionTimeoutError)
                if unreached and not self._answered:
                    raise PrometheusError(
                        f"{self._server.where} cannot be reached within"
                        f" {self._server.connect_s:.0f} s; is the address right?"
                    ) from error
                if isinstance(error, TimeoutError) and not unreached:
                    raise TooMuch(
                        f"{self._server.where} did not answer within {self._server.timeout_s:.0f} s"
                    ) from error
                if tried == TRIES or isinstance(error, aiohttp.ClientSSLError):
                    raise PrometheusError(f"{self._server.where}: {_words(error)}") from error
                await asyncio.sleep(self._pause_s(tried, error))
        raise AssertionError("unreachable: the last try returns or raises")

    async def _once(self, promql: str, at_s: float) -> dict[str, Any]:
        answer = await self._session.call(
            "POST",
            "api/v1/query",
            data={"query": promql, "time": f"{at_s:.3f}", "timeout": self._timeout()},
        )
        self._answered = True
        return self._judged(answer)

    def _judged(self, answer: Answer) -> dict[str, Any]:
        document = answer.document
        status, error = answer.status, str(document.get("error") or "")[:_WORDS]
        if status == 200 and document.get("status") == "success":
            return document
        if status == 422 or document.get("errorType") in ("timeout", "execution"):
            raise TooMuch(f"{self._server.where} could not answer the question: {error or status}")
        if status in (401, 403):
            raise PrometheusError(
                f"{self._server.where} refused with {status}: give --token-file, or"
                " user:password@ in PLIMSOLL_PROMETHEUS_URL, of someone who may query"
            )
        if status in _NOT_NOW or status == 503:
            raise _NotNow(f"it answered {status} {error}", _retry_after_s(answer))
        if 300 <= status < 400:
            to = answer.headers.get("Location", "")[:_WORDS]
            raise PrometheusError(
                f"{self._server.where} points to {to!r}; give that address if it is the Prometheus"
            )
        if status == 200 or not error:
            raise PrometheusError(
                f"{self._server.where} answered {status} and not as a Prometheus does; the address"
                " should be all that comes before /api/v1/query"
            )
        raise PrometheusError(f"{self._server.where} answered {status}: {error}")

    def _pause_s(self, tried: int, error: Exception) -> float:
        asked_s = error.pause_s if isinstance(error, _NotNow) else None
        pause_s = asked_s if asked_s is not None else self._server.pause_s * 2.0 ** (tried - 1)
        return min(LONGEST_PAUSE_S, pause_s)

    def _timeout(self) -> str:
        # The server should give up before the client does, because then it says why.
        return f"{max(1, math.floor(self._server.timeout_s * 0.9))}s"


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
    """A label's value, bounded, without the one character that PostgreSQL refuses."""
    return str(text)[:MAX_LABEL_CHARS].replace("\0", "")


def _retry_after_s(answer: Answer) -> float | None:
    try:
        return max(0.0, float(answer.headers.get("Retry-After", "")))
    except ValueError:
        return None


def _words(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientConnectorError) and not isinstance(
        error, aiohttp.ClientSSLError
    ):
        # Its own words speak of ssl, also where the address is plain http.
        return f"cannot connect: {error.os_error.strerror or error.os_error}"[:_WORDS]
    return str(error)[:_WORDS] or type(error).__name__
