"""Trainings in a real MLflow server."""

from __future__ import annotations

import json
from typing import Any

import pytest

from plimsoll_operator.training.mlflow_client import TrackingError
from plimsoll_operator.training.tracking import MAX_STRIKES
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import Store
from plimsoll_predictor.training.train import TrainingResult
from tests.builders.training.tracked import a_noisy_training, logging_to, save
from tests.tracking.servers import Mlflow

NOON_S = 1_700_000_000.0


@pytest.fixture(scope="module")
def trained() -> TrainingResult:
    return a_noisy_training()


def told(pairs: list[dict[str, Any]]) -> dict[str, Any]:
    return {pair["key"]: pair["value"] for pair in pairs}


async def test_a_training_is_logged_with_all_that_is_known_of_it(
    mlflow: Mlflow, store: Store, trained: TrainingResult
) -> None:
    save(store, "all/known", trained)
    async with logging_to(mlflow.address, store) as logging:
        assert not await logging.tracker.log_waiting()
    assert logging.counted == ["logged"]
    report = trained.report
    assert report.recipe is not None
    assert report.recipe.u_score > 0, "the fixture must not be perfect"
    [run] = mlflow.runs("plimsoll/all/known")
    info, data = run["info"], run["data"]
    assert (info["status"], info["run_name"]) == ("FINISHED", trained.model.version)
    params, tags, metrics = told(data["params"]), told(data["tags"]), told(data["metrics"])
    assert params["seed"] == "7"
    assert params["classifier"] == report.recipe.classifier
    assert params["data_first"] == "2023-11-14T22:13:20Z"
    assert params["policy.penalty"] == "10.0"
    for name, value in report.recipe.parameters.items():
        assert float(params[f"classifier.{name}"]) == pytest.approx(value)
    assert metrics["u_score"] == pytest.approx(report.recipe.u_score)
    assert metrics["accuracy"] == pytest.approx(report.recipe.accuracy)
    assert metrics["runs"] == 80
    for expert, cost in report.out_of_time_costs.items():
        assert metrics[f"out_of_time_cost_gb_h.{expert}"] == pytest.approx(cost.cost_gb_h)
    assert tags["plimsoll.task"] == "all/known"
    assert json.loads(tags["plimsoll.confusion"]) == [list(row) for row in report.confusion]
    [training] = store.trainings.newest(TaskId("all", "known"))
    assert training.tracked == info["run_id"]


async def test_folds_and_trials_are_steps_of_their_metrics(
    mlflow: Mlflow, store: Store, trained: TrainingResult
) -> None:
    save(store, "its/steps", trained)
    async with logging_to(mlflow.address, store) as logging:
        await logging.tracker.log_waiting()
    [run] = mlflow.runs("plimsoll/its/steps")
    run_id, report = run["info"]["run_id"], trained.report
    assert len(report.fold_scores) == 3
    assert mlflow.history(run_id, "fold_u_score") == pytest.approx(
        {step: fold.u_score for step, fold in enumerate(report.fold_scores, start=1)}
    )
    u_scores = [trial.u_score for trial in report.trials]
    assert mlflow.history(run_id, "trial_u_score") == pytest.approx(dict(enumerate(u_scores, 1)))
    assert mlflow.history(run_id, "best_u_score")[len(u_scores)] == pytest.approx(min(u_scores))


async def test_report_and_confusion_are_artifacts_where_the_server_stores_them(
    mlflow: Mlflow, store: Store, trained: TrainingResult
) -> None:
    save(store, "its/artifacts", trained)
    async with logging_to(mlflow.address, store) as logging:
        await logging.tracker.log_waiting()
    [run] = mlflow.runs("plimsoll/its/artifacts")
    run_id = run["info"]["run_id"]
    assert mlflow.artifact(run_id, "report.json")["seed"] == 7
    confusion = mlflow.artifact(run_id, "confusion.json")
    assert confusion["runs"] == [list(row) for row in trained.report.confusion]
    assert confusion["ceilings_bytes"] == list(trained.report.ceilings_bytes)


async def test_where_clients_store_artifacts_themselves_the_rest_is_logged(
    mlflow: Mlflow, store: Store, trained: TrainingResult
) -> None:
    mlflow.make_experiment("plimsoll/in/bucket", "s3://nobodys-bucket/experiments")
    save(store, "in/bucket", trained)
    async with logging_to(mlflow.address, store) as logging:
        await logging.tracker.log_waiting()
    [run] = mlflow.runs("plimsoll/in/bucket")
    assert run["info"]["artifact_uri"].startswith("s3://")
    assert run["info"]["status"] == "FINISHED"
    assert json.loads(told(run["data"]["tags"])["plimsoll.confusion"])


