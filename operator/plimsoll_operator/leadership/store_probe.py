"""Asks whether the database server answers: a controller that cannot reach it must not lead."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

import structlog

from plimsoll_operator.leadership.watchdog import boot_clock_s
from plimsoll_predictor.store.database.database import Database
from plimsoll_predictor.store.database.errors import StoreError

log = structlog.get_logger()

ASK_EVERY_S: Final = 2.0
FRESH_S: Final = 6.0
"""A controller whose last answer is older than this does not compete."""
LEAVES_AFTER_S: Final = 15.0
"""A leader whose store is silent for longer steps down: another may reach it."""
BUSY_TIMEOUT_S: Final = 2.0


class StoreProbe:
    """Asks in a thread of its own, because a network that swallows packets holds it for long."""

    def __init__(self, ask: Callable[[], None], clock_s: Callable[[], float] = boot_clock_s):
        self._ask = ask
        self._clock_s = clock_s
        self._answered_s: float | None = None
        self._began_s = clock_s()
        self._why: str | None = None
        self._stopped = threading.Event()
        self.asked = threading.Event()
        """Set once the first question has ended, one way or the other."""
        self._thread = threading.Thread(target=self._run, name="plimsoll-probe", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ask no more."""
        self._stopped.set()

    def unfit_to_compete(self) -> str | None:
        """Say why not to become the leader now."""
        return self._silent_over(FRESH_S, 0.0)

    def unfit_to_lead(self) -> str | None:
        """Say why a leader must step down."""
        return self._silent_over(LEAVES_AFTER_S, LEAVES_AFTER_S)

    def _silent_over(self, longest_s: float, at_first_s: float) -> str | None:
        now_s = self._clock_s()
        if self._answered_s is None:
            silent = now_s - self._began_s >= at_first_s
        else:
            silent = now_s - self._answered_s > longest_s
        return (self._why or "the store does not answer") if silent else None

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self._ask()
            except StoreError as error:
                self._note(str(error))
            # Whatever a driver raises, the thread must ask again.
            except Exception as error:
                self._note(f"the store does not answer: {error!r:.300}")
            else:
                self._answered_s = self._clock_s()
                self._note(None)
            self.asked.set()
            self._stopped.wait(ASK_EVERY_S)

    def _note(self, why: str | None) -> None:
        if why is not None and self._why is None:
            log.warning("the store does not answer", why=why)
        if why is None and self._why is not None:
            log.info("the store answers again")
        self._why = why


def asking(store_url: str) -> Callable[[], None]:
    """A question to a store that changes nothing, not even a schema of another version.

    Raises:
        StoreError: if the address cannot be read.
    """
    database = Database.connect(store_url, BUSY_TIMEOUT_S)

    def ask() -> None:
        with database.read() as connection:
            connection.exec_driver_sql("SELECT 1")

    return ask
