"""The truth table's boundaries, and every reason that lies in the cluster and not in the pod."""

from __future__ import annotations

from typing import Any

import pytest

from plimsoll_operator.attempts.truth_table import Readings, judge
from plimsoll_operator.pods.status import read_status
from plimsoll_predictor.core.record import Outcome
from plimsoll_predictor.core.units import MIB

LIMIT = 100 * MIB
PREEMPTED = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}


def ended(reason: str, exit_code: int, pod_reason: str | None = None) -> dict[str, Any]:
    state = {"terminated": {"reason": reason, "exitCode": exit_code}}
    statuses = [{"name": "main", "restartCount": 0, "state": state}]
    status = {"phase": "Failed", "reason": pod_reason, "containerStatuses": statuses}
    return {"metadata": {"uid": "u1"}, "status": status}


def outcome_of(pod: dict[str, Any], kernel_peak_bytes: int | None = None) -> Outcome | None:
    verdict = judge(read_status(pod, "main"), LIMIT, Readings(final_kernel_bytes=kernel_peak_bytes))
    return None if verdict is None else verdict.outcome


@pytest.mark.parametrize(
    ("peak_bytes", "outcome"),
    [
        pytest.param(79 * MIB, Outcome.EVICTED, id="just below four fifths of its limit"),
        pytest.param(80 * MIB, Outcome.OOM_KILLED, id="at four fifths of its limit"),
    ],
)
def test_a_kill_is_the_tasks_own_only_near_its_limit(peak_bytes: int, outcome: Outcome) -> None:
    assert outcome_of(ended("OOMKilled", 137), peak_bytes) is outcome


@pytest.mark.parametrize(
    "reason",
    [
        "Evicted",
        "NodeLost",
        "NodeShutdown",
        "Shutdown",
        "Terminated",
        "Preempting",
        "Preempted",
    ],
)
def test_what_the_cluster_ended_did_not_fail_by_itself(reason: str) -> None:
    assert outcome_of(ended("Error", 143, reason)) is Outcome.EVICTED


def test_a_reason_that_is_not_the_clusters_leaves_a_failure_the_pods_own() -> None:
    assert outcome_of(ended("Error", 143, "DeadlineExceeded")) is Outcome.FAILED


@pytest.mark.parametrize(
    ("deleted", "conditions", "outcome"),
    [
        pytest.param(True, [PREEMPTED], Outcome.EVICTED, id="preempted and being deleted"),
        pytest.param(False, [PREEMPTED], None, id="chosen for preemption, and still running"),
        pytest.param(True, [], None, id="being deleted by its owner"),
    ],
)
def test_a_pod_that_still_runs_has_ended_only_where_the_cluster_takes_it_away(
    deleted: bool, conditions: list[dict[str, str]], outcome: Outcome | None
) -> None:
    running = {"name": "main", "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}
    status = {"phase": "Running", "containerStatuses": [running], "conditions": conditions}
    deletion = {"deletionTimestamp": "2026-01-01T00:01:00Z"} if deleted else {}
    assert outcome_of({"metadata": {"uid": "u1"} | deletion, "status": status}) is outcome
