"""Reads and writes the API server's objects by their paths. All of Plimsoll's calls are here.

Objects are plain JSON: making typed objects of an answer takes longer than the API server takes.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any, Final
from urllib.parse import quote

import aiohttp
import yaml
from kubernetes_asyncio import client, config

from plimsoll_operator.kube.access_reviews import ACCESS_REVIEWS, access_review, is_allowed
from plimsoll_operator.kube.errors import NoCluster, Unknown, Unreachable, error_of
from plimsoll_operator.kube.kubeconfig_settings import (
    KubeconfigSettings,
    filled,
    first_context,
    token_of,
)
from plimsoll_operator.kube.no_proxy import spare_the_server

GROUP: Final = "plimsoll.dev"
VERSION: Final = "v1alpha1"
CORE: Final = "/api/v1"
APPS: Final = "/apis/apps/v1"
BATCH: Final = "/apis/batch/v1"
LEASES: Final = "/apis/coordination.k8s.io/v1"
OURS: Final = f"/apis/{GROUP}/{VERSION}"

MERGE_PATCH: Final = "application/merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
JSON: Final = "application/json, */*"
METADATA: Final = f"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1, {JSON}"
PAGE: Final = 500
MOST_OBJECTS: Final = 20_000
HOME_KUBECONFIG: Final = "~/.kube/config"

Object = Mapping[str, Any]


def path_of(
    group: str, plural: str, namespace: str | None = None, name: str | None = None, part: str = ""
) -> str:
    """Return the path of a list, or of one object. namespace: None means all of them.

    group: with its version, such as CORE. part: a subresource.

    >>> path_of(CORE, "pods", "shop", "train-x7", "resize")
    '/api/v1/namespaces/shop/pods/train-x7/resize'
    """
    place = [] if namespace is None else ["namespaces", namespace]
    parts = [*place, plural, name, part]
    return "/".join([group, *(quote(text, safe="") for text in parts if text)])


def custom_path(plural: str, namespace: str | None = None, name: str | None = None) -> str:
    """Return the path of a list or an object of Plimsoll's own kinds."""
    return path_of(OURS, plural, namespace, name)


