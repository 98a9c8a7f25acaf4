"""Findings about a Spark application, their costs, and when there are none."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.splitting.spark.findings import Found, TimeVerdict, findings_of
from plimsoll_predictor.splitting.spark.memory import (
    LEAST_SAMPLES,
    HeapUnused,
    Killed,
    OverheadShort,
    Spilled,
)
from plimsoll_predictor.splitting.spark.reading import read_application
from plimsoll_predictor.splitting.spark.settings import (
    ADAPTIVE,
    ADVISORY,
    COALESCE,
    HEAP,
    OVERHEAD,
    PARTITIONS,
    SPLIT,
)
from plimsoll_predictor.splitting.spark.small_tasks import SmallTasks
from tests.builders.splitting.spark_logs import (
    FILLED,
    KILLED,
    OFF,
    ON,
    STREAMING,
    a_shuffle,
    a_stage,
    a_start,
    a_task,
    an_end,
    line,
    real_lines,
)

OFF_AT_200 = {ADAPTIVE: "false"}


def found_in(*lines: bytes) -> Found:
    return findings_of(read_application(lines))


def test_partitions_of_a_real_join_without_adaptive_execution() -> None:
    found = findings_of(read_application(real_lines(OFF)))
    (small,) = found.findings
    assert isinstance(small, SmallTasks)
    assert (small.setting, small.value) == (ADAPTIVE, "true")
    assert (small.stages, small.tasks, small.enough) == (2, 400, 12)
    # The same join with adaptive execution, run next, took 46 s of stages in place of 82 s.
    low, high = small.saves_s
    assert 5 < low < high < 82 - 46


def test_a_real_join_with_adaptive_execution_has_nothing_to_gain_in_time() -> None:
    found = findings_of(read_application(real_lines(ON)))
    assert found.time is TimeVerdict.ADAPTIVE
    (spilled,) = found.findings
    assert isinstance(spilled, Spilled)
    assert (spilled.setting, spilled.value) == (ADVISORY, "20m")


def test_a_real_executor_that_was_killed() -> None:
    (killed,) = findings_of(read_application(real_lines(KILLED))).findings
    assert isinstance(killed, Killed)
    assert killed.value == "true"
    assert 3 < killed.busy_s < 5


def test_the_cost_of_small_tasks_is_what_is_stated() -> None:
    (small,) = found_in(*a_start(OFF_AT_200), *a_shuffle(), an_end(1000)).findings
    assert isinstance(small, SmallTasks)
    assert small.enough == 1
    assert small.at_once == pytest.approx(4)
    for saves, own in zip(small.saves_s, small.own_s, strict=True):
        assert own == pytest.approx(0.02, rel=0.05)
        assert saves == pytest.approx(199 * own / 4)


@pytest.mark.parametrize(
    ("properties", "setting"),
    [
        pytest.param({ADAPTIVE: "false"}, ADAPTIVE, id="off"),
        pytest.param({COALESCE: "false"}, COALESCE, id="on, and told not to coalesce"),
        pytest.param({}, None, id="on"),
        pytest.param({ADAPTIVE: "false", PARTITIONS: "50"}, None, id="the code's own number"),
    ],
)
def test_partitions_are_adaptive_execution_s_business(
    properties: Mapping[str, str], setting: str | None
) -> None:
    found = found_in(*a_start(properties), *a_shuffle())
    assert [each.setting for each in found.findings] == ([setting] if setting else [])


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(a_shuffle(took_ms=1500), id="tasks that are not small"),
        pytest.param(a_shuffle(read_bytes=80 * MIB), id="tasks that move much"),
        pytest.param(a_shuffle(query=False), id="no query"),
        pytest.param(
            [*a_shuffle(), *a_stage(2, [], wall_ms=100_000, at_ms=1000)],
            id="little beside the rest",
        ),
    ],
)
def test_small_tasks_are_not_seen_everywhere(lines: list[bytes]) -> None:
    assert found_in(*a_start(OFF_AT_200), *lines).findings == []


@pytest.mark.parametrize(
    ("split", "found"), [("1m", ["128m"]), ("128m", []), ("256m", []), (None, [])]
)
def test_files_that_were_asked_for_in_small_pieces(split: str | None, found: list[str]) -> None:
    pieces = [a_task(1, 100, peaks=FILLED, Input_Metrics={"Bytes Read": 1000}) for _ in range(512)]
    lines = a_stage(1, pieces, wall_ms=512 * 100 // 4)
    properties = {} if split is None else {SPLIT: split}
    made = found_in(*a_start(properties), *lines).findings
    assert [each.value for each in made] == found
    for each in made:
        assert isinstance(each, SmallTasks)
        assert each.enough == 4  # as many as there are cores


def spilling(properties: Mapping[str, str], tasks: int) -> Spilled:
    lines = a_shuffle(
        tasks,
        took_ms=9000,
        read_bytes=100 * MIB,
        Peak_Execution_Memory=200 * MIB,
        Memory_Bytes_Spilled=400 * MIB,
        Disk_Bytes_Spilled=100 * MIB,
    )
    (found,) = found_in(*a_start(properties), *lines).findings
    assert isinstance(found, Spilled)
    return found


def test_partitions_that_were_spilled_become_smaller() -> None:
    # A task needs 600 MiB, and had 200: half of that is 6 times less.
    off = spilling({ADAPTIVE: "false", PARTITIONS: "8"}, tasks=8)
    assert (off.whole_bytes, off.enough) == (600 * MIB, 48)
    assert (off.setting, off.value) == (PARTITIONS, "48")
    coalesced = spilling({}, tasks=8)
    assert (coalesced.setting, coalesced.value) == (ADVISORY, "16m")
    full = spilling({PARTITIONS: "8"}, tasks=8)
    assert (full.setting, full.value) == (PARTITIONS, "48")


def test_a_stream_is_not_advised_what_its_batches_cannot_have() -> None:
    stream = a_shuffle(session=STREAMING, Peak_Execution_Memory=MIB, Disk_Bytes_Spilled=MIB)
    found = found_in(*a_start(), *stream, an_end(1000))
    assert (found.findings, found.time) == ([], TimeVerdict.STREAM)
    beside = found_in(*a_start(), *a_shuffle(session=STREAMING), *a_shuffle())
    assert (beside.findings, beside.time) == ([], TimeVerdict.ADAPTIVE)


def a_cluster(
    properties: Mapping[str, str],
    peaks: Mapping[str, int],
    last: bytes = b"",
    tasks: int = LEAST_SAMPLES,
) -> list[bytes]:
    made = [a_task(1, 1000, peaks=peaks) for _ in range(tasks)]
    return [*a_start(properties), *a_stage(1, made, 1000), last, an_end(3_600_000)]


def test_heap_that_was_never_used() -> None:
    (unused,) = found_in(*a_cluster({HEAP: "8g"}, {"JVMHeapMemory": 2 * GIB})).findings
    assert isinstance(unused, HeapUnused)
    assert (unused.setting, unused.value) == (HEAP, "2560m")
    assert unused.saves_bytes == 8 * GIB - 2560 * MIB
    # Two executors for an hour.
    assert unused.memory_gb_h == pytest.approx(2 * unused.saves_bytes / 1e9)


@pytest.mark.parametrize(
    ("properties", "peaks"),
    [
        pytest.param({HEAP: "8g"}, {"JVMHeapMemory": 6 * GIB}, id="it was used"),
        pytest.param({HEAP: "8g"}, {}, id="not measured"),
        pytest.param({HEAP: "8g"}, {"JVMHeapMemory": -1}, id="not measured, in other words"),
        pytest.param({HEAP: "512m"}, {"JVMHeapMemory": 50 * MIB}, id="Spark needs as much"),
        pytest.param(
            {HEAP: "8g"},
            {"JVMHeapMemory": GIB, "OnHeapUnifiedMemory": 3 * GIB},
            id="sorts and caches need its share",
        ),
        pytest.param({HEAP: "8g", "spark.master": "local[2]"}, {"JVMHeapMemory": GIB}, id="local"),
    ],
)
def test_heap_that_is_left_alone(properties: Mapping[str, str], peaks: Mapping[str, int]) -> None:
    assert found_in(*a_cluster(properties, peaks)).findings == []


def test_a_heap_of_which_few_readings_are_known_is_left_alone() -> None:
    few = a_cluster({HEAP: "8g"}, {"JVMHeapMemory": 2 * GIB}, tasks=LEAST_SAMPLES - 1)
    assert found_in(*few).findings == []


@pytest.mark.parametrize(
    "reason",
    [
        "\nThe executor with id 1 exited with exit code 52(JVM OOM).\n\n exit code: 52\n",
        "Container marked as failed: c_1 on host: h. Exit status: 52. Diagnostics: none",
        "Command exited with code 52",
        "Unable to create executor due to java.lang.OutOfMemoryError: Java heap space",
    ],
)
def test_a_heap_that_overflowed_is_not_called_unused(reason: str) -> None:
    removed = line("ExecutorRemoved", Executor_ID="1", Removed_Reason=reason)
    application = read_application(a_cluster({HEAP: "8g"}, {"JVMHeapMemory": 2 * GIB}, removed))
    assert (application.lost.executors, application.lost.full_heaps) == (0, 1)
    assert findings_of(application).findings == []


PYTHON = {
    **FILLED,
    "JVMOffHeapMemory": 150 * MIB,
    "ProcessTreePythonRSSMemory": 600 * MIB,
}


def test_python_workers_that_need_more_than_the_overhead() -> None:
    (short,) = found_in(*a_cluster({}, PYTHON)).findings
    assert isinstance(short, OverheadShort)
    assert short.overhead_bytes == 384 * MIB
    assert short.short_bytes == (750 - 384) * MIB
    assert (short.setting, short.value) == (OVERHEAD, "960m")


@pytest.mark.parametrize(
    "properties",
    [
        pytest.param({OVERHEAD: "1g"}, id="there is room"),
        pytest.param({"spark.executor.pyspark.memory": "1g"}, id="Python has its own part"),
        pytest.param({"spark.master": "spark://host:7077"}, id="no container"),
    ],
)
def test_python_workers_that_have_room(properties: Mapping[str, str]) -> None:
    assert found_in(*a_cluster(properties, PYTHON)).findings == []


GONE = "The executor with id 1 exited with exit code 137(SIGKILL, possible container OOM)."


@pytest.mark.parametrize(
    ("reason", "count"),
    [
        (GONE, 1),
        ("container main: OOMKilled", 1),
        ("Command exited with code 137", 1),
        ("Container killed by YARN for exceeding physical memory limits. 9.1 GB of 9 GB", 1),
        ("Container killed by YARN for exceeding memory limits. 9.1 GB of 9 GB used.", 1),
        ("Container from a bad node. Exit status: 143", 0),
        ("Executor heartbeat timed out after 137137 ms", 0),
        ("Executor decommission", 0),
        ("", 0),
    ],
)
def test_which_executors_were_killed_for_memory(reason: str, count: int) -> None:
    removed = line("ExecutorRemoved", Executor_ID="1", Removed_Reason=reason, Timestamp=0)
    found = found_in(*a_cluster({}, FILLED, removed)).findings
    assert [type(each) for each in found] == [Killed] * count


def test_a_kill_is_explained_by_python_workers_where_they_were_measured() -> None:
    removed = line("ExecutorRemoved", Executor_ID="1", Removed_Reason=GONE)
    (found,) = found_in(*a_cluster({}, PYTHON, removed)).findings
    assert isinstance(found, OverheadShort)


def test_why_there_is_nothing_to_gain_in_time() -> None:
    assert found_in(*a_start()).time is TimeVerdict.NO_QUERY
    assert found_in(*a_start(), *a_shuffle()).time is TimeVerdict.ADAPTIVE
    slow = a_shuffle(took_ms=1500)
    assert found_in(*a_start(OFF_AT_200), *slow).time is TimeVerdict.LITTLE
