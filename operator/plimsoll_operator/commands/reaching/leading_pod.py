"""Finds where Plimsoll is installed, and the pod of the leading controller, which has the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from plimsoll_operator.commands.reaching.installation import Installation
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
    """The namespace of the controller's Deployment.

    For people who may not look everywhere, it is the usual one.

    Raises:
        NotInstalled: if there is none, or more than one.
    """
    if installation.installed_in is not None:
        return installation.installed_in
    try:
        deployments = await product_objects(objects, path_of(APPS, "deployments"), CONTROLLER)
    except Refused:
        return OWN_NAMESPACE
    namespaces = sorted({str(each["metadata"]["namespace"]) for each in deployments})
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
