"""A killed pod whose next attempt leases less at once: first the same memory, then more."""

from __future__ import annotations

from pathlib import Path

import pytest

from plimsoll_operator.controller.splitting.leased_jobs import LeasedJobs
from plimsoll_operator.names import labels
from plimsoll_operator.pods.spec import Pod
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.knowledge.knowledge import Lift
from tests.builders.controller.ledgers import (
    TRAIN,
    Inside,
    a_train,
    an_inside,
    decided,
    ended,
    killed,
)
from tests.builders.pods import APod

HELD = Lift(allocation_bytes=128 * MIB, attempt=2, after_bytes=128 * MIB)


@pytest.fixture(autouse=True)
def _smaller_chunks_are_cheaper(monkeypatch: pytest.MonkeyPatch) -> None:
    async def spares(_: LeasedJobs, killed: Pod) -> bool:
        return True

    monkeypatch.setattr(LeasedJobs, "spares", spares)


def a_worker(name: str, attempt: int = 1, attempts: int = 10) -> APod:
    """A pod of a Job that makes that many attempts of an index."""
    pod = decided(a_train(name).owned_by_job(), attempt=attempt)
    return pod.annotated({labels.JOB_ATTEMPTS: str(attempts)})


def lift_of(inside: Inside) -> Lift:
    (lift,) = inside.store.lifts.waiting()[TRAIN].values()
    assert list(inside.known.lifts.values()) == [lift]
    return lift


@pytest.mark.slow
async def test_it_has_as_much_memory_and_one_that_is_killed_again_has_more(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(killed(a_worker("first")))
        assert lift_of(inside) == HELD
        await inside.see(killed(a_worker("next", attempt=2)))
        lift = lift_of(inside)
        assert (lift.attempt, lift.after_bytes) == (3, 128 * MIB)
        assert lift.allocation_bytes > 128 * MIB


@pytest.mark.slow
async def test_it_is_held_once_also_where_the_kill_is_seen_again_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(killed(a_worker("first")))
    monkeypatch.undo()  # the leases' knowledge of it is gone
    async with an_inside(tmp_path) as inside:
        await inside.see(killed(a_worker("first")))
        assert lift_of(inside) == HELD
        await inside.see(ended(a_worker("next", attempt=2)))
        assert inside.store.lifts.waiting() == {}


@pytest.mark.slow
async def test_a_held_attempt_tells_nothing_of_what_its_siblings_need(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(killed(a_worker("first")))
        running = a_worker("next", attempt=2).with_status(
            phase="Running",
            containerStatuses=[
                {"name": "main", "state": {"running": {"startedAt": "2026-01-01T00:02:00Z"}}}
            ],
        )
        await inside.see(running)
        await inside.controller.live_needs.show()
        assert inside.known.shown.floor_bytes == 0


@pytest.mark.slow
async def test_one_that_was_made_before_anything_was_known_and_is_killed_too_has_more(
    tmp_path: Path,
) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(killed(a_worker("first"), at="2026-01-01T00:00:30Z"))
        await inside.see(killed(a_worker("next"), at="2026-01-01T00:00:50Z"))
        assert lift_of(inside).allocation_bytes > 128 * MIB


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attempts", "attempt"),
    [
        pytest.param(3, 1, id="too few attempts to be wrong once"),
        pytest.param(10, 2, id="its second attempt"),
    ],
)
async def test_it_is_lifted_as_any_where_being_wrong_would_cost_the_run(
    tmp_path: Path, attempts: int, attempt: int
) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(killed(a_worker("one", attempt=attempt, attempts=attempts)))
        assert lift_of(inside).allocation_bytes > 128 * MIB
