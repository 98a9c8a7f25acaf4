"""What drivers get: fewer partitions as a log taught, smaller ones after kills."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_predictor.core.policy import Replaceable
from plimsoll_predictor.core.record import Cause, Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.splitting.spark.given import (
    LEAST_TAUGHT,
    MOST_STEPS,
    MOST_TAUGHT,
    given_for,
    lesson_of,
)
from plimsoll_predictor.splitting.spark.reading import read_application
from plimsoll_predictor.splitting.spark.settings import ADAPTIVE, ADVISORY, GIVEN, PARTITIONS, SPLIT
from plimsoll_predictor.splitting.spark.steps import (
    FEATURE,
    NOTHING,
    Ended,
    executors_of,
    step_after,
)
from tests.builders.splitting.spark_logs import (
    KILLED,
    OFF,
    ON,
    STREAMING,
    a_shuffle,
    a_start,
    an_end,
    line,
    real_lines,
)

EXECUTORS = TaskId("shop", "spark.sales.executor")
DRIVERS = TaskId("shop", "spark.sales.driver")
OFF_ALONE = {ADAPTIVE: "false"}


def taught(
    properties: Mapping[str, str] | None = None,
    lines: list[bytes] | None = None,
    replaces: Sequence[Replaceable] = (),
    **shuffle: Any,
) -> tuple[int | None, str]:
    """What a log teaches; by default adaptive execution is off, and nothing else is set."""
    began = a_start(OFF_ALONE if properties is None else properties)
    lesson = lesson_of(
        read_application([*began, *a_shuffle(**shuffle), *(lines or [an_end(1000)])]), replaces
    )
    return lesson.partitions, lesson.why


def test_a_real_join_without_adaptive_execution_teaches_fewer_partitions() -> None:
    # As if nobody had chosen the 200, which the log's user did write.
    lines = [each.replace(b"spark.sql.shuffle.partitions", b"x") for each in real_lines(OFF)]
    lesson = lesson_of(read_application(lines))
    assert (lesson.partitions, lesson.why) == (
        39,
        "39 partitions do, where the largest shuffle had 200",
    )


def test_a_number_that_a_user_wrote_is_left() -> None:
    partitions, why = taught({**OFF_ALONE, PARTITIONS: "200"})
    assert partitions is None
    assert "set by its user" in why


def test_a_number_that_plimsoll_gave_is_not_the_user_s_and_is_taught_again() -> None:
    given_before = {**OFF_ALONE, PARTITIONS: "12", GIVEN: "12"}
    assert taught(given_before, tasks=12)[0] == 12
    assert taught({**given_before, GIVEN: "13"}, tasks=12)[0] is None


CONFIGURED = {**OFF_ALONE, PARTITIONS: "2000"}
REPLACED = (Replaceable.PARTITIONS,)


@pytest.mark.slow
def test_a_number_in_configuration_is_nobodys_where_a_policy_says_so() -> None:
    partitions, why = taught(CONFIGURED, replaces=REPLACED, tasks=2000)
    assert (partitions, why) == (12, "12 partitions do, where the largest shuffle had 2000")
    assert taught(CONFIGURED, tasks=2000)[0] is None


@pytest.mark.slow
def test_a_number_that_a_session_sets_later_is_code_and_is_left() -> None:
    set_later = {**OFF_ALONE, PARTITIONS: "2000"}
    for begun in (OFF_ALONE, {**OFF_ALONE, PARTITIONS: "300"}):
        partitions, why = taught(begun, replaces=REPLACED, tasks=2000, session=set_later)
        assert partitions is None
        assert "set by its user" in why


def test_a_number_that_won_over_what_was_given_is_left_whatever_a_policy_says() -> None:
    partitions, why = taught({**CONFIGURED, GIVEN: "12"}, replaces=REPLACED, tasks=2000)
    assert partitions is None
    assert "was 2000 and not the 12 that was given" in why


@pytest.mark.slow
def test_of_a_large_number_in_configuration_up_to_half_is_taught_and_no_more() -> None:
    # Tasks of 2 MiB each, in partitions of 16 MiB.
    large = taught(CONFIGURED, replaces=REPLACED, tasks=2000, read_bytes=2 * MIB, took_ms=300)
    assert large[0] == 250
    few = {**OFF_ALONE, PARTITIONS: "400"}
    partitions, why = taught(few, replaces=REPLACED, tasks=400, read_bytes=9 * MIB, took_ms=900)
    assert partitions is None
    assert "225 partitions would do, which is near the 400 there are" in why
    ours = {**OFF_ALONE, PARTITIONS: "250", GIVEN: "250"}
    again = taught(ours, replaces=REPLACED, tasks=250, read_bytes=16 * MIB, took_ms=900)
    assert again[0] == 250, "what was taught stays"


def test_with_adaptive_execution_configuration_is_left_too() -> None:
    partitions, why = taught({PARTITIONS: "2000"}, replaces=REPLACED, tasks=2000)
    assert partitions is None
    assert "adaptive" in why


def test_with_adaptive_execution_there_is_nothing_to_gain() -> None:
    for lines in (real_lines(ON), [*a_start({}), *a_shuffle(), an_end(1000)]):
        lesson = lesson_of(read_application(lines))
        assert lesson.partitions is None
        assert lesson.why.startswith("nothing to gain: adaptive execution")


@pytest.mark.parametrize(
    ("shuffle", "lines", "why"),
    [
        pytest.param({"took_ms": 5000}, None, "nothing to gain", id="tasks that are not small"),
        pytest.param({"query": False}, None, "nothing to gain", id="no query"),
        pytest.param({"Disk_Bytes_Spilled": 1}, None, "wrote to disk", id="what did not fit"),
        pytest.param({}, [b""], "the whole application", id="a log that was cut off"),
        pytest.param({"read_bytes": 9 * MIB, "took_ms": 900}, None, "near", id="much to shuffle"),
    ],
)
def test_what_teaches_nothing(shuffle: Any, lines: list[bytes] | None, why: str) -> None:
    partitions, words = taught(lines=lines, **shuffle)
    assert partitions is None
    assert why in words


@pytest.mark.parametrize(
    ("reason", "why"),
    [
        ("exited with exit code 52(JVM OOM)", "heaps of executors were full"),
        ("Container killed by YARN for exceeding physical memory limits.", "were killed"),
    ],
)
def test_executors_that_ended_for_memory_teach_no_larger_partitions(reason: str, why: str) -> None:
    removed = line("ExecutorRemoved", Executor_ID="1", Removed_Reason=reason)
    partitions, words = taught(lines=[removed, an_end(1000)])
    assert partitions is None
    assert why in words


def test_where_no_executor_was_announced_the_tasks_at_a_time_count() -> None:
    lines = [*a_start(OFF_ALONE, executors=0), *a_shuffle(), an_end(1000)]
    found = read_application(lines)
    assert (found.slots, lesson_of(found).partitions) == (4, 12)


@pytest.mark.parametrize("begun", [{}, OFF_ALONE], ids=["Spark turned it off", "its user, too"])
def test_a_stream_teaches_no_partitions_for_its_checkpoint(begun: Mapping[str, str]) -> None:
    partitions, why = taught(begun, session=STREAMING)
    assert partitions is None
    assert "streams keep their partitions in their checkpoints" in why


def test_a_log_with_a_killed_executor_teaches_no_larger_partitions() -> None:
    assert lesson_of(read_application(real_lines(KILLED))).partitions is None


def test_a_shuffle_of_more_bytes_teaches_more_partitions() -> None:
    # 200 tasks of 2 MiB each, in partitions of 16 MiB; three for each of four tasks at once.
    assert taught(read_bytes=2 * MIB, took_ms=300)[0] == 25
    assert taught(read_bytes=1000)[0] == 12


def test_kills_drop_what_was_taught_and_make_partitions_smaller_three_times() -> None:
    steps = [given_for(8, step) for step in range(1, MOST_STEPS + 3)]
    properties = [dict(each.properties) for each in steps if each is not None]
    assert [each[PARTITIONS] for each in properties] == ["400", "800", "1600"]
    assert [each[ADVISORY] for each in properties] == ["16m", "4m", "1m"]
    assert [each[SPLIT] for each in properties] == ["64m", "32m", "16m"]
    assert steps[MOST_STEPS:] == [None, None], "then nothing is given"


@pytest.mark.slow
@given(taught=st.none() | st.integers(-(10**12), 10**12), steps=st.integers(-(10**9), 10**9))
def test_no_number_leads_beyond_what_spark_bears(taught: int | None, steps: int) -> None:
    found = given_for(taught, steps)
    if found is None:
        assert steps <= 0 or steps > MOST_STEPS
        return
    partitions = int(found.properties[PARTITIONS])
    assert LEAST_TAUGHT <= partitions <= 1600
    if found.step == 0:
        assert partitions == taught
        assert partitions <= MOST_TAUGHT
    assert all(value.isalnum() for value in found.properties.values())


def an_end_of(
    task: TaskId,
    outcome: Outcome,
    step: object = None,
    *,
    lowered: bool = False,
    cause: Cause | None = None,
) -> Ended:
    features: Any = {} if step is None else {FEATURE: step}
    return Ended(task, outcome, features, lowered, cause)


@pytest.mark.parametrize(
    ("ended", "step"),
    [
        pytest.param(an_end_of(EXECUTORS, Outcome.OOM_KILLED), 1, id="the first kill"),
        pytest.param(an_end_of(EXECUTORS, Outcome.OOM_KILLED, 1.0), 2, id="with smaller ones"),
        pytest.param(an_end_of(EXECUTORS, Outcome.OOM_KILLED, 3.0), 4, id="with the smallest"),
        pytest.param(an_end_of(EXECUTORS, Outcome.SUCCEEDED, 2.0), 2, id="got through"),
        pytest.param(an_end_of(EXECUTORS, Outcome.SUCCEEDED), 0, id="got through as written"),
        pytest.param(an_end_of(EXECUTORS, Outcome.FAILED), 0, id="failed"),
        pytest.param(an_end_of(EXECUTORS, Outcome.EVICTED, 1.0), 1, id="its node's trouble"),
        pytest.param(
            an_end_of(EXECUTORS, Outcome.OOM_KILLED, lowered=True), 0, id="lowered by Plimsoll"
        ),
        pytest.param(
            an_end_of(EXECUTORS, Outcome.FAILED, 1.0, lowered=True, cause=Cause.SPARK),
            2,
            id="its own heap was full, whatever its pod had",
        ),
        pytest.param(
            an_end_of(EXECUTORS, Outcome.FAILED, 1.0, cause=Cause.OWN_MISTAKE), 1, id="a mistake"
        ),
        pytest.param(an_end_of(EXECUTORS, Outcome.OOM_KILLED, "10e9"), 1, id="no number"),
        pytest.param(an_end_of(EXECUTORS, Outcome.OOM_KILLED, 1e9), 1, id="a number of nobody's"),
        pytest.param(an_end_of(DRIVERS, Outcome.FAILED, 0.0), NOTHING, id="failed with fewer ones"),
        pytest.param(an_end_of(DRIVERS, Outcome.FAILED), 0, id="failed as written"),
        pytest.param(an_end_of(DRIVERS, Outcome.FAILED, 2.0), 3, id="failed with smaller ones"),
        pytest.param(an_end_of(DRIVERS, Outcome.FAILED, 3.0), 4, id="failed with the smallest"),
        pytest.param(
            an_end_of(TaskId("shop", "nightly"), Outcome.FAILED, 0.0), NOTHING, id="of one task"
        ),
        pytest.param(an_end_of(DRIVERS, Outcome.OOM_KILLED), 0, id="the driver was killed"),
        pytest.param(
            an_end_of(DRIVERS, Outcome.OOM_KILLED, 0.0), NOTHING, id="killed with fewer ones"
        ),
        pytest.param(an_end_of(DRIVERS, Outcome.OOM_KILLED, 1.0), 1, id="killed with smaller ones"),
    ],
)
def test_the_step_by_one_end(ended: Ended, step: int) -> None:
    assert step_after(ended) == step


def test_driver_and_executors_are_two_tasks_of_one_application() -> None:
    assert executors_of(DRIVERS) == executors_of(EXECUTORS) == EXECUTORS
    assert executors_of(TaskId("shop", "sales")) == TaskId("shop", "sales")
