"""A server that answers and does not write: no reason to take the lead, and none to give it up."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from plimsoll_operator.leadership.store_probe import (
    FRESH_S,
    LEAVES_AFTER_S,
    OnlyReads,
    Question,
    StoreProbe,
)
from tests.rigs.servers.databases import PostgreSQL


@contextmanager
def a_probe(clock: list[float], answer: Callable[[], None]) -> Iterator[StoreProbe]:
    """One that asks once. The answer takes as long as a leader waits for it."""
    turns: queue.SimpleQueue[None] = queue.SimpleQueue()
    turns.put(None)

    def ask() -> None:
        turns.get()
        clock[0] += LEAVES_AFTER_S
        answer()

    probe = StoreProbe(ask, lambda: clock[0])
    assert probe.asked.wait(10)
    try:
        yield probe
    finally:
        probe.close()
        turns.put(None)


def only_reads() -> None:
    raise OnlyReads("store X may only be read")


def test_a_server_that_only_reads_is_not_competed_for_and_led_with() -> None:
    with a_probe([100.0], only_reads) as probe:
        assert probe.unfit_to_compete() == "store X may only be read"
        assert probe.unfit_to_lead() is None
        assert probe.unanswered() is None, "a leader stays ready"


def test_a_server_that_writes_is_competed_for_until_its_answer_is_old() -> None:
    clock = [100.0]
    with a_probe(clock, lambda: None) as probe:
        assert probe.unfit_to_compete() is None
        assert probe.unfit_to_lead() is None
        clock[0] += FRESH_S + 0.1
        assert probe.unfit_to_compete() is not None


def test_the_question_sees_a_server_that_only_reads_and_connects_anew(
    postgresql: PostgreSQL,
) -> None:
    database = postgresql.new_database()

    def set_read_only(value: str) -> None:
        words = f"ALTER DATABASE {database} SET default_transaction_read_only = {value}"
        with postgresql.administering() as connection:
            connection.execute(words.encode())

    first, second = (Question(postgresql.url(database)) for _ in range(2))
    try:
        first()
        set_read_only("on")
        with pytest.raises(OnlyReads, match="it is a standby") as raised:
            second()
        assert "s-password" not in str(raised.value)
        # A session that is open would keep what it began with.
        set_read_only("off")
        second()
    finally:
        first.close()
        second.close()
        postgresql.drop(database)
