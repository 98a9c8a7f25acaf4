"""Stands by until this controller leads, and keeps the lead."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Protocol

import structlog

from plimsoll_operator.kube.errors import AlreadyThere, ApiError, Changed, NotFound
from plimsoll_operator.kube.own_objects import OwnObjects
from plimsoll_operator.leadership.lease import (
    PATIENCE,
    RENEWALS,
    Lease,
    Sighting,
    free_spec,
    held_spec,
    may_hold,
    read_lease,
    sighted,
)
from plimsoll_operator.leadership.watchdog import Watchdog, boot_clock_s, end_process

log = structlog.get_logger()

AGAIN_AFTER_S: Final = 0.2
"""A renewal that failed is tried again after this pause."""
HANDS_OVER_AFTER_S: Final = 6.0
"""A leader steps down this long after an answer: when a store is back, one candidate sees it first,
and the leader, which still has to write what it saw meanwhile, within seconds."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of the election. name: the Lease's. me: this candidate's own, unique name."""

    name: str
    me: str
    lease_s: float

    @property
    def renew_every_s(self) -> float:
        """The time between two renewals, and between two looks of a candidate that stands by."""
        return self.lease_s / RENEWALS

    @property
    def patience_s(self) -> float:
        """How long a leader goes on that cannot renew."""
        return self.lease_s * PATIENCE


class Fitness(Protocol):
    """Whether this controller could do a leader's work."""

    def unfit_to_compete(self) -> str | None:
        """Say why not to become the leader now; None to compete."""

    def unfit_to_lead(self) -> str | None:
        """Say why a leader must step down, even if no other could do better; None to stay."""

    def would_hand_over(self) -> str | None:
        """Say why a leader steps down for a candidate that reaches the store; None to stay."""

    def unanswered(self) -> str | None:
        """Say why a leader's work waits at present; None if nothing is known to keep it."""


class AlwaysFit:
    """A controller whose store is its own file: no other could do better."""

    def unfit_to_compete(self) -> str | None:
        """Nothing makes it unfit."""
        return None

    unfit_to_lead = unfit_to_compete
    would_hand_over = unfit_to_compete
    unanswered = unfit_to_compete


class Election:
    """One candidate. Call ``stand_by``, then ``keep`` beside the leader's work, then ``give_up``.

    trouble: why it cannot compete; None if it can.
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
        self._asks = False
        """Whether this leader has asked on the Lease who reaches the store."""
        self._answered_s: float | None = None
        """When it first saw an answer; None while there is none."""
        self.leads = False
        self.trouble: str | None = None

    @property
    def leader(self) -> str | None:
        """The holder at the latest look at the Lease; None if nobody held it."""
        return self._lease.holder if self._lease else None

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
        pause_s = self._terms.renew_every_s
        while True:
            await asyncio.sleep(pause_s)
            began_s = boot_clock_s()
            try:
                await self._renew()
                await self._ask()
            except ApiError as error:
                self._note(f"lease {self._terms.name} cannot be written: {error}")
                # The call may have taken its whole time, and the watchdog counts on.
                pause_s = AGAIN_AFTER_S
            else:
                self._note(None)
                # The watchdog does not wait longer because a slow API server took a mark, too.
                pause_s = max(0.0, self._terms.renew_every_s - (boot_clock_s() - began_s))
            if self.leader != self._terms.me:
                self._end(f"{self.leader or 'nobody'} holds the lease")
                return
            unfit = self._fitness.unfit_to_lead() or self._outdone()
            if unfit is not None:
                log.error("steps down", why=unfit)
                # A thread may go on writing until the process ends, so it ends at once; the store
                # and the objects' names keep anything from being done twice.
                await self.give_up()
                self._end(unfit)
                return

    async def give_up(self) -> None:
        """Give the Lease back: nothing is done any more that only the leader may do."""
        self._watchdog.stop()
        if not self.leads:
            return
        self.leads = False
        try:
            # A renewal that was cut short may have been written all the same.
            await self._look()
            if self._lease is not None and self._lease.holder == self._terms.me:
                await self._write(free_spec(self._lease, datetime.now(UTC)))
        except ApiError as error:
            log.warning("lease not given back; it runs out by itself", error=str(error))

    async def _try(self) -> None:
        await self._look()
        if not may_hold(self._sighting, self._terms.me, boot_clock_s()):
            await self._answer()
            return
        try:
            await self._hold()
        except (Changed, AlreadyThere, NotFound):
            return  # another was faster
        self.leads = True

    async def _answer(self) -> None:
        """Tell a leader that asks: this candidate reaches the store."""
        if self._lease is not None and self._lease.store_reached_by == "":
            await self._mark(self._lease, self._terms.me)

    async def _ask(self) -> None:
        """Ask who reaches the store, once, when this leader does not; take it back when it does."""
        lease, asks = self._lease, self._fitness.would_hand_over() is not None
        if lease is None or asks == self._asks == (lease.store_reached_by is not None):
            return
        marked = await self._mark(lease, "" if asks else None)
        self._asks = asks and marked

    def _outdone(self) -> str | None:
        """Say why to step down: another answered a while ago that it reaches the store."""
        why = self._fitness.would_hand_over()
        able = self._lease.store_reached_by if self._lease and self._asks else None
        if why is None or not able:
            self._answered_s = None
            return None
        now_s = boot_clock_s()
        self._answered_s = now_s if self._answered_s is None else self._answered_s
        if now_s - self._answered_s < HANDS_OVER_AFTER_S:
            return None
        return f"{why}; {able} reaches it"

    async def _mark(self, lease: Lease, value: str | None) -> bool:
        """Write who reaches the store; say whether that was done before another change."""
        terms = self._terms
        try:
            document = await self._objects.mark_lease(
                terms.name, value, lease.version, terms.renew_every_s
            )
        except (Changed, NotFound):
            return False  # the next look shows what it is now
        self._sighting = sighted(None, read_lease(document), boot_clock_s())
        return True

    async def _renew(self) -> None:
        try:
            await self._hold()
        except NotFound:
            self._sighting = None
            await self._hold()  # somebody deleted it: the name is free, or we get AlreadyThere
        except Changed:
            # Another candidate did it, or we did in a call whose answer was lost.
            await self._look()
            if self.leader == self._terms.me:
                await self._hold()

    async def _look(self) -> None:
        try:
            document = await self._objects.lease(self._terms.name, self._terms.renew_every_s)
        except NotFound:
            self._sighting = None
            return
        self._sighting = sighted(self._sighting, read_lease(document), boot_clock_s())

    async def _hold(self) -> None:
        asked_s = boot_clock_s()
        now = datetime.now(UTC)
        await self._write(held_spec(self._lease, self._terms.me, self._terms.lease_s, now))
        self._watchdog.renewed(asked_s)

    async def _write(self, spec: dict[str, object]) -> None:
        version = self._lease.version if self._lease else None
        document = await self._objects.put_lease(
            self._terms.name, spec, version, self._terms.renew_every_s
        )
        self._sighting = sighted(None, read_lease(document), boot_clock_s())

    @property
    def _lease(self) -> Lease | None:
        return self._sighting.lease if self._sighting else None

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
