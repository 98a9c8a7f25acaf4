from __future__ import annotations

from dataclasses import replace

import pytest

from plimsoll_predictor.core.decision import Bounds
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.deciding.lifting import (
    FailedAttempt,
    Leaking,
    next_allocation,
)
from plimsoll_predictor.knowledge.expert_names import CLASSIFIER
from plimsoll_predictor.knowledge.knowledge import Lift
from tests.builders.experts.serving import AKnownTask, a_model

ANYWHERE = Bounds()


def killed_at(
    size_mib: int,
    *,
    attempt: int = 1,
    request_mib: int | None = None,
    left: int | None = 6,
    limit_mib: int | None = None,
) -> FailedAttempt:
    return FailedAttempt(
        attempts_left=left,
        killed_at_bytes=size_mib * MIB,
        attempt=attempt,
        request_bytes=None if request_mib is None else request_mib * MIB,
        limit_bytes=None if limit_mib is None else limit_mib * MIB,
    )


def lifted(failed: FailedAttempt, task: AKnownTask, bounds: Bounds = ANYWHERE) -> Lift | Leaking:
    return next_allocation(failed, task.built, bounds)


def mib(decision: Lift | Leaking) -> float:
    assert isinstance(decision, Lift), decision
    return decision.allocation_bytes / MIB


def nothing_known() -> AKnownTask:
    return AKnownTask().needing(None)


def binned() -> AKnownTask:
    """A task with ceilings of 300, 600 and 900Mi, and a largest need of 800Mi."""
    return AKnownTask().served_by(CLASSIFIER, a_model())


@pytest.mark.parametrize(
    ("killed_mib", "expected_mib"),
    [
        pytest.param(300, 600, id="the next ceiling"),
        pytest.param(290, 600, id="not a ceiling that is hardly more"),
        pytest.param(600, 848, id="a little over the largest need, where that is less"),
        pytest.param(720, 848, id="a little over the largest need, before the last ceiling"),
        pytest.param(900, 1800, id="twice, where the past knows no more"),
    ],
)
def test_a_kill_is_answered_with_the_smallest_useful_step(
    killed_mib: int, expected_mib: int
) -> None:
    assert mib(lifted(killed_at(killed_mib), binned())) == expected_mib


def test_a_lift_says_which_attempt_gets_it_and_what_was_too_small() -> None:
    assert lifted(killed_at(300, attempt=2), binned()) == Lift(600 * MIB, 3, 300 * MIB)


def test_a_task_of_which_nothing_is_known_is_doubled() -> None:
    assert mib(lifted(killed_at(500), nothing_known())) == 1000


@pytest.mark.parametrize(
    ("request_mib", "expected_mib"),
    [
        pytest.param(800, 633, id="half-way to a request that is some way off"),
        pytest.param(740, 740, id="a request that is near is the next step"),
        pytest.param(8000, 1000, id="a request far away is not jumped to"),
        pytest.param(550, 550, id="a request that is a little more is a step"),
        pytest.param(510, 1000, id="a request that is hardly more is no step"),
        pytest.param(400, 1000, id="a request below is no step"),
    ],
)
def test_the_users_request_is_a_step_when_it_is_the_smallest(
    request_mib: int, expected_mib: int
) -> None:
    assert mib(lifted(killed_at(500, request_mib=request_mib), nothing_known())) == expected_mib


def test_the_last_lift_is_never_below_the_users_request() -> None:
    failed = killed_at(500, attempt=3, request_mib=8000)
    assert mib(lifted(failed, nothing_known().under(max_lifts=3))) == 8000


def test_allocations_rise_until_the_lifts_are_used_up() -> None:
    failed, sizes = killed_at(100), []
    while isinstance(step := lifted(failed, binned()), Lift):
        sizes.append(step.allocation_bytes / MIB)
        failed = FailedAttempt(killed_at_bytes=step.allocation_bytes, attempt=step.attempt)
    assert sizes == [300, 600, 848]
    assert step == Leaking("lifted 3 times and killed again", "raise maxLifts")


def test_an_attempt_that_its_node_refused_has_used_up_no_lift() -> None:
    task = nothing_known().under(max_lifts=1)
    failed = killed_at(500, attempt=2)
    assert lifted(replace(failed, refused=1), task) == Lift(1000 * MIB, 3, 500 * MIB)
    again = lifted(replace(failed, refused=1, attempt=3), task)
    assert again == Leaking("lifted 1 time and killed again", "raise maxLifts")
    assert lifted(failed, task) == again


