"""Where Plimsoll is installed."""

from __future__ import annotations

from typing import Final

from plimsoll_operator.commands.leading_pod import CONTROLLERS, USUAL_NAMESPACE
from plimsoll_operator.commands.places import Place
from plimsoll_operator.controller.api_server import ApiServer
from plimsoll_operator.controller.kube_errors import Refused

DEPLOYMENTS: Final = "/apis/apps/v1/deployments"


class NotInstalled(LookupError):
    """There is no installation, or more than one; says what to do."""


async def find_namespace(objects: ApiServer, place: Place) -> str:
    """The namespace that the controller's Deployment is in.

    Who may not look for it everywhere is told the usual one.

    Raises:
        NotInstalled: if there is none, or more than one.
    """
    if place.installed_in is not None:
        return place.installed_in
    try:
        found = await objects.items(DEPLOYMENTS, {"labelSelector": CONTROLLERS})
    except Refused:
        return USUAL_NAMESPACE
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
