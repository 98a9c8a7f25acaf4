"""Reads what `plimsoll status` shows; a part that may not be read is named, and is no failure."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, TypeVar

from prometheus_client.parser import text_string_to_metric_families

from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.commands.reaching.outside import (
    WEBHOOK,
    Admission,
    admission_outside,
    answers,
)
from plimsoll_operator.commands.reaching.product_objects import product_objects
from plimsoll_operator.commands.status.asked import PART as ASKED
from plimsoll_operator.commands.status.asked import PODS_OF_TASKS, REVIEWS, idle_since_s, is_idle
from plimsoll_operator.commands.status.cluster_state import (
    ClusterState,
    Object,
    Outside,
    Unseen,
    label,
    part,
)
from plimsoll_operator.commands.status.lending import PART, any_lends, lending_now
from plimsoll_operator.commands.status.trainings import PART as TRAININGS
from plimsoll_operator.commands.status.trainings import trainings_now, trains_in_rounds
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
from plimsoll_operator.names.labels import COMPONENT
from plimsoll_operator.names.namespaces import OWN_NAMESPACE
from plimsoll_operator.policy.policy_levels import CLUSTER_POLICY_NAME

LEASE: Final = "plimsoll-controller"
METRICS_PORT: Final = 9090
CONTROLLER_PORT: Final = 8081
FEED_AGE: Final = "plimsoll_admission_feed_age_seconds"
CERTIFICATE: Final = "plimsoll_admission_certificate_expires_timestamp_seconds"
LOWERING: Final = "plimsoll_admission_lowering"
MOST_PODS_ASKED: Final = 5
METRICS_WITHIN_S: Final = 3.0
Answer = TypeVar("Answer")


class ClusterReader:
    """Reads a cluster once, each part separately.

    namespace: whose tasks are read; None for all. wall_s: this machine's clock.
    """

    def __init__(
        self,
        objects: ApiServer,
        installation: Installation,
        namespace: str | None,
        wall_s: Callable[[], float] = time.time,
    ) -> None:
        self._objects = objects
        self._installation = installation
        self._namespace = namespace
        self._wall_s = wall_s
        self._unseen: list[Unseen] = []

    async def read(self) -> ClusterState:
        """Read all parts.

        Raises:
            Unreachable: if the API server does not answer at all.
        """
        await self._objects.get("/version")
        clock_s = self._objects.clock_s
        ahead_s = 0.0 if clock_s is None else clock_s - self._wall_s()
        daemon_sets = product_objects(self._objects, path_of(APPS, "daemonsets"), "agent")
        deployments, agents, webhooks, profiles = await asyncio.gather(
            self._deployments(),
            self._allowed(daemon_sets, "agent"),
            self._webhooks(),
            self._of_tasks("taskprofiles", "tasks"),
        )
        admission = None if deployments else admission_outside(webhooks or ())
        usual = None if admission is None else OWN_NAMESPACE
        installed_in = self._installation.installed_in or _installed_in(deployments or ()) or usual
        policies, lease, metrics, claims = await asyncio.gather(
            self._policies(installed_in),
            self._lease(installed_in, deployments or ()),
            self._metrics(installed_in, "feed", "certificate"),
            self._claims(installed_in, deployments or ()),
        )
        since_s, pods_of_tasks = await self._unasked(installed_in, metrics)
        lends = any_lends([*(policies or ()), *(profiles or ())])
        in_rounds = trains_in_rounds(deployments or ())
        told = await self._of_leader(installed_in, lends=lends, in_rounds=in_rounds)
        return ClusterState(
            installed_in=installed_in,
            ahead_s=ahead_s,
            deployments=None if deployments is None else _only(deployments, installed_in),
            agents=agents,
            lease=lease,
            webhooks=webhooks,
            feed_ages_s=_gauges(metrics, FEED_AGE),
            certificates_end_s=_gauges(metrics, CERTIFICATE),
            policies=policies,
            profiles=profiles,
            claims=claims,
            unseen=tuple(self._unseen),
            lowering=_gauges(metrics, LOWERING),
            lending=lending_now(told) if lends else None,
            trainings=trainings_now(told) if in_rounds else None,
            idle_since_s=since_s,
            pods_of_tasks=pods_of_tasks,
            outside=await self._outside(admission),
        )

    async def _outside(self, admission: Admission | None) -> Outside | None:
        if admission is None:
            return None
        answered = await answers(admission, str(self._objects.settings.host))
        return Outside(admission.address, answered)

    async def _unasked(
        self, installed_in: str | None, metrics: Mapping[str, bytes] | None
    ) -> tuple[float | None, Sequence[Object]]:
        """Since when no replica of admission was asked, and the pods of tasks.

        A cluster may have many pods, so they are read only if no replica was asked.
        """
        asked = _gauges(metrics, REVIEWS) or {}
        if installed_in is None or not is_idle(asked):
            return None, ()
        own = product_objects(self._objects, path_of(CORE, "pods", installed_in), "admission")
        since_s = idle_since_s(await self._allowed(own, ASKED) or (), asked)
        if since_s is None:
            return None, ()
        pods = self._objects.metadata(path_of(CORE, "pods", self._namespace), PODS_OF_TASKS)
        return since_s, await self._allowed(pods, ASKED) or ()

    async def _of_leader(
        self, installed_in: str | None, *, lends: bool, in_rounds: bool
    ) -> Collection[bytes]:
        """The controllers' metrics; none if nothing is asked of them."""
        if not lends and not in_rounds:
            return ()
        part = PART if lends else TRAININGS
        told = await self._metrics(installed_in, part, of="controller", port=CONTROLLER_PORT)
        return (told or {}).values()

    async def _deployments(self) -> list[dict[str, Any]] | None:
        where = self._installation.installed_in
        try:
            return await product_objects(self._objects, path_of(APPS, "deployments", where))
        except ApiError as error:
            if isinstance(error, Refused):
                with suppress(ApiError):
                    path = path_of(APPS, "deployments", OWN_NAMESPACE)
                    return await product_objects(self._objects, path)
            self._miss(error, "admission", "controller")
            return None

    async def _webhooks(self) -> list[dict[str, Any]] | None:
        webhooks = await self._allowed(product_objects(self._objects, WEBHOOKS), "webhook")
        if webhooks == []:
            # The webhook of `plimsoll run` has no labels of a chart.
            with suppress(ApiError):
                return [await self._objects.get(f"{WEBHOOKS}/{WEBHOOK}")]
        return webhooks

    async def _of_tasks(self, plural: str, part_of: str) -> list[dict[str, Any]] | None:
        """Objects of the named namespace, of all, or of the context's own."""
        try:
            objects = await self._objects.items(custom_path(plural, self._namespace))
        except NotFound as error:
            self._miss(f"the cluster knows no {plural}: {error}", part_of)
            return None
        except ApiError as error:
            advice = "" if self._namespace else "; name a namespace of yours with -n"
            self._miss(f"{error}{advice}", part_of)
            return None
        if len(objects) >= MOST_OBJECTS:
            why = f"only the first {MOST_OBJECTS:,} were read; name a namespace with -n"
            self._miss(why, part_of)
        return objects

    async def _policies(self, installed_in: str | None) -> list[dict[str, Any]] | None:
        policies = await self._of_tasks("sizingpolicies", "policies")
        if self._namespace is None or installed_in in (None, self._namespace):
            if policies is None:
                self._miss("its SizingPolicy may not be read", "sizing")
            return policies
        path = custom_path("sizingpolicies", installed_in, CLUSTER_POLICY_NAME)
        policy = await self._allowed(self._object(path), "sizing")
        if policy is None:
            return None
        return [*(policies or ()), policy] if policy else policies

    async def _lease(
        self, installed_in: str | None, deployments: Sequence[Object]
    ) -> dict[str, Any] | None:
        if installed_in is None:
            self._miss("Plimsoll's namespace is not known", "leader")
            return None
        path = path_of(LEASES, "leases", installed_in, lease_name(deployments, installed_in))
        return await self._allowed(self._object(path), "leader")

    async def _claims(
        self, installed_in: str | None, deployments: Sequence[Object]
    ) -> list[dict[str, Any]] | None:
        names = claim_names(deployments, installed_in)
        named = [{"metadata": {"namespace": installed_in, "name": name}} for name in names]

        async def read() -> list[dict[str, Any]]:
            paths = [path_of(CORE, "persistentvolumeclaims", installed_in, name) for name in names]
            found = await asyncio.gather(*map(self._object, paths))
            return [each or missing for each, missing in zip(found, named, strict=True)]

        return await self._allowed(read(), "store")

    async def _metrics(
        self,
        installed_in: str | None,
        *parts: str,
        of: str = "admission",
        port: int = METRICS_PORT,
    ) -> dict[str, bytes] | None:
        """The metrics of ready pods, by the API server's proxy.

        parts: what is read from them.
        """
        if installed_in is None:
            self._miss("Plimsoll's namespace is not known", *parts)
            return None
        path = path_of(CORE, "pods", installed_in)

        async def read() -> dict[str, bytes]:
            pods = await product_objects(self._objects, path, of)
            ready = [str(part(pod, "metadata", "name")) for pod in pods if _is_ready(pod)]
            asked = ready[:MOST_PODS_ASKED]
            addresses = [f"{path}/{name}:{port}" for name in asked]
            texts = await asyncio.gather(*(self._metrics_of(each, of) for each in addresses))
            return dict(zip(asked, texts, strict=True))

        return await self._allowed(read(), *parts)

    async def _metrics_of(self, address: str, component: str) -> bytes:
        try:
            async with asyncio.timeout(METRICS_WITHIN_S):
                return await self._objects.text(f"{address}/proxy/metrics")
        except TimeoutError as error:
            words = f"{component} does not answer within {METRICS_WITHIN_S:g} s"
            raise Unreachable(words) from error

    async def _object(self, path: str) -> dict[str, Any]:
        """One object; empty if it is not there."""
        try:
            return await self._objects.get(path)
        except NotFound:
            return {}

    async def _allowed(self, call: Awaitable[Answer], *parts: str) -> Answer | None:
        """An answer; None if it may not be read, which is then noted for those parts."""
        try:
            return await call
        except ApiError as error:
            self._miss(error, *parts)
            return None

    def _miss(self, why: object, *parts: str) -> None:
        self._unseen += [Unseen(each, str(why)) for each in parts]


