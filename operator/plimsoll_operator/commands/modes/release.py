"""``plimsoll release``: lets every pod and Job go that waits for its turn."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from plimsoll_operator.commands.printing.printing import complain
from plimsoll_operator.commands.reaching.cluster_objects import cluster_objects
from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.kube.api_server import BATCH, CORE, ApiServer, Object, path_of
from plimsoll_operator.kube.errors import ApiError, NotFound
from plimsoll_operator.kube.own_objects import WEBHOOKS
from plimsoll_operator.ordering.gate import WITHOUT_NODE, is_held, release_to
from plimsoll_operator.ordering.suspended_jobs import MARKED, resume_to, waits_for_turn
from plimsoll_operator.pods.spec import metadata_of

QUIET_S: Final = 5.0
"""An API server asks a webhook that was just deleted for some seconds more."""
MOST_PASSES: Final = 20
PASS_PAUSE_S: Final = 1.0


def release_command(installation: Installation, *, without_webhook: str | None) -> int:
    """Release all that wait for their turn; the exit status. Doing it twice is no error.

    without_webhook: a webhook configuration to delete first, so that no pod is held any more. Then
    it goes on until none was found for QUIET_S. None deletes nothing, and looks until none is left.
    """
    try:
        count = asyncio.run(_release_all(installation, without_webhook))
    except ApiError as error:
        complain(f"plimsoll release: {error}")
        return 1
    print(f"released {count} pods and Jobs" if count else "nothing waits for its turn")
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
        raise ApiError(
            f"pods or Jobs are still held by another webhook than {webhook}; delete it, too"
        )


async def release_pods(objects: ApiServer) -> int:
    """Release all that wait now, until none is found. Return how many it released.

    Raises:
        ApiError: if some still wait after many passes; it names one, and why.
    """
    released, trouble = 0, ""
    for number in range(MOST_PASSES):
        if number:
            await asyncio.sleep(PASS_PAUSE_S)
        pods = await objects.items(path_of(CORE, "pods"), {"fieldSelector": WITHOUT_NODE})
        jobs = await objects.items(path_of(BATCH, "jobs"), {"labelSelector": MARKED})
        patches = [
            *((CORE, pod, release_to(pod, ())) for pod in pods if is_held(pod)),
            *((BATCH, job, resume_to(job, ())) for job in jobs if waits_for_turn(job)),
        ]
        if not patches:
            return released
        for group, held, patch in patches:
            why_not = await _release(objects, group, held, patch)
            released += why_not is None
            trouble = why_not or trouble
    raise ApiError(f"some still wait after {MOST_PASSES} passes; {trouble}; run it again")


async def _release(
    objects: ApiServer, group: str, held: Object, patch: Mapping[str, Any]
) -> str | None:
    """Release one. Return why it could not be, in words: the others do not wait for it."""
    meta = metadata_of(held)
    plural = "pods" if group == CORE else "jobs"
    path = path_of(group, plural, str(meta.get("namespace")), str(meta.get("name")))
    try:
        await objects.patch(path, patch)
    except ApiError as error:
        return f"{meta.get('namespace')}/{meta.get('name')}: {error}"
    return None


async def _delete_webhook(objects: ApiServer, name: str) -> None:
    try:
        await objects.delete(f"{WEBHOOKS}/{name}")
    except NotFound:
        return
