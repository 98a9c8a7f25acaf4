"""Objects of a cluster by their paths, as plain JSON; each refusal in the API server's own words.

For commands of people, who may see and change only what RBAC gives them.
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import aiohttp
from kubernetes_asyncio import client

from plimsoll_operator.commands.places import Place
from plimsoll_operator.controller.kube import (
    GROUP,
    MERGE_PATCH,
    RETRY_LATER,
    VERSION,
    AlreadyThere,
    ApiError,
    Changed,
    NotFound,
    Refused,
    Unreachable,
    api_settings,
)

ANSWER_WITHIN_S: Final = 15.0
MOST_BYTES: Final = 64 * 2**20
"""Of one answer: ten thousand TaskProfiles come in pages of far less."""
PAGE: Final = 500
MOST_OBJECTS: Final = 20_000

CUSTOM: Final = f"/apis/{GROUP}/{VERSION}"


def custom_path(plural: str, namespace: str | None = None, name: str | None = None) -> str:
    """The path of our kinds: of all namespaces, of one, or of one object."""
    inside = CUSTOM if namespace is None else f"{CUSTOM}/namespaces/{namespace}"
    return f"{inside}/{plural}" if name is None else f"{inside}/{plural}/{name}"


class ClusterObjects:
    """Reads and writes by path. Every call raises ``ApiError`` subclasses and nothing else."""

    def __init__(self, api: client.ApiClient, settings: client.Configuration) -> None:
        self._api = api
        self.settings = settings

    async def get(self, path: str, query: Mapping[str, str] | None = None) -> dict[str, Any]:
        """One object, or one page of a list."""
        found: dict[str, Any] = json.loads(await self.text(path, query))
        return found

    async def text(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        """What a path answers, whatever its type."""
        return await self._call("GET", path, query=query)

    async def items(
        self, path: str, query: Mapping[str, str] | None = None
    ) -> list[dict[str, Any]]:
        """All of a list, page by page, MOST_OBJECTS at most."""
        found: list[dict[str, Any]] = []
        more = ""
        while True:
            paged = {**(query or {}), "limit": str(PAGE), **({"continue": more} if more else {})}
            page = await self.get(path, paged)
            found += page.get("items") or []
            more = (page.get("metadata") or {}).get("continue") or ""
            if not more or len(found) >= MOST_OBJECTS:
                return found[:MOST_OBJECTS]

    async def merge(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Patch one object: a field that is None goes."""
        found: dict[str, Any] = json.loads(
            await self._call("PATCH", path, body=body, content=MERGE_PATCH)
        )
        return found

    async def create(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Create an object in the list at ``path``."""
        found: dict[str, Any] = json.loads(await self._call("POST", path, body=body))
        return found

    async def _call(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        content: str = "application/json",
    ) -> bytes:
        try:
            answer = await self._api.call_api(
                path,
                method,
                query_params=list((query or {}).items()),
                header_params={"Accept": "application/json, */*", "Content-Type": content},
                body=None if body is None else dict(body),
                auth_settings=["BearerToken"],
                response_types_map={},
                _preload_content=False,
                _return_http_data_only=True,
                _request_timeout=ANSWER_WITHIN_S,
            )
            text: bytes = await _bounded(answer, path)
        except client.ApiException as error:
            raise _error(error.status, str(error.body or error.reason)) from error
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            why = str(error) or f"no answer within {ANSWER_WITHIN_S:g} s"
            raise Unreachable(f"the API server does not answer: {why}") from error
        if answer.status >= 300:
            raise _error(answer.status, text.decode(errors="replace"))
        return text


@asynccontextmanager
async def cluster_objects(place: Place) -> AsyncIterator[ClusterObjects]:
    """The cluster that is meant; raises NoCluster if nothing says which."""
    # The client logs that there is no kubeconfig, which we say ourselves.
    logging.disable(logging.CRITICAL)
    try:
        settings = await api_settings(place.kubeconfig, place.context)
        async with client.ApiClient(settings) as api:
            yield ClusterObjects(api, settings)
    finally:
        logging.disable(logging.NOTSET)


async def _bounded(answer: Any, path: str) -> bytes:
    read = bytearray()
    async for chunk in answer.content.iter_chunked(64 * 1024):
        read += chunk
        if len(read) > MOST_BYTES:
            raise Unreachable(f"{path} answers more than {MOST_BYTES >> 20} MiB; ask for less")
    return bytes(read)


def _error(status: int | None, body: str) -> ApiError:
    words = _message(body)
    if status in (401, 403):
        return Refused(words if status == 403 else f"the API server does not know you: {words}")
    if status == 404:
        return NotFound(words)
    if status == 409:
        return AlreadyThere(words) if "already exists" in words else Changed(words)
    if status in RETRY_LATER or not status:
        return Unreachable(f"the API server does not answer: {status} {words}")
    return Refused(words)


def _message(body: str) -> str:
    try:
        said = json.loads(body).get("message")
    except (ValueError, AttributeError):
        said = None
    return str(said or body)[:500].strip()
