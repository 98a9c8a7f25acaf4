"""Executions of a task whose pods have one key: siblings of Nextflow, GitLab's jobs of a commit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from plimsoll_operator.pods.spec import Pod
from plimsoll_operator.wording import event_words
from plimsoll_predictor.core.record import Outcome
from plimsoll_predictor.core.units import DAY_S, MIB
from plimsoll_predictor.experts.standing import Standing
from plimsoll_predictor.knowledge.knowledge import Knowledge, Lift
from tests.builders.controller.ledgers import (
    NOW_S,
    TRAIN,
    Inside,
    a_final,
    a_train,
    an_inside,
    decided,
    ended,
    killed,
    made,
)
from tests.builders.pods import APod

SHARD = {
    "nextflow.io/processName": "HAPLOTYPECALLER",
    "nextflow.io/runName": "mad_curie",
    "nextflow.io/taskName": "HAPLOTYPECALLER_NA12878",
}
KEY = "nextflow:mad_curie:HAPLOTYPECALLER_NA12878"
JOB = {
    "job.runner.gitlab.com/name": "etl",
    "job.runner.gitlab.com/ref": "main",
    "job.runner.gitlab.com/sha": "abc",
}
JOBS_KEY = "gitlab:7:etl:main:abc"


def at(second: int) -> str:
    return f"2026-01-01T00:00:{second:02}Z"


def a_shard(name: str, made_s: int, attempt: int = 1, memory: str = "128Mi") -> APod:
    """A pod of a sample's shard: all have the sample's tag."""
    pod = decided(a_train(name, memory), attempt=attempt).with_labels(SHARD)
    return made(pod, at(made_s))


def a_job(name: str, made_s: int, attempt: int = 1) -> APod:
    """A pod of GitLab's job, each night of the same commit."""
    pod = decided(a_train(name), attempt=attempt).with_labels({"project.runner.gitlab.com/id": "7"})
    return made(pod.annotated(JOB), at(made_s))


def lifts_of(inside: Inside) -> list[Lift]:
    stored = inside.store.lifts.waiting().get(TRAIN, {})
    assert stored == inside.known.lifts == Knowledge.from_dict(inside.known.to_dict()).lifts
    return list(stored.values())


def told_by(inside: Inside) -> list[event_words.Happening]:
    """What it announces from now on."""
    told: list[event_words.Happening] = []

    def announce(happening: event_words.Happening, pod: Pod) -> None:
        assert pod["metadata"]["namespace"] == "shop"
        told.append(happening)

    inside.controller.announcer.announce = announce  # type: ignore[method-assign]
    return told


def runs_of(inside: Inside) -> list[str]:
    return sorted(each.run for each in inside.store.observations.of_task(TRAIN))


async def test_a_siblings_success_leaves_the_lift_to_the_killed_ones_next_pod(
    tmp_path: Path,
) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(killed(a_shard("a", 0), at=at(5)))
        (lift,) = lifts_of(inside)
        assert lift.is_awaited
        await inside.see(ended(a_shard("b", 6, attempt=2), at=at(10)))
        (after,) = lifts_of(inside)
        assert (after.allocation_bytes, after.attempt) == (lift.allocation_bytes, 2)
        assert not after.is_awaited, "or the task would seem to have runs that nobody repeats"


