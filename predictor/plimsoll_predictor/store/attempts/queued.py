"""Writes that wait for the writer's thread; their callers hear when they are done."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from plimsoll_predictor.core.record import Observation
from plimsoll_predictor.store.attempts.decisions import Decided
from plimsoll_predictor.store.attempts.sightings import NewSighting


@dataclass(frozen=True, slots=True)
class Novelty:
    """What one observation added to the store.

    new: its uid was not seen before. learned: its run's need became known by it, for the first
    time, be it new or amended.
    """

    new: bool
    learned: bool


@dataclass(slots=True, eq=False)
class Job:
    """One write: an observation, a decision, sightings, kept with others'; else ``call`` is run."""

    future: asyncio.Future[Any]
    observation: Observation | None = None
    decision: Decided | None = None
    seen: tuple[NewSighting, ...] = ()
    call: Callable[[], Any] | None = None
    result: Any = field(default=None)
    error: BaseException | None = None

    def settle(self) -> None:
        """Tell the caller; on the event loop's thread. A caller that left hears nothing."""
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)


def batches(jobs: Iterable[Job]) -> list[list[Job]]:
    """Split in order: what neighbours each other shares one, a call stands alone."""
    found: list[list[Job]] = []
    for job in jobs:
        if job.call is None and found and found[-1][-1].call is None:
            found[-1].append(job)
        else:
            found.append([job])
    return found