def test_the_ladder_has_as_many_steps_after_a_refusal() -> None:
    failed, task = killed_at(500, request_mib=8000), nothing_known()
    assert mib(lifted(replace(failed, attempt=2, refused=1), task)) == mib(lifted(failed, task))


def test_without_lifts_nothing_is_lifted() -> None:
    step = lifted(killed_at(500), nothing_known().under(max_lifts=0))
    assert step == Leaking("lifting is switched off (maxLifts 0)")


@pytest.mark.parametrize(
    ("bounds", "policy", "reason", "remedy"),
    [
        pytest.param(
            Bounds(cap_bytes=GIB),
            {},
            "the LimitRange's maximum of 1Gi",
            "raise the LimitRange's maximum",
            id="a LimitRange",
        ),
        pytest.param(
            ANYWHERE,
            {"max_bytes": GIB},
            "the policy's maximum of 1Gi",
            "raise max",
            id="the policy",
        ),
        pytest.param(
            Bounds(cap_bytes=GIB + MIB),
            {},
            "the LimitRange's maximum of 1Gi",
            "raise the LimitRange's maximum",
            id="hardly more room",
        ),
        pytest.param(
            Bounds(room_bytes=GIB, room_of="its quota", room_remedy="raise the quota"),
            {},
            "its quota, 1Gi",
            "raise the quota",
            id="a quota",
        ),
        pytest.param(
            Bounds(room_bytes=MIB, room_of="the largest node", room_remedy="add a larger node"),
            {},
            "its request (more than the largest node), 1Gi",
            "add a larger node",
            id="a node smaller than the request",
        ),
    ],
)
def test_a_task_killed_at_a_bound_leaks_and_is_told_what_to_do_about_that_bound(
    bounds: Bounds, policy: dict[str, int], reason: str, remedy: str
) -> None:
    failed = killed_at(1024, request_mib=1024, limit_mib=1024)
    step = lifted(failed, nothing_known().under(**policy), bounds)
    assert isinstance(step, Leaking)
    assert step.words == f"killed at 1Gi and already at {reason}; look for a leak, or {remedy}"


@pytest.mark.parametrize("limit_mib", [None, 8192])
def test_a_run_killed_below_its_own_limit_is_not_given_up_for_a_cap(limit_mib: int | None) -> None:
    """Its last attempt has the limit that its author wrote; see pod_sizing."""
    failed = killed_at(1024, request_mib=512, limit_mib=limit_mib)
    for task, bounds in (
        (nothing_known().under(max_bytes=GIB), ANYWHERE),
        (nothing_known(), Bounds(room_bytes=GIB, room_of="the largest node")),
    ):
        step = lifted(failed, task, bounds)
        assert isinstance(step, Lift)
        assert step.attempt == task.built.policy.max_lifts + 1
        assert step.allocation_bytes > failed.killed_at_bytes


@pytest.mark.parametrize("limit_mib", [None, 4096])
def test_a_run_that_may_request_no_more_gets_what_was_written_and_then_more(
    limit_mib: int | None,
) -> None:
    """A quota counts it: only a kill at what was written shows that it needs more of it."""
    quota = Bounds(room_bytes=GIB, room_of="its request (a quota counts it)")
    lowered = killed_at(1024, request_mib=1024, limit_mib=limit_mib)
    step = lifted(lowered, nothing_known(), quota)
    assert step == Lift(GIB, attempt=2, after_bytes=GIB, as_written=True)
    as_written = killed_at(4096, attempt=2, request_mib=1024, limit_mib=4096)
    assert mib(lifted(as_written, nothing_known(), Bounds(room_bytes=64 * GIB))) > 4096


def test_a_step_is_cut_to_the_cap_where_that_still_helps() -> None:
    assert mib(lifted(killed_at(500), nothing_known(), Bounds(cap_bytes=700 * MIB))) == 700


def test_a_floor_raises_a_step() -> None:
    assert mib(lifted(killed_at(10), nothing_known(), Bounds(floor_bytes=64 * MIB))) == 64


def test_the_attempt_before_the_last_is_followed_by_what_was_written() -> None:
    assert mib(lifted(killed_at(500, request_mib=8000, left=1), nothing_known())) == 8000


def test_so_is_one_of_which_nobody_knows_whether_it_is_the_last() -> None:
    assert mib(lifted(killed_at(500, request_mib=8000, left=None), nothing_known())) == 8000


def test_a_limit_above_the_request_is_what_was_written() -> None:
    failed = replace(killed_at(500, request_mib=600, left=1), limit_bytes=9000 * MIB)
    assert mib(lifted(failed, nothing_known())) == 9000
