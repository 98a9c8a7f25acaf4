"""``plimsoll release``: releases every pod and Job that waits for its turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from plimsoll_operator.commands.printing.printing import complain
from plimsoll_operator.commands.reaching.cluster_objects import cluster_objects
from plimsoll_operator.commands.reaching.installation import Installation
from plimsoll_operator.kube.api_server import ApiServer, Object, path_of
from plimsoll_operator.kube.errors import ApiError, Expired, NotFound
from plimsoll_operator.kube.own_objects import WEBHOOKS
from plimsoll_operator.ordering.waiting_kinds import JOBS, PODS, WaitingKind
from plimsoll_operator.pods.spec import metadata_of

AFTER_WEBHOOK_S: Final = 5.0
"""An API server still asks a deleted webhook for some seconds."""
OWN_WEBHOOKS: Final = ".plimsoll.dev"
"""How the names of Plimsoll's webhooks end."""
LOOK_EVERY_S: Final = 5.0
MOST_PASSES: Final = 20
PASS_PAUSE_S: Final = 1.0
PAGE: Final = 100
"""Objects of one page: even of large pods, so many fit into the memory of the chart's hook."""
AT_ONCE: Final = 20
"""Patches in flight."""
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
        none_waits = True
        for kind in (PODS, JOBS):
            try:
                async for page in _pages(objects, kind):
                    none_waits = none_waits and not page.found
                    released += page.found - len(page.troubles)
                    trouble = next(iter(page.troubles), trouble)
            except Expired as error:
                none_waits, trouble = False, str(error)
        if none_waits:
            return released
    raise ApiError(f"some still wait after {MOST_PASSES} passes; {trouble}; run it again")


@dataclass(frozen=True, slots=True)
class _Page:
    """What became of one page of a list. found: how many waited. troubles: why some still do.

    more: where the next page begins; None after the last one.
    """

    found: int
    troubles: list[str]
    more: str | None


async def _pages(objects: ApiServer, kind: WaitingKind) -> AsyncIterator[_Page]:
    """Release what waits, page by page: there may be many, most of them others', and each large.

    Raises:
        Expired: if that took so long that the API server does not know the rest of its list.
    """
    more: str | None = ""
    while more is not None:
        page = await _release_page(objects, kind, more)
        yield page
        more = page.more


async def _release_page(objects: ApiServer, kind: WaitingKind, start: str) -> _Page:
    """Release what waits in the page that begins there, some at once.

    The page is gone when this returns: the next one must not be in memory beside it.
    """
    query = {**kind.query, "limit": str(PAGE), **({"continue": start} if start else {})}
    page = await objects.get(path_of(kind.group, kind.plural), query)
    held = [each for each in page.get("items") or [] if kind.waits(each)]
    turns = asyncio.Semaphore(AT_ONCE)

    async def release(each: Object) -> str | None:
        async with turns:
            return await _release(objects, kind, each)

    why_not = await asyncio.gather(*map(release, held))
    more = (page.get("metadata") or {}).get("continue")
    return _Page(len(held), [why for why in why_not if why is not None], more or None)


async def _release(objects: ApiServer, kind: WaitingKind, held: Object) -> str | None:
    """Release one. Return in words why it could not be: the others do not wait for it."""
    meta = metadata_of(held)
    path = path_of(kind.group, kind.plural, str(meta.get("namespace")), str(meta.get("name")))
    try:
        await objects.patch(path, kind.release(held, ()))
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
