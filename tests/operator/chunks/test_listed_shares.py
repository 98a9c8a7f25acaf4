"""A worker whose Job lists where the items of its pods begin."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import plimsoll_chunks
from plimsoll_operator.pods.chunk_starts import own_items, sizes_in, starts_text

TOLD = {"PLIMSOLL_ITEMS": "64", "PLIMSOLL_SHARES": "5", "JOB_COMPLETION_INDEX": "2"}
STARTS = "0 27 54 58 62 64"


def read(**told: str) -> plimsoll_chunks.Worker:
    return plimsoll_chunks.Worker.from_environment({**TOLD, **told})


def test_it_does_its_part_of_the_list() -> None:
    assert list(plimsoll_chunks.items(read(PLIMSOLL_STARTS=STARTS))) == [54, 55, 56, 57]
    last = read(PLIMSOLL_STARTS=STARTS, JOB_COMPLETION_INDEX="4")
    assert list(plimsoll_chunks.ranges(last)) == [(62, 2)]


@pytest.mark.parametrize("told", [{}, {"PLIMSOLL_STARTS": ""}], ids=["absent", "empty"])
def test_without_a_list_shares_are_even(told: dict[str, str]) -> None:
    assert read(**told).share() == (25, 13)


def test_who_has_a_list_leases_nothing() -> None:
    """A worker that leases assumes even shares: with a list, nobody would do some items."""
    worker = read(PLIMSOLL_STARTS=STARTS, PLIMSOLL_CHUNKS_URL="http://127.0.0.1:9")
    assert worker.url is None
    assert read(PLIMSOLL_STARTS="", PLIMSOLL_CHUNKS_URL="http://127.0.0.1:9").url is not None


def test_a_share_without_items_is_nothing_to_do() -> None:
    worker = read(PLIMSOLL_STARTS="0 27 54 54 62 64")
    assert list(plimsoll_chunks.ranges(worker)) == []


@pytest.mark.parametrize(
    "starts",
    [
        pytest.param("0 27 54 58 64", id="of fewer pods"),
        pytest.param("0 27 54 58 62 63 64", id="of more pods"),
        pytest.param("1 27 54 58 62 64", id="not from the first item"),
        pytest.param("0 27 54 58 62 65", id="of more items"),
        pytest.param("0 27 54 53 62 64", id="which falls"),
        pytest.param("0 27 54 -58 62 64", id="below zero"),
        pytest.param("0,27,54,58,62,64", id="with commas"),
        pytest.param("0 27 54 5.8e1 62 64", id="of no whole numbers"),
        pytest.param(" ", id="of spaces"),
        pytest.param("64", id="of one number"),
    ],
)
def test_a_list_that_makes_no_sense_is_refused_by_all_who_read_it(starts: str) -> None:
    with pytest.raises(ValueError, match="PLIMSOLL_STARTS are not 5 shares of 64 items"):
        read(PLIMSOLL_STARTS=starts)
    assert sizes_in(starts, 64, 5) is None


@pytest.mark.slow
@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=40).filter(any))
def test_all_pods_of_a_list_do_each_item_once_and_teach_how_many_they_did(
    sizes: list[int],
) -> None:
    total, text = sum(sizes), starts_text(sizes)
    assert sizes_in(text, total, len(sizes)) == tuple(sizes)
    ends = [0]
    for index, items in enumerate(sizes):
        told = {"PLIMSOLL_ITEMS": str(total), "PLIMSOLL_SHARES": str(len(sizes))}
        worker = read(**told, PLIMSOLL_STARTS=text, JOB_COMPLETION_INDEX=str(index))
        first, count = worker.share()
        ends.append(first + count)
        assert (first, count) == (ends[-2], items)
        annotated = {"batch.kubernetes.io/job-completion-index": str(index)}
        assert own_items({"metadata": {"annotations": annotated}}, text) == items
        assert own_items({"metadata": {"labels": annotated}}, text) == items
    assert all(one <= other for one, other in pairwise(ends))
    assert ends[-1] == total
