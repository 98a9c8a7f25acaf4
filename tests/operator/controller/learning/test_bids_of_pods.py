"""From the sight of a pod to what its task's experts learn."""

from __future__ import annotations

from pathlib import Path

import pytest

from plimsoll_operator.controller.learning.standings import Standings
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.experts.charging import GIVEN
from plimsoll_predictor.experts.panel import PANEL
from tests.builders.controller.ledgers import (
    TRAIN,
    Inside,
    a_final,
    a_train,
    an_inside,
    decided,
    ended,
    killed,
)


def experts(inside: Inside) -> Standings:
    return inside.controller.standings


async def ran(inside: Inside, name: str, need_mib: int) -> None:
    """A pod from its creation to its end, and its peak."""
    await inside.see(decided(a_train(name)))
    await inside.report(a_final(name, need_mib * MIB))
    await inside.see(ended(decided(a_train(name))))
    await experts(inside).fold()


@pytest.mark.slow
async def test_a_decided_pod_that_lives_is_bid_for_by_every_expert(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await ran(inside, "first", 80)
        await inside.see(decided(a_train("second")))
        bids = inside.store.experts.bids("uid-second")
        assert bids is not None
        assert set(bids) == {*PANEL, GIVEN}
        assert bids["request"] == 128 * MIB
        # Beside the bids it has the size that the pod got: the guard counts it.
        assert 0 < bids[GIVEN] <= 128 * MIB


@pytest.mark.slow
async def test_a_pod_that_nobody_decided_is_not_bid_for(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await ran(inside, "first", 80)
        await inside.see(a_train("second"))
        assert inside.store.experts.bids("uid-second") is None


@pytest.mark.slow
async def test_after_a_restart_a_pod_keeps_the_bids_of_before_though_more_is_known(
    tmp_path: Path,
) -> None:
    async with an_inside(tmp_path) as inside:
        await ran(inside, "first", 80)
        await inside.see(decided(a_train("second")))
        before = inside.store.experts.bids("uid-second")
        await ran(inside, "third", 120)
    async with an_inside(tmp_path) as again:
        await experts(again).restore()
        await again.see(decided(a_train("second")))
        assert again.store.experts.bids("uid-second") == before
        lessons = again.store.experts.lessons(0)
        assert [set(each.bids or ()) for each in lessons] == [{GIVEN}, {*PANEL, GIVEN}]


@pytest.mark.slow
async def test_a_peak_that_comes_after_the_pod_ended_is_learned_when_it_comes(
    tmp_path: Path,
) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(ended(decided(a_train("first"))))
        await experts(inside).fold()
        assert experts(inside).held(TRAIN) is None
        await inside.report(a_final("first", 80 * MIB))
        await inside.controller.late_peaks.amend("uid-first")
        await experts(inside).fold()
        assert inside.known.largest_bytes == 80 * MIB


@pytest.mark.slow
async def test_a_kill_waits_with_its_bids_for_the_runs_end(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await ran(inside, "first", 80)
        await inside.see(decided(a_train("second")))
        await inside.see(killed(decided(a_train("second"))))
        await experts(inside).fold()
        standing = experts(inside).held(TRAIN)
        assert standing is not None
        [waiting] = standing.pending.values()
        assert waiting["request"] == 128 * MIB
        assert inside.known.max_need_bytes == 128 * MIB
        assert inside.known.largest_bytes == 80 * MIB, "of runs that succeeded"
