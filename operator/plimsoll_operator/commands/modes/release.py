"""``plimsoll release``: removes Plimsoll's gate from every pod that waits for its turn."""

from __future__ import annotations

import asyncio
from typing import Final

from plimsoll_operator.commands.printing.printing import complain
from plimsoll_operator.commands.reaching.cluster_objects import cluster_objects
from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.kube.api_server import CORE, ApiServer, path_of
from plimsoll_operator.kube.errors import ApiError, Changed, NotFound
from plimsoll_operator.kube.own_objects import WEBHOOKS
from plimsoll_operator.ordering.gate import is_held, release_to
from plimsoll_operator.pods.spec import Pod, metadata_of

QUIET_S: Final = 5.0
"""An API server asks a webhook that was just deleted for some seconds more."""
MOST_PASSES: Final = 20
WITHOUT_NODE: Final = {"fieldSelector": "spec.nodeName=,status.phase=Pending"}


def release_command(installation: Installation, *, without_webhook: str | None) -> int:
    """Release all pods that wait for their turn; the exit status. Doing it twice is no error.

    without_webhook: a webhook configuration to delete first, so that no pod is held any more. Then
    it goes on until none was found for QUIET_S. None deletes nothing, and looks until none is left.
    """
    try:
        count = asyncio.run(_release_all(installation, without_webhook))
    except ApiError as error:
        complain(f"plimsoll release: {error}")
        return 1
    print(f"released {count} pods" if count else "no pod waits for its turn")
    return 0


async def _release_all(installation: Installation, webhook: str | None) -> int:
    async with cluster_objects(installation) as objects:
        if webhook is not None:
            await _delete_webhook(objects, webhook)
        released = await release_pods(objects)
        if webhook is None:
            return released
        for _ in range(MOST_PASSES):
            await asyncio.sleep(QUIET_S)
            more = await release_pods(objects)
            if not more:
                return released
            released += more
        raise ApiError(f"pods are still held by another webhook than {webhook}; delete it, too")


async def release_pods(objects: ApiServer) -> int:
    """Release all that wait now, until none is found. Return how many it released.

    Raises:
        ApiError: if the API server refuses it, or some still wait after many passes.
    """
    released = 0
    for _ in range(MOST_PASSES):
        pods = await objects.items(path_of(CORE, "pods"), WITHOUT_NODE)
        held = [pod for pod in pods if is_held(pod)]
        if not held:
            return released
        for pod in held:
            released += await _release(objects, pod)
    raise ApiError(f"pods still wait after {MOST_PASSES} passes; run it again")


async def _release(objects: ApiServer, pod: Pod) -> bool:
    """Release one; False if it changed or went meanwhile, and the next pass looks again."""
    meta = metadata_of(pod)
    path = path_of(CORE, "pods", str(meta.get("namespace")), str(meta.get("name")))
    try:
        await objects.patch(path, release_to(pod, ()))
    except (Changed, NotFound):
        return False
    return True


async def _delete_webhook(objects: ApiServer, name: str) -> None:
    try:
        await objects.delete(f"{WEBHOOKS}/{name}")
    except NotFound:
        return
