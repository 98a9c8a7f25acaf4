"""The API server for people's commands, which may see and change only what RBAC allows."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from kubernetes_asyncio import client

from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.kube.api_server import ApiServer, api_settings

ANSWER_WITHIN_S: Final = 15.0
MOST_BYTES: Final = 64 * 2**20
"""The most bytes of one answer: ten thousand TaskProfiles come in far smaller pages."""


@asynccontextmanager
async def cluster_objects(installation: Installation) -> AsyncIterator[ApiServer]:
    """The chosen cluster; raises NoCluster if nothing says which."""
    # The client logs that there is no kubeconfig; we say that ourselves.
    logging.disable(logging.CRITICAL)
    try:
        settings = await api_settings(installation.kubeconfig, installation.context)
        async with client.ApiClient(settings) as api:
            yield ApiServer(api, within_s=ANSWER_WITHIN_S, most_bytes=MOST_BYTES)
    finally:
        logging.disable(logging.NOTSET)
