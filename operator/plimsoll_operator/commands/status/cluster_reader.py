"""Reads what `plimsoll status` shows; a part that may not be read is named, and is no failure."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, Final

from prometheus_client.parser import text_string_to_metric_families

from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.commands.status.cluster_state import (
    ClusterState,
    Object,
    Unseen,
    label,
    part,
)
from plimsoll_operator.kube.api_server import (
    APPS,
    CORE,
    LEASES,
    MOST_OBJECTS,
    ApiServer,
    custom_path,
    path_of,
)
from plimsoll_operator.kube.errors import ApiError, NotFound, Refused, Unreachable
from plimsoll_operator.kube.own_objects import WEBHOOKS
from plimsoll_operator.names.labels import COMPONENT, PRODUCT
from plimsoll_operator.policy.policy_levels import CLUSTER_POLICY_NAME, OWN_NAMESPACE

OURS: Final = {"labelSelector": PRODUCT}
LEASE: Final = "plimsoll-controller"
WEBHOOK: Final = "plimsoll"
METRICS_PORT: Final = 9090
FEED_AGE: Final = "plimsoll_admission_feed_age_seconds"
CERTIFICATE: Final = "plimsoll_admission_certificate_expires_timestamp_seconds"
MOST_PODS_ASKED: Final = 5
METRICS_WITHIN_S: Final = 3.0


class ClusterReader:
    """Reads a cluster once. Every part is read apart from the others."""

    def __init__(
        self, objects: ApiServer, installation: Installation, namespace: str | None
    ) -> None:
        self._objects = objects
        self._installation = installation
        self._namespace = namespace
        self._unseen: list[Unseen] = []

    async def read(self) -> ClusterState:
        """Read all parts.

        Raises:
            Unreachable: if the API server does not answer at all.
        """
        await self._objects.get("/version")
        deployments, agents, webhooks, profiles = await asyncio.gather(
            self._deployments(),
            self._agents(),
            self._webhooks(),
            self._tasks("taskprofiles", "tasks"),
        )
        installed_in = self._installation.installed_in or _installed_in(deployments or ())
        policies, lease, metrics = await asyncio.gather(
            self._policies(installed_in),
            self._lease(installed_in, deployments or ()),
            self._metrics(installed_in),
        )
        return ClusterState(
            installed_in=installed_in,
            deployments=_only(deployments, installed_in),
            agents=agents,
            lease=lease,
            webhooks=webhooks,
            feed_ages_s=_each(metrics, FEED_AGE),
            certificates_end_s=_each(metrics, CERTIFICATE),
            policies=policies,
            profiles=profiles,
            namespace=self._namespace,
            unseen=tuple(self._unseen),
        )

    async def _deployments(self) -> list[dict[str, Any]] | None:
        where = self._installation.installed_in
        try:
            return await self._objects.items(path_of(APPS, "deployments", where), OURS)
        except Refused as error:
            path = path_of(APPS, "deployments", OWN_NAMESPACE)
            usual = await self._or_none("", self._objects.items(path, OURS))
            if usual is None:
                self._tell(("admission", "controller"), error)
            return usual
        except ApiError as error:
            self._tell(("admission", "controller"), error)
            return None

    async def _agents(self) -> list[dict[str, Any]] | None:
        found = self._objects.items(path_of(APPS, "daemonsets"), _component("agent"))
        return await self._or_none("agent", found)

    async def _webhooks(self) -> list[dict[str, Any]] | None:
        found = await self._or_none("webhook", self._objects.items(WEBHOOKS, OURS))
        if found == []:
            # That of `plimsoll run` has no labels of a chart.
            try:
                return [await self._objects.get(f"{WEBHOOKS}/{WEBHOOK}")]
            except ApiError:
                return []
        return found

    async def _tasks(self, plural: str, what: str) -> list[dict[str, Any]] | None:
        """Of the namespace that was asked for, of all, or of the context's own."""
        try:
            found = await self._objects.items(custom_path(plural, self._namespace))
            if len(found) >= MOST_OBJECTS:
                why = f"only the first {MOST_OBJECTS:,} were read; name a namespace with -n"
                self._unseen.append(Unseen(what, why))
            return found
        except NotFound as error:
            self._unseen.append(Unseen(what, f"the cluster knows no {plural}: {error}"))
        except ApiError as error:
            why = (
                f"{error}; name a namespace of yours with -n" if not self._namespace else str(error)
            )
            self._unseen.append(Unseen(what, why))
        return None

    async def _policies(self, installed_in: str | None) -> list[dict[str, Any]] | None:
        found = await self._tasks("sizingpolicies", "policies")
        if self._namespace is None or installed_in in (None, self._namespace):
            if found is None:
                self._unseen.append(Unseen("sizing", "its SizingPolicy may not be read"))
            return found
        path = custom_path("sizingpolicies", installed_in, CLUSTER_POLICY_NAME)
        try:
            return [*(found or ()), await self._objects.get(path)]
        except NotFound:
            return found or []
        except ApiError as error:
            self._tell(("sizing",), error)
            return None

    async def _lease(
        self, installed_in: str | None, deployments: Sequence[Object]
    ) -> dict[str, Any] | None:
        if installed_in is None:
            self._unseen.append(Unseen("leader", "Plimsoll's namespace is not known"))
            return None
        name = lease_name(deployments, installed_in)
        path = path_of(LEASES, "leases", installed_in, name)
        try:
            return await self._objects.get(path)
        except NotFound:
            return {}
        except ApiError as error:
            self._tell(("leader",), error)
            return None

    async def _metrics(self, installed_in: str | None) -> dict[str, bytes] | None:
        """What ready admission pods say of themselves, by the API server's proxy."""
        if installed_in is None:
            why = "Plimsoll's namespace is not known"
            self._unseen += [Unseen("feed", why), Unseen("certificate", why)]
            return None
        path = path_of(CORE, "pods", installed_in)
        try:
            pods = await self._objects.items(path, _component("admission"))
            ready = [str(part(pod, "metadata", "name")) for pod in pods if _is_ready(pod)]
            told = await asyncio.gather(
                *(self._said_by(f"{path}/{name}") for name in ready[:MOST_PODS_ASKED])
            )
        except ApiError as error:
            self._tell(("feed", "certificate"), error)
            return None
        return dict(zip(ready, told, strict=False))

    async def _said_by(self, pod: str) -> bytes:
        try:
            async with asyncio.timeout(METRICS_WITHIN_S):
                return await self._objects.text(f"{pod}:{METRICS_PORT}/proxy/metrics")
        except TimeoutError as error:
            words = f"admission does not answer within {METRICS_WITHIN_S:g} s"
            raise Unreachable(words) from error

    async def _or_none(
        self, what: str, call: Awaitable[list[dict[str, Any]]]
    ) -> list[dict[str, Any]] | None:
        try:
            return await call
        except ApiError as error:
            if what:
                self._tell((what,), error)
            return None

    def _tell(self, whats: Sequence[str], error: ApiError) -> None:
        self._unseen += [Unseen(what, str(error)) for what in whats]


