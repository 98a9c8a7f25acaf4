"""Forecasters read from the store: for some tasks, as the one that learned them all."""

from __future__ import annotations

import sqlalchemy as sa

from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.runtimes.forecasting.forecaster import Forecaster
from plimsoll_predictor.store import OpenForecast, UnsavedRuntimes
from tests.builders.stores import JOIN, NOON_S, TRAIN, open_store_at


def test_a_forecaster_for_one_task_forecasts_as_the_one_that_learned(store_url: str) -> None:
    store, learned = open_store_at(store_url), a_learned_forecaster()
    changes = UnsavedRuntimes(
        through=1,
        tasks={str(task): learned.state.task(str(task)) for task in (TRAIN, JOIN)},
        owners={"shop": learned.state.owner("shop")},
        shared=learned.state.shared(),
    )
    store.runtimes.save(changes, {0})
    alone = store.runtimes.forecaster_for(TRAIN)
    at_s = NOON_S + 9999
    asked, ours = (each.forecast(str(TRAIN), "shop", at_s) for each in (learned, alone))
    assert ours.to_dict() == asked.to_dict()
    assert alone.forecast(str(JOIN), "shop", at_s).known_runs == 0, "only what was asked for"
    nobody = store.runtimes.forecaster_for(TaskId("lab", "new")).forecast("lab/new", "lab", at_s)
    assert nobody.known_runs == 0
    store.close()


def test_a_forecaster_for_many_tasks_reads_open_runs_once(store_url: str) -> None:
    store, learned = open_store_at(store_url), a_learned_forecaster()
    tasks, at_s = [TRAIN, JOIN, *(TaskId("shop", f"t{n}") for n in range(98))], NOON_S + 9999
    opened = [
        OpenForecast(
            attempt_uid=f"{task}-{number}",
            task=task,
            submitted_s=at_s - 900,
            started_s=at_s - 800 - number if number else None,
            announced_s=None,
            forecast={},
            state=b"",
        )
        for task in tasks
        for number in range(3)
    ]
    changes = UnsavedRuntimes(
        through=1,
        tasks={str(task): learned.state.task(str(task)) for task in (TRAIN, JOIN)},
        owners={"shop": learned.state.owner("shop")},
        shared=learned.state.shared(),
        forecasts=opened,
    )
    store.runtimes.save(changes, {0})
    asked: list[str] = []
    sa.event.listen(
        store.database.engine,
        "before_cursor_execute",
        lambda _connection, _cursor, statement, *_rest: asked.append(statement),
    )
    together = store.runtimes.forecaster_for(*tasks)
    assert len([each for each in asked if "kept_forecasts" in each]) == 1
    for task in tasks:
        alone = store.runtimes.forecaster_for(task)
        ours, alones = (each.forecast(str(task), "shop", at_s) for each in (together, alone))
        assert ours.to_dict() == alones.to_dict()
    without = learned.forecast(str(TRAIN), "shop", at_s).to_dict()
    assert together.forecast(str(TRAIN), "shop", at_s).to_dict() != without, "runs are open"
    store.close()


def a_learned_forecaster() -> Forecaster:
    learned = Forecaster()
    for number in range(40):
        at_s = NOON_S + 100 * number
        learned.learn(str(TRAIN), "shop", 60.0 + number % 7, at_s)
        learned.learn(str(JOIN), "shop", 600.0 + number % 5, at_s)
    return learned


def test_a_part_that_cannot_be_read_costs_only_itself(store_url: str) -> None:
    store, learned = open_store_at(store_url), a_learned_forecaster()
    changes = UnsavedRuntimes(
        through=1,
        tasks={str(TRAIN): learned.state.task(str(TRAIN))},
        owners={"shop": b"\xff"},
        shared=b"nonsense",
    )
    store.runtimes.save(changes, {0})
    found = store.runtimes.forecaster_for(TRAIN).forecast(str(TRAIN), "shop", NOON_S + 9999)
    assert found.known_runs == 40
    store.close()
