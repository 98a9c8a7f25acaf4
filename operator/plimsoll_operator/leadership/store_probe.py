"""Asks whether the database server answers, and writes: else a controller must not take the lead.

A leader whose server is away, or only reads, stays: what it has to write waits in memory. It hands
over if another reaches the server, and ends if the server refuses its password.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

import structlog

from plimsoll_operator.leadership.watchdog import boot_clock_s
from plimsoll_predictor.store.database.database import Database
from plimsoll_predictor.store.database.errors import ONLY_READS, StoreError

log = structlog.get_logger()

ASK_EVERY_S: Final = 2.0
FRESH_S: Final = 6.0
"""A controller does not compete if the last answer of a server that writes is older than this."""
LEAVES_AFTER_S: Final = 15.0
"""A leader whose store is silent for longer hands over to another that reaches it. If the store
refuses its login for as long, it ends."""
BUSY_TIMEOUT_S: Final = 2.0
LOGIN_REFUSED: Final = "authentication failed"
"""PostgreSQL's words for a user or a password that is not, or no longer, right."""


class OnlyReads(StoreError):
    """The server answers, but may only be read."""


class LoginRefused(StoreError):
    """The server answers, and refuses the user or the password."""


class StoreProbe:
    """Asks in a thread of its own, because a network that swallows packets holds it for long."""

    def __init__(self, ask: Callable[[], None], clock_s: Callable[[], float] = boot_clock_s):
        self._ask = ask
        self._clock_s = clock_s
        self._answered_s: float | None = None
        self._writes_s: float | None = None
        """When a server answered last that writes."""
        self._refused_since_s: float | None = None
        """Since when each answer is that the login is refused; None if the latest is another."""
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
        return self._silent_over(self._writes_s, FRESH_S, 0.0)

    def unfit_to_lead(self) -> str | None:
        """Say why a leader must step down: only a new start reads a password that was changed."""
        since_s = self._refused_since_s
        if since_s is None or self._clock_s() - since_s < LEAVES_AFTER_S:
            return None
        return self.would_hand_over()

    def would_hand_over(self) -> str | None:
        """Say why a leader steps down for a candidate that reaches the store."""
        return self._silent_over(self._answered_s, LEAVES_AFTER_S, LEAVES_AFTER_S)

    def unanswered(self) -> str | None:
        """Say why the server does not answer at present, whether or not it writes."""
        return self._silent_over(self._answered_s, FRESH_S, 0.0)

    def _silent_over(
        self, answered_s: float | None, longest_s: float, at_first_s: float
    ) -> str | None:
        now_s = self._clock_s()
        if answered_s is None:
            silent = now_s - self._began_s >= at_first_s
        else:
            silent = now_s - answered_s > longest_s
        return (self._why or "the store does not answer") if silent else None

    def _run(self) -> None:
        while not self._stopped.is_set():
            refused_since_s: float | None = None
            try:
                self._ask()
            except OnlyReads as error:
                self._answered_s = self._clock_s()
                self._note(str(error))
            except LoginRefused as error:
                first = self._refused_since_s is None
                refused_since_s = self._clock_s() if first else self._refused_since_s
                self._note(str(error))
            except StoreError as error:
                self._note(str(error))
            # Whatever a driver raises, the thread must ask again.
            except Exception as error:
                self._note(f"the store does not answer: {error!r:.300}")
            else:
                self._answered_s = self._writes_s = self._clock_s()
                self._note(None)
            self._refused_since_s = refused_since_s
            self.asked.set()
            self._stopped.wait(ASK_EVERY_S)

    def _note(self, why: str | None) -> None:
        if why is not None and self._why is None:
            log.warning("the store does not answer as it should", why=why)
        if why is None and self._why is not None:
            log.info("the store answers again as it should")
        self._why = why


class Question:
    """A question to a store that changes nothing, not even a schema of another version.

    Raises:
        StoreError: if the address cannot be read.

    """

    def __init__(self, store_url: str) -> None:
        self._database = Database.connect(store_url, BUSY_TIMEOUT_S)

    def __call__(self) -> None:
        """Return if the store answers, and writes.

        Raises:
            OnlyReads: if it is a PostgreSQL that does not write.
            LoginRefused: if it says so in English; in another language, a plain StoreError.
            StoreError: if it does not answer.

        """
        try:
            answer = self._asked()
        except StoreError as error:
            # libpq gives no code for an error of a login.
            if LOGIN_REFUSED in str(error):
                raise LoginRefused(str(error)) from error
            raise
        if answer == "on":
            # Connections to a standby stay open, but the address may lead elsewhere by now.
            self.close()
            raise OnlyReads(f"store {self._database.where} {ONLY_READS}")

    def _asked(self) -> object:
        with self._database.read() as connection:
            return connection.exec_driver_sql(
                "SELECT current_setting('transaction_read_only')"
                if connection.dialect.name == "postgresql"
                else "SELECT 1"
            ).scalar()

    def close(self) -> None:
        """Close its connections."""
        self._database.close()
