"""Asks whether Karpenter is installed: its nodes tell, but at times there are none.

Its release before 1.5 or so makes no node for a pod that prefers hosts by name. Where all of its
nodes are gone, such a pod would wait although Karpenter could make one.
"""

from __future__ import annotations

from typing import Final

import structlog

from plimsoll_operator.kube.api_server import ApiServer
from plimsoll_operator.kube.errors import ApiError, NotFound

log = structlog.get_logger()

GROUP: Final = "/apis/karpenter.sh"
"""Every account may ask for groups of kinds."""


async def is_installed(api: ApiServer) -> bool:
    """Say whether the API server knows Karpenter's kinds; False if it does not answer."""
    try:
        await api.get(GROUP)
    except NotFound:
        return False
    except ApiError as error:
        log.warning("unknown whether Karpenter is installed", error=str(error))
        return False
    return True
