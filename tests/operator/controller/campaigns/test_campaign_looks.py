"""A look at all campaigns: one that is broken, stopped, or over, and its effect on others."""

from __future__ import annotations

from pathlib import Path

import pytest

from plimsoll_operator.campaigns.job_manifest import RUN_PREFIX
from plimsoll_operator.campaigns.status import DELETED
from plimsoll_operator.controller.campaigns.campaigns import DENIED_S
from plimsoll_operator.controller.hub.hub import TrainingDue
from plimsoll_predictor.campaigns.runs import RunState
from plimsoll_predictor.campaigns.seen import OBSERVED_WITHIN_S
from plimsoll_predictor.core.task import TaskId
from tests.builders.campaigns import a_record, keep_campaign, some_runs
from tests.builders.controller.campaign_looks import a_document, looking
from tests.builders.stores import an_attempt


@pytest.mark.slow
async def test_one_that_nobody_foresaw_stops_no_younger_one(tmp_path: Path) -> None:
    async with looking(tmp_path, a_document("a"), a_document("b")) as rig:
        rig.jobs.foresaw_nothing_of = "a"
        assert await rig.campaigns.look()
        assert rig.phases() == [None, "Running"]
        assert {name for name, _ in rig.jobs.jobs} == {"b"}


async def test_all_are_looked_at_soon_again_only_while_one_is_not_over(tmp_path: Path) -> None:
    over = {**a_document("a"), "status": {"phase": "Finished"}}
    going = a_document("b", stopped=True)
    async with looking(tmp_path, over, going) as rig:
        assert await rig.campaigns.look()
        assert rig.phases() == ["Finished", "Stopped"]
        assert not await rig.campaigns.look()


@pytest.mark.slow
async def test_one_that_is_refused_or_waits_by_now_is_stopped_and_its_jobs_are_deleted(
    tmp_path: Path,
) -> None:
    older, younger = a_document("a", task="one"), a_document("b", task="two")
    async with looking(tmp_path, older, younger) as rig:
        await rig.campaigns.look()
        assert {name for name, _ in rig.jobs.jobs} == {"a", "b"}
        rig.jobs.allowed = False
        await rig.campaigns.look()
        assert rig.phases() == ["Refused", "Refused"]
        for document in (older, younger):
            document["spec"]["stopped"] = True
        await rig.campaigns.look()
        assert (rig.phases(), rig.jobs.jobs) == (["Stopped", "Stopped"], set())
    waiting = tmp_path / "waiting"
    waiting.mkdir()
    first, second = a_document("a", task="one"), a_document("b", task="one", stopped=True)
    async with looking(waiting, first, second) as rig:
        await rig.campaigns.look()
        assert rig.phases() == ["Running", "Stopped"]


@pytest.mark.slow
async def test_one_that_was_switched_off_is_stopped_and_says_how_its_jobs_are_deleted(
    tmp_path: Path,
) -> None:
    document = a_document("a")
    async with looking(tmp_path, document) as rig:
        await rig.campaigns.look()
        rig.jobs.allowed, rig.jobs.switched_off_in = False, "shop"
        await rig.campaigns.look()
        assert rig.phases() == ["Refused"]
        document["spec"]["stopped"] = True
        await rig.campaigns.look()
        assert rig.phases() != ["Stopped"], "the right may be missing in passing"
        rig.clock[0] += DENIED_S
        await rig.campaigns.look()
        assert rig.phases() == ["Stopped"]
        said = document["status"]["conditions"][1]
        assert "`kubectl delete jobs -n shop -l plimsoll.dev/campaign=a`" in said["message"]
        runs = rig.campaigns.store.campaigns.runs("uid-a")
        assert {run.state for run in runs} <= {RunState.INTERRUPTED, RunState.REGISTERED}


async def test_a_right_that_is_missing_in_passing_leaves_no_job(tmp_path: Path) -> None:
    document = a_document("a")
    async with looking(tmp_path, document) as rig:
        await rig.campaigns.look()
        assert rig.jobs.jobs
        document["spec"]["stopped"] = True
        for _ in range(2):
            rig.jobs.switched_off_in = "shop"
            await rig.campaigns.look()
            rig.clock[0] += DENIED_S
            rig.jobs.switched_off_in = ""
            await rig.campaigns.look()
        assert rig.jobs.jobs == set()
        assert rig.phases() == ["Stopped"]
        assert "kubectl delete jobs" not in document["status"]["conditions"][1]["message"]


@pytest.mark.slow
async def test_whether_jobs_may_be_made_is_asked_once_a_look_for_each_namespace(
    tmp_path: Path,
) -> None:
    async with looking(tmp_path, a_document("a"), a_document("b"), a_document("c")) as rig:
        await rig.campaigns.look()
        assert rig.jobs.asked == ["shop"]
        await rig.campaigns.look()
        assert rig.jobs.asked == ["shop", "shop"]


