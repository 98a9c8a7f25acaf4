"""The first size, the next size, and the request: where one rule ends and the next begins."""

from __future__ import annotations

from dataclasses import replace

import pytest

from plimsoll_predictor.core.decision import Ask, Bounds, Decision, Reason
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.deciding.lifting import FailedAttempt, next_allocation
from plimsoll_predictor.deciding.memory import decide
from plimsoll_predictor.knowledge.curve import Straight
from plimsoll_predictor.knowledge.expert_names import REQUEST
from plimsoll_predictor.knowledge.knowledge import Lift
from plimsoll_predictor.knowledge.rule import Line, Rule, for_larger_request
from tests.builders.experts.serving import AKnownTask

ANYWHERE = Bounds()


def sized(task: AKnownTask, request_mib: int | None, limit_mib: int | None = None) -> Decision:
    ask = Ask(
        features={},
        request_bytes=None if request_mib is None else request_mib * MIB,
        limit_bytes=None if limit_mib is None else limit_mib * MIB,
    )
    return decide(ask, task.built, ANYWHERE)


def new_task() -> AKnownTask:
    """A task whose policy first tries three quarters of the request."""
    return AKnownTask().after(0).needing(None).under(first_size=0.75, min_runs=5)


def test_a_new_task_gets_the_share_of_its_request_that_its_policy_tries_first() -> None:
    decision = sized(new_task(), 1000)
    assert (decision.allocation_bytes, decision.reason) == (750 * MIB, Reason.FIRST_SIZE)
    assert decision.why == (
        "only 0 of the 5 runs needed are known; 75% of the request is tried first"
    )


@pytest.mark.parametrize(
    ("task", "request_mib", "limit_mib"),
    [
        pytest.param(new_task().after(1), 1000, None, id="a run of the task is known"),
        pytest.param(new_task().paused(), 1000, None, id="the task is paused"),
        pytest.param(new_task(), 1000, 1001, id="its limit is above its request"),
        pytest.param(new_task().under(first_size=1.0), 1000, None, id="all of it is tried first"),
        pytest.param(new_task().under(critical=True), 1000, None, id="the task is critical"),
        pytest.param(new_task().under(min_bytes=1000 * MIB), 1000, None, id="it is the minimum"),
        pytest.param(new_task().needing(750), 1000, None, id="that much was too small already"),
    ],
)
def test_a_request_is_kept_whole(task: AKnownTask, request_mib: int, limit_mib: int | None) -> None:
    decision = sized(task, request_mib, limit_mib)
    assert decision.allocation_bytes == request_mib * MIB
    assert decision.reason in (Reason.COLD_START, Reason.KEPT)


def test_a_share_above_the_last_kill_is_tried() -> None:
    decision = sized(new_task().needing(749), 1000)
    assert (decision.allocation_bytes, decision.reason) == (750 * MIB, Reason.FIRST_SIZE)


def test_a_pod_without_a_request_has_no_first_size() -> None:
    decision = sized(new_task(), None)
    assert (decision.allocation_bytes, decision.reason) == (None, Reason.COLD_START)


def ruled(champion: str) -> AKnownTask:
    known = replace(
        AKnownTask().needing(800).built,
        champion=champion,
        rule=Rule(base_bytes=100.0 * MIB),
        largest_request_bytes=1000 * MIB,
    )
    return AKnownTask(known)


@pytest.mark.parametrize("champion", ["near-max", "steady"])
def test_headroom_counts_only_where_no_expert_serves_yet(champion: str) -> None:
    """docs/policy.md and the schema of the policy say so."""
    served, unserved = (
        {sized(task.under(headroom=headroom), 2000).allocation_bytes for headroom in (1.1, 2.0)}
        for task in (ruled(champion), AKnownTask().needing(800))
    )
    assert len(served) == 1
    assert unserved == {880 * MIB, 1600 * MIB}


@pytest.mark.parametrize(
    ("request_mib", "size_mib"),
    [
        pytest.param(1000, 100, id="what the task always asks"),
        pytest.param(1100, 100, id="a tenth more"),
        pytest.param(2000, 200, id="twice as much"),
        pytest.param(None, 100, id="nothing"),
    ],
)
def test_a_rules_bid_grows_with_a_request_that_is_larger_than_all_before(
    request_mib: int | None, size_mib: int
) -> None:
    decision = sized(ruled("latest-max"), request_mib)
    assert (decision.allocation_bytes, decision.reason) == (size_mib * MIB, Reason.LEARNED)


@pytest.mark.parametrize(
    ("features", "words"),
    [
        pytest.param({"rows": 90.0}, "its size follows rows", id="its feature is known"),
        pytest.param({}, "it follows no feature, as rows is unknown or new", id="it is not"),
        pytest.param(
            {"rows": "many"}, "it follows no feature, as rows is unknown or new", id="or no number"
        ),
    ],
)
@pytest.mark.parametrize(
    "over_rows",
    [
        Rule(base_bytes=100.0 * MIB, curves=(Straight(("rows",), (MIB,), 0.0),), most_bytes=2e9),
        Rule(base_bytes=100.0 * MIB, lines=(Line("rows", 1.0, 14.0),), most_bytes=2e9),
    ],
)
def test_the_feature_that_a_size_follows_is_named(
    over_rows: Rule, features: dict[str, float | str], words: str
) -> None:
    task = replace(ruled("curves").built, rule=over_rows)
    decision = decide(Ask(features=features, request_bytes=1000 * MIB), task, ANYWHERE)
    assert decision.why.endswith(f"; {words}")
    assert "follow" not in sized(ruled("latest-max"), 1000).why


def test_where_the_request_serves_and_there_is_none_the_largest_need_does() -> None:
    decision = sized(ruled(REQUEST), None)
    assert (decision.allocation_bytes, decision.reason) == (880 * MIB, Reason.MAX_SEEN)


def test_a_bid_above_a_larger_request_stays() -> None:
    assert for_larger_request(3000.0, 2000.0, 1000.0) == 3000.0


def test_a_bid_is_raised_to_the_larger_request_at_most() -> None:
    assert for_larger_request(1500.0, 2000.0, 1000.0) == 2000.0


def lifted_from(size_mib: int, *, needed_mib: int | None, killed_at_mib: int) -> int:
    known = replace(
        AKnownTask().built,
        max_need_bytes=killed_at_mib * MIB,
        largest_bytes=None if needed_mib is None else needed_mib * MIB,
    )
    failed = FailedAttempt(killed_at_bytes=size_mib * MIB, attempt=1)
    lift = next_allocation(failed, known, ANYWHERE)
    assert isinstance(lift, Lift)
    return lift.allocation_bytes // MIB


def test_what_a_kill_exceeded_is_no_need_that_a_lift_could_aim_at() -> None:
    assert lifted_from(1000, needed_mib=None, killed_at_mib=1000) == 2000
    assert lifted_from(1000, needed_mib=None, killed_at_mib=1500) == 2000


def test_a_need_that_was_seen_is_what_a_lift_aims_at() -> None:
    assert lifted_from(1000, needed_mib=1500, killed_at_mib=1500) == 1590
