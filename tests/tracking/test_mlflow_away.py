"""A tracking server that is away, slow, or refuses everybody does not affect trainings."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client import generate_latest

from plimsoll_operator.controller.settings import ControllerSettings
from plimsoll_operator.credentials.token_file import UnusableToken
from plimsoll_operator.metrics.controller import ControllerMetrics
from plimsoll_operator.training.mlflow_client import (
    MlflowServer,
    TrackingAddressError,
    TrackingError,
)
from plimsoll_operator.training.queue import QueueRules, Trained, TrainingQueue
from plimsoll_operator.training.spawning import Spawner
from plimsoll_operator.training.tracking import Outbox, TrackingRules, tracking
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import Store, Writer
from tests.builders.stores import TRAIN, fill
from tests.builders.training.tracked import QUICK, Logging, logging_to
from tests.rigs.servers.ports import free_port
from tests.tracking.servers import Gate, Mlflow

NOON_S = 1_700_000_000.0


def fail(store: Store, task: str, times: int = 1) -> None:
    """Trainings that are cheap to make."""
    for number in range(times):
        store.trainings.record_failure(TaskId.parse(task), f"failure {number}", NOON_S + number)


async def until(done: Callable[[], bool]) -> None:
    async with asyncio.timeout(180):
        while not done():
            await asyncio.sleep(0.02)


@asynccontextmanager
async def running(logging: Logging) -> AsyncIterator[None]:
    work = asyncio.create_task(logging.tracker.run())
    try:
        yield
    finally:
        work.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await work


async def test_a_server_that_was_away_gets_what_it_missed(mlflow: Mlflow, store: Store) -> None:
    gate = Gate(mlflow)
    fail(store, "was/away", times=3)
    async with logging_to(gate.address, store) as logging, running(logging):
        await until(lambda: logging.counted.count("failed") >= 2)
        assert logging.tracker.trouble is not None
        assert f"127.0.0.1:{gate.port}/ does not answer" in logging.tracker.trouble
        await gate.open()
        try:
            await until(lambda: logging.counted.count("logged") == 3)
            await until(lambda: logging.tracker.trouble is None)
        finally:
            await gate.shut()
    assert len(mlflow.runs("plimsoll/was/away")) == 3
    assert store.trainings.untracked() == []


async def test_a_frozen_server_holds_up_one_call_for_its_time_limit(
    mlflow: Mlflow, store: Store
) -> None:
    fail(store, "is/frozen")
    with mlflow.frozen():
        async with logging_to(mlflow.address, store, timeout_s=0.5) as logging:
            began_s = time.monotonic()
            with pytest.raises(TrackingError, match="does not answer"):
                await logging.tracker.log_waiting()
            assert time.monotonic() - began_s < 10
    assert logging.counted == ["failed"]


async def test_a_training_while_the_server_is_frozen_succeeds_and_is_logged_later(
    mlflow: Mlflow, tmp_path: Path
) -> None:
    database = tmp_path / "store.db"
    fill(database, 40)
    store = Store.open(str(database))
    ended: asyncio.Future[Trained] = asyncio.get_running_loop().create_future()

    async def keep(result: Trained) -> None:
        ended.set_result(result)

    async with logging_to(mlflow.address, store, timeout_s=1.0) as logging, running(logging):
        with mlflow.frozen():
            spawner = Spawner(store_url=str(database), budget_s=1.0)
            queue = TrainingQueue(spawner, store, keep, rules=QueueRules(grace_s=120.0))
            queue.request(TRAIN, Policy(max_bins=2), "first")
            result = await ended
            await until(lambda: "failed" in logging.counted)
            await queue.close()
    assert result.failure is None
    # The short limit is for the frozen server: on a busy machine one that answers needs as long.
    async with logging_to(mlflow.address, store) as logging, running(logging):
        await until(lambda: "logged" in logging.counted)
    [run] = [
        each
        for each in mlflow.runs(f"plimsoll/{TRAIN}")
        if each["info"]["run_name"] == result.result["version"]
    ]
    params = {pair["key"]: pair["value"] for pair in run["data"]["params"]}
    assert params["features"] == "size"
    store.close()


async def test_all_the_calls_of_one_training_have_a_limit_together(
    mlflow: Mlflow, store: Store
) -> None:
    fail(store, "too/slow")
    with mlflow.frozen():
        rules = replace(QUICK, training_s=0.3)
        async with logging_to(mlflow.address, store, rules) as logging:
            with pytest.raises(TrackingError, match="took over 0 s"):
                await logging.tracker.log_waiting()


async def test_a_login_in_the_address_is_shown_to_the_server_and_to_nobody_else(
    mlflow: Mlflow, store: Store
) -> None:
    login = "Basic " + base64.b64encode(b"plimsoll:hunter2").decode()
    gate = Gate(mlflow, login)
    await gate.open()
    fail(store, "logs/in")
    try:
        wrong = gate.address.replace("//", "//plimsoll:hunter3@")
        async with logging_to(wrong, store) as logging:
            with pytest.raises(TrackingError, match="answers 401") as raised:
                await logging.tracker.log_waiting()
            assert "hunter3" not in str(raised.value)
        right = gate.address.replace("//", "//plimsoll:hunter2@")
        async with logging_to(right, store) as logging:
            await logging.tracker.log_waiting()
    finally:
        await gate.shut()
    assert len(mlflow.runs("plimsoll/logs/in")) == 1


async def test_a_token_is_read_again_when_it_is_changed(
    mlflow: Mlflow, store: Store, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text("old\n")
    gate = Gate(mlflow, "Bearer new")
    await gate.open()
    fail(store, "has/token")
    try:
        async with logging_to(gate.address, store, token_file=token) as logging:
            with pytest.raises(TrackingError, match="answers 401"):
                await logging.tracker.log_waiting()
            token.write_text("new\n")
            await logging.tracker.log_waiting()
            token.unlink()
            fail(store, "has/token")
            with pytest.raises(TrackingError, match="No such file"):
                await logging.tracker.log_waiting()
    finally:
        await gate.shut()


async def test_an_address_where_no_mlflow_is_gives_up_no_training(
    mlflow: Mlflow, store: Store
) -> None:
    fail(store, "not/there")
    async with logging_to(f"{mlflow.address}/elsewhere", store) as logging:
        with pytest.raises(TrackingError, match=r"answers 40[45]: nothing that MLflow would say"):
            await logging.tracker.log_waiting()
    assert len(store.trainings.untracked()) == 1


async def test_an_answer_without_end_is_not_read_to_its_end(store: Store) -> None:
    fail(store, "no/end")

    async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            while True:
                writer.write(b"x" * 65536)
                await writer.drain()

    server = await asyncio.start_server(pour, "127.0.0.1", port := free_port())
    try:
        async with logging_to(f"http://127.0.0.1:{port}", store) as logging:
            with pytest.raises(TrackingError, match="an answer of more than 1 MiB"):
                await logging.tracker.log_waiting()
    finally:
        server.close()


def tracked(metrics: ControllerMetrics, result: str) -> float | None:
    return metrics.registry.get_sample_value("plimsoll_tracked_trainings_total", {"result": result})


async def test_the_controllers_settings_and_metrics_do(
    mlflow: Mlflow, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLIMSOLL_MLFLOW_URL", mlflow.address.replace("//", "//me:hunter2@"))
    monkeypatch.setenv("PLIMSOLL_MLFLOW_PREFIX", "/Shared/plimsoll")
    settings = ControllerSettings()
    assert "hunter2" not in repr(settings)
    assert settings.mlflow_url is not None
    server = MlflowServer.at(settings.mlflow_url.get_secret_value())
    assert server.where == f"{mlflow.address}/"
    metrics, writer = ControllerMetrics(), Writer(store)
    logged = metrics.tracked_trainings
    outbox = Outbox(store, writer, lambda result: logged.labels(result).inc())
    fail(store, "by/settings")
    async with tracking(server, outbox, TrackingRules(prefix=settings.mlflow_prefix)) as tracker:
        # It is counted once the store knows that it is logged.
        await until(lambda: tracked(metrics, "logged") == 1)
        assert store.trainings.untracked() == []
        assert tracker is not None
        assert tracker.trouble is None
    await writer.close()
    assert len(mlflow.runs("/Shared/plimsoll/by/settings")) == 1
    shown = generate_latest(metrics.registry).decode()
    assert 'plimsoll_tracked_trainings_total{result="logged"} 1.0' in shown
    assert 'plimsoll_tracked_trainings_total{result="failed"} 0.0' in shown


async def test_without_a_server_nothing_is_logged(store: Store) -> None:
    writer = Writer(store)
    fail(store, "stays/here")
    async with tracking(None, Outbox(store, writer, print), QUICK) as tracker:
        assert tracker is None
        await asyncio.sleep(0.2)
    await writer.close()
    assert len(store.trainings.untracked()) == 1


@pytest.mark.parametrize(
    "address",
    [
        pytest.param("mlflow:5000", id="no scheme"),
        pytest.param("ftp://mlflow", id="another scheme"),
        pytest.param("http://", id="no host"),
        pytest.param("http://mlflow:port", id="no port"),
        pytest.param("http://me:hunter2@mlflow?x=1", id="a query"),
    ],
)
def test_what_is_no_address_is_refused_without_showing_it(address: str) -> None:
    with pytest.raises(TrackingAddressError, match="PLIMSOLL_MLFLOW_URL is no address") as raised:
        MlflowServer.at(address)
    assert "hunter2" not in str(raised.value)


def test_an_empty_token_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(" \n")
    with pytest.raises(UnusableToken, match="holds no token"):
        MlflowServer.at("http://mlflow", tmp_path / "token")
