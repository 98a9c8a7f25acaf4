"""A session with a foreign HTTP service: its address, our credentials, and bounded answers."""

from __future__ import annotations

import base64
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import aiohttp
import orjson
from yarl import URL

from plimsoll_operator.credentials.token_file import read_token


class SessionError(Exception):
    """The service cannot be asked, or its answer is too large; the message says what to do."""


class AnswerTooLarge(SessionError):
    """The answer was cut off at the session's bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpService:
    """The address of a service, and our credentials.

    base: ends with a slash, and holds no password. login: an Authorization header.
    token_file: holds a bearer token, read for each call since it may be changed; it comes before
        the login.
    ca_file: certificates to trust for https; None for the system's.
    timeout_s: of one call, all of it. connect_s: of making the connection.
    by_environment: whether the environment's proxies are used.
    """

    base: URL
    login: str | None = field(default=None, repr=False)
    token_file: Path | None = None
    ca_file: Path | None = None
    timeout_s: float = 60.0
    connect_s: float = 10.0
    by_environment: bool = False

    @classmethod
    def at(cls, address: str, **settings: Any) -> Self:
        """A service by its http(s) address, which may hold ``user:password@`` and a path.

        Raises:
            ValueError: if it is no address; the message does not hold its password.
        """
        try:
            url = URL(address)
        except ValueError:
            url = URL()
        if url.scheme not in ("http", "https") or not url.host or url.port == 0:
            raise ValueError("not an http(s) address")
        if url.query or url.fragment:
            raise ValueError("an address with a query or a fragment")
        login = None
        if url.user is not None:
            named = f"{url.user}:{url.password or ''}".encode()
            login = f"Basic {base64.b64encode(named).decode()}"
        base = url.with_user(None).with_path(url.path.rstrip("/") + "/")
        return cls(base=base, login=login, **settings)

    @property
    def where(self) -> str:
        """The address without user and password."""
        return str(self.base)

    def authorization(self) -> dict[str, str]:
        """The headers with our credentials.

        Raises:
            OSError: if the token's file cannot be read or holds no token.
        """
        if self.token_file is not None:
            return {"Authorization": f"Bearer {read_token(self.token_file)}"}
        return {} if self.login is None else {"Authorization": self.login}


@dataclass(frozen=True, slots=True)
class Answer:
    """A service's answer, with its body."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def document(self) -> dict[str, Any]:
        """The body's JSON object; empty if it is none."""
        try:
            content = orjson.loads(self.body)
        except orjson.JSONDecodeError:
            return {}
        return content if isinstance(content, dict) else {}


class HttpSession:
    """Calls of one service. Make it on the event loop that uses it, and close it there."""

    def __init__(self, service: HttpService, *, most_bytes: int) -> None:
        """most_bytes: of an answer.

        Raises:
            SessionError: if the file of certificates cannot be used.
        """
        self._service = service
        self._most_bytes = most_bytes
        try:
            trust = ssl.create_default_context(cafile=service.ca_file) if service.ca_file else True
        except (OSError, ssl.SSLError) as error:
            raise SessionError(
                f"{service.ca_file} holds no certificates to trust: {error}; give it PEM"
            ) from error
        self._session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=service.timeout_s, connect=service.connect_s),
            connector=aiohttp.TCPConnector(ssl=trust),
            headers={"Accept": "application/json"},
            trust_env=service.by_environment,
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._session.close()

    async def call(self, method: str, path: str, **given: Any) -> Answer:
        """Call ``path``, which is quoted already, below the service's address.

        Raises:
            SessionError: if the token cannot be used, or the answer is too large.
            aiohttp.ClientError, OSError: if there is no answer.
        """
        try:
            headers = self._service.authorization()
        except OSError as error:
            raise SessionError(f"the token cannot be used: {error}") from error
        url = URL(self._service.where + path, encoded=True)
        # A redirect could carry the password elsewhere.
        async with self._session.request(
            method, url, headers=headers, allow_redirects=False, **given
        ) as response:
            return Answer(response.status, response.headers, await self._body(response))

    async def _body(self, response: aiohttp.ClientResponse) -> bytes:
        body = bytearray()
        async for piece in response.content.iter_any():
            body += piece
            if len(body) > self._most_bytes:
                raise AnswerTooLarge(f"an answer of more than {self._most_bytes >> 20} MiB")
        return bytes(body)
