"""Finds nodes that are gone though the watch never said so.

If an API server is away for long, the watch begins again with a list of what there is. What was
deleted meanwhile is not in it, and no event says that it is gone. Such a node would stay the best
one for every pod, because nothing runs on it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

import structlog

from plimsoll_operator.controller.tasks.nodes import ClusterNodes
from plimsoll_operator.kube.api_server import MOST_OBJECTS
from plimsoll_operator.kube.client import Kube
from plimsoll_operator.kube.errors import ApiError
from plimsoll_operator.pods.spec import metadata_of

log = structlog.get_logger()

LIST_EVERY_S: Final = 300.0
LIST: Final = "/api/v1/nodes"

SeeNode = Callable[[Any], Awaitable[None]]


class MissedNodes:
    """Lists the nodes now and then. forget: called with a node that is gone."""

    def __init__(self, kube: Kube, nodes: ClusterNodes, forget: SeeNode) -> None:
        self._kube = kube
        self._nodes = nodes
        self._forget = forget
        self._missing: frozenset[str] = frozenset()

    async def run(self) -> None:
        """List until cancelled."""
        while True:
            await asyncio.sleep(LIST_EVERY_S)
            await self.look()

    async def look(self) -> None:
        """List once. A node that two lists in a row lack is gone."""
        known = self._nodes.names()
        try:
            documents = await self._kube.api.items(LIST)
        except ApiError as error:
            log.warning("nodes cannot be listed", error=str(error))
            return
        if len(documents) >= MOST_OBJECTS:  # there may be more
            return
        there = {str(metadata_of(document).get("name")) for document in documents}
        missing = known - there
        for name in sorted(missing & self._missing):
            log.info("a node is gone, as no event said", node=name)
            await self._forget({"metadata": {"name": name}})
        self._missing = missing
