"""Finds a task's last Job over items among its observations: how many items, pods and workers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from plimsoll_operator.names.labels import CHUNK_ITEMS
from plimsoll_predictor.core.record import Observation
from plimsoll_predictor.splitting.cutting import CuttableJob

_JOB = "job:"


def last_job(observed: Iterable[Observation]) -> CuttableJob | None:
    """Return the Job whose chunk ended last, as far as it was seen; None if there was none.

    items: up to one a pod too many, since a pod says the largest share. workers: how many of its
    pods ran at once.
    """
    pods: dict[str, dict[str, Observation]] = defaultdict(dict)
    newest = ""
    for each in sorted(observed, key=lambda each: each.finished_s or 0.0):
        job, _, index = each.run.removeprefix(_JOB).partition(":")
        if each.run.startswith(_JOB) and index and _items(each):
            pods[job][index] = each
            newest = job
    chunks = list(pods[newest].values()) if newest else []
    if not chunks:
        return None
    return CuttableJob(
        items=sum(map(_items, chunks)),
        workers=_at_once(chunks),
        pods=len(chunks),
        limit_bytes=chunks[-1].written_limit_bytes or chunks[-1].allocation_bytes,
    )


def _items(each: Observation) -> int:
    value = each.features.get(CHUNK_ITEMS)
    return int(value) if isinstance(value, float | int) and 1 <= value < 2**50 else 0


def _at_once(chunks: Iterable[Observation]) -> int:
    """Return the most pods that ran at the same time; 1 at least."""
    steps: list[tuple[float, int]] = []
    for each in chunks:
        if each.started_s is not None and each.finished_s is not None:
            steps += [(each.started_s, 1), (each.finished_s, -1)]
    # Times are in whole seconds: who ends in the second in which another begins made room for it.
    now = most = 0
    for _, change in sorted(steps):
        now += change
        most = max(most, now)
    return max(1, most)
