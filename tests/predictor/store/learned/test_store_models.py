"""Models and trainings: the newest serves, a damaged one is set aside, failures remove none."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import orjson
import pytest
import sqlalchemy as sa

from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import BadRecordError, Begun, Store, TaskSummary
from plimsoll_predictor.store.database.schema import trainings
from tests.builders.stores import JOIN, NOON_S, TRAIN, an_attempt, open_store_at
from tests.builders.training.models import a_model


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    opened = open_store_at(store_url)
    yield opened
    opened.close()


def damage(store: Store, **columns: str | None) -> None:
    with store.database.write() as connection:
        connection.execute(trainings.update().values(**columns))


def test_a_model_comes_back_as_it_was_saved(store: Store) -> None:
    store.models.save(TRAIN, a_model(), {"folds": 5})
    saved = store.models.newest(TRAIN)
    assert saved is not None
    assert (saved.model, saved.report, saved.trained_s) == (a_model(), {"folds": 5}, NOON_S)
    assert store.models.newest(JOIN) is None


def test_a_training_may_find_that_no_model_is_of_use(store: Store) -> None:
    store.models.save(TRAIN, None, {})
    saved = store.models.newest(TRAIN)
    assert saved is not None
    assert saved.model is None


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("classifier", id="who was the cheapest out of time"),
        pytest.param("quantile", id="an expert of another version"),
        pytest.param(None, id="nobody"),
    ],
)
def test_whom_an_older_version_held_to_be_the_champion_is_ignored(
    store: Store, name: str | None
) -> None:
    store.models.save(TRAIN, a_model(), {})
    damage(store, champion=name)
    saved = store.models.newest(TRAIN)
    assert saved is not None
    assert saved.model == a_model()


def test_an_older_version_that_is_gone_back_to_can_read_a_training(store: Store) -> None:
    """It knows three experts, and reads no model whose training names another or none."""
    store.models.save(TRAIN, a_model(), {})
    with store.database.read() as connection:
        name = connection.execute(sa.select(trainings.c.champion)).scalar_one()
    assert name in {"request", "max-seen", "classifier"}


def test_the_newest_model_serves(store: Store) -> None:
    store.models.save(TRAIN, a_model(512), {})
    store.models.save(TRAIN, a_model(256), {})
    saved = store.models.newest(TRAIN)
    assert saved is not None
    assert saved.model == a_model(256)


def test_a_failed_training_leaves_the_old_model_serving(store: Store) -> None:
    store.models.save(TRAIN, a_model(), {})
    store.trainings.record_failure(TRAIN, "killed by signal 9", NOON_S + 5)
    saved, last = store.models.newest(TRAIN), store.trainings.last(TRAIN)
    assert saved is not None
    assert saved.model == a_model()
    assert last is not None
    assert (last.failure, last.at_s, last.version) == ("killed by signal 9", NOON_S + 5, None)


def test_a_training_tells_what_was_known_when_it_began(store: Store) -> None:
    store.observations.record([an_attempt("a").built, an_attempt("b").built])
    began = Begun(store.totals.of(TRAIN))
    store.observations.record([an_attempt("meanwhile").built])
    store.models.save(TRAIN, a_model(), {}, began=began)
    last = store.trainings.last(TRAIN)
    assert last is not None
    assert (last.failure, last.observations, last.runs, last.oom_kills) == (None, 2, 2, 0)


def test_a_task_never_trained_has_no_last_training(store: Store) -> None:
    assert store.trainings.last(TRAIN) is None
    assert store.trainings.newest(TRAIN) == []


@pytest.mark.slow
def test_the_history_of_trainings_is_bounded_and_newest_first(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plimsoll_predictor.store.learned.trainings.KEPT_TRAININGS", 20)
    monkeypatch.setattr("plimsoll_predictor.store.learned.trainings.KEPT_FAILURES", 5)
    for number in range(25):
        store.models.save(TRAIN, a_model(), {"number": number})
        store.trainings.record_failure(TRAIN, f"failure {number}", NOON_S)
    found = store.trainings.newest(TRAIN, limit=100)
    reports = [each.report for each in found if each.failure is None]
    assert reports == [{"number": number} for number in range(24, 4, -1)]
    failures = [each.failure for each in store.trainings.newest(TRAIN, limit=1)]
    assert failures == ["failure 24"]
    with store.database.read() as connection:
        rows = connection.execute(trainings.select()).all()
    assert len(rows) == 25
    assert sum(row.model is not None for row in rows) == 3


@pytest.mark.parametrize(
    "columns",
    [
        pytest.param({"model": "{torn"}, id="no JSON"),
        pytest.param({"model": "[]"}, id="another document"),
        pytest.param({"model": orjson.dumps({"format": "other"}).decode()}, id="another format"),
        pytest.param({"model": None}, id="lost"),
        pytest.param({"report": "{torn"}, id="a torn report"),
    ],
)
def test_a_damaged_model_is_logged_set_aside_and_not_served(
    store: Store, columns: dict[str, str | None], caplog: pytest.LogCaptureFixture
) -> None:
    store.models.save(TRAIN, a_model(), {})
    damage(store, **columns)
    with caplog.at_level(logging.ERROR):
        assert store.models.newest(TRAIN) is None
    assert "task shop/train-demand: its model cannot be read and is set aside" in caplog.text
    caplog.clear()
    assert store.models.newest(TRAIN) is None
    assert caplog.text == ""
    last = store.trainings.last(TRAIN)
    assert last is not None
    assert last.damage is not None


def test_a_model_that_only_an_older_version_could_not_read_serves_again(store: Store) -> None:
    store.models.save(TRAIN, a_model(), {})
    damage(store, damage="ModelError: the model has format 99; update Plimsoll")
    saved = store.models.newest(TRAIN)
    assert saved is not None
    assert saved.model == a_model()
    last = store.trainings.last(TRAIN)
    assert last is not None
    assert last.damage is None


def test_a_model_with_a_changed_byte_is_not_served(store: Store) -> None:
    store.models.save(TRAIN, a_model(512), {})
    text = orjson.dumps(a_model(512).to_dict()).decode()
    damage(store, model=text.replace(str(512 * 2**20), str(513 * 2**20)))
    assert store.models.newest(TRAIN) is None


def test_a_model_after_a_damaged_one_serves(store: Store) -> None:
    store.models.save(TRAIN, a_model(512), {})
    damage(store, model="{torn")
    store.models.save(TRAIN, a_model(256), {}, began=Begun(TaskSummary(task=TRAIN)))
    saved = store.models.newest(TRAIN)
    assert saved is not None
    assert saved.model == a_model(256)


def test_a_report_that_is_no_json_is_refused_in_words(store: Store) -> None:
    with pytest.raises(BadRecordError, match="report is not plain JSON"):
        store.models.save(TRAIN, None, {"clock": object()})


@pytest.mark.slow
def test_the_models_of_all_tasks_are_those_of_each(store: Store) -> None:
    for number in range(45):
        task = TaskId("shop", f"t{number:02}")
        store.models.save(task, a_model(512), {"runs": number})
        store.models.save(task, a_model(256), {"runs": number})
        store.trainings.record_failure(task, "later, and not what serves", NOON_S)
    found = dict(store.models.serving())
    assert len(found) == 45
    assert found == {task: store.models.newest(task) for task in found}


def test_a_damaged_model_is_left_out_of_all_and_set_aside(store: Store) -> None:
    store.models.save(TRAIN, a_model(), {})
    damage(store, model="{")
    store.models.save(JOIN, a_model(), {})
    assert set(dict(store.models.serving())) == {JOIN}
    [outcome] = store.trainings.newest(TRAIN)
    assert outcome.damage is not None
