"""Items that are dealt to shares, there and back."""

from __future__ import annotations

import pytest

import plimsoll_chunks
from plimsoll_predictor.splitting.jobs import share_of


@pytest.mark.parametrize(
    ("items", "shares"), [(1, 1), (10, 3), (15, 16), (16, 16), (17, 16), (100, 7), (5, 1)]
)
def test_each_share_begins_with_its_longest_and_none_is_lost(items: int, shares: int) -> None:
    dealt = plimsoll_chunks.dealt(range(items), shares)
    assert sorted(dealt) == list(range(items))
    for index in range(shares):
        first, end = share_of(items, shares, index)
        assert dealt[first:end] == sorted(dealt[first:end])


def test_the_longest_of_all_are_in_as_many_shares() -> None:
    names = [f"file-{size}" for size in range(9, 0, -1)]
    dealt = plimsoll_chunks.dealt(names, 3)
    assert [dealt[share_of(9, 3, index)[0]] for index in range(3)] == names[:3]


def test_who_began_with_the_longest_goes_on_with_the_shortest_of_the_next() -> None:
    assert plimsoll_chunks.dealt(range(9), 3) == [0, 5, 6, 1, 4, 7, 2, 3, 8]


def test_shares_are_those_of_the_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLIMSOLL_SHARES", "4")
    assert plimsoll_chunks.dealt("abcdefgh") == plimsoll_chunks.dealt("abcdefgh", 4)
    monkeypatch.delenv("PLIMSOLL_SHARES")
    assert plimsoll_chunks.dealt("abcdefgh") == list("abcdefgh")


@pytest.mark.parametrize("url", ["", "http://127.0.0.1:9/"])
def test_of_no_items_a_pod_does_nothing_and_asks_nobody(url: str) -> None:
    """As with the formula: the Job of a day without input succeeds."""
    told = {"PLIMSOLL_ITEMS": "0", "PLIMSOLL_SHARES": "4", "JOB_COMPLETION_INDEX": "3"}
    worker = plimsoll_chunks.Worker.from_environment({**told, "PLIMSOLL_CHUNKS_URL": url})
    assert list(plimsoll_chunks.items(worker)) == []


def test_nothing_is_dealt_of_nothing() -> None:
    assert plimsoll_chunks.dealt([], 3) == []


STARTS = "0 9 18 20 22 23"


def test_of_shares_that_become_smaller_the_last_have_the_shortest_items(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PLIMSOLL_SHARES", "5")
    monkeypatch.setenv("PLIMSOLL_STARTS", STARTS)
    dealt = plimsoll_chunks.dealt(range(23))
    first, second = dealt[:9], dealt[9:18]
    assert sorted(dealt) == list(range(23))
    assert (first[0], second[0]) == (0, 1), "the longest of all are in the two that begin first"
    assert min(dealt[18:]) == 14, "and what begins last is short"
    for begin, end in ((0, 9), (9, 18), (18, 20), (20, 22)):
        assert dealt[begin:end] == sorted(dealt[begin:end])


def test_a_list_of_other_items_is_refused_where_they_are_dealt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PLIMSOLL_SHARES", "5")
    monkeypatch.setenv("PLIMSOLL_STARTS", STARTS)
    with pytest.raises(ValueError, match="PLIMSOLL_STARTS are not 5 shares of 24 items"):
        plimsoll_chunks.dealt(range(24))
    assert len(plimsoll_chunks.dealt(range(24), 3)) == 24, "nor are these this pod's shares"