async def test_a_sibling_that_is_killed_later_is_awaited_again(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(killed(a_shard("a", 0), at=at(5)))
        await inside.see(ended(a_shard("b", 6, attempt=2), at=at(10)))
        await inside.see(killed(a_shard("c", 0), at=at(20)))
        (lift,) = lifts_of(inside)
        assert (lift.attempt, lift.is_awaited) == (2, True)


async def test_siblings_that_are_killed_at_once_use_up_one_lift(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        shards = [killed(a_shard(name, 0), at=at(5)) for name in "abcdef"]
        await asyncio.gather(*(inside.see(shard) for shard in shards))
        (lift,) = lifts_of(inside)
        assert (lift.attempt, lift.after_bytes) == (2, 128 * MIB)


async def test_a_kill_that_is_seen_after_a_siblings_success_is_lifted(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(ended(a_shard("b", 6), at=at(10)))
        await inside.see(killed(a_shard("a", 0), at=at(5)))
        assert [lift.attempt for lift in lifts_of(inside)] == [2]


async def test_the_success_of_a_job_of_a_commit_ends_its_lift(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(killed(a_job("try-1", 0), at=at(5)))
        await inside.see(ended(a_job("try-2", 6, attempt=2), at=at(10)))
        assert lifts_of(inside) == []


@pytest.mark.parametrize(
    ("make", "key"),
    [pytest.param(a_shard, KEY, id="siblings"), pytest.param(a_job, JOBS_KEY, id="each night")],
)
async def test_each_success_of_a_shared_key_is_a_run_however_often_it_is_seen(
    tmp_path: Path, make: Callable[[str, int], APod], key: str
) -> None:
    pods = [
        ended(make(name, 6 + place), at="2026-01-01T00:01:00Z") for place, name in enumerate("abc")
    ]
    three = [key, f"{key}#uid-b", f"{key}#uid-c"]
    for _ in range(2):  # the second time after a restart
        async with an_inside(tmp_path) as inside:
            for pod in pods:
                await inside.report(a_final(pod.built()["metadata"]["name"]))
                await inside.see(pod)
            assert runs_of(inside) == three
            assert inside.known.runs == 3


async def test_a_peak_that_comes_late_teaches_the_run_that_its_success_is(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        for place, name in enumerate("ab"):
            await inside.see(ended(a_shard(name, 6 + place)))
        assert inside.known.runs == 0
        for name in "ab":
            await inside.report(a_final(name))
            await inside.controller.late_peaks.amend(f"uid-{name}")
        assert runs_of(inside) == [KEY, f"{KEY}#uid-b"]
        assert inside.known.runs == 2


async def test_what_did_not_succeed_stays_with_the_siblings_first_success(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(ended(a_shard("a", 0), at=at(5)))
        await inside.see(killed(a_shard("b", 0), at=at(6)))
        await inside.see(ended(a_shard("c", 7, attempt=2), at=at(10)))
        ends = {each.attempt_uid: each for each in inside.store.observations.of_task(TRAIN)}
        assert {uid: each.run for uid, each in ends.items()} == {
            "uid-a": KEY,
            "uid-b": KEY,
            "uid-c": f"{KEY}#uid-c",
        }
        assert ends["uid-b"].outcome is Outcome.OOM_KILLED


async def test_a_job_of_a_commit_that_succeeded_before_is_an_execution_with_its_kills(
    tmp_path: Path,
) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(ended(a_job("a", 0), at=at(5)))
        await inside.see(killed(a_job("b", 10), at=at(15)))
        await inside.see(ended(a_job("c", 20, attempt=2), at=at(25)))
        assert runs_of(inside) == [JOBS_KEY, f"{JOBS_KEY}#uid-b", f"{JOBS_KEY}#uid-b"]


@pytest.mark.parametrize("make", [a_shard, a_job])
async def test_a_later_executions_kill_is_charged_to_the_bids_for_it_and_counted_as_served(
    tmp_path: Path, make: Callable[..., APod]
) -> None:
    async with an_inside(tmp_path) as inside:

        async def ran(pod: APod, end: Callable[..., APod], second: int) -> Standing:
            await inside.see(pod)  # the experts bid
            await inside.report(a_final(pod.built()["metadata"]["name"], 130 * MIB))
            await inside.see(end(pod, at=at(second)))
            await inside.controller.standings.fold()
            standing = inside.controller.standings.held(TRAIN)
            assert standing is not None
            return standing

        await ran(make("a", 0), ended, 5)
        standing = await ran(make("b", 10), killed, 15)
        assert [len(standing.guard.lost), len(standing.pending)] == [1, 1]
        standing = await ran(make("c", 20, attempt=2), ended, 25)
        assert [len(standing.guard.lost), len(standing.pending)] == [0, 0]
        assert standing.guard.runs == 2


@pytest.mark.parametrize("success_first", [False, True])
async def test_a_job_that_got_through_is_not_lifted_again_after_a_restart(
    tmp_path: Path, success_first: bool
) -> None:
    kill, success = killed(a_job("b", 10), at=at(15)), ended(a_job("c", 20, attempt=2), at=at(25))
    async with an_inside(tmp_path) as inside:
        for pod in (ended(a_job("a", 0), at=at(5)), kill, success):
            await inside.see(pod)
    async with an_inside(tmp_path) as inside:
        for pod in (success, kill) if success_first else (kill, success):
            await inside.see(pod)
            assert lifts_of(inside) == []


async def test_a_job_that_got_through_while_nobody_led_is_not_lifted(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(ended(a_job("a", 0), at=at(5)))
        await inside.see(ended(a_job("c", 20, attempt=2), at=at(25)))
        await inside.see(killed(a_job("b", 10), at=at(15)))
        assert lifts_of(inside) == []


@pytest.mark.parametrize(("days", "lifts"), [(6, 1), (8, 0)])
async def test_a_killed_sibling_whose_pod_stays_is_lifted_as_long_as_lifts_are_kept(
    tmp_path: Path, days: int, lifts: int
) -> None:
    kill = killed(a_shard("a", 10), at=at(15))
    async with an_inside(tmp_path) as inside:
        await inside.see(kill)
        await inside.see(ended(a_shard("b", 20, attempt=2), at=at(25)))
        stored = lifts_of(inside)
    async with an_inside(tmp_path, now_s=NOW_S + days * DAY_S) as inside:
        await inside.see(kill)
        assert lifts_of(inside) == stored[:lifts]


@pytest.mark.parametrize("attempts", [3, 10])
async def test_siblings_that_use_up_the_lifts_together_are_no_leak(
    tmp_path: Path, attempts: int
) -> None:
    async with an_inside(tmp_path, said={"attempts": attempts, "maxLifts": 2}) as inside:
        told = told_by(inside)
        for number, memory in enumerate(("128Mi", "256Mi", "512Mi"), 1):
            shard = a_shard(f"s{number}", number * 10, number, memory)
            await inside.see(killed(shard, at=at(number * 10 + 5)))
        assert [each.reason for each in told] == ["Lifted", "Lifted", "NotLifted"]
        assert inside.controller.leaking.why(TRAIN) is None
        (lift,) = lifts_of(inside)
        assert lift.attempt == 3


async def test_a_sibling_that_is_the_only_attempt_is_not_retried(tmp_path: Path) -> None:
    async with an_inside(tmp_path, said={"attempts": 1}) as inside:
        told = told_by(inside)
        await inside.see(killed(a_shard("a", 0), at=at(5)))
        assert [each.reason for each in told] == ["NotRetried"]
