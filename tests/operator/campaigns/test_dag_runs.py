"""Which DAG run is triggered next, by what Airflow says about the existing ones."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from plimsoll_operator.campaigns.configurations import Configuration
from plimsoll_operator.campaigns.dag_runs import (
    MOST_REFUSED,
    AirflowCampaign,
    PlannedRun,
    RunState,
    due_now,
    is_over,
    words_for,
)

CAMPAIGN = AirflowCampaign(dag="nightly", name="sizes", parallelism=2)
A_CONFIGURATION = Configuration(2, {"rows": 1}, '{"rows":1}')
UNSEEN = PlannedRun(A_CONFIGURATION)
DUE = replace(UNSEEN, state=RunState.DUE)
GOING = replace(UNSEEN, state=RunState.GOING)
DONE = replace(UNSEEN, state=RunState.SUCCEEDED)
FAILED = replace(UNSEEN, state=RunState.FAILED)
REFUSED = UNSEEN.refused("no rows")


def test_a_runs_id_is_the_same_again_and_another_for_what_differs() -> None:
    run_id = CAMPAIGN.run_id(UNSEEN)
    other = Configuration(9, {"rows": 2}, '{"rows":2}')
    assert run_id == CAMPAIGN.run_id(
        replace(UNSEEN, configuration=replace(A_CONFIGURATION, line=7))
    )
    others = {
        replace(CAMPAIGN, dag="weekly").run_id(UNSEEN),
        replace(CAMPAIGN, name="other").run_id(UNSEEN),
        CAMPAIGN.run_id(PlannedRun(other)),
        CAMPAIGN.run_id(replace(UNSEEN, attempt=2)),
    }
    assert len(others | {run_id}) == 5
    assert CAMPAIGN.run_id(replace(UNSEEN, attempt=2)) == f"{run_id}__2"


@pytest.mark.parametrize("name", ["x" * 300, "a b/c?d", "größe", "..", ""])
def test_any_name_gives_an_id_that_airflow_and_a_label_take(name: str) -> None:
    run_id = replace(CAMPAIGN, name=name).run_id(replace(UNSEEN, attempt=99))
    assert re.fullmatch(r"[A-Za-z0-9_.~:+-]+", run_id)
    assert len(run_id) <= 63


@pytest.mark.parametrize(
    ("answers", "again", "state", "attempt"),
    [
        ([None], False, RunState.DUE, 1),
        (["success"], False, RunState.SUCCEEDED, 1),
        (["success"], True, RunState.SUCCEEDED, 1),
        (["queued"], True, RunState.GOING, 1),
        (["a state of next year"], False, RunState.GOING, 1),
        (["failed", None], False, RunState.FAILED, 1),
        (["failed", None], True, RunState.DUE, 2),
        (["failed", "success"], False, RunState.SUCCEEDED, 2),
        (["failed", "running"], True, RunState.GOING, 2),
        (["failed", "failed", None], False, RunState.FAILED, 2),
        (["failed", "failed", None], True, RunState.DUE, 3),
        (["failed"] * 99, True, RunState.FAILED, 99),
    ],
)
def test_what_is_there_says_what_is_due(
    answers: list[str | None], again: bool, state: RunState, attempt: int
) -> None:
    run = UNSEEN
    for answer in answers:
        assert run.state is RunState.UNSEEN
        run = run.looked_up(answer, again=again)
    assert (run.state, run.attempt) == (state, attempt)


@pytest.mark.parametrize(
    ("runs", "due"),
    [
        ([DUE, DUE, DUE], [0]),
        ([GOING, DUE, DUE], [1]),
        ([GOING, GOING, DUE], []),
        ([GOING, GOING, GOING, DUE], []),
        ([DONE, DUE, DUE, DUE], [1, 2]),
        ([FAILED, GOING, DUE, DUE], [2]),
        ([REFUSED, DUE, DUE], [1]),
        ([REFUSED] * MOST_REFUSED + [DUE], []),
        ([REFUSED] * MOST_REFUSED + [DONE, DUE], [MOST_REFUSED + 1]),
        ([DONE, FAILED], []),
    ],
)
def test_so_many_are_triggered_that_no_more_than_two_go_on(
    runs: list[PlannedRun], due: list[int]
) -> None:
    assert due_now(runs, 2) == due


@pytest.mark.parametrize(
    ("runs", "over"),
    [
        ([DONE, FAILED, REFUSED], True),
        ([DONE, GOING], False),
        ([DONE, DUE], False),
        ([UNSEEN], False),
        ([REFUSED] * MOST_REFUSED + [DUE], True),
    ],
)
def test_it_is_over_when_nothing_goes_on_and_nothing_more_is_triggered(
    runs: list[PlannedRun], over: bool
) -> None:
    assert is_over(runs) is over


def test_a_run_that_is_deleted_as_it_goes_on_is_told() -> None:
    assert words_for([DONE, DONE, GOING.seen(None)]) == "2 succeeded, 1 deleted"
