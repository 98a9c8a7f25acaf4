"""One kept-alive connection to a server that wants a bearer token."""

from __future__ import annotations

import http.client
import json
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from plimsoll_operator.credentials.token_file import read_token

ANSWER_BYTES: Final = 262_144
"""The most that is read of an answer: some 70 bytes for each pod of a batch."""
JSON: Final = "application/json"


@dataclass(frozen=True, slots=True)
class Server:
    """Where a server is, and how it is asked.

    token_file: read again for every request, so it may be rotated. ca_file: certificates to trust
    for https; None for the system's.
    """

    url: str
    token_file: Path
    ca_file: Path | None
    timeout_s: float


class Connection:
    """Belongs to one thread."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._url = urlsplit(server.url)
        self._connection: http.client.HTTPConnection | None = None

    def close(self) -> None:
        """Drop the connection; the next request makes a new one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def send(
        self, method: str, path: str, body: object, content_type: str = JSON
    ) -> tuple[int, str]:
        """Send one JSON body and return the status and the words of the answer.

        Raises:
            OSError, http.client.HTTPException: if the network fails.

        """
        reused = self._connection is not None
        try:
            try:
                return self._request(method, path, body, content_type)
            except (ConnectionError, http.client.RemoteDisconnected):
                if not reused:
                    raise
            # The other side may have closed a kept-alive connection meanwhile: try a new one.
            self.close()
            return self._request(method, path, body, content_type)
        except (OSError, http.client.HTTPException):
            self.close()
            raise

    def _request(self, method: str, path: str, body: object, content_type: str) -> tuple[int, str]:
        token = read_token(self._server.token_file)
        if self._connection is None:
            self._connection = self._connect()
        self._connection.request(
            method,
            self._url.path.rstrip("/") + path,
            json.dumps(body, separators=(",", ":")).encode(),
            {"Authorization": f"Bearer {token}", "Content-Type": content_type},
        )
        response = self._connection.getresponse()
        words = response.read(ANSWER_BYTES).decode(errors="replace")
        if response.read(1):
            self.close()  # the rest of a longer answer would be taken for the next one
        return response.status, words

    def _connect(self) -> http.client.HTTPConnection:
        host, port, timeout_s = self._url.hostname or "", self._url.port, self._server.timeout_s
        if self._url.scheme != "https":
            return http.client.HTTPConnection(host, port, timeout=timeout_s)
        # Made anew for each connection, so that a renewed CA file is seen.
        trust = ssl.create_default_context(cafile=self._server.ca_file)
        return http.client.HTTPSConnection(host, port, timeout=timeout_s, context=trust)
