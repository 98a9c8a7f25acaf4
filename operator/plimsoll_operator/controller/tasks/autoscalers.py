"""Knows which VerticalPodAutoscalers change pods, and tells admission.

They are listed now and then, and not watched. Their recommender writes each of them every minute,
so a watch would bring as much. A watch also needs their kind to exist, which it does not on most
clusters. If a pod is created before the next list, the mark of the autoscaler's own webhook tells
the same (``pods/autoscalers.py``).
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final

import structlog

from plimsoll_operator.controller.tasks.bounds import ClusterBounds
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.kube.errors import ApiError, NotFound
from plimsoll_operator.pods.autoscalers import MOST_IN_NAMESPACE, Autoscaler, read_autoscaler
from plimsoll_operator.pods.spec import metadata_of

log = structlog.get_logger()

LIST_EVERY_S: Final = 30.0
LIST: Final = "/apis/autoscaling.k8s.io/v1/verticalpodautoscalers"


class AutoscalersSeen:
    """Lists VerticalPodAutoscalers, and publishes those of each namespace if they changed."""

    def __init__(self, kube: Kube, bounds: ClusterBounds) -> None:
        self._kube = kube
        self._bounds = bounds
        self._refused = False

    async def run(self) -> None:
        """List until cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(LIST_EVERY_S)

    async def look(self) -> None:
        """List once. If that fails, all stays as it was; without their kind there are none."""
        try:
            documents = await self._kube.api.items(LIST)
        except NotFound:
            documents = []
        except ApiError as error:
            if not self._refused:
                log.warning("no VerticalPodAutoscaler is seen", error=str(error))
            self._refused = True
            return
        self._refused = False
        self._bounds.set_autoscalers(by_namespace(documents))


def by_namespace(documents: Iterable[Mapping[str, Any]]) -> dict[str, tuple[Autoscaler, ...]]:
    """Return, by namespace, the first MOST_IN_NAMESPACE by name that change pods."""
    found = defaultdict[str, list[Autoscaler]](list)
    for document in documents:
        autoscaler = read_autoscaler(document)
        if autoscaler is not None:
            found[str(metadata_of(document).get("namespace"))].append(autoscaler)
    return {
        namespace: tuple(sorted(each, key=lambda one: one.name)[:MOST_IN_NAMESPACE])
        for namespace, each in found.items()
    }
