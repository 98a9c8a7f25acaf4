"""``plimsoll release``: releases every pod and Job that waits for its turn."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
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

AFTER_WEBHOOK_S: Final = 5.0
"""An API server still asks a deleted webhook for some seconds."""
OWN_WEBHOOKS: Final = ".plimsoll.dev"
"""How the names of Plimsoll's webhooks end."""
LOOK_EVERY_S: Final = 5.0
MOST_PASSES: Final = 20
PASS_PAUSE_S: Final = 1.0
Pause = Callable[[float], Awaitable[None]]
"""Waits for this many seconds."""


def release_command(
    installation: Installation, *, without_webhook: str | None, quiet_for_s: float
) -> int:
    """Release all that wait for their turn; the exit status. Doing it twice is no error.

    without_webhook: a webhook configuration to delete first, so that no pod is held any more.
    quiet_for_s: it goes on until nothing was found for this long, and for AFTER_WEBHOOK_S at least
    if a webhook was deleted. 0 looks until none is left.
    """
    try:
        count = asyncio.run(_release_on(installation, without_webhook, quiet_for_s))
    except ApiError as error:
        complain(f"plimsoll release: {error}")
        return 1
    print(f"released {count} pods and Jobs" if count else "nothing waits for its turn")
    return 0


async def _release_on(installation: Installation, webhook: str | None, quiet_for_s: float) -> int:
    async with cluster_objects(installation) as objects:
        return await release_all(objects, webhook, quiet_for_s)


async def release_all(
    objects: ApiServer, webhook: str | None, quiet_for_s: float, pause: Pause = asyncio.sleep
) -> int:
    """Do what release_command does, and return how many it released.

    Raises:
        ApiError: if some still wait after many passes, or others were held again and again.
    """
    if webhook is not None:
        await _delete_webhook(objects, webhook)
        quiet_for_s = max(quiet_for_s, AFTER_WEBHOOK_S)
    released = await release_pods(objects)
    for _ in range(MOST_PASSES):
        more = await _release_next(objects, quiet_for_s, pause)
        if not more:
            return released
        released += more
    if webhook is None:
        raise ApiError(
            "pods or Jobs are held again and again; remove `order: enforce` from every SizingPolicy"
            " and TaskProfile, and run this command again"
        )
    raise ApiError(f"pods or Jobs are still held by another webhook than {webhook}; delete it, too")


async def _release_next(objects: ApiServer, within_s: float, pause: Pause) -> int:
    """Release the first objects found, and return how many; 0 if none is found in time."""
    while within_s > 0:
        pause_s = min(within_s, LOOK_EVERY_S)
        await pause(pause_s)
        more = await release_pods(objects)
        if more:
            return more
        within_s -= pause_s
    return 0


async def release_pods(objects: ApiServer) -> int:
    """Release all that wait now, until none is found. Return how many were released.

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
    """Release one. Return in words why it could not be: the others do not wait for it."""
    meta = metadata_of(held)
    plural = "pods" if group == CORE else "jobs"
    path = path_of(group, plural, str(meta.get("namespace")), str(meta.get("name")))
    try:
        await objects.patch(path, patch)
    except ApiError as error:
        return f"{meta.get('namespace')}/{meta.get('name')}: {error}"
    return None


async def _delete_webhook(objects: ApiServer, name: str) -> None:
    """Delete Plimsoll's webhook configuration, and say so.

    Raises:
        ApiError: if it is not Plimsoll's.
    """
    try:
        found = await objects.get(f"{WEBHOOKS}/{name}")
        webhooks = [str(each.get("name")) for each in found.get("webhooks") or []]
        if not any(each.endswith(OWN_WEBHOOKS) for each in webhooks):
            raise ApiError(
                f"webhook configuration {name} is not Plimsoll's: no webhook in it ends in"
                f" {OWN_WEBHOOKS}; nothing was done; name the one that Plimsoll's chart made"
            )
        await objects.delete(f"{WEBHOOKS}/{name}")
    except NotFound:
        print(f"there is no webhook configuration {name}")
    else:
        print(f"deleted webhook configuration {name}")
