"""The OOM truth table: for every row that counts, the rows that do not."""

from __future__ import annotations

from typing import Any

import pytest

from plimsoll_operator.attempts.truth_table import Readings, judge
from plimsoll_operator.pods.status import last_life, read_status
from plimsoll_predictor.core.record import Outcome
from plimsoll_predictor.core.units import MIB

LIMIT = 100 * MIB


def ended(reason: str, exit_code: int, phase: str = "Failed", **status: Any) -> dict[str, Any]:
    terminated = {
        "reason": reason,
        "exitCode": exit_code,
        "startedAt": "2026-01-01T00:00:00Z",
        "finishedAt": "2026-01-01T00:00:10Z",
        "containerID": "containerd://abc",
    }
    return {
        "metadata": {"uid": "u1", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"nodeName": "node-1"},
        "status": {
            "phase": phase,
            "containerStatuses": [
                {"name": "main", "restartCount": 0, "state": {"terminated": terminated}}
            ],
            **({"reason": status.pop("podReason")} if "podReason" in status else {}),
            **status,
        },
    }


DISRUPTED = [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]
NOT_DISRUPTED = [{"type": "DisruptionTarget", "status": "False", "reason": "TerminationByKubelet"}]


@pytest.mark.parametrize(
    ("pod", "limit_bytes", "kernel_peak_bytes", "outcome"),
    [
        pytest.param(
            ended("OOMKilled", 137), LIMIT, None, Outcome.OOM_KILLED, id="killed at its limit"
        ),
        pytest.param(
            ended("OOMKilled", 0, "Succeeded"),
            LIMIT,
            LIMIT,
            Outcome.OOM_KILLED,
            id="a child was killed and the main process went on to exit 0",
        ),
        pytest.param(
            ended("OOMKilled", 1),
            LIMIT,
            LIMIT,
            Outcome.OOM_KILLED,
            id="a child was killed and the main process gave up",
        ),
        pytest.param(
            ended("OOMKilled", 137, conditions=DISRUPTED),
            LIMIT,
            LIMIT,
            Outcome.OOM_KILLED,
            id="killed at its limit while it was being preempted",
        ),
        pytest.param(
            ended("OOMKilled", 137),
            None,
            None,
            Outcome.EVICTED,
            id="without a limit it was the node that ran out",
        ),
        pytest.param(
            ended("OOMKilled", 137),
            LIMIT,
            LIMIT // 2,
            Outcome.EVICTED,
            id="killed far below its limit it was the node that ran out",
        ),
        pytest.param(
            ended("Error", 137), LIMIT, None, Outcome.FAILED, id="SIGKILL from outside is no OOM"
        ),
        pytest.param(ended("Error", 3), LIMIT, LIMIT, Outcome.FAILED, id="a JVM's own exit 3"),
        pytest.param(ended("Error", 52), LIMIT, LIMIT, Outcome.FAILED, id="Spark's own exit 52"),
        pytest.param(
            ended("Error", 137, podReason="Evicted"),
            LIMIT,
            LIMIT,
            Outcome.EVICTED,
            id="an eviction that killed is the node's doing",
        ),
        pytest.param(
            ended("Error", 143, conditions=DISRUPTED),
            LIMIT,
            None,
            Outcome.EVICTED,
            id="a preemption",
        ),
        pytest.param(
            ended("Error", 1, conditions=NOT_DISRUPTED),
            LIMIT,
            None,
            Outcome.FAILED,
            id="a disruption that did not happen",
        ),
        pytest.param(
            ended("Completed", 0, "Succeeded"), LIMIT, LIMIT, Outcome.SUCCEEDED, id="completed"
        ),
        pytest.param(
            {"metadata": {"uid": "u1"}, "status": {"phase": "Failed", "reason": "NodeAffinity"}},
            LIMIT,
            None,
            Outcome.EVICTED,
            id="its node would not have it",
        ),
        pytest.param(
            {"metadata": {"uid": "u1"}, "status": {"phase": "Failed", "reason": "Evicted"}},
            LIMIT,
            None,
            Outcome.EVICTED,
            id="evicted before any container status was kept",
        ),
        pytest.param(
            {"metadata": {"uid": "u1"}, "status": {"phase": "Failed", "reason": "OutOfmemory"}},
            LIMIT,
            None,
            Outcome.FAILED,
            id="refused by the kubelet",
        ),
    ],
)
def test_an_end_is_judged(
    pod: dict[str, Any], limit_bytes: int | None, kernel_peak_bytes: int | None, outcome: Outcome
) -> None:
    verdict = judge(
        read_status(pod, "main"), limit_bytes, Readings(final_kernel_bytes=kernel_peak_bytes)
    )
    assert verdict is not None
    assert verdict.outcome is outcome
    assert verdict.why


