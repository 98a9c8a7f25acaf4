"""Whether a task's latest pod was left to somebody else."""

from __future__ import annotations

import pytest

from plimsoll_operator.views.left_pods import left_by
from plimsoll_predictor.core.decision import Reason
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import DecisionRecord
from plimsoll_predictor.store.attempts.decisions import RESCUED


def decided(reason: str, at_s: float) -> DecisionRecord:
    return DecisionRecord(
        task=TaskId("shop", "train"),
        attempt_uid=f"{reason}-{at_s}",
        at_s=at_s,
        words=f"{reason} at {at_s:.0f}",
        allocation_bytes=None,
        request_bytes=None,
        reason=reason,
    )


LEFT, SIZED = Reason.LEFT.value, Reason.PREDICTED.value


@pytest.mark.parametrize(
    ("newest_first", "words"),
    [
        ([], None),
        ([(SIZED, 2.0), (LEFT, 1.0)], None),
        ([(LEFT, 2.0), (SIZED, 1.0)], "left at 2"),
        # Pods of one second: which came first is not known.
        ([(SIZED, 2.0), (LEFT, 2.0)], "left at 2"),
        ([(LEFT, 2.0), (SIZED, 2.0)], "left at 2"),
        # A rescue sizes no pod.
        ([(RESCUED, 3.0), (LEFT, 2.0)], "left at 2"),
        ([(RESCUED, 3.0), (SIZED, 2.0), (LEFT, 1.0)], None),
    ],
)
def test_the_latest_decision_says_whether_a_pod_was_left(
    newest_first: list[tuple[str, float]], words: str | None
) -> None:
    assert left_by([decided(*each) for each in newest_first]) == words