@pytest.mark.slow
async def test_one_of_a_recording_waits_for_runs_and_then_takes_what_they_worked_on(
    tmp_path: Path,
) -> None:
    recorded = a_document("a", task="train", scenarios={"recorded": {"days": 1}})
    async with looking(tmp_path, recorded) as rig:
        await rig.campaigns.look()
        assert rig.phases() == ["Refused"]
        said = recorded["status"]["conditions"][0]
        assert (said["reason"], "no run of the task" in said["message"]) == (
            "InvalidScenarios",
            True,
        )
        real = [an_attempt(f"p-{n}").of(TaskId("shop", "train")) for n in range(6)]
        mine = an_attempt("p-9").of(TaskId("shop", "train")).in_run(f"{RUN_PREFIX}u/0")
        done = [each.knowing(mib=float(n % 2)).running(0.0, 900.0) for n, each in enumerate(real)]
        own = mine.knowing(mib=77.0).running(0.0, 900.0)
        rig.campaigns.store.keep([each.built for each in (*done, own)])
        await rig.campaigns.look()
        assert rig.phases() == ["Running"]
        runs = rig.campaigns.store.campaigns.runs("uid-a")
        assert [(run.values["mib"], run.weight) for run in runs] == [("0", 3), ("1", 3)]


async def test_no_run_begins_while_no_agent_is_heard_to_measure_it(tmp_path: Path) -> None:
    document = a_document("a")
    async with looking(tmp_path, document) as rig:
        rig.clock[0] = 60.0
        assert await rig.campaigns.look()
        assert not rig.jobs.jobs
        said = document["status"]["conditions"][1]
        assert (said["status"], said["reason"]) == ("True", "WaitsForAgents")
        rig.agents.hear("node")
        await rig.campaigns.look()
        assert rig.jobs.jobs
        assert document["status"]["conditions"][1]["reason"] == "Running"


@pytest.mark.slow
async def test_one_that_is_stopped_is_not_over_before_its_jobs_are_gone(tmp_path: Path) -> None:
    document = a_document("a")
    async with looking(tmp_path, document) as rig:
        await rig.campaigns.look()
        document["spec"]["stopped"] = True
        rig.jobs.away = "503"
        await rig.campaigns.look()
        assert (rig.phases(), bool(rig.jobs.jobs)) == (["Running"], True)
        rig.jobs.away = ""
        await rig.campaigns.look()
        assert (rig.phases(), rig.jobs.jobs) == (["Stopped"], set())


@pytest.mark.slow
async def test_a_job_that_cannot_be_made_yet_is_told_and_made_later(tmp_path: Path) -> None:
    document = a_document("a")
    async with looking(tmp_path, document) as rig:
        rig.jobs.away = "exceeded quota: count/jobs.batch=9"
        await rig.campaigns.look()
        said = document["status"]["conditions"][1]
        assert (said["status"], said["reason"]) == ("True", "JobsNotMade")
        assert "exceeded quota: count/jobs.batch=9" in said["message"]
        rig.jobs.away = ""
        await rig.campaigns.look()
        assert rig.jobs.jobs
        assert document["status"]["conditions"][1]["reason"] == "Running"


async def test_ends_are_waited_for_by_a_controller_that_has_just_come(tmp_path: Path) -> None:
    document = a_document("a", scenarios={"rows": [{"mib": 1}]})
    async with looking(tmp_path, document) as rig:
        await rig.campaigns.look()
        rig.jobs.ended_s = 1000.0 - 2 * OBSERVED_WITHIN_S
        await rig.campaigns.look()
        assert rig.phases() == ["Running"]
        rig.clock[0] += OBSERVED_WITHIN_S
        await rig.campaigns.look()
        (run,) = rig.campaigns.store.campaigns.runs("uid-a")
        assert run.state is RunState.UNMEASURED


@pytest.mark.slow
async def test_one_that_waits_for_another_still_shows_what_it_did(tmp_path: Path) -> None:
    older, younger = a_document("a", task="one"), a_document("b", task="one")
    older["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    younger["metadata"]["creationTimestamp"] = "2026-01-02T00:00:00Z"
    older["spec"]["memory"] = "many"
    async with looking(tmp_path, older, younger) as rig:
        await rig.campaigns.look()
        assert rig.phases() == ["Refused", "Running"]
        known = younger["status"]["scenarios"]
        older["spec"]["memory"] = "64Mi"
        await rig.campaigns.look()
        assert rig.phases() == ["Running", "Waiting"]
        assert younger["status"]["scenarios"] == known > 0


@pytest.mark.slow
async def test_a_training_that_a_kill_took_is_asked_for_again_at_the_start(tmp_path: Path) -> None:
    async with looking(tmp_path) as rig:
        asked: list[TrainingDue] = []
        rig.campaigns.hub.subscribe(TrainingDue, asked.append)
        store = rig.campaigns.store
        learned = [run for run in some_runs() if run.state is RunState.LEARNED]
        for name, ended_s in (("new", 900.0), ("going", None)):
            keep_campaign(store, a_record(name, ended_s=ended_s), learned)
        await rig.campaigns.resume()
        assert [str(each.task) for each in asked] == ["shop/join-sales"]
        asked.clear()
        store.models.save(TaskId("shop", "join-sales"), None, {})
        await rig.campaigns.resume()
        assert not asked


async def test_one_that_is_deleted_while_it_runs_has_ended_and_keeps_its_report(
    tmp_path: Path,
) -> None:
    async with looking(tmp_path, a_document("a")) as rig:
        await rig.campaigns.look()
        rig.jobs.documents = ()
        await rig.campaigns.look()
        record = rig.campaigns.store.campaigns.of_uid("uid-a")
        assert record is not None
        assert (record.ending, bool(record.ended_s)) == (DELETED, True)
        assert rig.campaigns.store.campaigns.runs("uid-a")