@pytest.mark.parametrize(
    "state",
    [
        pytest.param({"running": {"startedAt": "2026-01-01T00:00:00Z"}}, id="running"),
        pytest.param({"waiting": {"reason": "ContainerCreating"}}, id="starting"),
        pytest.param({}, id="nothing known"),
    ],
)
def test_a_living_attempt_is_not_judged(state: dict[str, Any]) -> None:
    pod = {
        "metadata": {"uid": "u1"},
        "status": {"phase": "Running", "containerStatuses": [{"name": "main", "state": state}]},
    }
    assert judge(read_status(pod, "main"), LIMIT) is None


def restarted(restarts: int, state: dict[str, Any]) -> dict[str, Any]:
    pod = ended("OOMKilled", 137, "Running")
    (status,) = pod["status"]["containerStatuses"]
    status.update(restartCount=restarts, lastState=status["state"], state=state)
    return pod


def test_a_life_keeps_its_name_from_crash_to_restart() -> None:
    """The same killed life, seen while its restart waits and after it: one attempt."""
    waiting = read_status(restarted(1, {"waiting": {"reason": "CrashLoopBackOff"}}), "main")
    running = last_life(restarted(2, {"running": {"startedAt": "2026-01-01T00:01:00Z"}}), "main")
    assert running is not None
    assert waiting.ended
    assert waiting.attempt_uid == running.attempt_uid == "u1/1"


def test_the_first_life_has_the_pods_own_uid() -> None:
    life = last_life(restarted(1, {"running": {"startedAt": "2026-01-01T00:01:00Z"}}), "main")
    assert life is not None
    assert life.attempt_uid == "u1"
    assert life.finished_s is not None
    assert life.started_s is not None
    assert life.finished_s - life.started_s == 10


def test_a_life_is_shown_until_the_one_after_the_next_ends() -> None:
    ended_again = {"terminated": {"reason": "Completed", "exitCode": 0}}
    pod = restarted(1, ended_again)
    life = last_life(pod, "main")
    assert life is not None
    assert (life.attempt_uid, read_status(pod, "main").attempt_uid) == ("u1", "u1/1")
    assert life.terminated is not None
    assert life.terminated.reason == "OOMKilled"


def test_unreadable_times_are_missing() -> None:
    pod = ended("Completed", 0, "Succeeded")
    pod["status"]["containerStatuses"][0]["state"]["terminated"]["startedAt"] = "yesterday"
    status = read_status(pod, "main")
    assert status.started_s is None
    assert status.finished_s is not None


@pytest.mark.parametrize(
    ("reason", "exit_code", "deleted", "outcome"),
    [
        pytest.param("Completed", 0, "00:00:40", Outcome.DELETED, id="ended within its grace"),
        pytest.param("Error", 143, "00:00:40", Outcome.DELETED, id="ended by SIGTERM"),
        pytest.param("Completed", 0, "00:00:41", Outcome.SUCCEEDED, id="deleted after its end"),
        pytest.param("OOMKilled", 137, "00:00:40", Outcome.OOM_KILLED, id="killed all the same"),
    ],
)
def test_a_pod_that_was_deleted_did_not_end_by_itself(
    reason: str, exit_code: int, deleted: str, outcome: Outcome
) -> None:
    pod = ended(reason, exit_code, "Failed" if exit_code else "Succeeded")
    pod["metadata"] |= {
        "deletionTimestamp": f"2026-01-01T{deleted}Z",
        "deletionGracePeriodSeconds": 30,
    }
    verdict = judge(read_status(pod, "main"), LIMIT)
    assert verdict is not None
    assert verdict.outcome is outcome
