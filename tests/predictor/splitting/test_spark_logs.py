"""A Spark event log becomes an application of bounded size, whatever it contains."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.splitting.spark import reading
from plimsoll_predictor.splitting.spark.events import BadEvent, read_event
from plimsoll_predictor.splitting.spark.reading import NoApplication, read_application
from plimsoll_predictor.splitting.spark.settings import HEAP, Settings
from tests.builders.splitting.spark_logs import (
    KILLED,
    OFF,
    ON,
    START_MS,
    a_stage,
    a_start,
    a_task,
    an_end,
    line,
    real_lines,
)


def test_a_real_log_tells_what_ran() -> None:
    found = read_application(real_lines(OFF))
    assert (found.name, found.version, found.slots, found.executors) == (
        "join-off-200",
        "4.0.1",
        2,
        1,
    )
    assert found.settings.local
    assert not found.settings.adaptive
    assert not found.adapted
    assert found.reading.ended
    assert found.reading.bad == 0
    by_number = {each.number: each for each in found.stages}
    assert sorted(by_number) == [0, 1, 2, 3, 4, 5]
    assert not by_number[0].query  # Spark looks at the files' schema outside of the query
    joined = by_number[4]
    assert (joined.tasks, joined.query) == (200, True)
    assert joined.quick_s < joined.median_s < joined.busy_s / 100
    assert 600 * MIB < joined.shuffle_bytes < 650 * MIB
    assert 1.9 < joined.at_once < 2.1
    assert by_number[2].input_bytes > 500 * MIB
    assert found.span_s is not None
    assert found.stage_s < found.span_s


def test_a_real_log_tells_that_adaptive_execution_was_on() -> None:
    found = read_application(real_lines(ON))
    assert found.settings.adaptive
    assert found.adapted
    assert max(each.tasks for each in found.stages if each.query) == 11
    assert max(each.disk_bytes for each in found.stages) > 100 * MIB


def test_a_real_log_tells_of_an_executor_that_was_killed_with_its_task() -> None:
    found = read_application(real_lines(KILLED))
    # Others ended with the application (exit 143): these were not killed for memory.
    assert (found.lost.executors, found.lost.tasks) == (1, 1)
    assert 3 < found.lost.busy_s < 5
    assert found.executors == 2
    assert found.settings.container_bytes == (1024 + 384) * MIB


def test_a_log_that_is_cut_off_anywhere_is_read_as_far_as_it_goes() -> None:
    whole = b"".join(real_lines(KILLED))
    for cut in range(200, len(whole), len(whole) // 50):
        reading_of = read_application(whole[:cut].splitlines()).reading
        # After the application's end Spark still reports executors that go.
        assert reading_of.ended == (b"ApplicationEnd" in whole[:cut].rpartition(b"\n")[0])
        assert reading_of.bad <= 1


def test_what_is_missing_is_not_measured() -> None:
    found = read_application(
        [
            line("TaskEnd", Stage_ID=0),
            line("TaskEnd", Stage_ID=0, Task_Info={"Finish Time": START_MS}),
            line("StageCompleted", Stage_Info={"Stage ID": 7}),
            line("ExecutorRemoved", Executor_ID="9"),
        ]
    )
    assert (found.name, found.app_id, found.version) == ("", "", "")
    assert (found.peaks.heap, found.peaks.python) == (None, None)
    assert found.span_s is None
    assert found.settings.adaptive  # a log without a version counts as newer
    assert found.reading.stages_left_out == 1


def test_a_clock_that_goes_back_gives_no_times() -> None:
    task = a_task(0, took_ms=-5000)
    found = read_application([*a_start(), *a_stage(0, [task], wall_ms=-100), an_end(-1)])
    assert found.span_s is None
    assert (found.stages[0].wall_s, found.stages[0].began_s) == (None, None)
    assert found.stages[0].busy_s == 0
    assert found.stage_s == 0


def test_stages_side_by_side_are_not_added_up() -> None:
    found = read_application(
        [
            *a_start(),
            *a_stage(0, [], wall_ms=3000, at_ms=0),
            *a_stage(1, [], wall_ms=3000, at_ms=1000),
            *a_stage(2, [], wall_ms=1000, at_ms=10_000),
            an_end(20_000),
        ]
    )
    assert found.stage_s == pytest.approx(5.0)
    assert found.span_s == 20


def test_what_a_session_sets_later_holds_for_its_queries_alone() -> None:
    later = {"spark.sql.adaptive.enabled": "false"}
    found = read_application(
        [
            *a_start({"spark.sql.adaptive.enabled": "true"}),
            *a_stage(0, [], 10, query=False, properties=later),
            *a_stage(1, [], 10, properties=later),
        ]
    )
    assert [each.settings.adaptive for each in found.stages] == [True, False]


@pytest.mark.parametrize(
    ("version", "adaptive"), [("3.1.3", False), ("3.2.0", True), ("4.0.1", True), ("2.4.8", False)]
)
def test_adaptive_execution_is_on_by_default_since_spark_3_2(version: str, adaptive: bool) -> None:
    assert read_application(a_start(version=version)).settings.adaptive is adaptive


def test_passwords_in_properties_are_not_kept() -> None:
    found = read_application(a_start({"spark.ssl.keyPassword": "secret", HEAP: "3g"}))
    assert "secret" not in repr(found)
    assert found.settings.heap_bytes == 3 * 1024 * MIB


@pytest.mark.parametrize(
    ("given", "container_mib"),
    [
        pytest.param({}, 1024 + 384, id="the least overhead"),
        pytest.param({HEAP: "10g"}, 11 * 1024, id="a tenth"),
        pytest.param(
            {HEAP: "10g", "spark.kubernetes.resource.type": "python"},
            14 * 1024,
            id="two fifths for programs in Python",
        ),
        pytest.param(
            {HEAP: "10g", "spark.executor.memoryOverheadFactor": "0.2"}, 12 * 1024, id="a factor"
        ),
        pytest.param({"spark.executor.memoryOverhead": "512"}, 1536, id="a number is of MiB"),
        pytest.param(
            {"spark.executor.pyspark.memory": "1g"}, 1024 + 384 + 1024, id="Python's own part"
        ),
        pytest.param({"spark.memory.offHeap.size": "1g"}, 1024 + 384, id="off-heap, not in use"),
        pytest.param(
            {"spark.memory.offHeap.size": "1g", "spark.memory.offHeap.enabled": "true"},
            1024 + 384 + 1024,
            id="off-heap, in use",
        ),
        pytest.param(
            {HEAP: "lots", "spark.executor.memoryOverheadFactor": "nan"}, 1408, id="nonsense"
        ),
    ],
)
def test_a_container_is_heap_and_overhead(given: dict[str, str], container_mib: int) -> None:
    assert Settings(given).container_bytes == pytest.approx(container_mib * MIB, abs=1)


@pytest.mark.slow
@given(st.binary(max_size=200))
def test_a_line_of_anything_is_an_event_or_refused(text: bytes) -> None:
    with suppress(BadEvent):
        read_event(text)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b'{"Event":1}',
        b'{"Event":"SparkListenerTaskEnd"}',
        b'{"Event":"SparkListenerTaskEnd","Stage ID":"x"}',
        b'{"Event":"SparkListenerTaskEnd","Stage ID":1e400}',
        b'{"Event":"SparkListenerLogStart","Spark Version":' + b"[" * 100_000,
        b'{"Event":"SparkListenerTaskEnd","Stage ID":1,"Task Metrics":{"Disk Bytes Spilled":-1}}',
    ],
    ids=lambda text: str(text[:60]),
)
def test_a_bad_line_is_refused(text: bytes) -> None:
    with pytest.raises(BadEvent):
        read_event(text)


def test_events_that_nobody_knows_are_passed_by() -> None:
    assert read_event(line("TomorrowsEvent", What=1)) is None
    assert read_event(b'{"Event":"com.example.Own"}') is None


def test_lines_without_any_event_are_no_log() -> None:
    with pytest.raises(NoApplication):
        read_application([b"hello", None, b'{"a":1}'])
    with pytest.raises(NoApplication):
        read_application([])


def test_what_is_kept_does_not_grow_with_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_STAGES", 5)
    monkeypatch.setattr(reading, "MOST_OPEN", 3)
    monkeypatch.setattr(reading, "MOST_EXECUTORS", 4)

    def lines() -> Iterator[bytes | None]:
        yield from a_start(executors=20)
        for number in range(10):
            yield from a_stage(number, [a_task(number, 10)], 10, at_ms=number)
        for number in range(10, 20):  # these never end
            yield a_task(number, 10)
            yield a_task(number, 10, executor=f"e{number}", failed=True)
        for number in range(20):
            yield line("ExecutorRemoved", Executor_ID=f"e{number}", Removed_Reason="exit 137")
        yield None

    found = read_application(lines())
    assert len(found.stages) == 5
    assert found.reading.stages_left_out == 5 + 3
    assert found.executors == 4
    assert found.lost.executors == 4
    assert found.reading.long == 1


def test_long_names_are_cut() -> None:
    long = "x" * 10_000
    found = read_application(
        [
            line("LogStart", Spark_Version=long),
            line("ApplicationStart", App_Name=long, App_ID=long, Timestamp=START_MS),
            line("EnvironmentUpdate", Spark_Properties={HEAP: long}),
        ]
    )
    assert len(json.dumps([found.name, found.app_id, found.version])) < 700
    assert found.settings.heap_bytes == 1024 * MIB
