"""Whose lift it is: pods that share a run differ by when they were made and killed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.knowledge.knowledge import Knowledge, Lift
from tests.builders.controller.ledgers import (
    NOW_S,
    TRAIN,
    Inside,
    a_train,
    an_inside,
    decided,
    ended,
    killed,
    made,
)
from tests.builders.pods import APod

AIRFLOW = {"dag_id": "nightly", "task_id": "train", "run_id": "manual-1"}


def at(second: int) -> str:
    return f"2026-01-01T00:00:{second:02}Z"


def sibling(name: str, made_s: int, attempt: int = 1, memory: str = "128Mi") -> APod:
    """A pod of one Job with parallelism."""
    return made(decided(a_train(name, memory).owned_by_job(), attempt=attempt), at(made_s))


def a_try(name: str, made_s: int, attempt: int = 1) -> APod:
    """A pod of one Airflow task instance."""
    return made(decided(a_train(name), attempt=attempt).with_labels(AIRFLOW), at(made_s))


def lifts_of(inside: Inside) -> list[Lift]:
    stored = inside.store.lifts.waiting().get(TRAIN, {})
    assert stored == inside.known.lifts
    assert [each.killed_s for each in stored.values()] == [
        each.killed_s for each in inside.known.lifts.values()
    ]
    return list(stored.values())


@pytest.mark.slow
async def test_a_cleared_task_that_is_killed_again_is_lifted_again(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(killed(a_try("try-1", 0), at=at(5)))
        await inside.see(ended(a_try("try-2", 6, attempt=2), at=at(10)))
        assert lifts_of(inside) == []
        await inside.see(killed(a_try("cleared", 20), at=at(25)))
        assert [lift.attempt for lift in lifts_of(inside)] == [2]


@pytest.mark.slow
async def test_a_sibling_killed_after_another_got_through_is_lifted_too(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(killed(sibling("first", 0), at=at(5)))
        await inside.see(ended(sibling("firsts-next", 10, attempt=2), at=at(20)))
        await inside.see(killed(sibling("second", 0), at=at(30)))
        assert [lift.attempt for lift in lifts_of(inside)] == [2]


@pytest.mark.slow
async def test_a_success_from_before_a_siblings_kill_leaves_its_lift(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(killed(sibling("first", 0), at=at(5)))
        await inside.see(killed(sibling("second", 0), at=at(30)))
        await inside.see(ended(sibling("firsts-next", 10, attempt=2), at=at(40)))
        assert len(lifts_of(inside)) == 1, "the second's next pod still has to come"
        await inside.see(ended(sibling("seconds-next", 41, attempt=2), at=at(50)))
        assert lifts_of(inside) == []


@pytest.mark.slow
async def test_a_pod_made_after_the_kill_at_the_old_size_leaves_the_lift(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(killed(sibling("first", 0), at=at(5)))
        await inside.see(ended(sibling("beside", 6), at=at(10)))
        assert len(lifts_of(inside)) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "end",
    [
        pytest.param({"reason": "Error", "exit_code": 1}, id="failed by itself"),
        pytest.param({"reason": "Error", "exit_code": 137}, id="killed from outside"),
        pytest.param({"reason": "Error", "exit_code": 143, "gone": True}, id="preempted"),
    ],
)
async def test_an_attempt_that_ended_otherwise_keeps_its_lift(
    tmp_path: Path, end: dict[str, object]
) -> None:
    gone = bool(end.pop("gone", False))
    async with an_inside(tmp_path) as inside:
        await inside.see(killed(sibling("first", 0), at=at(5)))
        lifted = ended(sibling("next", 10, attempt=2), at=at(20), **end)  # type: ignore[arg-type]
        if gone:
            lifted = lifted.with_status(
                conditions=[
                    {
                        "type": "DisruptionTarget",
                        "status": "True",
                        "reason": "PreemptionByScheduler",
                    }
                ]
            )
        (before,) = lifts_of(inside)
        await inside.see(lifted, gone=gone)
        (after,) = lifts_of(inside)
        assert after.allocation_bytes >= before.allocation_bytes


@pytest.mark.slow
async def test_a_kill_seen_again_changes_nothing_after_its_run_got_through(tmp_path: Path) -> None:
    first = killed(a_try("try-1", 0), at=at(5))
    for _ in range(2):
        async with an_inside(tmp_path) as inside:
            await inside.see(first)
            await inside.see(ended(a_try("try-2", 6, attempt=2), at=at(10)))
            assert lifts_of(inside) == []
    async with an_inside(tmp_path) as inside:
        await inside.see(first)
        assert lifts_of(inside) == []


async def test_a_lift_of_two_kills_at_once_is_the_larger(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        large = killed(sibling("large", 0, memory="1Gi"), at=at(5))
        small = killed(sibling("small", 0), at=at(5))
        await asyncio.gather(inside.see(large), inside.see(small))
        (lift,) = lifts_of(inside)
        assert lift.allocation_bytes > 1024 * MIB


@pytest.mark.slow
async def test_a_node_whose_clock_is_ahead_does_not_keep_a_lift(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(killed(sibling("first", 0), at="2026-01-01T00:09:00Z"))
        assert [lift.killed_s for lift in lifts_of(inside)] == [NOW_S]
        later = made(sibling("next", 0, attempt=2), "2026-01-01T00:01:10Z")
        await inside.see(ended(later, at="2026-01-01T00:01:20Z"))
        assert lifts_of(inside) == []


@pytest.mark.slow
async def test_admission_is_told_when_the_run_was_killed_also_after_a_restart(
    tmp_path: Path,
) -> None:
    """This shows admission a lift that nobody used."""
    for _ in range(2):
        async with an_inside(tmp_path) as inside:
            await inside.see(killed(a_try("try-1", 0), at=at(5)))
            (lift,) = Knowledge.from_dict(inside.known.to_dict()).lifts.values()
            assert lift.killed_s == 1_767_225_605
