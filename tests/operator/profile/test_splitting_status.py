"""What a profile says about a task's Jobs over items."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from plimsoll_operator.profile.splitting_status import (
    MOST_WORDS,
    SplitFacts,
    TaskSplitting,
    splitting_status,
)
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.splitting.costs import Costs
from plimsoll_predictor.splitting.peaks import Peaks

LEASED = SplitFacts(
    of="leases",
    costs=Costs(2.0432, 0.0, 0.94, 0.1, 0.0, 40.0),
    peaks=Peaks(50 * MIB, 1.0 * MIB, 0.05, 0.0, 16, 8.0, apart=True),
    largest=16,
    last="3,990 items of 4,000 done",
    verdict="7% less time",
)


def told(facts: TaskSplitting) -> dict[str, Any]:
    status = splitting_status(facts)
    assert status is not None
    return status


def test_nothing_is_said_while_no_job_over_items_is_known() -> None:
    assert splitting_status(TaskSplitting()) is None


def test_leased_and_cut_jobs_have_the_same_fields() -> None:
    cut = replace(LEASED, of="pods", verdict="as it is, 4 pods: nothing to gain", peaks=None)
    status = told(TaskSplitting(cut, LEASED))
    assert status["text"] == "leased: 7% less time; cut: as it is, 4 pods: nothing to gain"
    assert status["leased"] == {
        "item": "2 s, varying by 0.94 s",
        "itemSeconds": 2.0,
        "memory": "50Mi, and 1Mi an item; varies by 5%",
        "largest": 16,
        "lastJob": "3,990 items of 4,000 done",
        "verdict": "7% less time",
    }
    assert set(status["cut"]) == set(status["leased"])
    assert status["cut"]["memory"] == "not measured"


def test_the_way_that_is_not_known_any_more_is_deleted() -> None:
    status = told(TaskSplitting(leased=LEASED))
    assert status["text"] == "leased: 7% less time"
    assert status["cut"] is None


def test_a_fit_that_moves_a_little_changes_nothing() -> None:
    moved = replace(LEASED, costs=replace(LEASED.costs, item_s=2.0441, chunks=41.0))
    assert told(TaskSplitting(leased=moved)) == told(TaskSplitting(leased=LEASED))


def test_words_are_bounded() -> None:
    long = replace(LEASED, last="x" * 3000, verdict="y" * 3000)
    status = told(TaskSplitting(long, long))
    words = [status["text"], *status["leased"].values(), *status["cut"].values()]
    assert max(len(each) for each in words if isinstance(each, str)) <= MOST_WORDS
