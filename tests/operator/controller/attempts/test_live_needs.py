"""What running attempts have reached: whose it is, when sizes use it, and when it ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.controller.attempts.live_needs import TASKS_AT_ONCE, matters
from plimsoll_operator.controller.hub.hub import ProfileOutdated
from plimsoll_operator.names.labels import RUN_OF
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.knowledge.shown import NOTHING_SHOWN, Shown
from tests.builders.controller.ledgers import (
    NOW_S,
    TRAIN,
    a_final,
    a_train,
    an_inside,
    decided,
    ended,
    killed,
)
from tests.builders.controller.shown import KNOWN_MIB, Told, reached, running
from tests.builders.pods import APod


@pytest.mark.slow
async def test_a_running_attempt_beyond_all_that_was_needed_raises_the_floor(told: Told) -> None:
    await told.inside.see(running("r1"))
    told.report(reached("r1", 90))
    await told.publish()
    assert told.floor_mib == 90
    assert told.published[-1].floor_bytes == 90 * MIB


@pytest.mark.slow
async def test_a_floor_that_moves_is_shown_in_the_profile(told: Told) -> None:
    outdated: list[TaskId | None] = []
    told.inside.controller.hub.subscribe(ProfileOutdated, lambda event: outdated.append(event.task))
    await told.inside.see(running("r1"))
    await told.publish()
    assert outdated == [], "a start alone moves no floor"
    told.report(reached("r1", 90))
    await told.publish()
    assert outdated == [TRAIN]


@pytest.mark.slow
async def test_what_lies_below_the_need_that_is_known_is_no_news(told: Told) -> None:
    for number in range(4):
        await told.knows(f"more-{number}")
    await told.inside.see(running("r1"))
    await told.publish()
    told.published.clear()
    told.report(reached("r1", KNOWN_MIB - 1))
    await told.publish()
    assert (told.floor_mib, told.published) == (0, [])


@pytest.mark.slow
async def test_a_rise_of_less_than_a_twentieth_is_not_published(told: Told) -> None:
    await told.inside.see(running("r1"))
    for mib in (90, 92, 94):
        told.report(reached("r1", mib))
        await told.publish()
    assert [each.floor_bytes // MIB for each in told.published] == [90]


@pytest.mark.slow
async def test_a_report_that_comes_before_its_pod_is_seen_counts(told: Told) -> None:
    told.report(reached("r1", 90))
    await told.publish()
    assert told.floor_mib == 0
    await told.inside.see(running("r1"))
    await told.publish()
    assert told.floor_mib == 90


@pytest.mark.slow
@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(a_train("r1").unlabelled(), id="a pod without the label"),
        pytest.param(a_train("r1").labelled("other"), id="a pod of another task"),
        pytest.param(
            a_train("r1").annotated({"plimsoll.dev/mode": "off"}), id="a pod that is left alone"
        ),
    ],
)
async def test_a_pod_that_is_not_the_tasks_own_says_nothing_of_it(told: Told, pod: APod) -> None:
    await told.inside.see(running("r1", pod=pod))
    told.report(reached("r1", 90))
    await told.publish()
    assert told.floor_mib == 0


@pytest.mark.slow
async def test_what_an_init_container_needed_is_no_need_of_the_task(told: Told) -> None:
    told.report(reached("r1", 90), reached("r1", 90, "first"))
    await told.inside.see(running("r1"))
    await told.publish()
    assert told.floor_mib == 0


@pytest.mark.slow
async def test_of_a_pod_with_a_sidecar_only_the_sized_container_counts(told: Told) -> None:
    pod = a_train("r1").built()
    pod["spec"]["containers"].append({"name": "sidecar"})
    await told.inside.see(running("r1", pod=APod(pod)))
    told.report(reached("r1", 90), reached("r1", 30, "sidecar"))
    await told.publish()
    assert told.floor_mib == 0
    told.report(reached("r1", 60, "main"))
    await told.publish()
    assert told.floor_mib == 60


@pytest.mark.slow
async def test_in_a_sandbox_no_more_counts_than_the_containers_limit(told: Told) -> None:
    pod = a_train("r1").built()
    pod["spec"]["overhead"] = {"memory": "64Mi"}
    await told.inside.see(running("r1", pod=APod(pod)))
    told.report(reached("r1", 150))
    await told.publish()
    assert told.floor_mib == 128


@pytest.mark.slow
async def test_nothing_is_shown_before_the_first_run_has_ended(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        told = Told(inside)
        await inside.see(running("r1"))
        told.report(reached("r1", 90))
        await told.publish()
        assert inside.known.shown == NOTHING_SHOWN
        await told.knows("first")
        assert told.floor_mib == 90


@pytest.mark.slow
async def test_an_attempt_that_succeeded_counts_until_its_need_is_known(told: Told) -> None:
    await told.inside.see(running("r1"))
    told.report(reached("r1", 90))
    await told.publish()
    await told.inside.see(ended(a_train("r1")))
    await told.publish()
    assert told.floor_mib == 90
    await told.inside.report(a_final("r1", need_bytes=90 * MIB))
    await told.inside.controller.late_peaks.amend("uid-r1")
    await told.publish()
    assert (told.floor_mib, told.inside.known.largest_bytes) == (0, 90 * MIB)


@pytest.mark.slow
async def test_an_attempt_whose_need_never_comes_is_forgotten_after_a_while(told: Told) -> None:
    await told.inside.see(running("r1"))
    told.report(reached("r1", 90))
    await told.inside.see(ended(a_train("r1")))
    await told.publish()
    assert told.floor_mib == 90
    told.inside.controller.live_needs.now_s = lambda: NOW_S + 61
    await told.publish()
    assert told.floor_mib == 0


@pytest.mark.slow
async def test_a_killed_run_counts_with_the_size_that_was_too_small(told: Told) -> None:
    """Its next attempt starts from zero, but the run needs more than that size."""
    first = decided(a_train("r1"))
    await told.inside.see(running("r1", pod=first))
    told.report(reached("r1", 90))
    await told.publish()
    await told.inside.see(killed(first))
    await told.inside.report(a_final("r1", need_bytes=128 * MIB))
    await told.inside.controller.late_peaks.amend("uid-r1")
    await told.publish()
    assert told.floor_mib == 128
    (run,) = told.inside.known.lifts
    second = decided(a_train("r2"), attempt=2).annotated({RUN_OF: run.removeprefix("pod:")})
    await told.inside.see(running("r2", pod=second))
    told.report(reached("r2", 10))
    await told.publish()
    assert told.floor_mib == 128
    await told.inside.report(a_final("r2", need_bytes=200 * MIB))
    await told.inside.see(ended(second))
    await told.publish()
    assert (told.floor_mib, told.inside.known.largest_bytes) == (0, 200 * MIB)


@pytest.mark.slow
async def test_a_killed_run_that_nobody_goes_on_with_is_forgotten_after_a_while(
    told: Told,
) -> None:
    await told.inside.see(running("r1"))
    await told.inside.see(killed(a_train("r1")))
    await told.publish()
    assert (told.floor_mib, len(told.inside.controller.live_needs)) == (128, 0)
    told.inside.controller.live_needs.now_s = lambda: NOW_S + 61
    await told.publish()
    assert told.floor_mib == 0


@pytest.mark.slow
async def test_a_run_that_failed_by_itself_counts_no_more(told: Told) -> None:
    await told.inside.see(running("r1"))
    told.report(reached("r1", 90))
    await told.inside.see(ended(a_train("r1"), "Error", 1))
    await told.publish()
    assert told.floor_mib == 0


@pytest.mark.slow
async def test_a_pod_that_is_deleted_while_it_runs_counts_no_more(told: Told) -> None:
    await told.inside.see(running("r1"))
    told.report(reached("r1", 90))
    await told.publish()
    await told.inside.see(running("r1"), gone=True)
    await told.publish()
    assert (told.floor_mib, len(told.inside.controller.live_needs)) == (0, 0)


@pytest.mark.slow
async def test_after_a_restart_pods_and_agents_say_it_again(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        told = Told(inside)
        await told.knows("first")
        await inside.see(running("r1"))
    async with an_inside(tmp_path) as inside:
        told = Told(inside)
        await inside.see(running("r1"))
        told.report(reached("r1", 90))
        await told.publish()
        assert told.floor_mib == 90


@pytest.mark.slow
async def test_no_more_pods_are_remembered_than_fit(told: Told) -> None:
    needs = told.inside.controller.live_needs
    needs.pods_kept = 3
    for number in range(5):
        await told.inside.see(running(f"r{number}"))
    told.report(reached("r0", 90))
    await told.publish()
    assert (len(needs), told.floor_mib) == (3, 0)


@pytest.mark.slow
async def test_a_thousand_reports_of_one_task_are_one_publication(told: Told) -> None:
    for number in range(50):
        await told.inside.see(running(f"r{number}"))
    await told.publish()
    told.published.clear()
    for mib in range(100, 120):
        told.report(*(reached(f"r{number}", mib) for number in range(50)))
    await told.publish()
    assert len(told.published) == 1


@pytest.mark.slow
async def test_many_tasks_take_turns(told: Told) -> None:
    needs = told.inside.controller.live_needs
    asked: list[TaskId] = []

    async def experts(task: TaskId) -> Any:
        asked.append(task)

    needs.experts = experts
    for number in range(TASKS_AT_ONCE + 5):
        needs._marked[TaskId("shop", f"t{number}")] = None
    await needs.show()
    assert len(asked) == TASKS_AT_ONCE
    await needs.show()
    assert len(asked) == TASKS_AT_ONCE + 5


@pytest.mark.slow
async def test_waiting_pods_are_decided_again_when_others_begin_to_outlast(told: Told) -> None:
    """The run that ended took a minute."""
    await told.inside.see(running("r1", at="2026-01-01T00:01:00Z"))
    await told.publish()
    told.published.clear()
    needs = told.inside.controller.live_needs
    for after_s, publications in ((60.0, 0), (69.0, 1), (75.0, 1)):
        needs.now_s = lambda after_s=after_s: NOW_S + after_s  # type: ignore[misc]
        await told.publish()
        assert len(told.published) == publications, after_s


@pytest.mark.slow
async def test_starts_say_nothing_once_more_runs_are_known(told: Told) -> None:
    for number in range(3):
        await told.knows(f"more-{number}")
    told.published.clear()
    await told.inside.see(running("r1"))
    await told.publish()
    assert told.published == []


@pytest.mark.slow
async def test_a_controller_that_is_told_so_shows_nothing(told: Told) -> None:
    told.inside.controller.live_needs.on = False
    await told.inside.see(running("r1"))
    told.report(reached("r1", 90))
    await told.publish()
    assert told.floor_mib == 0


@pytest.mark.slow
async def test_a_controller_that_shows_nothing_forgets_attempts_that_ended_all_the_same(
    told: Told,
) -> None:
    needs = told.inside.controller.live_needs
    needs.on = False
    await told.inside.see(running("r1"))
    await told.inside.see(ended(a_train("r1")))
    await told.publish()
    assert len(needs._lingering) == 1
    needs.now_s = lambda: NOW_S + 61
    await told.publish()
    assert (len(needs._lingering), len(needs._tasks), len(needs._marked)) == (0, 0, 0)


@pytest.mark.slow
async def test_agents_are_told_what_is_known_of_a_pods_task(told: Told) -> None:
    needs = told.inside.controller.live_needs
    await told.inside.see(running("r1"))
    assert needs.known_bytes("uid-r1") == KNOWN_MIB * MIB
    assert needs.known_bytes("uid-of-nobody") is None


@pytest.mark.slow
async def test_of_a_task_without_a_known_need_all_is_wanted(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(running("r1"))
        assert inside.controller.live_needs.known_bytes("uid-r1") is None


@pytest.mark.slow
async def test_a_task_that_is_forgotten_leaves_nothing(told: Told) -> None:
    await told.inside.see(running("r1"))
    told.inside.controller.book.forget(TRAIN)
    await told.publish()
    assert len(told.inside.controller.live_needs) == 0


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        (Shown(), Shown(), False),
        (Shown(floor_bytes=1000), Shown(floor_bytes=1049), False),
        (Shown(floor_bytes=1000), Shown(floor_bytes=1050), True),
        (Shown(floor_bytes=1000), Shown(floor_bytes=960), False),
        (Shown(floor_bytes=1000), Shown(), True),
        (Shown(), Shown(started_s=(1.0,)), True),
    ],
)
def test_small_changes_do_not_matter(before: Shown, now: Shown, expected: bool) -> None:
    assert matters(before, now) is expected
