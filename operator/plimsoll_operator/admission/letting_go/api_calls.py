"""The few calls of the API server that an admission replica makes. It loads no client's library."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import aiohttp
import orjson

from plimsoll_operator.admission.letting_go.kinds import Kind, Object
from plimsoll_operator.credentials.token_file import read_token
from plimsoll_operator.kube.access_reviews import ACCESS_REVIEWS, access_review, is_allowed
from plimsoll_operator.kube.errors import Unreachable, error_of
from plimsoll_operator.names.service_urls import with_brackets
from plimsoll_operator.pods.spec import mapping, metadata_of, sequence

ANSWER_WITHIN_S: Final = 5.0
LET_GO_WITHIN_S: Final = 35.0
"""For what lets a pod go. It is longer than an API server waits for one webhook (30 s): one that is
away and may be ignored must not keep pods waiting for ever."""
PAGE: Final = 100
"""Objects that are decoded in one piece, between the answers to two pods."""
_JSON_PATCH: Final = "application/json-patch+json"


@dataclass(frozen=True, slots=True)
class ApiAddress:
    """Where the API server is. token_file: read for every call, since it is renewed."""

    url: str
    token_file: Path
    ca_file: Path


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer, and when the API server gave it by its own clock: Unix seconds, if given."""

    document: dict[str, Any]
    at_s: float | None


class ApiCalls:
    """Calls raise ``ApiError`` and nothing else, within ANSWER_WITHIN_S; ``let_go`` takes longer.

    It makes its connections on the first call: the certificates need not exist before.
    """

    def __init__(self, address: ApiAddress) -> None:
        self._address = address
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Close the connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def lease(self, namespace: str, name: str) -> Answered:
        """Return a Lease. NotFound if there is none."""
        path = f"/apis/coordination.k8s.io/v1/namespaces/{quote(namespace)}/leases/{quote(name)}"
        return await self._call("GET", path)

    async def that_may_wait(
        self, kind: Kind
    ) -> AsyncIterator[tuple[Sequence[Object], float | None]]:
        """Yield all objects of the cluster that may wait, page by page, and the server's time."""
        more: object = ""
        while True:
            query = {**kind.query, "limit": str(PAGE)}
            if isinstance(more, str) and more:
                query["continue"] = more
            answered = await self._call("GET", f"{kind.root}/{kind.resource}", query=query)
            yield (
                [mapping(each) for each in sequence(answered.document.get("items"))],
                answered.at_s,
            )
            more = metadata_of(answered.document).get("continue")
            if not more:
                return
            await asyncio.sleep(0)

    async def let_go(self, kind: Kind, obj: Object, *, dry_run: bool = False) -> None:
        """End an object's wait. dry_run: only ask whether the API server would allow it."""
        meta = metadata_of(obj)
        namespace, name = quote(str(meta.get("namespace"))), quote(str(meta.get("name")))
        path = f"{kind.root}/namespaces/{namespace}/{kind.resource}/{name}"
        query = {"dryRun": "All"} if dry_run else None
        body = kind.letting_go(obj)
        # Where it takes long to let a pod go, none is held: so it is only asked for a short time.
        within_s = ANSWER_WITHIN_S if dry_run else LET_GO_WITHIN_S
        await self._call("PATCH", path, query=query, body=body, within_s=within_s)

    async def may_patch(self, kind: Kind) -> bool:
        """Say whether the role lets it patch such objects of all namespaces."""
        review = access_review("patch", kind.group, kind.resource)
        answered = await self._call("POST", ACCESS_REVIEWS, body=review)
        return is_allowed(answered.document)

    async def _call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: object = None,
        within_s: float = ANSWER_WITHIN_S,
    ) -> Answered:
        content = _JSON_PATCH if method == "PATCH" else "application/json"
        try:
            token = await asyncio.to_thread(read_token, self._address.token_file)
            async with self._connected().request(
                method,
                f"{self._address.url.rstrip('/')}{path}",
                params=query,
                data=None if body is None else orjson.dumps(body),
                headers={"Authorization": f"Bearer {token}", "Content-Type": content},
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=within_s),
            ) as response:
                text = await response.read()
        except aiohttp.ClientConnectorError as error:
            # The certificates may have changed: the next call reads them again.
            await self.close()
            raise Unreachable(f"the API server does not answer: {error!r:.300}") from error
        except (aiohttp.ClientError, OSError) as error:
            # Other calls go on over the same connections.
            raise Unreachable(f"the API server does not answer: {error!r:.300}") from error
        if response.status >= 300:
            raise error_of(response.status, text, response.reason)
        try:
            document = orjson.loads(text)
        except ValueError as error:
            raise Unreachable(f"{path} answers what is no JSON") from error
        return Answered(dict(mapping(document)), _time_in(response.headers.get("Date")))

    def _connected(self) -> aiohttp.ClientSession:
        if self._session is None:
            trusted = ssl.create_default_context(cafile=self._address.ca_file)
            self._session = aiohttp.ClientSession(
                # Callers bound how many calls are in flight. Those that hang must not use up the
                # connections of those that look whether anybody leads.
                connector=aiohttp.TCPConnector(ssl=trusted, limit=0),
            )
        return self._session


def cluster_url(environment: Mapping[str, str]) -> str | None:
    """Return the API server's address, as Kubernetes gives it to every pod; None outside of one."""
    host, port = (environment.get(f"KUBERNETES_SERVICE_{name}") for name in ("HOST", "PORT"))
    if not host or not port:
        return None
    return with_brackets(f"https://{host}:{port}")


def _time_in(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return parsedate_to_datetime(text).timestamp()
    except ValueError:
        return None
