"""A column of observations is described in one place: the rest follows from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from plimsoll_predictor.core.record import (
    COLUMNS,
    Cause,
    Column,
    Observation,
    Outcome,
    PeakSource,
    Unit,
)
from plimsoll_predictor.placing.kinds import UNLABELLED
from plimsoll_predictor.store import Store
from plimsoll_predictor.tables.history import read_history, write_history
from tests.builders.stores import JOIN, NOON_S, TRAIN, open_store_at

LIVE_ONLY = {
    "kernel_peak_bytes",
    "working_set_peak_bytes",
    "anon_peak_bytes",
    "model_version",
    "node_memory_bytes",
    "node_cpu",
}
"""Only Plimsoll's own watching knows these; a history file never had them."""


def value_of(place: int, column: Column) -> object:
    """A value that no other column has."""
    if column.unit is Unit.TEXT:
        return f"text {place}"
    if column.unit is Unit.CAUSE:
        return Cause.JVM
    return place + 1 if column.unit in (Unit.BYTES, Unit.PODS, Unit.EXIT_CODE) else place + 1.5


def full() -> Observation:
    values: dict[str, Any] = {
        each.name: value_of(place, each) for place, each in enumerate(COLUMNS)
    }
    return Observation(
        attempt_uid="uid",
        task=TRAIN,
        run="run",
        attempt=2,
        features={"rows": 18234.0, "region": "eu"},
        outcome=Outcome.FAILED,
        peak_source=PeakSource.IMPORTED,
        neighbours=("shop/other",),
        beside={"shop/other": 0.5},
        **values,
    )


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    opened = open_store_at(store_url)
    yield opened
    opened.close()


def test_every_field_is_filled_by_the_builder() -> None:
    left_out = Observation(attempt_uid="", task=JOIN, run="", outcome=Outcome.EVICTED)
    names = [each.name for each in fields(Observation)]
    assert [name for name in names if getattr(full(), name) == getattr(left_out, name)] == []


def test_every_field_is_stored_and_read_back(store: Store) -> None:
    store.observations.record([full()])
    assert store.observations.of_task(TRAIN) == [full()]


def test_every_column_is_amended_by_what_is_known_later(store: Store) -> None:
    unknown: dict[str, Any] = dict.fromkeys(each.name for each in COLUMNS)
    store.observations.record([replace(full(), **unknown)])
    store.observations.record([full()])
    assert store.observations.of_task(TRAIN) == [full()]


def test_what_ran_beside_it_stays_as_it_was_seen_first(store: Store) -> None:
    for seen in (None, {"shop/other": 0.5}, {}, None):
        store.observations.record([replace(full(), beside=seen)])
    assert store.observations.of_task(TRAIN) == [full()]


@pytest.mark.slow
def test_the_use_of_its_node_costs_an_observation_some_bytes(tmp_path: Path) -> None:
    def stored_bytes(name: str, **used: Any) -> int:
        store = open_store_at(f"sqlite:///{tmp_path}/{name}.db")
        plain = replace(full(), beside={"shop/other": 0.5}, node_use_cpu_share=None)
        plain = replace(plain, node_use_memory_share=None)
        runs = [replace(plain, attempt_uid=f"uid-{n:05}", **used) for n in range(2_000)]
        store.observations.record(runs)
        store.close()
        return (tmp_path / f"{name}.db").stat().st_size

    used = {"node_use_cpu_share": 0.4321, "node_use_memory_share": 0.1234}
    beside = {"shop/other": 0.5, UNLABELLED: 1.234}
    grown = stored_bytes("with", **used, beside=beside) - stored_bytes("without")
    assert 0 < grown <= 2_000 * 48


@pytest.mark.parametrize("name", ["h.csv", "h.csv.gz", "h.parquet"])
def test_every_field_is_exported_and_imported_but_what_only_watching_tells(
    tmp_path: Path, name: str
) -> None:
    times = [each.name for each in COLUMNS if each.unit is Unit.TIME]
    ours: dict[str, Any] = {each: NOON_S + place for place, each in enumerate(times)}
    write_history(tmp_path / name, lambda: [[replace(full(), **ours)]])
    unexported: dict[str, Any] = dict.fromkeys(LIVE_ONLY)
    expected = replace(full(), **ours, neighbours=(), beside=None, **unexported)
    assert list(read_history(tmp_path / name)) == [expected]