def lease_name(deployments: Sequence[Object], installed_in: str) -> str:
    """The Lease that this installation's controllers compete for."""
    for deployment in _only(deployments, installed_in):
        if label(deployment, COMPONENT) == "controller":
            for container in part(deployment, "spec", "template", "spec", "containers") or []:
                for variable in part(container, "env") or []:
                    if part(variable, "name") == "PLIMSOLL_LEASE" and part(variable, "value"):
                        return str(part(variable, "value"))
    return LEASE


def claim_names(deployments: Sequence[Object], installed_in: str | None) -> list[str]:
    """The names of the claims that the controller's pod mounts; none with a database."""
    return [
        str(name)
        for deployment in _only(deployments, installed_in)
        if label(deployment, COMPONENT) == "controller"
        for volume in part(deployment, "spec", "template", "spec", "volumes") or []
        if (name := part(volume, "persistentVolumeClaim", "claimName"))
    ]


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


def _gauges(metrics: Mapping[str, bytes] | None, name: str) -> dict[str, float | None] | None:
    return None if metrics is None else {pod: gauge(text, name) for pod, text in metrics.items()}


def _installed_in(deployments: Sequence[Object]) -> str | None:
    """The namespace of the controller; of several, the first by name."""
    namespaces = {
        str(part(each, "metadata", "namespace"))
        for each in deployments
        if label(each, COMPONENT) in ("controller", "admission")
    }
    return min(namespaces, default=None)


def _only(objects: Sequence[Object], namespace: str | None) -> list[Object]:
    if namespace is None:
        return list(objects)
    return [each for each in objects if part(each, "metadata", "namespace") == namespace]


def _is_ready(pod: Object) -> bool:
    conditions = part(pod, "status", "conditions") or []
    return any(
        part(each, "type") == "Ready" and part(each, "status") == "True" for each in conditions
    )
