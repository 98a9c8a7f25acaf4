"""A server that answers and does not write: no reason to take the lead, and none to give it up."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from plimsoll_operator.leadership import store_probe as store_probe_module
from plimsoll_operator.leadership.store_probe import (
    FRESH_S,
    LEAVES_AFTER_S,
    LoginRefused,
    OnlyReads,
    Question,
    StoreProbe,
)
from plimsoll_predictor.store import StoreError
from tests.rigs.servers.databases import PASSWORD, PostgreSQL

Answer = tuple[float, Callable[[], None]]
"""Seconds since the answer before, and the answer."""


@pytest.fixture(autouse=True)
def _asks_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_probe_module, "ASK_EVERY_S", 0.0)


@contextmanager
def a_probe(clock: list[float], *answers: Answer) -> Iterator[StoreProbe]:
    """One that got these answers, and now waits for the next."""
    turns: queue.SimpleQueue[Answer] = queue.SimpleQueue()

    def ask() -> None:
        after_s, answer = turns.get()
        clock[0] += after_s
        answer()

    probe = StoreProbe(ask, lambda: clock[0])
    try:
        for each in answers:
            probe.asked.clear()
            turns.put(each)
            assert probe.asked.wait(10)
        yield probe
    finally:
        probe.close()
        turns.put((0.0, writes))


def writes() -> None:
    pass


def only_reads() -> None:
    raise OnlyReads("store X may only be read")


def test_a_server_that_only_reads_is_not_competed_for_and_led_with() -> None:
    with a_probe([100.0], (LEAVES_AFTER_S, only_reads)) as probe:
        assert probe.unfit_to_compete() == "store X may only be read"
        assert probe.would_hand_over() is None
        assert probe.unanswered() is None, "a leader stays ready"


def test_a_server_that_writes_is_competed_for_until_its_answer_is_old() -> None:
    clock = [100.0]
    with a_probe(clock, (LEAVES_AFTER_S, writes)) as probe:
        assert probe.unfit_to_compete() is None
        assert probe.would_hand_over() is None
        clock[0] += FRESH_S + 0.1
        assert probe.unfit_to_compete() is not None


def refused() -> None:
    raise LoginRefused("store X: password authentication failed")


def away() -> None:
    raise StoreError("store X is not there")


@pytest.mark.parametrize(
    ("answers", "leads"),
    [
        pytest.param(
            [(0, refused), (15, refused)],
            False,
            id="one that refuses the password is left for a new start",
        ),
        pytest.param([(0, away), (600, away)], True, id="one that is away is waited for"),
        pytest.param(
            [(0, away), (600, refused), (10, refused)],
            True,
            id="one that was away and refuses the password at first is waited for",
        ),
        pytest.param(
            [(0, away), (600, refused), (10, refused), (10, refused)],
            False,
            id="one that was away and goes on to refuse the password is left",
        ),
        pytest.param(
            [(0, away), (600, refused), (10, away), (10, refused)],
            True,
            id="one that refuses the password now and then is waited for",
        ),
    ],
)
def test_a_silent_server_is_left_if_another_reaches_it_and(
    answers: list[Answer], leads: bool
) -> None:
    with a_probe([100.0], *answers) as probe:
        assert probe.would_hand_over() is not None
        assert (probe.unfit_to_lead() is None) == leads


def test_the_question_tells_a_password_that_is_refused_from_a_server_that_is_away(
    postgresql: PostgreSQL,
) -> None:
    wrong = postgresql.url("postgres", "127.0.0.1").replace(PASSWORD.replace("'", "%27"), "wrong")
    nobody = wrong.replace(f":{postgresql.port}/", ":1/")
    for url, error in ((wrong, LoginRefused), (nobody, StoreError)):
        question = Question(url)
        with pytest.raises(StoreError) as raised:
            question()
        assert type(raised.value) is error
        question.close()


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