def lease_name(deployments: Sequence[Object], installed_in: str) -> str:
    """The Lease that this installation's controllers compete for."""
    for found in _only(deployments, installed_in) or ():
        if label(found, COMPONENT) == "controller":
            for container in part(found, "spec", "template", "spec", "containers") or []:
                for variable in part(container, "env") or []:
                    if part(variable, "name") == "PLIMSOLL_LEASE" and part(variable, "value"):
                        return str(part(variable, "value"))
    return LEASE


def gauge(metrics: bytes, name: str) -> float | None:
    r"""Read one gauge of an admission pod's metrics; None if it is not there or not a number.

    >>> gauge(b"# HELP\nplimsoll_tasks 1.5\n", "plimsoll_tasks"), gauge(b"", "plimsoll_tasks")
    (1.5, None)
    """
    try:
        for family in text_string_to_metric_families(metrics.decode()):
            for sample in family.samples:
                if sample.name == name and not sample.labels:
                    return None if math.isnan(sample.value) else sample.value
    except ValueError:  # not what Prometheus reads
        return None
    return None


def _each(metrics: Mapping[str, bytes] | None, name: str) -> dict[str, float | None] | None:
    if metrics is None:
        return None
    return {pod: gauge(told, name) for pod, told in metrics.items()}


def _installed_in(deployments: Sequence[Object]) -> str | None:
    """The namespace of the controller; of several, the first by name."""
    namespaces = {
        str(part(each, "metadata", "namespace"))
        for each in deployments
        if label(each, COMPONENT) in ("controller", "admission")
    }
    return min(namespaces, default=None)


def _only(found: Sequence[Object] | None, namespace: str | None) -> list[Mapping[str, Any]] | None:
    if found is None or namespace is None:
        return None if found is None else list(found)
    return [each for each in found if part(each, "metadata", "namespace") == namespace]


def _component(name: str) -> dict[str, str]:
    return {"labelSelector": f"{PRODUCT},{COMPONENT}={name}"}


def _is_ready(pod: Object) -> bool:
    conditions = part(pod, "status", "conditions") or []
    return any(
        part(each, "type") == "Ready" and part(each, "status") == "True" for each in conditions
    )
