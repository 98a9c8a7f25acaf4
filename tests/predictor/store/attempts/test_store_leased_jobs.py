"""Records of leased Jobs, as they are read back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from plimsoll_predictor.store import Store
from plimsoll_predictor.store.attempts.leased_jobs import KEPT_S
from tests.builders.stores import JOIN, NOON_S, TRAIN, open_store_at


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    opened = open_store_at(store_url)
    yield opened
    opened.close()


def test_a_record_replaces_the_one_before_and_goes_with_its_job(store: Store) -> None:
    records = store.leased_jobs
    records.put("shop/a/1", {"done": 1})
    records.put("shop/a/1", {"done": 2})
    records.put("shop/b/1", {"done": 3})
    assert records.open() == ["shop/a/1", "shop/b/1"]
    assert records.get("shop/a/1") == {"done": 2}
    records.close("shop/a/1", TRAIN, {"times": 1})
    assert (records.get("shop/a/1"), records.open()) == (None, ["shop/b/1"])


def test_what_a_job_taught_stays_until_its_task_is_forgotten(store: Store) -> None:
    records = store.leased_jobs
    for number in (1, 2):
        records.close(f"shop/a/{number}", TRAIN, {"run": number})
    records.close("shop/a/3", TRAIN, None)
    assert records.taught(TRAIN) == {"run": 2}
    assert records.taught(JOIN) is None
    assert store.erase(TRAIN) == 1
    assert records.taught(TRAIN) is None


def test_what_a_job_taught_is_added_once_also_if_it_is_closed_again(store: Store) -> None:
    records = store.leased_jobs
    for number in (1, 2):
        records.put(f"shop/a/{number}", {})

    def added(known: object) -> dict[str, int]:
        return {"jobs": 1 if not isinstance(known, dict) else known["jobs"] + 1}

    assert records.close_with("shop/a/1", TRAIN, added) == {"jobs": 1}
    assert records.close_with("shop/a/2", TRAIN, added) == {"jobs": 2}
    assert records.close_with("shop/a/2", TRAIN, added) == {"jobs": 2}
    assert (records.taught(TRAIN), records.open()) == ({"jobs": 2}, [])
    assert records.close_with("shop/a/2", JOIN, added) is None


def test_a_record_that_nobody_writes_any_more_is_deleted_in_the_end(store: Store) -> None:
    store.leased_jobs.put("shop/a/1", {})
    list(store.prune_steps(NOON_S + KEPT_S - 1))
    assert store.leased_jobs.open() == ["shop/a/1"]
    list(store.prune_steps(NOON_S + KEPT_S + 1))
    assert store.leased_jobs.open() == []
