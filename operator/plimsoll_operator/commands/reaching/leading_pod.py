"""Finds where Plimsoll is installed, and the pod of the leading controller, which has the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.commands.reaching.outside import runs_outside
from plimsoll_operator.commands.reaching.product_objects import product_objects
from plimsoll_operator.kube.api_server import APPS, CORE, ApiServer, path_of
from plimsoll_operator.kube.errors import Refused
from plimsoll_operator.kube.pod_exec import PodContainer
from plimsoll_operator.names.labels import DEFAULT_CONTAINER, LEADER
from plimsoll_operator.names.namespaces import OWN_NAMESPACE

CONTROLLER: Final = "controller"


class NoLeader(LookupError):
    """No controller's pod can be asked; says what was found and what to do."""


class NotInstalled(LookupError):
    """There is no installation, or more than one; says what to do."""


async def find_leading_pod(objects: ApiServer, installation: Installation) -> PodContainer:
    """Look for the controller that leads.

    Raises:
        NoLeader: if there is none, or more than one installation.
        ApiError: if pods cannot be listed.
    """
    namespace = installation.installed_in
    try:
        pods = await product_objects(objects, path_of(CORE, "pods", namespace), CONTROLLER)
    except Refused:
        if namespace is not None:
            raise
        # People who may not look everywhere may still look in the usual namespace.
        namespace = OWN_NAMESPACE
        pods = await product_objects(objects, path_of(CORE, "pods", namespace), CONTROLLER)
    return choose(pods, "the cluster" if namespace is None else f"namespace {namespace}")


async def find_namespace(objects: ApiServer, installation: Installation) -> str:
    """Plimsoll's own namespace: that of the controller's Deployment, or of a `plimsoll run`.

    One that people name must be it, as far as they may look: the policy of the whole cluster holds
    nowhere else. Where nothing of Plimsoll is found, it is believed. For people who may not look
    everywhere, and name none, it is the usual one.

    Raises:
        NotInstalled: if there is none, more than one, or another one than was named.
        ApiError: if the API server does not answer.
    """
    named = installation.installed_in
    try:
        namespaces = await _own_namespaces(objects)
    except Refused:
        return await _unless_seen_elsewhere(objects, named or OWN_NAMESPACE)
    if named is not None:
        if namespaces and named not in namespaces:
            raise NotInstalled(f"{_not_there(named)}; Plimsoll's is {' and '.join(namespaces)}")
        return named
    if len(namespaces) == 1:
        return namespaces[0]
    if namespaces:
        raise NotInstalled(
            f"Plimsoll is installed in {' and '.join(namespaces)}; name one with --installed-in"
        )
    raise NotInstalled(
        "no Deployment of the controller is in the cluster; name the namespace that Plimsoll has"
        " for its own with --installed-in"
    )


async def _own_namespaces(objects: ApiServer) -> list[str]:
    deployments = await product_objects(objects, path_of(APPS, "deployments"), CONTROLLER)
    if not deployments and await runs_outside(objects):
        return [OWN_NAMESPACE]
    return sorted({str(each["metadata"]["namespace"]) for each in deployments})


async def _unless_seen_elsewhere(objects: ApiServer, named: str) -> str:
    """The named namespace, for people who may not list Deployments in all namespaces."""
    if named == OWN_NAMESPACE:
        return named
    with suppress(Refused):
        if not await product_objects(objects, path_of(APPS, "deployments", named), CONTROLLER):
            raise NotInstalled(_not_there(named))
    return named


def _not_there(named: str) -> str:
    return f"{named} is not Plimsoll's own namespace, and a policy of the cluster holds only there"


def choose(pods: Sequence[Mapping[str, Any]], where: str) -> PodContainer:
    """The pod that leads among the controllers' pods.

    where: the part of the cluster that was searched, in words.

    Raises:
        NoLeader: if there is none, or pods of several installations.
    """
    if not pods:
        raise NoLeader(
            f"there is no Plimsoll controller in {where}; name its namespace with --installed-in,"
            " the store itself with --store, or install Plimsoll with Helm"
        )
    running = [pod for pod in pods if (pod.get("status") or {}).get("phase") == "Running"]
    leading = [
        pod for pod in running if (pod["metadata"].get("labels") or {}).get(LEADER) == "true"
    ]
    namespaces = sorted({str(pod["metadata"]["namespace"]) for pod in pods})
    if len(namespaces) > 1:
        raise NoLeader(
            f"Plimsoll is installed in {' and '.join(namespaces)}; name one with --installed-in"
        )
    if not leading:
        phases = ", ".join(f"{pod['metadata']['name']} {_state(pod)}" for pod in pods[:5])
        raise NoLeader(
            f"no controller leads in namespace {namespaces[0]} ({phases}); see `plimsoll status`,"
            " or try again in some seconds"
        )
    newest = max(leading, key=lambda pod: str((pod.get("status") or {}).get("startTime") or ""))
    meta = newest["metadata"]
    return PodContainer(str(meta["namespace"]), str(meta["name"]), _container(newest))


def _container(pod: Mapping[str, Any]) -> str:
    names = [str(each["name"]) for each in pod["spec"]["containers"]]
    default = (pod["metadata"].get("annotations") or {}).get(DEFAULT_CONTAINER)
    return next((name for name in (default, "controller") if name in names), names[0])


def _state(pod: Mapping[str, Any]) -> str:
    phase = str((pod.get("status") or {}).get("phase") or "of unknown phase")
    return "stands by" if phase == "Running" else phase
