"""Why a campaign may not run where it is, in a sentence each, and that it runs once mended."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.campaigns.job_manifest import run_key
from plimsoll_operator.kube.errors import Unprocessable
from plimsoll_predictor.campaigns.planning import TOLD_AFTER_S
from plimsoll_predictor.campaigns.runs import CampaignRun, RunState
from plimsoll_predictor.campaigns.seen import SeenJob
from plimsoll_predictor.core.record import Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import MIB
from tests.builders.campaigns import a_record, keep_campaign
from tests.builders.controller.campaign_looks import Rig, a_document, looking
from tests.builders.stores import an_attempt

Cause = Callable[[Rig, bool], None]
"""Adds a cause, or removes it again."""


def mode_of_namespace(rig: Rig, there: bool) -> None:
    spec = {"mode": "off"} if there else None
    rig.campaigns.refusals.policies.set_namespace_spec("shop", spec)


def limit_range(rig: Rig, there: bool) -> None:
    bound(rig, there, "LimitRange", {"limits": [{"type": "Container", "max": {"memory": "64Mi"}}]})


def quota(rig: Rig, there: bool) -> None:
    bound(rig, there, "ResourceQuota", {"hard": {"limits.memory": "96Mi"}})


def rights(rig: Rig, there: bool) -> None:
    rig.jobs.allowed = not there


def template(rig: Rig, there: bool) -> None:
    """Spoil the first campaign's template: its feature would replace the image's own command."""
    spec = rig.jobs.documents[0]["spec"]
    passed = "argument" if there else "env"
    spec["features"] = [{"name": "mib", "numeric": True, passed: "MIB"}]
    container = spec["podTemplate"]["spec"]["containers"][0]
    container["command"] = None if there else ["/task", "eat", "$(MIB)", "1"]


def schema(rig: Rig, there: bool) -> None:
    """Write into the first campaign what a later schema may allow."""
    rig.jobs.documents[0]["spec"]["parallelism"] = "many" if there else 1


def order(rig: Rig, there: bool) -> None:
    """Write an order that only a later version knows."""
    rig.jobs.documents[0]["spec"]["order"] = "LeastCost" if there else "Plain"


def bound(rig: Rig, there: bool, kind: str, spec: dict[str, Any]) -> None:
    document = {"metadata": {"namespace": "shop", "name": "it"}, "spec": spec}
    rig.campaigns.refusals.bounds.see(kind, document, gone=not there)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cause", "reason", "words"),
    [
        (mode_of_namespace, "ModeOff", "the mode of shop/a is off, so that nothing would be"),
        (limit_range, "LimitRangeTooSmall", "a LimitRange allows a container 64Mi; lower"),
        (quota, "QuotaTooSmall", "a quota of the namespace allows 96Mi in all; lower"),
        (rights, "NotAllowed", "an admin turns campaigns on with the chart's value"),
    ],
)
async def test_a_cause_is_told_and_runs_nothing_until_it_is_mended(
    tmp_path: Path, cause: Cause, reason: str, words: str
) -> None:
    document = a_document("a", memory="128Mi")
    async with looking(tmp_path, document) as rig:
        cause(rig, True)
        await rig.campaigns.look()
        accepted, progressing = document["status"]["conditions"]
        assert (accepted["status"], accepted["reason"]) == ("False", reason)
        assert words in accepted["message"]
        assert (progressing["status"], progressing["reason"]) == ("False", "Refused")
        assert (rig.phases(), rig.jobs.jobs) == (["Refused"], set())
        cause(rig, False)
        await rig.campaigns.look()
        assert rig.phases() == ["Running"]
        assert rig.jobs.jobs


@pytest.mark.slow
async def test_a_quota_for_pods_with_a_deadline_counts_the_runs_that_have_one(
    tmp_path: Path,
) -> None:
    late = a_document("a", memory="128Mi", activeDeadlineSeconds=60)
    async with looking(tmp_path, late, a_document("b", memory="128Mi")) as rig:
        spec = {"hard": {"limits.memory": "96Mi"}, "scopes": ["Terminating"]}
        bound(rig, True, "ResourceQuota", spec)
        await rig.campaigns.look()
        assert rig.phases() == ["Refused", "Running"]
        assert late["status"]["conditions"][0]["reason"] == "QuotaTooSmall"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (limit_range, "it asks for 128Mi, and a LimitRange allows a container 64Mi; raise the Li"),
        (quota, "it asks for 128Mi, and a quota of the namespace allows 96Mi in all; raise the q"),
    ],
)
async def test_a_lift_that_has_no_room_is_told_with_what_allows_it_too_little(
    tmp_path: Path, cause: Cause, words: str
) -> None:
    document = a_document("a", memory="64Mi", scenarios={"rows": [{"mib": 1}]})
    async with looking(tmp_path, document) as rig:
        cause(rig, True)
        killed = CampaignRun(
            scenario=0, values={"mib": "1"}, memory_bytes=64 * MIB, state=RunState.KILLED
        )
        began_s = rig.campaigns.now_s() - TOLD_AFTER_S
        lifted = CampaignRun(
            scenario=0,
            attempt=2,
            values=killed.values,
            memory_bytes=128 * MIB,
            lifts=1,
            state=RunState.CREATING,
            created_s=began_s,
        )
        going = a_record("a", task="shop/a", ended_s=None, ending=None)
        keep_campaign(rig.campaigns.store, going, [killed, lifted])
        rig.jobs.jobs.add(("a", lifted.key))
        rig.jobs.shown = SeenJob(lacks_room=True, stuck_why="it has no pod, maybe a quota")
        await rig.campaigns.look()
        told = document["status"]["conditions"][1]
        assert told["reason"] == "Ending"
        assert f"1 still under way; scenario 0 waits: {words}" in told["message"]
        cause(rig, False)
        await rig.campaigns.look()
        assert "maybe a quota" in document["status"]["conditions"][1]["message"]


@pytest.mark.slow
@pytest.mark.parametrize("cause", [quota, limit_range, template, schema, order])
async def test_what_began_before_its_campaign_was_refused_is_followed_and_keeps_its_turn(
    tmp_path: Path, cause: Cause
) -> None:
    older = a_document("a", task="one", memory="128Mi")
    younger = a_document("b", task="one", memory="64Mi")
    async with looking(tmp_path, older, younger) as rig:
        await rig.campaigns.look()
        cause(rig, True)
        await rig.campaigns.look()
        assert (rig.phases(), rig.jobs.jobs) == (["Refused", "Waiting"], {("a", (0, 1))})
        told = older["status"]["conditions"][1]
        assert told["message"].startswith("no more runs begin until this is mended: ")
        assert told["message"].endswith("; 1 run that began may go on")
        rig.jobs.ended_s = rig.campaigns.now_s()
        await rig.campaigns.look()
        first, second = rig.campaigns.store.campaigns.runs("uid-a")
        assert (first.state, second.state) == (RunState.EXECUTED, RunState.REGISTERED)
        assert older["status"]["conditions"][1]["message"].startswith("nothing runs until this")
        assert (rig.phases()[1], ("b", (0, 1)) in rig.jobs.jobs) == ("Running", True)
        cause(rig, False)
        await rig.campaigns.look()
        assert rig.phases() == ["Running", "Waiting"]
        assert ("a", (1, 1)) in rig.jobs.jobs


@pytest.mark.slow
async def test_what_began_before_its_campaign_waited_is_followed(tmp_path: Path) -> None:
    older, younger = a_document("a", task="one"), a_document("b", task="one")
    async with looking(tmp_path, older, younger) as rig:
        template(rig, True)
        await rig.campaigns.look()
        assert rig.jobs.jobs == {("b", (0, 1))}
        template(rig, False)
        await rig.campaigns.look()
        assert rig.phases() == ["Running", "Waiting"]
        words = "which runs the same task; 1 run that began may go on"
        assert younger["status"]["conditions"][1]["message"].endswith(words)
        rig.jobs.ended_s = rig.campaigns.now_s()
        await rig.campaigns.look()
        first, second = rig.campaigns.store.campaigns.runs("uid-b")
        assert (first.state, second.state) == (RunState.EXECUTED, RunState.REGISTERED)


@pytest.mark.slow
@pytest.mark.parametrize("cause", [template, schema, order])
async def test_one_that_cannot_be_read_is_stopped_and_its_jobs_are_deleted(
    tmp_path: Path, cause: Cause
) -> None:
    document = a_document("a")
    async with looking(tmp_path, document) as rig:
        await rig.campaigns.look()
        cause(rig, True)
        document["spec"]["stopped"] = True
        rig.jobs.away = "503"
        await rig.campaigns.look()
        assert (rig.phases(), bool(rig.jobs.jobs)) == (["Running"], True)
        rig.jobs.away = ""
        await rig.campaigns.look()
        assert (rig.phases(), rig.jobs.jobs) == (["Stopped"], set())
        accepted, progressing = document["status"]["conditions"]
        assert (accepted["status"], progressing["reason"]) == ("False", "Stopped")
        record = rig.campaigns.store.campaigns.of_uid("uid-a")
        assert record is not None
        assert record.ended_s is not None
        assert not await rig.campaigns.look()


async def test_one_that_never_could_begin_is_over_once_it_is_stopped(tmp_path: Path) -> None:
    document = a_document("a", stopped=True)
    async with looking(tmp_path, document) as rig:
        template(rig, True)
        await rig.campaigns.look()
        assert rig.phases() == ["Stopped"]
        assert not await rig.campaigns.look()


@pytest.mark.slow
async def test_a_refused_one_is_ended_by_no_budget_that_people_may_still_raise(
    tmp_path: Path,
) -> None:
    document = a_document("a", budget={"runs": 1})
    async with looking(tmp_path, document) as rig:
        await rig.campaigns.look()
        rights(rig, True)
        rig.jobs.ended_s = rig.campaigns.now_s()
        await rig.campaigns.look()
        assert rig.phases() == ["Refused"]
        document["spec"]["budget"] = {"runs": 2}
        rights(rig, False)
        await rig.campaigns.look()
        assert rig.phases() == ["Running"]
        assert ("a", (1, 1)) in rig.jobs.jobs


@pytest.mark.slow
@pytest.mark.parametrize("cause", [quota, template, mode_of_namespace, rights, schema, order])
async def test_a_refused_one_is_ended_by_no_run_that_does_not_start(
    tmp_path: Path, cause: Cause
) -> None:
    document = a_document("a", memory="128Mi", parallelism=2)
    async with looking(tmp_path, document) as rig:
        rig.jobs.shown = SeenJob(lacks_room=True, stuck_why="no node takes it")
        await rig.campaigns.look()
        assert rig.jobs.jobs == {("a", (0, 1)), ("a", (1, 1))}
        cause(rig, True)
        rig.campaigns.now_s = lambda: 1700.0
        for _ in range(2):
            await rig.campaigns.look()
            assert (rig.phases(), rig.jobs.jobs) == (["Refused"], set())
        cause(rig, False)
        document["spec"]["parallelism"] = 2
        await rig.campaigns.look()
        assert (rig.phases(), rig.jobs.jobs) == (["Running"], {("a", (0, 2)), ("a", (1, 2))})


@pytest.mark.slow
@pytest.mark.parametrize("within_s", [7200, "2h"])
async def test_runs_of_one_that_cannot_be_read_wait_as_long_as_its_author_allows(
    tmp_path: Path, within_s: object
) -> None:
    document = a_document("a", parallelism=2, startWithinSeconds=7200)
    async with looking(tmp_path, document) as rig:
        rig.jobs.shown = SeenJob(lacks_room=True, stuck_why="no node takes it")
        await rig.campaigns.look()
        both = {("a", (0, 1)), ("a", (1, 1))}
        schema(rig, True)
        document["spec"]["startWithinSeconds"] = within_s
        rig.campaigns.now_s = lambda: 1700.0
        await rig.campaigns.look()
        assert (rig.phases(), rig.jobs.jobs) == (["Refused"], both)
        document["spec"] |= {"parallelism": 2, "startWithinSeconds": 7200}
        await rig.campaigns.look()
        assert (rig.phases(), rig.jobs.jobs) == (["Running"], both)


@pytest.mark.slow
@pytest.mark.parametrize("most", [6, "many"])
async def test_a_killed_run_of_one_that_cannot_be_read_has_the_lifts_of_its_author(
    tmp_path: Path, most: object
) -> None:
    document = a_document("a", memory="64Mi", maxLifts=6, scenarios={"rows": [{"mib": 1}]})
    async with looking(tmp_path, document) as rig:
        run = CampaignRun(
            scenario=0,
            attempt=4,
            values={"mib": "1"},
            memory_bytes=512 * MIB,
            lifts=3,
            state=RunState.RUNNING,
            created_s=900.0,
        )
        store = rig.campaigns.store
        keep_campaign(store, a_record("a", task="shop/a", ended_s=None, ending=None), [run])
        rig.jobs.jobs.add(("a", run.key))
        schema(rig, True)
        document["spec"]["maxLifts"] = most
        attempt = an_attempt("p").of(TaskId("shop", "a")).in_run(run_key("uid-a", 0))
        store.keep([replace(attempt.running(900.0, 990.0).built, outcome=Outcome.OOM_KILLED)])
        await rig.campaigns.look()
        states = [each.state for each in store.campaigns.runs("uid-a")]
        assert (rig.phases(), states) == (["Refused"], [RunState.KILLED, RunState.REGISTERED])
        document["spec"] |= {"parallelism": 1, "maxLifts": 6}
        await rig.campaigns.look()
        assert (rig.phases(), ("a", (0, 5)) in rig.jobs.jobs) == (["Running"], True)


@pytest.mark.slow
@pytest.mark.parametrize("began", [False, True])
async def test_another_of_the_task_waits_for_no_refused_one_whose_status_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, began: bool
) -> None:
    older, younger = a_document("a", task="one"), a_document("b", task="one")
    async with looking(tmp_path, older, younger) as rig:
        if began:
            await rig.campaigns.look()
            rig.jobs.ended_s = rig.campaigns.now_s()
        schema(rig, True)
        write = rig.jobs.write_status

        async def write_others(document: Mapping[str, Any], status: Mapping[str, Any]) -> None:
            if document["metadata"]["name"] == "a":
                raise Unprocessable('spec.parallelism: Invalid value: "string"')
            await write(document, status)

        monkeypatch.setattr(rig.jobs, "write_status", write_others)
        await rig.campaigns.look()
        assert (rig.phases()[1], ("b", (0, 1)) in rig.jobs.jobs) == ("Running", True)


@pytest.mark.slow
async def test_nothing_is_followed_where_plimsoll_may_not_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = a_document("a")
    async with looking(tmp_path, document) as rig:
        await rig.campaigns.look()
        before = rig.campaigns.store.campaigns.runs("uid-a")
        rig.jobs.ended_s = rig.campaigns.now_s()
        policies = rig.campaigns.refusals.policies
        monkeypatch.setattr(policies, "_excluded", frozenset({"shop"}))
        await rig.campaigns.look()
        told = document["status"]["conditions"]
        assert [each["reason"] for each in told] == ["NamespaceExcluded", "Refused"]
        assert told[1]["message"].endswith("; 1 run that began may go on")
        monkeypatch.undo()
        rights(rig, True)
        rig.jobs.switched_off_in = "shop"
        await rig.campaigns.look()
        told = document["status"]["conditions"]
        assert [each["reason"] for each in told] == ["NotAllowed", "Refused"]
        assert rig.campaigns.store.campaigns.runs("uid-a") == before
