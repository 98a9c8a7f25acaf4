"""The few writes the controller makes to the API server, as dicts in and dicts out.

Every call raises ``ApiError`` subclasses that say what follows; nothing else escapes.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import aiohttp
import yaml
from kubernetes_asyncio import client, config

GROUP = "plimsoll.dev"
VERSION = "v1alpha1"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"


class ApiError(Exception):
    """A call that did not succeed."""


class Unreachable(ApiError):
    """No answer, or one that asks to come back later: retry."""


class NotFound(ApiError):
    """The object, its namespace or its kind is not there."""


class AlreadyThere(ApiError):
    """The name is taken."""


class Changed(ApiError):
    """The object is not the one that was meant, or something it depends on changed meanwhile."""


class Refused(ApiError):
    """It will not do it (quota, admission, validation, RBAC): the same again won't help."""


class NoCluster(ApiError):
    """Nothing says which cluster is meant."""


RETRY_LATER = frozenset({408, 429, 500, 502, 503, 504})


class Kube:
    """The API server, for one event loop."""

    def __init__(self, api: client.ApiClient) -> None:
        self._api = api
        self._core = client.CoreV1Api(api)
        self._events = client.EventsV1Api(api)
        self._custom = client.CustomObjectsApi(api)

    @classmethod
    async def connect(cls, kubeconfig: str | None, context: str | None) -> Kube:
        """From the service account inside a cluster, else from a kubeconfig.

        kubeconfig: its path; None takes $KUBECONFIG or the home folder's.
        """
        return cls(client.ApiClient(await api_settings(kubeconfig, context)))

    @property
    def api(self) -> client.ApiClient:
        """For calls that ``ask`` takes."""
        return self._api

    async def ask(self, call: Awaitable[Any]) -> dict[str, Any]:
        """A call made with ``_preload_content=False``: its JSON, or an ApiError."""
        return await self._dict(_json(call))

    async def close(self) -> None:
        """End its connections."""
        await self._api.close()

    async def list_bounds(self) -> list[dict[str, Any]]:
        """Every LimitRange, ResourceQuota and node of the cluster, each with its kind."""
        listings = {
            "LimitRange": self._core.list_limit_range_for_all_namespaces,
            "ResourceQuota": self._core.list_resource_quota_for_all_namespaces,
            "Node": self._core.list_node,
        }
        return [
            {**item, "kind": kind}
            for kind, listing in listings.items()
            for item in (await self._dict(_plain(listing)))["items"]
        ]

    async def list_policies(self) -> list[dict[str, Any]]:
        """Every SizingPolicy of the cluster."""
        return await self._custom_objects("sizingpolicies")

    async def list_profiles(self) -> list[dict[str, Any]]:
        """Every TaskProfile of the cluster."""
        return await self._custom_objects("taskprofiles")

    async def _custom_objects(self, plural: str) -> list[dict[str, Any]]:
        try:
            found = await self._dict(
                self._custom.list_cluster_custom_object(GROUP, VERSION, plural)
            )
        except NotFound as error:
            raise NoCluster(
                f"the cluster knows no {plural}.{GROUP}: kubectl apply -f deploy/crds first"
            ) from error
        items: list[dict[str, Any]] = found["items"]
        return items

    async def create_pod(self, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """Create a pod in its own namespace."""
        namespace = manifest["metadata"]["namespace"]
        return await self._dict(self._core.create_namespaced_pod(namespace, dict(manifest)))

    async def read_pod(self, namespace: str, name: str) -> dict[str, Any]:
        """One pod."""
        return await self._dict(self._core.read_namespaced_pod(name, namespace))

    async def delete_pod(self, namespace: str, name: str, uid: str) -> None:
        """Delete exactly the pod with this UID, not a successor of the same name."""
        body = {"preconditions": {"uid": uid}}
        await self._dict(self._core.delete_namespaced_pod(name, namespace, body=body))

    async def annotate_pod(
        self, pod: Mapping[str, Any], annotations: Mapping[str, str | None]
    ) -> dict[str, Any]:
        """Write annotations on exactly this version of a pod; None removes one.

        ``Changed`` if it is another version by now: a scheduler's binding, say, is a change.
        """
        return await self._patch_pod(
            self._core.patch_namespaced_pod, pod, {"metadata": {"annotations": dict(annotations)}}
        )

    async def resize_pod(self, pod: Mapping[str, Any], body: Mapping[str, Any]) -> dict[str, Any]:
        """Patch the resize subresource of exactly this version of a pod; as ``annotate_pod``."""
        return await self._patch_pod(self._core.patch_namespaced_pod_resize, pod, body)

    async def _patch_pod(
        self, patch: Callable[..., Awaitable[Any]], pod: Mapping[str, Any], body: Mapping[str, Any]
    ) -> dict[str, Any]:
        meta = pod["metadata"]
        version = {"resourceVersion": meta["resourceVersion"]}
        metadata = {**(body.get("metadata") or {}), **version}
        answer = patch(
            meta["name"],
            meta["namespace"],
            {**body, "metadata": metadata},
            _content_type=STRATEGIC_PATCH,
            _preload_content=False,
        )
        return await self._dict(_json(answer))

    async def server(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """What the server says of its version, and of the resources of core/v1."""
        return (
            await self._dict(client.VersionApi(self._api).get_code()),
            await self._dict(self._core.get_api_resources()),
        )

    async def may_patch_pods(self, namespace: str, subresource: str) -> bool:
        """Whether RBAC lets us patch a namespace's pods, or a subresource of them ("" for none)."""
        return await self.may("patch", "", f"pods/{subresource}", namespace)

    async def may(self, verb: str, group: str, resource: str, namespace: str = "") -> bool:
        """Whether RBAC lets us; resource: with its subresource. Of all namespaces, if of none."""
        name, _, subresource = resource.partition("/")
        asked = {"verb": verb, "group": group, "resource": name, "namespace": namespace}
        review = {"spec": {"resourceAttributes": {**asked, "subresource": subresource}}}
        answer = await self._dict(
            client.AuthorizationV1Api(self._api).create_self_subject_access_review(review)
        )
        return bool(answer["status"]["allowed"])

    async def create_event(self, manifest: Mapping[str, Any]) -> None:
        """Create an events.k8s.io/v1 Event in its namespace."""
        namespace = manifest["metadata"]["namespace"]
        await self._dict(
            _json(
                self._events.create_namespaced_event(
                    namespace, dict(manifest), _preload_content=False
                )
            )
        )

    async def create_profile(self, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """Create a TaskProfile."""
        return await self._dict(
            self._custom.create_namespaced_custom_object(
                GROUP, VERSION, manifest["metadata"]["namespace"], "taskprofiles", dict(manifest)
            )
        )

    async def read_profile(self, namespace: str, name: str) -> dict[str, Any]:
        """One TaskProfile."""
        return await self._dict(
            self._custom.get_namespaced_custom_object(
                GROUP, VERSION, namespace, "taskprofiles", name
            )
        )

    async def delete_profile(self, profile: Mapping[str, Any]) -> None:
        """Delete exactly this version of a TaskProfile; ``Changed`` if it is another by now."""
        meta = profile["metadata"]
        version = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
        await self._dict(
            self._custom.delete_namespaced_custom_object(
                *(GROUP, VERSION, meta["namespace"], "taskprofiles", meta["name"]),
                body={"preconditions": version},
            )
        )

    async def patch_profile_status(
        self, namespace: str, name: str, status: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Merge ``status`` into a TaskProfile's status subresource."""
        return await self._dict(
            self._custom.patch_namespaced_custom_object_status(
                GROUP,
                VERSION,
                namespace,
                "taskprofiles",
                name,
                {"status": dict(status)},
                _content_type=MERGE_PATCH,
            )
        )

    async def patch_policy_status(
        self, namespace: str, name: str, status: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Merge ``status`` into a SizingPolicy's status subresource."""
        return await self._dict(
            self._custom.patch_namespaced_custom_object_status(
                GROUP,
                VERSION,
                namespace,
                "sizingpolicies",
                name,
                {"status": dict(status)},
                _content_type=MERGE_PATCH,
            )
        )

    async def _dict(self, call: Awaitable[Any]) -> dict[str, Any]:
        try:
            answer = await call
        except client.ApiException as error:
            raise _translated(error) from error
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise Unreachable(f"the API server does not answer: {error}") from error
        if isinstance(answer, dict):
            return answer
        plain: dict[str, Any] = self._api.sanitize_for_serialization(answer)
        return plain


async def _json(call: Awaitable[Any]) -> Any:
    """As JSON: making a typed pod of each answer takes longer than the API server takes."""
    answer = await call
    if answer.status >= 300:
        raise client.ApiException(http_resp=client.rest.RESTResponse(answer, await answer.read()))
    return await answer.json()


async def _plain(listing: Callable[..., Awaitable[Any]]) -> Any:
    """As JSON: a typed object for each of thousands of nodes would take the loop for seconds."""
    return await _json(listing(_preload_content=False))


async def api_settings(kubeconfig: str | None, context: str | None) -> client.Configuration:
    """Where the API server is and how to prove who we are: see ``Kube.connect``.

    Raises:
        NoCluster: if neither a service account nor a kubeconfig says.

    """
    settings = client.Configuration()
    if kubeconfig is not None and not Path(kubeconfig).exists():
        raise NoCluster(f"kubeconfig {kubeconfig} is not there; name one with --kubeconfig")
    try:
        if kubeconfig is None and context is None and _in_cluster(settings):
            return settings
        await config.load_kube_config(
            config_file=kubeconfig, context=context, client_configuration=settings
        )
    except (config.ConfigException, OSError, TypeError, ValueError, yaml.YAMLError) as error:
        # An empty file is a TypeError to the client, one that is no text a ValueError.
        where = kubeconfig or "$KUBECONFIG or ~/.kube/config"
        raise NoCluster(
            f"no cluster: {where}: {_first_line(error)}; name one with --kubeconfig and --context"
        ) from error
    return settings


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _in_cluster(settings: client.Configuration) -> bool:
    try:
        config.load_incluster_config(client_configuration=settings)
    except config.ConfigException:
        return False
    return True


def _message(body: Any) -> str:
    """What the API server says, out of its Status object."""
    try:
        return str(json.loads(body)["message"])
    except (KeyError, TypeError, ValueError):
        return body.decode(errors="replace") if isinstance(body, bytes) else str(body or "")


def _translated(error: client.ApiException) -> ApiError:
    words = f"{error.status} {error.reason}: {_message(error.body)[:300]}"
    if error.status == 404:
        return NotFound(words)
    if error.status == 409:
        # A quota that many pods draw on at once answers 409 as well: nothing is there then.
        return AlreadyThere(words) if '"AlreadyExists"' in str(error.body) else Changed(words)
    if error.status in RETRY_LATER or not error.status:
        return Unreachable(words)
    return Refused(words)
