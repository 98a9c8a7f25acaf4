"""A real Airflow with tasks that are too small: the next try gets more, and the next run enough."""

from __future__ import annotations

import asyncio
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from plimsoll_operator.airflow_api.client import AirflowClient, AirflowServer
from plimsoll_operator.names import labels
from plimsoll_operator.names.quantity import parse_bytes
from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.store import Store
from tests.airflow.servers import Airflow, Try
from tests.apiserver.controllers import Shop, until
from tests.e2e.plimsolls import Plimsoll
from tests.e2e.seeing import WITHIN_S, decision_of, memory_of
from tests.e2e.witnesses import Witness
from tests.rigs.processes.command_lines import PLIMSOLL

pytestmark = [pytest.mark.node, pytest.mark.asyncio(loop_scope="session")]

TASKS, TOO_SMALL = 10, 3


@dataclass(frozen=True, slots=True)
class Ran:
    """A DAG's run that has ended."""

    dag: str
    run: str
    state: str
    tries: list[Try]
    pods: list[Any]

    @property
    def kills(self) -> int:
        return sum(each.state != "success" for each in self.tries)

    @property
    def succeeded(self) -> set[int]:
        return {each.map_index for each in self.tries if each.state == "success"}

    def told(self) -> str:
        """Its result: tasks, kills, and the try by which the last task succeeded."""
        most = max(each.number for each in self.tries)
        return f"{len(self.succeeded)} tasks succeeded, {self.kills} kills, all by try {most}"


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs DAGs."""

    airflow: Airflow
    witness: Witness

    async def run(self, dag: str, run: str) -> Ran:
        """Run a DAG to its end, with any result."""
        await asyncio.to_thread(self.airflow.start, dag, run)
        state = await asyncio.to_thread(self.airflow.ended, dag, run)
        tries = await asyncio.to_thread(self.airflow.tries, dag, run)
        its = {"dag_id": dag, "run_id": run}
        return Ran(dag, run, state, tries, self.witness.of(its))


@pytest.fixture(scope="session")
def runner(airflow: Airflow, witness: Witness) -> Runner:
    return Runner(airflow, witness)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def nights(runner: Runner) -> tuple[Ran, Ran]:
    """Two runs of ten mapped tasks, one after the other."""
    first = await runner.run("nightly", "first")
    second = await runner.run("nightly", "second")
    print(f"first run: {first.told()}; second run: {second.told()}")
    return first, second


@dataclass(frozen=True, slots=True)
class Others:
    """Runs of the other DAGs, side by side: they mostly wait for processes to start."""

    deferred: Ran
    alone: Ran
    once: Ran


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def others(nights: tuple[Ran, Ran], runner: Runner) -> Others:
    async def twice() -> Ran:
        await runner.run("once", "first")
        return await runner.run("once", "second")

    found = await asyncio.gather(
        runner.run("deferred", "first"), runner.run("alone", "first"), twice()
    )
    return Others(*found)


async def observed(plimsoll: Plimsoll, shop: Shop, task: str, count: int) -> list[Observation]:
    """Wait until all attempts are known, and peaks of those that succeeded."""

    def known() -> list[Observation] | None:
        found = plimsoll.observations(shop.task(task))
        measured = [
            each for each in found if each.outcome is not Outcome.SUCCEEDED or each.peak_bytes
        ]
        return found if len(measured) >= count else None

    found: list[Observation] = await until(f"{count} attempts of {task}", known, WITHIN_S)
    return found


async def test_all_of_the_mapped_tasks_succeed_in_whatever_order(nights: tuple[Ran, Ran]) -> None:
    for night in nights:
        assert night.state == "success"
        assert night.succeeded == set(range(TASKS))
    assert nights[0].kills >= 1


@pytest.mark.usual_order
async def test_all_of_the_mapped_tasks_succeed_by_their_second_try(nights: tuple[Ran, Ran]) -> None:
    first = nights[0]
    assert max(each.number for each in first.tries) <= 2
    assert first.kills <= TOO_SMALL


@pytest.mark.usual_order
async def test_the_next_run_of_the_dag_has_no_kill(nights: tuple[Ran, Ran]) -> None:
    assert [each.number for each in nights[1].tries] == [1] * TASKS


async def test_no_pod_is_cloned(nights: tuple[Ran, Ran]) -> None:
    for night in nights:
        assert len(night.pods) == len(night.tries)
        for pod in night.pods:
            assert labels.RETRY_OF not in (pod.metadata.annotations or {})


async def test_a_killed_tasks_next_try_is_lifted(nights: tuple[Ran, Ran]) -> None:
    for pod in nights[0].pods:
        if pod.metadata.labels["try_number"] == "2":
            assert decision_of(pod)["reason"] == "lifted"


async def test_pods_that_are_deleted_as_they_end_are_observed_to_their_ends(
    nights: tuple[Ran, Ran], plimsoll: Plimsoll, shop: Shop
) -> None:
    wanted = sum(len(night.tries) for night in nights)
    found = await observed(plimsoll, shop, "nightly.chunk", wanted)
    assert len(found) == wanted
    kills = [each for each in found if each.outcome is Outcome.OOM_KILLED]
    assert len(kills) == sum(night.kills for night in nights)
    assert {each.outcome for each in found} == {Outcome.SUCCEEDED, Outcome.OOM_KILLED}


async def test_a_deferrable_operators_pods_are_sized_and_lifted_as_well(
    others: Others, plimsoll: Plimsoll, shop: Shop
) -> None:
    ran = others.deferred
    assert ran.state == "success"
    assert {decision_of(pod)["reason"] for pod in ran.pods} >= {"cold-start", "lifted"}
    found = await observed(plimsoll, shop, "deferred.chunk", len(ran.pods))
    assert [each.outcome for each in found].count(Outcome.OOM_KILLED) == 1
    assert len(found) == len(ran.pods)


async def test_without_plimsoll_such_a_task_is_killed_in_all_its_tries(others: Others) -> None:
    ran = others.alone
    assert (ran.state, ran.kills, ran.succeeded) == ("failed", 3, set())
    assert {memory_of(pod) for pod in ran.pods} == {("64Mi", "64Mi")}


async def test_the_past_that_airflow_remembers_is_of_the_same_tasks_and_runs(
    nights: tuple[Ran, Ran], airflow: Airflow, plimsoll: Plimsoll, shop: Shop, tmp_path: Path
) -> None:
    wanted = sum(len(night.tries) for night in nights)
    watched = await observed(plimsoll, shop, "nightly.chunk", wanted)
    store_url = f"sqlite:///{tmp_path}/other.db"
    said = await imported(airflow, store_url)
    assert "new, 0 known before, 0 bad rows left out" in said
    with closing(Store.open(store_url)) as store:
        past = store.observations.of_task(shop.task("nightly.chunk"))
    assert {each.run for each in past} == {each.run for each in watched}
    assert len(past) == wanted
    assert {each.request_bytes for each in past} == {64 * MIB}
    succeeded = [each for each in past if each.outcome is Outcome.SUCCEEDED]
    assert len(succeeded) == 2 * TASKS
    assert all((each.runtime_s or 0) >= 2 for each in succeeded)


async def test_runs_that_were_observed_are_not_imported_over_again(
    nights: tuple[Ran, Ran], airflow: Airflow, plimsoll: Plimsoll, shop: Shop
) -> None:
    wanted = sum(len(night.tries) for night in nights)
    before = await observed(plimsoll, shop, "nightly.chunk", wanted)
    said = await imported(airflow, f"sqlite:///{plimsoll.state}/plimsoll.db")
    assert "of runs that were observed" in said
    assert plimsoll.observations(shop.task("nightly.chunk")) == before


async def imported(airflow: Airflow, store_url: str) -> str:
    """The output of ``plimsoll import``."""
    words = ("import", "--airflow", airflow.database, "--since", "1d", "--store", store_url)
    status, said = await command(*words)
    assert status == 0, said
    return said


async def command(*words: str) -> tuple[int | None, str]:
    """The exit status of a command, and its output."""
    done = await asyncio.create_subprocess_exec(
        *PLIMSOLL, *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    said = (await done.communicate())[0].decode()
    return done.returncode, " ".join(said.split())


async def test_a_campaign_triggers_each_configuration_once_and_its_pods_are_learned(
    airflow: Airflow, plimsoll: Plimsoll, shop: Shop, tmp_path: Path
) -> None:
    file, password = tmp_path / "sizes.csv", tmp_path / "password"
    file.write_text("mib\n24\n40\n24\n")
    password.write_text("any serves where everybody is an administrator")
    words = ["campaign", "airflow", "asked", "--configurations", str(file)]
    words += ["--airflow", airflow.address, "--user", "me", "--password-file", str(password)]
    status, said = await command(*words)
    assert (status, "DAG 'asked'" in said) == (1, True), said  # unknown by now, or paused
    await asyncio.to_thread(airflow.unpause, "asked")
    status, said = await command(*words)
    assert (status, "1 row left out" in said, "asked: 2 succeeded" in said) == (0, True, True), said
    runs = (await asyncio.to_thread(airflow.ask, "GET", "dags/asked/dagRuns"))["dag_runs"]
    assert sorted(run["conf"]["mib"] for run in runs) == [24, 40]
    assert {run["state"] for run in runs} == {"success"}
    server = AirflowServer.at(airflow.address, user="me", password="any serves")
    async with AirflowClient(server, print) as client:
        states = await client.states_of("asked", "plimsoll__sizes__", most_calls=1)
        others = await client.states_of("asked", "plimsoll__weights__", most_calls=1)
    assert (sorted((states or {}).values()), others) == (["success"] * 2, {})
    status, said = await command(*words, "--output", "json")
    assert (status, '"counts": { "succeeded": 2 }' in said) == (0, True), said
    found = await observed(plimsoll, shop, "asked.chunk", 2)
    assert sorted(float(each.features["mib"] or 0) for each in found) == [24, 40]
    file.write_text("mib\n2048\n")
    status, said = await command(*words)
    assert (status, "1 refused" in said, "2048" in said) == (1, True, True), said


async def test_a_task_that_is_not_retried_is_never_given_less_and_its_profile_says_why(
    others: Others, shop: Shop
) -> None:
    second = others.once
    assert second.state == "success"
    for pod in second.pods:
        request, limit = memory_of(pod)
        assert parse_bytes(request) >= 128 * MIB
        assert parse_bytes(limit) >= 128 * MIB
        assert decision_of(pod)["reason"] == "not-lowered"

    async def told() -> str | None:
        status = (await shop.profile("once.chunk")).get("status") or {}
        said = " ".join(status.get("lastDecisions") or ())
        return said if "nobody makes a second attempt (its engine makes 1)" in said else None

    await until("the profile says why", told, WITHIN_S)
