"""The record of leases as a document: read back after a restart, or refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_predictor.splitting.lease_records import from_document, to_document
from plimsoll_predictor.splitting.leases import Ack, Leases
from tests.builders.splitting.leases import a_worker, does, heard, leased


def _written() -> dict[str, Any]:
    """A record of 40 items: 5 are done, others are leased, free, or of a silent index."""
    leases = Leases(40, 4)
    first = leased(leases, a_worker("a", 0), most=5)
    does(leases, a_worker("a", 0), first)
    leased(leases, a_worker("a", 0), heard(first), most=5)
    leased(leases, a_worker("b", 1), most=5)
    leased(leases, a_worker("c", 2), most=5)
    leases.died("c")
    written: dict[str, Any] = json.loads(json.dumps(to_document(leases)))
    return written


def test_a_job_goes_on_after_a_restart() -> None:
    again = from_document(_written())
    assert (again.done, again.left, again.reserved) == (5, 25, 10)
    part = again.parts["a"]
    assert again.acknowledge(a_worker("a", 0), heard(leased(again, a_worker("a", 0))), 10) is (
        Ack.DONE
    )
    assert (part.first, part.leased, part.end) == (5, 8, 10)
    assert leased(again, a_worker("c-2", 2)).first == 20


def test_what_a_dead_worker_had_begun_is_its_shares_also_after_a_restart() -> None:
    again = from_document(_written())
    leased(again, a_worker("d", 3))
    assert again.begun == {20}
    assert leased(again, a_worker("another", 3)).first == 25
    held = leased(again, a_worker("c-2", 2), most=5)
    assert (held.first, held.items) == (20, 3)
    again.died("c-2")
    assert from_document(to_document(again)).begun == {20}


def test_a_part_that_was_begun_is_so_after_a_restart() -> None:
    first = from_document(_written())
    leased(first, a_worker("c-2", 2))
    again = from_document(json.loads(json.dumps(to_document(first))))
    assert again.parts == first.parts
    assert again.parts["c-2"].held == 25


def test_a_record_of_an_older_version_is_read() -> None:
    written = _written()
    del written["begun"]
    for part in written["parts"]:
        del part["held"]
    again = from_document(written)
    assert (again.left, again.begun) == (25, set())


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"done": 6}, id="more done than is"),
        pytest.param({"items": 44}, id="more items"),
        pytest.param({"items": 0}, id="no items"),
        pytest.param({"items": "40"}, id="items are text"),
        pytest.param({"shares": 0}, id="no shares"),
        pytest.param({"free": [[20, 41]]}, id="free is more than the job"),
        pytest.param({"free": [[15, 30]]}, id="an item is there twice"),
        pytest.param({"free": [[30, 20]]}, id="an end before its beginning"),
        pytest.param({"number": 1}, id="a lease of the future"),
        pytest.param({"parts": []}, id="a part is lost"),
        pytest.param({"silent": [4]}, id="an index that it does not have"),
        pytest.param({"silent": [3, 3]}, id="an index twice"),
        pytest.param({"begun": [21]}, id="what was begun is not free"),
        pytest.param({"last": {"x" * 300: 1}}, id="a name that no pod has"),
    ],
)
def test_a_document_that_does_not_add_up_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"the leases of a job|a job of"):
        from_document({**_written(), **changed})


@pytest.mark.slow
@given(st.recursive(st.none() | st.integers() | st.text(), lambda x: st.lists(x, max_size=3)))
def test_what_is_no_record_is_refused(document: object) -> None:
    with pytest.raises(ValueError, match="the leases of a job"):
        from_document(document)


def test_the_record_of_ten_million_items_and_many_workers_is_small() -> None:
    leases = Leases(10**7, 64)
    for index in range(64):
        worker = a_worker(f"scan-{index}-abcde", index)
        does(leases, worker, leased(leases, worker))
        leased(leases, worker)
    assert len(json.dumps(to_document(leases))) < 20_000