class ApiServer:
    """The API server, for one event loop. It raises ``ApiError`` subclasses and nothing else.

    within_s: the most seconds for an answer; None waits as long as the connection exists.
    most_bytes: the most bytes of an answer; None accepts all.
    """

    def __init__(
        self,
        api: client.ApiClient,
        *,
        within_s: float | None = None,
        most_bytes: int | None = None,
    ) -> None:
        self._api = api
        self._within_s = within_s
        self._most_bytes = most_bytes
        self._told: str | None = None

    @property
    def clock_s(self) -> float | None:
        """Return its own time at its last answer, in whole Unix seconds; None if it told none."""
        try:
            return None if self._told is None else parsedate_to_datetime(self._told).timestamp()
        except ValueError:
            return None

    @property
    def settings(self) -> client.Configuration:
        """Return the API server's address and Plimsoll's credentials."""
        return self._api.configuration

    def within(self, within_s: float) -> ApiServer:
        """Return the same server with this time limit."""
        return ApiServer(self._api, within_s=within_s, most_bytes=self._most_bytes)

    async def close(self) -> None:
        """Close its connections."""
        await self._api.close()

    async def get(self, path: str, query: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Return one object, or one page of a list."""
        return _document(path, await self.text(path, query))

    async def text(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        """Return the answer of a path, whatever its type."""
        return await self._call("GET", path, query=query)

    async def metadata(
        self, path: str, query: Mapping[str, str] | None = None
    ) -> list[dict[str, Any]]:
        """Return a list as ``items`` does, of each object its metadata alone."""
        return await self.items(path, query, METADATA)

    async def items(
        self, path: str, query: Mapping[str, str] | None = None, accept: str = JSON
    ) -> list[dict[str, Any]]:
        """Return a list, read page by page: MOST_OBJECTS at most."""
        objects: list[dict[str, Any]] = []
        async for page in self.pages(path, query, accept):
            objects += page
            if len(objects) >= MOST_OBJECTS:
                break
        return objects[:MOST_OBJECTS]

    async def pages(
        self, path: str, query: Mapping[str, str] | None = None, accept: str = JSON
    ) -> AsyncIterator[list[dict[str, Any]]]:
        """Go through a whole list, however long, PAGE objects at a time.

        A longer piece would take seconds to decode, and the event loop would stand still.
        """
        more = ""
        while True:
            paged = {**(query or {}), "limit": str(PAGE), **({"continue": more} if more else {})}
            page = _document(path, await self._call("GET", path, paged, headers={"Accept": accept}))
            yield page.get("items") or []
            more = (page.get("metadata") or {}).get("continue") or ""
            if not more:
                return

    async def names(self, path: str, query: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return UID -> ``namespace/name`` of a whole list, however long. 20,000 take 5 MB."""
        found: dict[str, str] = {}
        async for page in self.pages(path, query, METADATA):
            for meta in (each.get("metadata") or {} for each in page):
                found[str(meta.get("uid"))] = f"{meta.get('namespace')}/{meta.get('name')}"
        return found

    async def create(self, path: str, body: Object) -> dict[str, Any]:
        """Create an object in the list at ``path``."""
        return _document(path, await self._call("POST", path, body=body))

    async def may(self, verb: str, group: str, resource: str, namespace: str = "") -> bool:
        """Say whether RBAC allows a verb on a resource. namespace: "" means all."""
        review = access_review(verb, group, resource, namespace)
        return is_allowed(await self.create(ACCESS_REVIEWS, review))

    async def replace(self, path: str, body: Object) -> dict[str, Any]:
        """Replace exactly the version of an object that ``body`` names."""
        return _document(path, await self._call("PUT", path, body=body))

    async def patch(
        self, path: str, body: Object | Sequence[Object], content: str = MERGE_PATCH
    ) -> dict[str, Any]:
        """Patch one object; None removes a field. content: the kind; a JSON_PATCH is a list."""
        return _document(
            path, await self._call("PATCH", path, body=body, headers={"Content-Type": content})
        )

    async def delete(
        self, path: str, preconditions: Object | None = None, *, propagation: str | None = None
    ) -> None:
        """Delete one object. preconditions: of its uid or resourceVersion.

        propagation: what becomes of the objects it owns; None leaves it to the kind: Job pods stay.
        """
        body = None if preconditions is None else {"preconditions": dict(preconditions)}
        query = None if propagation is None else {"propagationPolicy": propagation}
        await self._call("DELETE", path, query=query, body=body)

    async def _call(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Object | Sequence[Object] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> bytes:
        token = token_of(self.settings)
        try:
            return await self._ask(method, path, query, body, headers)
        except Unknown:
            if not await self._renewed(token):
                raise
        return await self._ask(method, path, query, body, headers)

    async def _renewed(self, refused: str | None) -> bool:
        """Say whether the kubeconfig gives another token than the one that was refused."""
        if not isinstance(self.settings, KubeconfigSettings):
            return False  # a service account's token is read again every minute
        try:
            return await asyncio.wait_for(self.settings.renew(refused), self._within_s)
        except TimeoutError:
            return False

    async def _ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        body: Object | Sequence[Object] | None,
        headers: Mapping[str, str] | None,
    ) -> bytes:
        try:
            answer = await self._api.call_api(
                path,
                method,
                query_params=list((query or {}).items()),
                header_params={
                    "Accept": JSON,
                    "Content-Type": "application/json",
                    **(headers or {}),
                },
                body=dict(body) if isinstance(body, Mapping) else body,
                auth_settings=["BearerToken"],
                response_types_map={},
                _preload_content=False,
                _return_http_data_only=True,
                _request_timeout=self._within_s,
            )
            self._told = answer.headers.get("Date")
            text = await self._read(answer, path)
        except client.ApiException as error:
            raise error_of(error.status, error.body, error.reason) from error
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            why = str(error) or f"no answer within {self._within_s or 0:g} s"
            raise Unreachable(f"the API server does not answer: {why}") from error
        if answer.status >= 300:
            raise error_of(answer.status, text, answer.reason)
        return text

    async def _read(self, answer: aiohttp.ClientResponse, path: str) -> bytes:
        read = bytearray()
        async for chunk in answer.content.iter_chunked(64 * 1024):
            read += chunk
            if self._most_bytes is not None and len(read) > self._most_bytes:
                most = self._most_bytes >> 20
                raise Unreachable(f"{path} answers more than {most} MiB; ask for less")
        return bytes(read)


def _document(path: str, text: bytes) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except ValueError as error:
        raise Unreachable(f"{path} answers what is no JSON: {text[:80]!r}") from error
    return document if isinstance(document, dict) else {}


async def api_settings(kubeconfig: str | None, context: str | None) -> client.Configuration:
    """Return the API server's address and credentials; calls follow NO_PROXY as kubectl's do.

    kubeconfig: its path; None takes $KUBECONFIG, or else the home folder's. A service account's are
    taken if there is no such file, or none that names anything, and no context is named.

    Raises:
        NoCluster: if neither a service account nor a kubeconfig has them.
    """
    files = _kubeconfigs(kubeconfig)
    settings: client.Configuration = client.Configuration()
    try:
        documents = filled(files)
        if documents:
            settings = KubeconfigSettings(
                os.pathsep.join(documents), context or first_context(documents)
            )
            await settings.load()
    except (
        *(config.ConfigException, OSError, yaml.YAMLError),
        # The client raises these for a file that is no kubeconfig.
        *(AttributeError, TypeError, ValueError),
    ) as error:
        where, why = " or ".join(files), str(error).partition("\n")[0]
        raise NoCluster(
            f"no cluster: {where}: {why}; name one with --kubeconfig and --context"
        ) from error
    is_named = kubeconfig is not None or context is not None
    if not documents and (is_named or not _in_cluster(settings)):
        names, there = " or ".join(files), any(map(_is_there, files))
        why = "names no cluster" if there else "is not there"
        raise NoCluster(f"no cluster: kubeconfig {names} {why}; name one with --kubeconfig")
    spare_the_server(settings.host)
    return settings


def _kubeconfigs(named: str | None) -> list[str]:
    if named:
        return [named]
    listed = [each for each in os.environ.get("KUBECONFIG", "").split(os.pathsep) if each]
    return listed or [HOME_KUBECONFIG]


def _is_there(file: str) -> bool:
    return os.path.exists(os.path.expanduser(file))


def _in_cluster(settings: client.Configuration) -> bool:
    try:
        config.load_incluster_config(client_configuration=settings)
    except config.ConfigException:
        return False
    return True
