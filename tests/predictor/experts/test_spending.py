"""An error budget: what it counts and allows, and how sizes change as it is spent."""

from __future__ import annotations

from dataclasses import replace

import pytest

from plimsoll_predictor.core.decision import Ask, Bounds, Decision, Reason
from plimsoll_predictor.core.documents import from_document, to_document
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GIB
from plimsoll_predictor.deciding.memory import decide
from plimsoll_predictor.experts.charging import EndedRun
from plimsoll_predictor.experts.panel import ANCHORS, EXPERTS
from plimsoll_predictor.experts.pool import Pool
from plimsoll_predictor.experts.spending import MOST_KILLS, Spending
from plimsoll_predictor.experts.standing import Ended, Exceeded, Standing
from plimsoll_predictor.knowledge.error_budget import WINDOW_RUNS, Spent
from plimsoll_predictor.knowledge.knowledge import Knowledge, Lift


def spending(*, runs: int, kills: int) -> Spending:
    """A task whose kills came first."""
    counted = Spending()
    for number in range(kills):
        counted.kill(f"run-{number}", 1.0, 2.0, "own-limit")
    for _ in range(runs):
        counted.end_run()
    return counted


def test_only_kills_below_the_request_count_and_once_a_run() -> None:
    counted = Spending()
    counted.kill("at-its-request", 2.0, 2.0, "own-limit")
    counted.kill("asks-for-nothing", 1.0, None, "own-limit")
    assert counted.spent == Spent(0, 0)
    counted.kill("run", 1.0, 2.0, "own-limit")
    counted.kill("run", 1.5, 2.0, "own-limit")
    counted.kill("other", 1.0, 2.0, "child")
    assert counted.spent == Spent(2, 2)
    assert counted.causes == {"own-limit": 1, "child": 1}


def test_the_window_moves_on() -> None:
    assert spending(runs=WINDOW_RUNS, kills=3).spent == Spent(WINDOW_RUNS, 3)
    assert spending(runs=WINDOW_RUNS + 1, kills=3).spent == Spent(WINDOW_RUNS, 0)


def test_what_is_remembered_is_bounded_and_survives_a_restart() -> None:
    counted = spending(runs=0, kills=MOST_KILLS + 5)
    assert counted.spent.killed == MOST_KILLS
    again = from_document(Spending, to_document(counted), "spending")
    assert again == counted
    again.kill("one more", 1.0, 2.0, "own-limit")
    assert again.spent.killed == MOST_KILLS


@pytest.mark.parametrize(
    ("runs", "budget", "allowed"),
    [
        pytest.param(0, 0.05, 1, id="one to begin with"),
        pytest.param(49, 0.05, 1, id="one of the first fifty, whatever the share"),
        pytest.param(50, 0.05, 2, id="then the share"),
        pytest.param(60, 0.01, 1, id="never less than the one"),
        pytest.param(199, 0.01, 1, id="rounded down"),
        pytest.param(200, 0.01, 2, id="two of two hundred"),
        pytest.param(1000, 0.005, 5, id="a whole window"),
        pytest.param(1000, 0.0, 0, id="none at all"),
    ],
)
def test_what_a_budget_allows(runs: int, budget: float, allowed: int) -> None:
    assert Spent(runs, 0).allowed(budget) == allowed


def deciding(spent: Spent, budget: float | None, **known: object) -> Decision:
    """A run that asks for 8 GiB, of a task whose largest need makes 2 GiB of it."""
    policy = Policy(mode=Mode.ENFORCE, headroom=1.0, error_budget=budget)
    task = Knowledge(
        task=TaskId("shop", "train"), policy=policy, runs=9, max_need_bytes=2 * GIB, spent=spent
    )
    ask = Ask(features={}, request_bytes=8 * GIB, run="run")
    return decide(ask, replace(task, **known), Bounds())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("killed", "gib"),
    [
        pytest.param(0, 2, id="unspent"),
        pytest.param(1, 3.5, id="a quarter of the way"),
        pytest.param(2, 5, id="half of the way"),
        pytest.param(4, 8, id="spent: the request"),
        pytest.param(9, 8, id="overspent: the request"),
    ],
)
def test_sizes_move_toward_the_request_as_a_budget_is_spent(killed: int, gib: float) -> None:
    assert deciding(Spent(400, killed), 0.01).allocation_bytes == gib * GIB


def test_a_budget_that_is_spent_says_so() -> None:
    decision = deciding(Spent(400, 4), 0.01)
    assert decision.reason is Reason.NOT_LOWERED
    assert "4 of the 4 kills that an error budget of 1.00% allows in 400 runs" in decision.why


def test_without_a_budget_kills_move_nothing() -> None:
    assert deciding(Spent(400, 400), None).allocation_bytes == 2 * GIB


def test_a_budget_does_not_lower_a_lift_or_a_size_above_the_request() -> None:
    lift = Lift(allocation_bytes=12 * GIB, attempt=2, after_bytes=8 * GIB)
    assert deciding(Spent(400, 4), 0.01, lifts={"run": lift}).allocation_bytes == 12 * GIB
    assert deciding(Spent(400, 4), 0.01, max_need_bytes=9 * GIB).allocation_bytes == 9 * GIB


def test_a_standing_counts_and_tells_what_is_spent() -> None:
    standing, pool = Standing(), Pool(EXPERTS, ANCHORS)
    standing.exceeded(Exceeded(run="a", allocation_bytes=1e9, request_bytes=4e9, cause="own-limit"))
    run = EndedRun(need_bytes=2e9, runtime_s=60.0, request_bytes=4e9)
    standing.learn(Ended(run=run, features={}, bids=None, overhead_s=2400.0), pool)
    known = standing.inform(Knowledge(task=TaskId("shop", "train"), policy=Policy()))
    assert known.spent == Spent(1, 1)
    assert Knowledge.from_dict(known.to_dict()).spent == Spent(1, 1)
    assert Standing.from_dict(standing.to_dict()).spending == standing.spending


def test_what_an_older_version_wrote_has_spent_nothing() -> None:
    known = Knowledge(task=TaskId("shop", "train"), policy=Policy()).to_dict()
    del known["spent"]
    assert Knowledge.from_dict(known).spent == Spent(0, 0)
    state = Standing().to_dict()
    del state["spending"]
    assert Standing.from_dict(state).spending == Spending()


def test_the_way_to_a_request_above_the_policys_maximum_ends_at_the_pod_as_written() -> None:
    policy = Policy(mode=Mode.ENFORCE, headroom=1.0, error_budget=0.04, max_bytes=4 * GIB)
    sizes = {
        killed: deciding(Spent(100, killed), 0.04, policy=policy).allocation_bytes
        for killed in (0, 1, 2)
    }
    assert sizes == {0: 2 * GIB, 1: 3.5 * GIB, 2: None}
    assert deciding(Spent(100, 2), 0.04, policy=policy).reason is Reason.KEPT
