"""The replay's protocol: what is known when, and what it costs; nothing looks ahead."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_predictor.replay.sizes.baselines import BASELINES
from plimsoll_predictor.replay.sizes.engine import (
    DecideAt,
    Replayed,
    SizerBroken,
    replay,
)
from plimsoll_predictor.replay.sizes.figures import totals
from plimsoll_predictor.replay.sizes.playing import Setting, frontier, play
from plimsoll_predictor.replay.sizes.policies import POLICIES
from plimsoll_predictor.replay.sizes.rows import Submitted, TraceRow
from plimsoll_predictor.replay.sizes.sizer import CAP_BYTES, Knobs, Sizer
from plimsoll_predictor.replay.sizes.traces import Trace
from tests.builders.replays import GB, START_S, RunBuilder, Scripted, a_run
from tests.rigs.drawing import examples


def played(
    sizer: Sizer,
    *rows: TraceRow,
    decide_at: DecideAt = DecideAt.SUBMIT,
    cap_bytes: int = CAP_BYTES,
) -> Replayed:
    return replay(rows, sizer, decide_at=decide_at, cap_bytes=cap_bytes)


def test_what_completes_at_an_instant_is_known_to_what_is_decided_then() -> None:
    sizer = Scripted()
    played(sizer, a_run(2).at(0, 0, 60).row, a_run(3).at(60, 60, 90).row)
    assert sizer.heard[:3] == [("decide", 2, 0), ("completed", 2, 60), ("decide", 3, 60)]


def test_what_completes_a_moment_later_is_not() -> None:
    sizer = Scripted()
    played(sizer, a_run(2).at(0, 0, 60.001).row, a_run(3).at(60, 60, 90).row)
    assert [what for what, _, _ in sizer.heard[:2]] == ["decide", "decide"]


def test_a_failure_at_an_instant_is_known_to_what_is_decided_then() -> None:
    sizer = Scripted()
    played(sizer, a_run(2).at(0, 0, 60).needing(2 * GB).row, a_run(3).at(60, 60, 90).row)
    assert sizer.heard[:4] == [
        ("decide", 2, 0),
        ("failed 1", 2, 60),
        ("lift 1", 2, 60),
        ("decide", 3, 60),
    ]


def test_a_completion_at_an_instant_is_known_to_a_retry_then() -> None:
    sizer = Scripted(first=lambda asked: GB if asked.line == 2 else 8 * GB)
    failing = a_run(2).at(0, 0, 60).needing(2 * GB).row
    played(sizer, failing, a_run(3).at(1, 1, 60).row)
    assert [what for what, _, _ in sizer.heard] == [
        "decide",
        "decide",
        "completed",
        "failed 1",
        "lift 1",
        "completed",
    ]


def test_a_run_that_failed_twice_is_known_two_runtimes_later() -> None:
    sizer = Scripted()
    found = played(sizer, a_run(2).at(0, 40, 100).needing(3 * GB).row)
    assert sizer.heard == [
        ("decide", 2, 0),
        ("failed 1", 2, 100),
        ("lift 1", 2, 100),
        ("failed 2", 2, 160),
        ("lift 2", 2, 160),
        ("completed", 2, 220),
    ]
    assert found.rows[0].ended_s == START_S + 220


def test_a_success_wastes_what_was_not_needed_for_as_long_as_it_ran() -> None:
    found = played(Scripted(first=lambda _: 5 * GB), a_run().at(0, 0, 3600).needing(2 * GB).row)
    assert found.rows[0].waste_gb_h == pytest.approx(3.0)
    assert found.rows[0].optimistic_gb_h == pytest.approx(3.0)


def test_an_allocation_of_just_the_need_suffices() -> None:
    found = played(Scripted(first=lambda _: 2 * GB), a_run().needing(2 * GB).row)
    assert (found.rows[0].waste_gb_h, found.rows[0].failed_attempts) == (0.0, 0)


def test_a_failure_wastes_all_it_was_given_or_half_of_it_told_optimistically() -> None:
    run = a_run().at(0, 0, 3600).needing(3 * GB).row
    (row,) = played(Scripted(first=lambda _: 2 * GB), run).rows
    assert row.failed_attempts == 1
    assert row.waste_gb_h == pytest.approx(2.0 + 1.0)
    assert row.optimistic_gb_h == pytest.approx(1.0 + 1.0)


def test_runtime_and_not_the_clock_is_what_waste_is_charged_for() -> None:
    run = replace(a_run().at(0, 0, 3600).row, runtime_s=1800.0)
    (row,) = played(Scripted(first=lambda _: 3 * GB), run).rows
    assert row.waste_gb_h == pytest.approx(1.0)


def test_decided_at_start_a_run_knows_what_completed_while_it_waited() -> None:
    waited = a_run(3).at(1, 60, 90).row
    sizer = Scripted()
    played(sizer, a_run(2).at(0, 0, 60).row, waited, decide_at=DecideAt.START)
    assert sizer.heard[1:3] == [("completed", 2, 60), ("decide", 3, 60)]


def test_a_row_is_cold_until_a_run_of_its_task_has_completed() -> None:
    first = a_run(2).at(0, 0, 60).row
    meanwhile = a_run(3).at(30, 30, 40).of("other").row
    beside = a_run(4).at(59, 59, 90).row
    after = a_run(5).at(60, 60, 90).row
    found = played(Scripted(), first, meanwhile, beside, after)
    cold = {row.row.line: row.cold for row in found.rows}
    assert cold == {2: True, 3: True, 4: True, 5: False}


def test_a_failed_attempt_does_not_warm_its_task() -> None:
    failing = a_run(2).at(0, 0, 60).needing(2 * GB).row
    found = played(Scripted(), failing, a_run(3).at(61, 61, 90).row)
    assert {row.row.line: row.cold for row in found.rows} == {2: True, 3: True}


def test_the_retries_of_a_cold_row_are_cold_waste_too() -> None:
    found = played(Scripted(), a_run().at(0, 0, 3600).needing(3 * GB).row)
    sums = totals(found.rows, found.decisions_s, found.updates_s)
    assert sums.cold_gb_h == pytest.approx(sums.waste_gb_h) == pytest.approx(1 + 2 + 1)
    assert sums.warm_gb_h == 0


def test_nothing_is_given_more_than_the_cap() -> None:
    (row,) = played(Scripted(first=lambda _: 100 * GB), a_run().row, cap_bytes=4 * GB).rows
    assert row.first_bytes == 4 * GB


def test_a_run_that_the_cap_does_not_hold_fails_once_at_it_and_is_counted() -> None:
    sizer = Scripted(first=lambda _: 3 * GB)
    found = played(sizer, a_run().needing(5 * GB).row, cap_bytes=4 * GB)
    assert [what for what, _, _ in sizer.heard] == ["decide", "failed 1", "lift 1", "failed 2"]
    sums = totals(found.rows, found.decisions_s, found.updates_s)
    assert (sums.never_fit, sums.failed_attempts, sums.rows) == (1, 2, 1)


@pytest.mark.parametrize(
    "large", [a_run().asking(256 * GB).needing(190 * GB), a_run().asking(None).needing(190 * GB)]
)
@pytest.mark.parametrize("policy", ["plimsoll", "preset"])
def test_a_played_trace_gives_what_its_runs_asked_for_or_needed(
    policy: str, large: RunBuilder
) -> None:
    rows = [large.line(n).at(n * 100, n * 100, n * 100 + 60).row for n in range(2, 8)]
    trace = Trace(name="large", rows=rows, left_out={}, shifted=0, unasked=0)
    found = play(trace, POLICIES[policy], Setting()).totals
    assert found.never_fit == 0
    if large.row.preset_bytes:
        points = frontier(trace, POLICIES[policy], Setting())
        assert [each.failed_attempts for each in points] == [0] * len(points)
        assert found.failed_attempts == 0


@pytest.mark.parametrize(
    ("sizer", "words"),
    [
        pytest.param(
            Scripted(step=lambda failed_bytes: failed_bytes), "more than", id="a lift that is none"
        ),
        pytest.param(Scripted(first=lambda _: 0), "at least 1", id="nothing at all"),
        pytest.param(Scripted(first=lambda _: -5), "at least 1", id="less than nothing"),
    ],
)
def test_an_answer_no_policy_may_give_ends_the_replay(sizer: Scripted, words: str) -> None:
    with pytest.raises(SizerBroken, match=rf"line 7 \(t\).*{words}"):
        played(sizer, a_run(7).needing(2 * GB).row)


def test_progress_ends_at_the_number_of_rows() -> None:
    told: list[int] = []
    rows = [a_run(line).at(line, line, line + 1).row for line in range(2, 503)]
    replay(rows, Scripted(), progress=told.append)
    assert told == [200, 400, 501]


def test_every_call_of_the_sizer_is_timed() -> None:
    found = played(Scripted(), a_run(2).row, a_run(3).needing(2 * GB).row)
    assert len(found.decisions_s) == 2
    assert len(found.updates_s) == 3


# ---- nothing looks ahead -------------------------------------------------------------------------

FUTURE = {"start_s", "complete_s", "runtime_s", "peak_bytes"}


def test_what_a_policy_is_asked_with_has_none_of_the_runs_future() -> None:
    names = {each.name for each in fields(Submitted)}
    assert names == {each.name for each in fields(TraceRow)} - FUTURE - {"asked"}


def test_a_policy_is_never_handed_a_row_before_it_completed() -> None:
    sizer = Scripted()
    played(sizer, a_run(2).needing(3 * GB).row, a_run(3).row)
    assert {type(asked) for asked in sizer.asked} == {Submitted}
    for asked in sizer.asked:
        reachable = {name: getattr(asked, name) for name in dir(asked) if not name.startswith("_")}
        assert not FUTURE & set(reachable)
        assert not any(isinstance(value, TraceRow) for value in reachable.values())


TIMES = st.integers(0, 50)
ROWS = st.lists(
    st.tuples(TIMES, TIMES, TIMES, st.integers(1, 40), st.sampled_from("ab")),
    min_size=1,
    max_size=25,
)


def rows_of(drawn: list[tuple[int, int, int, int, str]]) -> list[TraceRow]:
    return [
        a_run(line)
        .at(submit, submit + wait, submit + wait + length)
        .needing(need * GB // 4)
        .of(task)
        .row
        for line, (submit, wait, length, need, task) in enumerate(drawn, start=2)
    ]


@pytest.mark.slow
@examples(60)
@given(ROWS, st.sampled_from(list(BASELINES)), st.sampled_from(list(DecideAt)), TIMES)
def test_changing_what_comes_later_changes_no_earlier_decision(
    drawn: list[tuple[int, int, int, int, str]], policy: str, decide_at: DecideAt, until: int
) -> None:
    rows = rows_of(drawn)
    until_s = START_S + until
    # Runs that end after a moment end differently: they need more, and take longer.
    other = [
        row
        if row.complete_s <= until_s
        else replace(
            row,
            peak_bytes=3 * row.peak_bytes + GB,
            complete_s=row.complete_s + 100,
            runtime_s=row.runtime_s + 100,
        )
        for row in rows
    ]

    def decided(played_rows: list[TraceRow]) -> dict[int, int]:
        found = replay(played_rows, BASELINES[policy](Knobs()), decide_at=decide_at)
        return {
            each.row.line: each.first_bytes
            for each in found.rows
            if (each.row.submit_s if decide_at is DecideAt.SUBMIT else each.row.start_s) <= until_s
        }

    assert decided(rows) == decided(other)


@pytest.mark.slow
@examples(40)
@given(ROWS, st.sampled_from(list(BASELINES)))
def test_every_run_ends_and_the_sums_agree_with_the_rows(
    drawn: list[tuple[int, int, int, int, str]], policy: str
) -> None:
    rows = rows_of(drawn)
    found = replay(rows, BASELINES[policy](Knobs()))
    assert sorted(each.row.line for each in found.rows) == [row.line for row in rows]
    sums = totals(found.rows, found.decisions_s, found.updates_s)
    assert sums.waste_gb_h == pytest.approx(sum(each.waste_gb_h for each in found.rows))
    assert sums.cold_gb_h + sums.warm_gb_h == pytest.approx(sums.waste_gb_h)
    assert sums.optimistic_gb_h <= sums.waste_gb_h + 1e-9
    assert all(each.completed for each in found.rows)


def test_the_order_of_the_rows_in_the_file_does_not_matter() -> None:
    rows = [a_run(line).at(line % 7, line % 7 + 1, line * 3).row for line in range(2, 40)]
    rows = [replace(row, peak_bytes=GB + row.line) for row in rows]

    def waste(given_rows: list[TraceRow]) -> float:
        found = replay(given_rows, BASELINES["max-seen-1.1"](Knobs()))
        return sum(each.waste_gb_h for each in found.rows)

    assert waste(rows) == pytest.approx(waste(rows[::-1]))
