"""Where Plimsoll is installed, and which pod is the controller's that leads: it has the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.kube.api_server import APPS, CORE, ApiServer, path_of
from plimsoll_operator.kube.errors import Refused
from plimsoll_operator.kube.pod_exec import PodContainer
from plimsoll_operator.names.labels import CONTROLLERS, DEFAULT_CONTAINER, LEADER
from plimsoll_operator.policy.policy_levels import OWN_NAMESPACE


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
    query = {"labelSelector": CONTROLLERS}
    if installation.installed_in is not None:
        where = installation.installed_in
        return choose(
            await objects.items(path_of(CORE, "pods", where), query), f"namespace {where}"
        )
    try:
        return choose(await objects.items(path_of(CORE, "pods"), query), "the cluster")
    except Refused:
        # Who may not look everywhere may still look where it usually is.
        where = OWN_NAMESPACE
        return choose(
            await objects.items(path_of(CORE, "pods", where), query), f"namespace {where}"
        )


async def find_namespace(objects: ApiServer, installation: Installation) -> str:
    """The namespace that the controller's Deployment is in.

    Who may not look for it everywhere is told the usual one.

    Raises:
        NotInstalled: if there is none, or more than one.
    """
    if installation.installed_in is not None:
        return installation.installed_in
    try:
        found = await objects.items(path_of(APPS, "deployments"), {"labelSelector": CONTROLLERS})
    except Refused:
        return OWN_NAMESPACE
    namespaces = sorted({str(each["metadata"]["namespace"]) for each in found})
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
    """The pod that leads, of the controllers' pods.

    where: that was looked through, in words.

    Raises:
        NoLeader: if there is none, or there are some of several installations.
    """
    if not pods:
        raise NoLeader(
            f"there is no Plimsoll controller in {where}; name its namespace with --installed-in,"
            " the store itself with --store, or install Plimsoll with Helm"
        )
    running = [pod for pod in pods if (pod.get("status") or {}).get("phase") == "Running"]
    leading = [pod for pod in running if _label(pod, LEADER) == "true"]
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


def _label(pod: Mapping[str, Any], name: str) -> str | None:
    value = (pod["metadata"].get("labels") or {}).get(name)
    return None if value is None else str(value)


def _container(pod: Mapping[str, Any]) -> str:
    names = [str(each["name"]) for each in pod["spec"]["containers"]]
    default = (pod["metadata"].get("annotations") or {}).get(DEFAULT_CONTAINER)
    return next((name for name in (default, "controller") if name in names), names[0])


def _state(pod: Mapping[str, Any]) -> str:
    phase = str((pod.get("status") or {}).get("phase") or "of unknown phase")
    return "stands by" if phase == "Running" else phase
