"""A driver of Spark at the real server, fed by a real feed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from plimsoll_operator.names import labels
from plimsoll_operator.splitting import spark_driver
from plimsoll_predictor.core.policy import Mode, Policy, SparkPolicy
from tests.builders.pods import APod
from tests.builders.splitting.spark_drivers import DRIVER, DRIVERS, EXECUTORS, SMALLER
from tests.builders.splitting.spark_drivers import options_of as options_on
from tests.rigs.servers.admission_servers import (
    Caller,
    a_server,
    knowledge_of,
    patch_in,
    until_true,
)

ENFORCED = replace(
    knowledge_of(), task=DRIVERS, policy=Policy(spark=SparkPolicy(mode=Mode.ENFORCE))
)


def counted(server: Any, result: str) -> float:
    found = server.metrics.registry.get_sample_value(
        "plimsoll_spark_drivers_total", {"result": result}
    )
    assert found is not None
    return float(found)


async def admitted(caller: Caller) -> dict[str, Any]:
    return APod(DRIVER.built()).patched(patch_in(await caller.review(DRIVER.built()))).built()


async def test_a_driver_is_given_what_the_feed_tells_and_nothing_once_it_tells_no_more(
    tmp_path: Path,
) -> None:
    async with a_server(tmp_path, ENFORCED) as (caller, server, board):
        assert "env" not in (await admitted(caller))["spec"]["containers"][0]
        assert counted(server, "nothing") == 1
        board.set_smaller(EXECUTORS, 1)
        await until_true(lambda: EXECUTORS in server.state.smaller)
        assert options_on(await admitted(caller)) == SMALLER
        assert counted(server, "given") == 1
        board.set_smaller(EXECUTORS, 0)
        await until_true(lambda: EXECUTORS not in server.state.smaller)
        assert "env" not in (await admitted(caller))["spec"]["containers"][0]


async def test_an_error_leaves_the_driver_with_its_decision_alone(
    tmp_path: Path, monkeypatch: Any
) -> None:
    def fails(*_: object) -> object:
        raise RuntimeError("a defect")

    async with a_server(tmp_path, ENFORCED) as (caller, server, board):
        board.set_smaller(EXECUTORS, 1)
        await until_true(lambda: EXECUTORS in server.state.smaller)
        monkeypatch.setattr(spark_driver, "given_for", fails)
        made = await admitted(caller)
        assert labels.DECISION in made["metadata"]["annotations"]
        assert "env" not in made["spec"]["containers"][0]
        assert counted(server, "error") == 1
