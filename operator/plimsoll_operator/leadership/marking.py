"""The label by which Services find the leading controller's pod."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from plimsoll_operator.kube.errors import NotFound
from plimsoll_operator.kube.own_objects import OwnObjects
from plimsoll_operator.names import labels

CONTROLLERS: Final = "app.kubernetes.io/component=controller"
LEADS: Final = "true"


def changes(pods: Sequence[Mapping[str, Any]], me: str) -> dict[str, str | None]:
    """Pod -> value that its label must get; None removes it. Only what differs.

    pods: the controllers' pods of a namespace; those of another release are left alone.
    """
    labels_of = {pod["metadata"]["name"]: pod["metadata"].get("labels") or {} for pod in pods}
    if me not in labels_of:
        return {}  # this process runs in no pod, beside the cluster
    release = labels_of[me].get(labels.INSTANCE)
    wanted: dict[str, str | None] = {}
    for name, pod_labels in labels_of.items():
        value = LEADS if name == me else None
        if pod_labels.get(labels.INSTANCE) == release and pod_labels.get(labels.LEADER) != value:
            wanted[name] = value
    return wanted


async def mark(objects: OwnObjects, me: str) -> None:
    """Label the pod ``me``, and no other."""
    for name, value in changes(await objects.pods(CONTROLLERS), me).items():
        try:
            await objects.mark_leader(name, value)
        except NotFound:
            continue
