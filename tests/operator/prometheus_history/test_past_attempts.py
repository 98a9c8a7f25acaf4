"""How a past attempt ended: by the same table as for a pod that still exists."""

from __future__ import annotations

import pytest

from plimsoll_operator.prometheus_history.past_attempts import observations_of
from plimsoll_operator.prometheus_history.past_pods import (
    PastContainer,
    PastPod,
    ReadingRules,
    identity_of,
)
from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.core.units import MIB

LIMIT = 512.0 * MIB


def attempts_of(pod: PastPod, container: PastContainer) -> list[Observation]:
    pod.containers["main"] = container
    identity = identity_of(pod, ReadingRules())
    assert identity is not None
    return list(observations_of(pod, identity, ReadingRules()))


def a_past_pod(phase: str = "Failed", reason: str | None = None) -> PastPod:
    found = {"plimsoll.dev/task": "train"}
    return PastPod("shop", "train-x7", "u1", labels=found, phase=phase, reason=reason)


@pytest.mark.parametrize(
    ("pod", "container", "outcome"),
    [
        pytest.param(
            a_past_pod(),
            PastContainer(ended="OOMKilled", limit_bytes=LIMIT),
            Outcome.OOM_KILLED,
            id="killed at its limit",
        ),
        pytest.param(
            a_past_pod("Succeeded"),
            PastContainer(ended="OOMKilled", limit_bytes=LIMIT),
            Outcome.OOM_KILLED,
            id="a child was killed, and the main process went on",
        ),
        pytest.param(
            a_past_pod(),
            PastContainer(ended="OOMKilled"),
            Outcome.EVICTED,
            id="without a limit it was the node that ran out",
        ),
        pytest.param(
            a_past_pod(reason="Evicted"),
            PastContainer(ended="OOMKilled", limit_bytes=LIMIT),
            Outcome.OOM_KILLED,
            id="killed at its limit while it was being evicted",
        ),
        pytest.param(
            a_past_pod(reason="NodeLost"),
            PastContainer(ended="Error", limit_bytes=LIMIT),
            Outcome.EVICTED,
            id="its node was lost",
        ),
        pytest.param(
            a_past_pod(),
            PastContainer(ended="Error", limit_bytes=LIMIT),
            Outcome.FAILED,
            id="failed by itself",
        ),
        pytest.param(
            a_past_pod("Succeeded"),
            PastContainer(ended="Completed", limit_bytes=LIMIT),
            Outcome.SUCCEEDED,
            id="completed",
        ),
    ],
)
def test_a_past_attempt_ended_as_the_truth_table_says(
    pod: PastPod, container: PastContainer, outcome: Outcome
) -> None:
    assert [each.outcome for each in attempts_of(pod, container)] == [outcome]


def test_a_life_before_a_restart_in_place_was_killed_at_its_limit_or_by_its_node() -> None:
    for limit_bytes, outcome in ((LIMIT, Outcome.OOM_KILLED), (None, Outcome.EVICTED)):
        restarted = PastContainer(
            ended="Completed", ended_before="OOMKilled", restarts=1, limit_bytes=limit_bytes
        )
        before, last = attempts_of(a_past_pod("Succeeded"), restarted)
        assert (before.outcome, last.outcome) == (outcome, Outcome.SUCCEEDED)
