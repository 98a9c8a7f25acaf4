"""Finds a task's last Job over items among its chunks: how many items, pods and workers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from plimsoll_predictor.splitting.chunk_runs import ChunkRun
from plimsoll_predictor.splitting.costs import MOST_ITEMS
from plimsoll_predictor.splitting.cutting import MOST_PODS, CuttableJob

_JOB: Final = "job:"
"""Begins the runs of a Job's indexes: ``job:UID:INDEX``."""


def last_job(chunks: Iterable[ChunkRun]) -> CuttableJob | None:
    """Return the Job whose chunk ended last, as far as it was seen; None if there was none.

    items: up to one per pod too many, since each pod reports the largest share if all are alike; if
    they became smaller, each reports its own. workers: how many pods ran at once.
    """
    pods: dict[str, dict[str, ChunkRun]] = defaultdict(dict)
    newest = ""
    for each in sorted(chunks, key=lambda each: each.ended_s or 0.0):
        if each.failed:
            continue  # its next attempt says how long the chunk takes
        job, _, index = each.run.removeprefix(_JOB).partition(":")
        if each.run.startswith(_JOB) and index:
            pods[job][index] = each
            newest = job
    if not newest:
        return None
    found = list(pods[newest].values())
    items = min(sum(each.items for each in found), MOST_ITEMS)
    sizes = tuple(sorted((each.items for each in found), reverse=True))
    decreases = sizes[0] != sizes[-1]
    return CuttableJob(
        items=items,
        workers=_at_once(found),
        pods=len(found),
        limit_bytes=found[-1].limit_bytes,
        most_listed=MOST_PODS if decreases else 0,
        sizes=sizes if decreases else (),
    )


def _at_once(chunks: Iterable[ChunkRun]) -> int:
    """Return the most pods that ran at the same time; 1 at least."""
    steps: list[tuple[float, int]] = []
    for each in chunks:
        if each.ended_s is not None and each.seconds is not None:
            steps += [(each.ended_s - each.seconds, 1), (each.ended_s, -1)]
    # Times are whole seconds: a pod that ends in the second in which another begins made room for
    # it.
    now = most = 0
    for _, change in sorted(steps):
        now += change
        most = max(most, now)
    return max(1, most)