async def test_a_failed_training_is_a_failed_run_in_words(mlflow: Mlflow, store: Store) -> None:
    task = TaskId("it", "fails")
    store.trainings.record_failure(task, "killed by signal 9", NOON_S, report={"seed": 3})
    async with logging_to(mlflow.address, store) as logging:
        await logging.tracker.log_waiting()
    [run] = mlflow.runs("plimsoll/it/fails")
    assert run["info"]["status"] == "FAILED"
    assert run["info"]["end_time"] == NOON_S * 1000
    assert told(run["data"]["tags"])["plimsoll.failure"] == "killed by signal 9"
    assert told(run["data"]["params"])["seed"] == "3"


async def test_a_training_whose_logging_was_not_noted_is_logged_once(
    mlflow: Mlflow, store: Store, trained: TrainingResult
) -> None:
    save(store, "only/once", trained)
    async with logging_to(mlflow.address, store) as logging:
        await logging.tracker.log_waiting()
        with store.database.write() as connection:
            connection.exec_driver_sql("UPDATE trainings SET tracked = NULL")
        await logging.tracker.log_waiting()
    [run] = mlflow.runs("plimsoll/only/once")
    assert mlflow.history(run["info"]["run_id"], "fold_u_score").keys() == {1, 2, 3}
    assert logging.counted == ["logged", "logged"]


async def test_several_trainings_of_several_tasks_are_runs_of_their_experiments(
    mlflow: Mlflow, store: Store, trained: TrainingResult
) -> None:
    for task in ("many/one", "many/two", "many/one"):
        save(store, task, trained)
    async with logging_to(mlflow.address, store) as logging:
        await logging.tracker.log_waiting()
    assert len(mlflow.runs("plimsoll/many/one")) == 2
    assert len(mlflow.runs("plimsoll/many/two")) == 1
    assert store.trainings.untracked() == []


async def test_odd_names_and_endless_texts_reach_the_server_within_its_limits(
    mlflow: Mlflow, store: Store
) -> None:
    task = TaskId("odd", "names")
    report = {
        "features": [f"feature-{number}-{'ü' * 100}" for number in range(200)],
        "out_of_time_costs": {"quantile 95% (größer)": {"cost_gb_h": 2.5, "failed_attempts": 1}},
        "policy": {f"setting{number}": number for number in range(300)},
        "confusion": [[9, 1], [0, 4]],
        "trials": "torn",
    }
    store.models.save(task, None, report)
    async with logging_to(mlflow.address, store) as logging:
        await logging.tracker.log_waiting()
    [run] = mlflow.runs("plimsoll/odd/names")
    assert logging.counted == ["logged"]
    assert told(run["data"]["metrics"])["out_of_time_cost_gb_h.quantile 95_ _gr__er_"] == 2.5
    assert len(run["data"]["params"]) == 100


async def test_a_deleted_experiment_is_left_alone_and_others_are_logged(
    mlflow: Mlflow, store: Store, trained: TrainingResult
) -> None:
    deleted = mlflow.make_experiment("plimsoll/gone/task")
    mlflow.ask("POST", "api/2.0/mlflow/experiments/delete", {"experiment_id": deleted})
    save(store, "gone/task", trained)
    save(store, "here/task", trained)
    async with logging_to(mlflow.address, store) as logging:
        await logging.tracker.log_waiting()
    assert logging.counted == ["refused", "logged"]
    [training] = store.trainings.newest(TaskId("gone", "task"))
    assert training.tracked is not None
    assert "the experiment 'plimsoll/gone/task' is deleted; restore or purge it" in training.tracked
    assert len(mlflow.runs("plimsoll/here/task")) == 1


async def test_a_folder_the_server_cannot_write_gives_up_that_training_after_some_tries(
    mlflow: Mlflow, store: Store, trained: TrainingResult
) -> None:
    experiment = mlflow.make_experiment("plimsoll/cannot/write")
    artifacts = mlflow.log_file.parent / "artifacts"
    artifacts.mkdir(exist_ok=True)
    (artifacts / experiment).write_text("a file where the server wants a folder")
    save(store, "cannot/write", trained)
    save(store, "after/it", trained)
    async with logging_to(mlflow.address, store) as logging:
        for _ in range(MAX_STRIKES - 1):
            with pytest.raises(TrackingError, match="answers 500"):
                await logging.tracker.log_waiting()
        await logging.tracker.log_waiting()
    assert logging.counted[-2:] == ["refused", "logged"]
    assert len(mlflow.runs("plimsoll/after/it")) == 1
