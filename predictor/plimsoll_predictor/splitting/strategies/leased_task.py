"""What a task's leased Jobs taught, and what of their last one is kept beside that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

import msgspec

from plimsoll_predictor.core.documents import from_document, to_document
from plimsoll_predictor.splitting.chunk_runs import Learned
from plimsoll_predictor.splitting.costs import MOST_ITEMS, Costs
from plimsoll_predictor.splitting.jobs import MOST_WORKERS, Job
from plimsoll_predictor.splitting.peaks import MOST_BYTES, Peaks
from plimsoll_predictor.splitting.strategies.guided import Guided
from plimsoll_predictor.splitting.strategies.strategy import Cut

_LAST: Final = "last"

_Items = Annotated[int, msgspec.Meta(ge=1, le=MOST_ITEMS)]
_Number = Annotated[int, msgspec.Meta(ge=0, le=MOST_ITEMS)]
_Workers = Annotated[int, msgspec.Meta(ge=1, le=MOST_WORKERS)]
_Bytes = Annotated[int, msgspec.Meta(ge=1, le=MOST_BYTES)]


@dataclass(frozen=True, slots=True, kw_only=True)
class LastLeased:
    """A leased Job as it went. workers: at once; shares: its pods. done: of its items.

    leases: that were acknowledged. limit_bytes: the least that a worker told; None if none did.
    """

    items: _Items
    workers: _Workers
    shares: _Workers
    done: _Number
    leases: _Number
    taken_back: _Number
    refused: _Number
    limit_bytes: _Bytes | None = None


@dataclass(frozen=True, slots=True)
class LeasedTask:
    """What is known. peaks: None if none was measured; last: None if an older version kept none."""

    costs: Costs
    peaks: Peaks | None
    last: LastLeased | None

    def to_document(self) -> dict[str, Any]:
        """Return it in plain JSON types."""
        document: dict[str, Any] = to_document(self)
        return document


def taught_document(guided: Guided, last: LastLeased) -> dict[str, Any]:
    """Return what is kept of a task when a leased Job of it has ended."""
    return {**guided.to_document(), _LAST: to_document(last)}


def leased_task_of(taught: object) -> LeasedTask | None:
    """Read ``taught_document`` back; None where no lease told anything, or nobody can read it."""
    guided = Guided()
    guided.remember(taught)
    if guided.costs is None or not isinstance(taught, Mapping):
        return None
    try:
        last = from_document(LastLeased, taught.get(_LAST), "a task's last leased Job")
    except ValueError:
        last = None
    return LeasedTask(guided.costs, guided.past.memory(), last)


def learned_of_leases(taught: object, wait_s: float) -> Learned | None:
    """Return what leased Jobs of a task tell of the next one; None where nobody can read it.

    wait_s: what one more lease costs a worker.
    """
    guided = Guided()
    guided.remember(taught)
    if guided.costs is None:
        return None
    try:
        return Learned(guided.costs, guided.past.memory(), wait_s, guided.past.times.largest)
    except ValueError:
        return None


def first_lease(taught: object, job: Job, shares: int, limit_bytes: int | None) -> int:
    """Return how many items the first lease of a task's next Job has. limit_bytes: of its pods."""
    guided = Guided(limit_bytes)
    guided.remember(taught)
    guided.begin(job, Cut.LEASED)
    # Half of a share at most, so that the rest can be given away.
    return max(1, min(guided.next_items(job.items), -(-job.items // (2 * shares))))
