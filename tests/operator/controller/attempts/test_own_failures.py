"""A run that fails by itself at a lowered size continues as its author wrote it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.names.labels import ATTEMPTS, RETRY, RUN_OF
from plimsoll_operator.names.quantity import format_bytes
from plimsoll_operator.pods.spec import Pod, container_of
from plimsoll_operator.sizing.decision_note import read_note
from plimsoll_operator.wording.event_words import Happening
from plimsoll_predictor.core.decision import Reason
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.knowledge.floor import Floor, FloorKind
from tests.builders.controller.ledgers import a_train, an_inside, decided, ended, killed
from tests.builders.controller.retried_pods import AS_WRITTEN, failed, lowered, retries
from tests.builders.pods import APod


@pytest.mark.slow
@pytest.mark.parametrize("exit_code", [1, 3, 52, 134, 137])
async def test_a_bare_pod_is_tried_again_as_its_author_wrote_it(
    tmp_path: Path, exit_code: int
) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(failed(lowered(), exit_code))
        [made] = retries(inside)
        assert container_of(made, 0)["resources"] == AS_WRITTEN
        assert made["metadata"]["annotations"][RUN_OF] == "uid-train-1"
        note = read_note(made)
        assert note is not None
        assert (note.attempt, note.reason) == (2, Reason.NOT_LOWERED)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("written", "resources"),
    [
        pytest.param((128, None), {"requests": {"memory": "128Mi"}, "limits": {}}, id="no limit"),
        pytest.param((None, None), {"requests": {}, "limits": {}}, id="nothing"),
        pytest.param(
            (128, 256),
            {"requests": {"memory": "128Mi"}, "limits": {"memory": "256Mi"}},
            id="a limit over the request",
        ),
    ],
)
async def test_the_copy_has_what_was_written_and_no_more(
    tmp_path: Path, written: tuple[int | None, int | None], resources: dict[str, Any]
) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(failed(pod := lowered(written=written)))
        [made] = retries(inside, pod)
        assert container_of(made, 0)["resources"] == resources


@pytest.mark.slow
@pytest.mark.parametrize("end", [failed, killed])
@pytest.mark.parametrize("said", [{}, {"paused": True}, {"maxLifts": 0}])
@pytest.mark.parametrize(("attempts", "number"), [("1", 1), ("2", 2)])
async def test_a_lowered_bare_pod_is_given_back_whatever_number_its_author_says(
    tmp_path: Path, end: Callable[[APod], APod], said: dict[str, Any], attempts: str, number: int
) -> None:
    """An older version lowered such pods, or somebody wrote this while the lowered pod ran."""
    pod = lowered(attempt=number).annotated({ATTEMPTS: attempts})
    async with an_inside(tmp_path, said=said) as inside:
        await inside.see(end(pod))
        [copy] = retries(inside, pod)
        assert container_of(copy, 0)["resources"] == AS_WRITTEN
        second = a_train("train-2").annotated({ATTEMPTS: attempts, RUN_OF: "uid-train-1"})
        await inside.see(end(decided(second, attempt=number + 1)))
        assert len(retries(inside)) == 1, "it is given back, and that is all"


@pytest.mark.slow
@pytest.mark.parametrize("end", [failed, killed])
async def test_a_bare_pod_as_written_whose_author_says_one_attempt_gets_no_second(
    tmp_path: Path, end: Callable[[APod], APod]
) -> None:
    """It appends to a table, say."""
    async with an_inside(tmp_path) as inside:
        await inside.see(end(decided(a_train()).annotated({ATTEMPTS: "1"})))
        assert retries(inside) == []


@pytest.mark.slow
async def test_a_bare_pod_that_fails_as_written_too_is_left_alone(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(failed(lowered()))
        again = decided(a_train("train-2").annotated({RUN_OF: "uid-train-1"}), attempt=2)
        await inside.see(failed(again))
        assert len(retries(inside)) == 1


@pytest.mark.slow
async def test_the_retry_is_made_once_also_after_a_restart(tmp_path: Path) -> None:
    for _ in range(2):
        async with an_inside(tmp_path) as inside:
            for _ in range(2):
                await inside.see(failed(lowered()))
            assert len(retries(inside)) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(failed(decided(a_train())), id="it had what was written"),
        pytest.param(failed(lowered(mode=Mode.RECOMMEND)), id="nothing was enforced"),
        pytest.param(failed(lowered().annotated({RETRY: "never"})), id="its author forbids it"),
        pytest.param(
            ended(lowered(), "Error", 1).with_status(reason="Evicted"), id="the node's trouble"
        ),
    ],
)
async def test_what_is_no_failure_at_a_lowered_size_is_not_tried_again(
    tmp_path: Path, pod: APod
) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(pod)
        assert retries(inside) == []
        assert inside.known.lifts == {}


@pytest.mark.slow
@pytest.mark.parametrize("full", [False, True])
async def test_a_jobs_later_attempts_are_as_written_whatever_failed(
    tmp_path: Path, full: bool
) -> None:
    first = decided(a_train()) if full else lowered()
    async with an_inside(tmp_path) as inside:
        await inside.see(failed(first.owned_by_job()))
        assert retries(inside) == []
        [lift] = inside.known.lifts.values()
        assert (lift.as_written, lift.attempt) == (True, 2)
    async with an_inside(tmp_path) as again:
        assert again.known.lifts == inside.known.lifts


@pytest.mark.slow
async def test_a_job_of_one_attempt_is_given_no_lift_at_its_failure(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(failed(lowered().owned_by_job(attempts=1)))
        assert inside.known.lifts == {}


@pytest.mark.slow
async def test_a_sibling_killed_at_a_lower_size_does_not_lower_the_run_again(
    tmp_path: Path,
) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(failed(lowered("train-1").owned_by_job()))
        await inside.see(killed(lowered("train-2", 70).owned_by_job()))
        [lift] = inside.known.lifts.values()
        assert lift.as_written


@pytest.mark.slow
async def test_a_kill_at_the_size_as_written_is_lifted_over_it(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(failed(lowered().owned_by_job()))
        again = decided(a_train("train-2"), attempt=2).owned_by_job()
        await inside.see(killed(again))
        [lift] = inside.known.lifts.values()
        assert not lift.as_written
        assert lift.allocation_bytes > 128 * MIB


@pytest.mark.slow
async def test_the_task_keeps_a_floor_until_the_failure_proves_to_be_its_own(
    tmp_path: Path,
) -> None:
    floor = Floor(128 * MIB, FloorKind.FAILED)
    async with an_inside(tmp_path) as inside:
        await inside.see(failed(lowered().owned_by_job()))
        await inside.controller.standings.fold()
        assert inside.known.floor == floor
    async with an_inside(tmp_path) as inside:
        assert inside.known.floor == floor
        again = decided(a_train("train-2"), attempt=2).owned_by_job()
        await inside.see(failed(again))
        await inside.controller.standings.fold()
        assert inside.known.floor is None


@pytest.mark.slow
async def test_people_are_told_that_the_run_goes_on_as_written(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        told: list[str] = []

        def announce(happening: Happening, pod: Pod) -> None:
            assert pod["metadata"]["namespace"] == "shop"
            told.append(happening.note)

        inside.controller.announcer.announce = announce  # type: ignore[method-assign]
        await inside.see(failed(lowered()))
        # The retry is told of when its pod is there (test_retry_creation.py).
        assert told == [
            f"failed by itself at {format_bytes(64 * MIB)}, less than was written, which may have"
            " been too small; attempt 2 of this run gets what was written"
        ]


@pytest.mark.slow
async def test_a_run_that_was_given_more_than_written_does_not_lose_it_by_a_failure(
    tmp_path: Path,
) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(killed(decided(a_train("train-1")).owned_by_job()))
        [lift] = inside.known.lifts.values()
        await inside.see(failed(decided(a_train("train-2", "256Mi"), attempt=2).owned_by_job()))
        assert list(inside.known.lifts.values()) == [lift]
        assert lift.allocation_bytes > 128 * MIB


@pytest.mark.slow
async def test_a_sibling_that_was_made_before_the_failure_does_not_end_the_lift(
    tmp_path: Path,
) -> None:
    made = {"creationTimestamp": "2026-01-01T00:00:00Z"}
    async with an_inside(tmp_path) as inside:
        await inside.see(failed(lowered("train-1").owned_by_job()))
        sibling = decided(a_train("train-2"), attempt=2).owned_by_job()
        before = ended(sibling).built()
        before["metadata"].update(made)
        await inside.see(APod(before))
        assert len(inside.known.lifts) == 1


@pytest.mark.slow
@pytest.mark.parametrize("end", [failed, killed])
async def test_what_ended_as_written_while_its_task_was_not_enforced_is_not_retried_later(
    tmp_path: Path, end: Callable[[APod], APod]
) -> None:
    """For a pod that had less than was written, see test_restoring_written.py."""
    async with an_inside(tmp_path, Mode.RECOMMEND) as inside:
        await inside.see(end(decided(a_train())))
        assert inside.controller.retries.results["passed-over"] == 1
    async with an_inside(tmp_path) as inside:
        await inside.see(end(decided(a_train())))
        assert inside.store.retries.waiting() == []
