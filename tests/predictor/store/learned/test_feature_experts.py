"""The feature expert and what runs asked for, in the store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from plimsoll_predictor.runtimes.features.asked import AskedRun
from plimsoll_predictor.runtimes.features.explanation import FeatureEffect, FeatureExplanation
from plimsoll_predictor.store import NewSighting, SightingKind, Store, UnsavedRuntimes
from plimsoll_predictor.store.database.schema import forecaster as table
from plimsoll_predictor.store.learned import feature_experts
from tests.builders.experts.feature_experts import an_expert
from tests.builders.runtimes.runtime_lives import NOON_S, TRAIN, a_run

EXPLANATION = FeatureExplanation(rows=3, effects=(FeatureEffect("rows", 0.1),), tasks=())
ASKED = AskedRun(requested_s=60.0, features={"rows": 3.0})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(f"sqlite:///{tmp_path}/store.db", clock=lambda: NOON_S)
    yield opened
    opened.close()


def submitted(uid: str, asked: AskedRun | None = ASKED) -> NewSighting:
    kind = SightingKind.SUBMITTED
    return NewSighting(task=TRAIN, kind=kind, attempt_uid=uid, at_s=NOON_S, asked=asked)


def kept_asked(store: Store) -> list[str]:
    keys = sa.select(table.c.key).where(table.c.key.startswith("asked/"))
    return list(store.database.values(keys))


def test_a_fitted_expert_serves_once_a_state_was_saved_with_it(store: Store) -> None:
    assert store.features.fitted() is None
    expert = an_expert()
    store.features.keep(expert, EXPLANATION, known=600)
    assert store.features.serving() is None
    assert store.runtimes.forecaster_for(TRAIN).expert is None
    fitted = store.features.fitted()
    assert fitted == expert.to_bytes()
    assert store.runtimes.save(UnsavedRuntimes(through=0, expert=fitted), {0})
    serving = store.runtimes.forecaster_for(TRAIN).expert
    assert serving is not None
    assert serving.to_bytes() == fitted
    assert store.features.explanation() == EXPLANATION
    # Another save keeps it, and so does a new beginning.
    assert store.runtimes.save(UnsavedRuntimes(through=0), {0})
    store.runtimes.begin_anew()
    assert store.features.serving() is not None


def test_a_failed_fit_is_told_and_leaves_what_was_fitted(store: Store) -> None:
    store.features.keep(an_expert(made_s=NOON_S), EXPLANATION, known=600)
    went_well = store.features.last_try()
    assert went_well is not None
    assert (went_well.at_s, went_well.known, went_well.failure) == (NOON_S, 600, None)
    store.features.record_failure(NOON_S + 9, 700, "no memory " * 100)
    failed = store.features.last_try()
    assert failed is not None
    assert failed.failure is not None
    assert failed.failure.startswith("no memory")
    assert len(failed.failure) <= 300
    assert store.features.fitted() is not None


def test_what_cannot_be_read_is_left_out(store: Store) -> None:
    with store.database.write() as connection:
        for key in ("serving", "explanation", "last-try"):
            row = {"key": f"{feature_experts.PREFIX}{key}", "state": b"damaged"}
            connection.execute(table.insert(), row)
    assert store.features.serving() is None
    assert store.features.explanation() is None
    assert store.features.last_try() is None
    assert store.runtimes.forecaster_for(TRAIN).expert is None


def test_what_a_living_run_asked_for_stands_beside_its_sighting_until_it_is_folded(
    store: Store,
) -> None:
    store.keep(seen=[submitted("a"), submitted("b", None), submitted("c")])
    first, second, third = store.runtimes.sightings(0)
    assert (first.asked, second.asked, third.asked) == (ASKED, None, ASKED)
    assert store.runtimes.save(UnsavedRuntimes(through=first.serial), {0})
    assert kept_asked(store) == ["asked/c"]
    assert store.runtimes.save(UnsavedRuntimes(through=third.serial), {first.serial})
    assert kept_asked(store) == []


def test_what_an_ended_run_asked_for_is_in_its_observation(store: Store) -> None:
    run = replace(
        a_run("a"), requested_s=60.0, request_cores=2.0, features={"rows": 3.0, "kind": "wide"}
    )
    store.observations.record([run])
    (ended,) = store.runtimes.sightings(0)
    assert ended.asked == AskedRun(requested_s=60.0, processors=2.0, features={"rows": 3.0})


def test_what_a_forgotten_task_asked_for_goes_with_the_next_save(store: Store) -> None:
    store.keep(seen=[submitted("a")])
    with store.database.write() as connection:
        connection.execute(sa.text("DELETE FROM sightings"))
    assert store.runtimes.save(UnsavedRuntimes(through=0), {0})
    assert kept_asked(store) == []
