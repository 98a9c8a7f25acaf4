"""Why an attempt ended: the same pod, watched or in a Prometheus' past, ends for one cause."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from plimsoll_operator.attempts.truth_table import UNREAD, Readings, judge, judge_row
from plimsoll_operator.names.labels import DEFAULT_CONTAINER
from plimsoll_operator.pods.status import MAX_MESSAGE, NOT_FOUND, last_life, read_status
from plimsoll_operator.prometheus_history.past_attempts import observations_of
from plimsoll_operator.prometheus_history.past_pods import ReadingRules, identity_of
from plimsoll_predictor.core.record import Cause, Observation, Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import MIB
from tests.builders.controller.ledgers import a_train, ended
from tests.builders.past_series import past_of
from tests.builders.pods import APod

LIMIT = 128 * MIB
NEAR = 0.9 * LIMIT
EVICTED_FOR_MEMORY = "The node was low on resource: memory. Threshold quantity: 100Mi"
TOO_LOW = "runc create failed: container init was OOM-killed (memory limit too low?)"


def a_pod_that(
    reason: str,
    exit_code: int,
    /,
    *,
    message: str | None = None,
    pod_message: str = "",
    limited: bool = True,
    deleted: str | None = None,
    **status: Any,
) -> APod:
    """By default limited to 128Mi; it ran from 00:00 to 01:00. message: the termination message."""
    pod = ended(a_train() if limited else a_train().limited(None), reason, exit_code)
    built = pod.built()
    (of_container,) = built["status"]["containerStatuses"]
    if message is not None:
        of_container["state"]["terminated"]["message"] = message
    if reason == "StartError":
        # So containerd says that it did not start.
        of_container["state"]["terminated"]["startedAt"] = "1970-01-01T00:00:00Z"
    built["status"] |= {**status, "message": pod_message}
    if deleted is not None:
        built["metadata"] |= {
            "deletionTimestamp": f"2026-01-01T{deleted}Z",
            "deletionGracePeriodSeconds": 30,
        }
    return APod(built)


def beside_a_failed_one() -> APod:
    pod = a_pod_that("Completed", 0, phase="Failed").annotated({DEFAULT_CONTAINER: "main"})
    built = pod.with_container("sidecar").built()
    failed = {"terminated": {"reason": "Error", "exitCode": 1}}
    built["status"]["containerStatuses"].append({"name": "sidecar", "state": failed})
    return APod(built)


def a_pod_that_never_ran(reason: str) -> APod:
    return a_train().with_status(phase="Failed", reason=reason)


def disrupted(reason: str) -> list[dict[str, str]]:
    return [{"type": "DisruptionTarget", "status": "True", "reason": reason}]


@dataclass(frozen=True, kw_only=True)
class Row:
    """cause: None for a success. past: the cause where a past shows less; the same if None."""

    pod: APod
    cause: Cause | None
    readings: Readings = UNREAD
    past: Cause | None = None


ROWS = {
    "completed": Row(pod=a_pod_that("Completed", 0), cause=None),
    "completed while another container failed": Row(pod=beside_a_failed_one(), cause=None),
    "killed at its limit": Row(pod=a_pod_that("OOMKilled", 137), cause=Cause.OWN_LIMIT),
    # No series has the exit code of a last life.
    "a child was killed, and it gave up": Row(
        pod=a_pod_that("OOMKilled", 1), cause=Cause.CHILD, past=Cause.OWN_LIMIT
    ),
    "a child was killed, and it went on": Row(
        pod=a_pod_that("OOMKilled", 0), cause=Cause.CHILD, past=Cause.OWN_LIMIT
    ),
    "killed without a limit": Row(
        pod=a_pod_that("OOMKilled", 137, limited=False), cause=Cause.NODE_PRESSURE
    ),
    "killed far below its limit": Row(
        pod=a_pod_that("OOMKilled", 137),
        readings=Readings(final_kernel_bytes=LIMIT // 2),
        cause=Cause.NODE_PRESSURE,
        past=Cause.OWN_LIMIT,
    ),
    "its limit is too small to start in": Row(
        pod=a_pod_that("StartError", 128, message=TOO_LOW),
        cause=Cause.OWN_LIMIT,
        past=Cause.NEVER_STARTED,
    ),
    "its command is not there": Row(
        pod=a_pod_that("StartError", 128, message="exec: no such file"), cause=Cause.NEVER_STARTED
    ),
    "refused by the kubelet": Row(
        pod=a_pod_that_never_ran("OutOfmemory"), cause=Cause.NEVER_STARTED
    ),
    "refused for a device": Row(
        pod=a_pod_that_never_ran("UnexpectedAdmissionError"), cause=Cause.NEVER_STARTED
    ),
    "its node would not have it": Row(
        pod=a_pod_that_never_ran("NodeAffinity"), cause=Cause.NODE_LOST
    ),
    "its node was lost": Row(
        pod=a_pod_that("Error", 137, reason="NodeLost"), cause=Cause.NODE_LOST
    ),
    "its node shut down": Row(
        pod=a_pod_that("Error", 143, reason="Shutdown"), cause=Cause.NODE_LOST
    ),
    "its kubelet did not find its container": Row(
        pod=a_pod_that(NOT_FOUND, 137), readings=Readings(seen_bytes=LIMIT), cause=Cause.NODE_LOST
    ),
    "evicted": Row(pod=a_pod_that("Error", 137, reason="Evicted"), cause=Cause.EVICTED),
    "evicted for its node's memory": Row(
        pod=a_pod_that("Error", 137, reason="Evicted", pod_message=EVICTED_FOR_MEMORY),
        cause=Cause.NODE_PRESSURE,
        past=Cause.EVICTED,
    ),
    "evicted before it answered with exit 0": Row(
        pod=a_pod_that("Completed", 0, reason="Evicted"), cause=Cause.EVICTED
    ),
    # kube-state-metrics shows no reason of a disruption, only that the pod was deleted.
    "preempted": Row(
        pod=a_pod_that(
            "Error", 143, conditions=disrupted("PreemptionByScheduler"), deleted="00:01:15"
        ),
        cause=Cause.PREEMPTED,
        past=Cause.DELETED,
    ),
    "drained": Row(
        pod=a_pod_that(
            "Completed", 0, conditions=disrupted("EvictionByEvictionAPI"), deleted="00:01:15"
        ),
        cause=Cause.EVICTED,
        past=Cause.DELETED,
    ),
    "its deadline was over": Row(
        pod=a_pod_that("Error", 143, reason="DeadlineExceeded"),
        cause=Cause.DEADLINE,
        past=Cause.OWN_MISTAKE,
    ),
    "its deadline was over, and it answered with exit 0": Row(
        pod=a_pod_that("Completed", 0, phase="Failed", reason="DeadlineExceeded"),
        cause=Cause.DEADLINE,
    ),
    "deleted, and ended by SIGTERM": Row(
        pod=a_pod_that("Error", 143, deleted="00:01:15"), cause=Cause.DELETED
    ),
    "deleted, and answered with exit 0": Row(
        pod=a_pod_that("Completed", 0, deleted="00:01:15"), cause=Cause.DELETED
    ),
    "deleted after its end": Row(pod=a_pod_that("Completed", 0, deleted="00:02:00"), cause=None),
    "a JVM's exit": Row(pod=a_pod_that("Error", 3), cause=Cause.JVM, past=Cause.OWN_MISTAKE),
    "Spark's exit": Row(pod=a_pod_that("Error", 52), cause=Cause.SPARK, past=Cause.OWN_MISTAKE),
    "a JVM's last words": Row(
        pod=a_pod_that("Error", 1, message="java.lang.OutOfMemoryError: Java heap space"),
        cause=Cause.JVM,
        past=Cause.OWN_MISTAKE,
    ),
    "a GPU's memory was full": Row(
        pod=a_pod_that("Error", 1, message="RuntimeError: CUDA out of memory. Tried to allocate"),
        cause=Cause.CUDA,
        past=Cause.OWN_MISTAKE,
    ),
    "a GPU's memory was full, with the exit of a JVM, near the limit": Row(
        pod=a_pod_that("Error", 3, message="CUDA_ERROR_OUT_OF_MEMORY"),
        readings=Readings(seen_bytes=LIMIT),
        cause=Cause.CUDA,
        past=Cause.OWN_MISTAKE,
    ),
    "a GPU's memory was full, and SIGKILL came near the limit": Row(
        pod=a_pod_that("Error", 137, message="torch.cuda.OutOfMemoryError: CUDA out of memory."),
        readings=Readings(seen_bytes=LIMIT),
        cause=Cause.CUDA,
        past=Cause.OWN_MISTAKE,
    ),
    "the kernel's word is more than the program's": Row(
        pod=a_pod_that("OOMKilled", 137, message="CUDA out of memory"), cause=Cause.OWN_LIMIT
    ),
    "SIGKILL near its limit": Row(
        pod=a_pod_that("Error", 137),
        readings=Readings(seen_bytes=round(NEAR) + 1),
        cause=Cause.NEAR_LIMIT,
        past=Cause.OWN_MISTAKE,
    ),
    "SIGKILL far from its limit": Row(
        pod=a_pod_that("Error", 137),
        readings=Readings(seen_bytes=round(NEAR) - 1),
        cause=Cause.KILLED,
        past=Cause.OWN_MISTAKE,
    ),
    "SIGKILL with page cache up to its limit": Row(
        pod=a_pod_that("Error", 137),
        readings=Readings(final_kernel_bytes=LIMIT, seen_bytes=LIMIT // 2),
        cause=Cause.KILLED,
        past=Cause.OWN_MISTAKE,
    ),
    "SIGKILL, and nobody measured": Row(
        pod=a_pod_that("Error", 137), cause=Cause.KILLED, past=Cause.OWN_MISTAKE
    ),
    "another exit near its limit": Row(
        pod=a_pod_that("Error", 1), readings=Readings(seen_bytes=LIMIT), cause=Cause.OWN_MISTAKE
    ),
    "its own mistake": Row(pod=a_pod_that("Error", 2), cause=Cause.OWN_MISTAKE),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_a_watched_pod_ends_for_its_cause(row: Row) -> None:
    end = judge(read_status(row.pod.built(), "main"), limit_of(row), row.readings)
    assert end is not None
    assert end.cause is row.cause
    assert end.outcome is (Outcome.SUCCEEDED if row.cause is None else row.cause.outcome)
    assert end.why


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
async def test_the_same_pod_ends_for_the_same_cause_in_a_past(row: Row) -> None:
    past = await past_of(row.pod.built())
    if not past.containers:
        past.container("main")
    identity = identity_of(past, ReadingRules())
    assert identity is not None
    (attempt,) = observations_of(past, identity, ReadingRules())
    cause = row.past or row.cause
    assert attempt.cause is cause
    assert attempt.outcome is (Outcome.SUCCEEDED if cause is None else cause.outcome)


@pytest.mark.parametrize(
    ("reason", "exit_code", "cause"),
    [
        ("OOMKilled", 137, Cause.OWN_LIMIT),
        ("OOMKilled", 1, Cause.CHILD),
        ("Error", 3, Cause.JVM),
        ("Error", 52, Cause.SPARK),
        ("Error", 137, Cause.KILLED),
        ("Error", 1, Cause.OWN_MISTAKE),
    ],
)
async def test_a_life_before_a_restart_ends_for_the_same_cause_in_a_past(
    reason: str, exit_code: int, cause: Cause
) -> None:
    before = {"reason": reason, "exitCode": exit_code, "finishedAt": "2025-12-31T23:59:00Z"}
    running = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
    built = a_pod_that("Completed", 0).built()
    (of_container,) = built["status"]["containerStatuses"]
    of_container.update(restartCount=1, lastState={"terminated": before})
    past = await past_of(built)
    identity = identity_of(past, ReadingRules())
    assert identity is not None
    earlier, last = observations_of(past, identity, ReadingRules())
    assert (earlier.cause, earlier.attempt_uid, last.cause) == (cause, past.uid, None)

    of_container["state"], built["status"]["phase"] = running, "Running"
    life = last_life(built, "main")
    assert life is not None
    end = judge(life, LIMIT)
    assert end is not None
    assert (end.cause, life.attempt_uid) == (cause, earlier.attempt_uid)


def limit_of(row: Row) -> int | None:
    container, *_ = row.pod.built()["spec"]["containers"]
    return LIMIT if "memory" in container["resources"]["limits"] else None


def a_row(outcome: Outcome, **known: Any) -> Observation:
    return Observation(
        attempt_uid="u", task=TaskId("shop", "train"), run="r", outcome=outcome, **known
    )


@pytest.mark.parametrize(
    ("row", "cause"),
    [
        pytest.param(a_row(Outcome.SUCCEEDED, peak_bytes=1), None, id="a success"),
        pytest.param(a_row(Outcome.SUCCEEDED, exit_code=1), None, id="said to be a success"),
        pytest.param(
            a_row(Outcome.OOM_KILLED, allocation_bytes=LIMIT), Cause.OWN_LIMIT, id="a kill"
        ),
        pytest.param(
            a_row(Outcome.OOM_KILLED, allocation_bytes=LIMIT, exit_code=0),
            Cause.CHILD,
            id="a kill of a child",
        ),
        pytest.param(a_row(Outcome.EVICTED, exit_code=137), Cause.EVICTED, id="an eviction"),
        pytest.param(a_row(Outcome.DELETED, exit_code=0), Cause.DELETED, id="a deletion"),
        pytest.param(a_row(Outcome.FAILED, exit_code=3), Cause.JVM, id="a JVM"),
        pytest.param(a_row(Outcome.FAILED, exit_code=52), Cause.SPARK, id="Spark"),
        pytest.param(a_row(Outcome.FAILED, exit_code=0), Cause.OWN_MISTAKE, id="exit 0, and bad"),
        pytest.param(a_row(Outcome.FAILED), Cause.OWN_MISTAKE, id="nothing is known"),
        pytest.param(
            a_row(Outcome.FAILED, exit_code=137, allocation_bytes=LIMIT, peak_bytes=LIMIT),
            Cause.NEAR_LIMIT,
            id="SIGKILL near its limit",
        ),
        pytest.param(
            a_row(Outcome.FAILED, exit_code=137, allocation_bytes=LIMIT, peak_bytes=LIMIT // 2),
            Cause.KILLED,
            id="SIGKILL far from its limit",
        ),
        pytest.param(
            a_row(Outcome.FAILED, exit_code=1, cause=Cause.CUDA), Cause.CUDA, id="the file says why"
        ),
    ],
)
def test_a_row_of_a_file_ends_by_the_same_table(row: Observation, cause: Cause | None) -> None:
    end = judge_row(row)
    assert end.cause is cause
    assert end.outcome is (row.outcome if cause is None else cause.outcome)


def test_every_cause_is_reached_but_those_that_only_words_tell() -> None:
    reached = {row.cause for row in ROWS.values()}
    by_words = {Cause.DOTNET, Cause.NODEJS, Cause.PYTHON, Cause.ALLOCATION}
    assert set(Cause) - reached == by_words


def test_what_may_have_been_too_small_is_told_from_what_was_not() -> None:
    kills = {Cause.OWN_LIMIT, Cause.CHILD, Cause.NEAR_LIMIT}
    heaps = {Cause.JVM, Cause.SPARK, Cause.DOTNET, Cause.NODEJS, Cause.PYTHON, Cause.ALLOCATION}
    assert {each for each in Cause if each.is_kill} == kills
    assert {each for each in Cause if each.outcome is Outcome.OOM_KILLED} == kills
    assert {each for each in Cause if each.is_own_heap} == heaps
    assert {each for each in Cause if each.is_unknown} == {Cause.KILLED, Cause.OWN_MISTAKE}


def test_only_the_end_of_a_long_message_is_read() -> None:
    said = "CUDA out of memory"
    status = read_status(a_pod_that("Error", 1, message="x" * 100_000 + said).built(), "main")
    assert status.terminated is not None
    assert len(status.terminated.message) == MAX_MESSAGE
    assert status.terminated.message.endswith(said)
    begun = a_pod_that("Error", 1, message=said + "x" * 100_000)
    end = judge(read_status(begun.built(), "main"), LIMIT)
    assert end is not None
    assert end.cause is Cause.OWN_MISTAKE


@pytest.mark.parametrize("message", [None, 7, {"said": "CUDA out of memory"}, ["x"]])
def test_a_message_that_is_no_text_says_nothing(message: object) -> None:
    built = a_pod_that("Error", 1).built()
    built["status"]["containerStatuses"][0]["state"]["terminated"]["message"] = message
    built["status"]["message"] = message
    end = judge(read_status(built, "main"), LIMIT)
    assert end is not None
    assert end.cause is Cause.OWN_MISTAKE


def test_sigkill_is_known_by_its_signal_alone() -> None:
    built = a_pod_that("Error", 1).built()
    terminated = built["status"]["containerStatuses"][0]["state"]["terminated"]
    terminated |= {"exitCode": 0, "signal": 9}
    end = judge(read_status(built, "main"), LIMIT, Readings(seen_bytes=LIMIT))
    assert end is not None
    assert end.cause is Cause.NEAR_LIMIT
