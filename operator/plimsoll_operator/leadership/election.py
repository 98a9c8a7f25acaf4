"""Stands by until this controller leads, and keeps the lead."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

import structlog

from plimsoll_operator.kube.errors import AlreadyThere, ApiError, Changed, NotFound
from plimsoll_operator.kube.own_objects import OwnObjects
from plimsoll_operator.leadership.lease import (
    PATIENCE,
    RENEWALS,
    Lease,
    Sighting,
    Step,
    free_spec,
    held_spec,
    next_step,
    read_lease,
    sighted,
)
from plimsoll_operator.leadership.watchdog import Watchdog, boot_clock_s, end_process

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of the election. name: the Lease's. me: this candidate's own, unique name."""

    name: str
    me: str
    lease_s: float

    @property
    def renew_every_s(self) -> float:
        """Between two renewals, and between two looks of one who stands by."""
        return self.lease_s / RENEWALS

    @property
    def patience_s(self) -> float:
        """How long a leader goes on that cannot renew."""
        return self.lease_s * PATIENCE


class Fitness(Protocol):
    """Whether this controller could do a leader's work."""

    def unfit_to_compete(self) -> str | None:
        """Why not to become the leader now; None to compete."""

    def unfit_to_lead(self) -> str | None:
        """Why a leader must step down; None to stay."""


class AlwaysFit:
    """A controller whose store is its own file: no other could do better."""

    def unfit_to_compete(self) -> str | None:
        """Never."""

    def unfit_to_lead(self) -> str | None:
        """Never."""


class Election:
    """One candidate. ``stand_by``, then ``keep`` beside the leader's work, then ``give_up``.

    leader: who was seen to hold the Lease last; None if nobody. trouble: why it cannot compete.
    """

    def __init__(
        self,
        objects: OwnObjects,
        terms: Terms,
        fitness: Fitness,
        end: Callable[[str], None] = end_process,
    ) -> None:
        self._objects = objects
        self._terms = terms
        self._fitness = fitness
        self._end = end
        self._watchdog = Watchdog(terms.patience_s, end=end)
        self._sighting: Sighting | None = None
        self.leads = False
        self.trouble: str | None = None

    @property
    def leader(self) -> str | None:
        """The present leader, by the latest look at the Lease."""
        return self._sighting.lease.holder if self._sighting else None

    async def stand_by(self) -> None:
        """Return when this controller leads."""
        log.info("stands by", lease=self._terms.name, instance=self._terms.me)
        while not self.leads:
            trouble = self._fitness.unfit_to_compete()
            try:
                if trouble is None:
                    await self._try()
                else:
                    await self._look()
            except ApiError as error:
                trouble = f"lease {self._terms.name} cannot be had: {error}"
            self._note(trouble)
            if not self.leads:
                await asyncio.sleep(self._pause_s())
        log.info("leads", lease=self._terms.name, instance=self._terms.me)

    async def keep(self) -> None:
        """Renew until cancelled. A lost lead ends the process: whatever it holds may be stale."""
        while True:
            await asyncio.sleep(self._terms.renew_every_s)
            unfit = self._fitness.unfit_to_lead()
            if unfit is not None:
                await self._step_down(unfit)
                return
            try:
                await self._renew()
            except ApiError as error:
                self._note(f"lease {self._terms.name} is not renewed: {error}")
            else:
                self._note(None)
            if self.leader != self._terms.me:
                self._end(f"{self.leader or 'nobody'} holds the lease")
                return

    async def give_up(self) -> None:
        """Give the Lease back: nothing is done any more that only the leader may do."""
        self._watchdog.stop()
        if not self.leads or self._sighting is None:
            return
        self.leads = False
        try:
            # A renewal that was cut short may have been written all the same.
            await self._look()
            if self._sighting is not None and self.leader == self._terms.me:
                await self._write(free_spec(self._sighting.lease, datetime.now(UTC)))
        except ApiError as error:
            log.warning("lease not given back; it runs out by itself", error=str(error))

    async def _step_down(self, why: str) -> None:
        log.error("steps down", why=why)
        # What was begun may still be written by a thread until the process ends, so it ends
        # at once; doing anything twice is prevented by the store and by names, as ever.
        await self.give_up()
        self._end(why)

    async def _try(self) -> None:
        await self._look()
        now_s = boot_clock_s()
        step = next_step(self._sighting, self._terms.me, now_s)
        if step is Step.WAIT:
            return
        before = None if self._sighting is None else self._sighting.lease
        try:
            await self._hold(before)
        except (Changed, AlreadyThere, NotFound):
            return  # another was faster
        self.leads = True

    async def _renew(self) -> None:
        assert self._sighting is not None
        try:
            await self._hold(self._sighting.lease)
        except NotFound:
            self._sighting = None
            await self._hold(None)  # somebody deleted it: the name is free, or we get AlreadyThere
        except Changed:
            # Another candidate did it, or we did in a call whose answer was lost.
            await self._look()
            if self.leader == self._terms.me:
                await self._hold(self._sighting.lease)

    async def _look(self) -> None:
        try:
            found = await self._objects.lease(self._terms.name, self._terms.renew_every_s)
        except NotFound:
            self._sighting = None
            return
        self._sighting = sighted(self._sighting, read_lease(found), boot_clock_s())

    async def _hold(self, before: Lease | None) -> None:
        asked_s = boot_clock_s()
        spec = held_spec(before, self._terms.me, self._terms.lease_s, datetime.now(UTC))
        await self._write(spec, before)
        self._watchdog.renewed(asked_s)

    async def _write(self, spec: dict[str, object], before: Lease | None = None) -> None:
        before = before or (self._sighting.lease if self._sighting else None)
        version = None if before is None else before.version
        found = await self._objects.put_lease(
            self._terms.name, spec, version, self._terms.renew_every_s
        )
        self._sighting = sighted(None, read_lease(found), boot_clock_s())

    def _pause_s(self) -> float:
        """Until the next look; exactly until the Lease is free, if that comes first.

        A free Lease that cannot be taken is no reason to ask for it all the time.
        """
        pause_s = self._terms.renew_every_s
        if self._sighting is not None and self.trouble is None:
            until_free_s = self._sighting.free_at_s - boot_clock_s()
            pause_s = min(pause_s, max(until_free_s, 0.05))
        return pause_s

    def _note(self, trouble: str | None) -> None:
        if trouble is not None and trouble != self.trouble:
            log.warning("trouble with the lead", why=trouble)
        if trouble is None and self.trouble is not None:
            log.info("no trouble with the lead any more")
        self.trouble = trouble
