"""A run that was killed needs more than it had then, however little was seen of its peak."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest

from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.experts.charging import EndedRun
from plimsoll_predictor.experts.panel import ANCHORS, EXPERTS
from plimsoll_predictor.experts.past import MOST_KILLED
from plimsoll_predictor.experts.pool import Pool
from plimsoll_predictor.experts.standing import Ended, Exceeded, Standing
from plimsoll_predictor.replay.sizes.engine import replay
from plimsoll_predictor.replay.sizes.policies import POLICIES
from plimsoll_predictor.replay.sizes.rows import TraceRow
from plimsoll_predictor.replay.sizes.sizer import Knobs
from plimsoll_predictor.replay.synthetic.elastic import ShownPeaks
from tests.builders.replays import a_run


def killed(standing: Standing, size_mib: float, run: str = "r") -> None:
    standing.exceeded(Exceeded(run=run, allocation_bytes=size_mib * MIB))


def need_mib(standing: Standing, allocation_mib: float | None, run: str = "r") -> float:
    """What is learned of a run that ended, of which 100 MiB were seen."""
    ended = Ended(
        run=EndedRun(100.0 * MIB, 20.0),
        features={},
        bids=None,
        overhead_s=None,
        key=run,
        allocation_bytes=None if allocation_mib is None else allocation_mib * MIB,
    )
    standing.learn(ended, Pool(EXPERTS, ANCHORS))
    return standing.past.needs_bytes[-1] / MIB


@pytest.mark.parametrize(
    ("kills_mib", "allocation_mib", "learned_mib"),
    [
        pytest.param([200], 400, 200, id="its kill proves more than was seen"),
        pytest.param([200, 400], 800, 400, id="the largest of its kills"),
        pytest.param([50], 400, 100, id="less than was seen"),
        pytest.param([200], 200, 100, id="it did smaller chunks in the same memory"),
        pytest.param([200], 150, 100, id="it succeeded in less: the kill had another reason"),
        pytest.param([200], None, 100, id="nobody knows what it had"),
        pytest.param([], 400, 100, id="it was never killed"),
    ],
)
def test_a_need_is_at_least_the_size_at_which_the_run_was_killed(
    kills_mib: list[float], allocation_mib: float | None, learned_mib: float
) -> None:
    standing = Standing()
    for size_mib in kills_mib:
        killed(standing, size_mib)
    assert need_mib(standing, allocation_mib) == learned_mib


def test_the_kill_of_another_run_proves_nothing_about_this_one() -> None:
    standing = Standing()
    killed(standing, 200, "other")
    assert need_mib(standing, 400) == 100
    assert need_mib(standing, 400, "other") == 200
    assert need_mib(standing, 400, "other") == 100, "a kill counts once"


def test_a_restart_between_kill_and_end_changes_nothing() -> None:
    standing = Standing()
    killed(standing, 200)
    written = json.loads(json.dumps(standing.to_dict()))
    assert need_mib(Standing.from_dict(written), 400) == 200
    del written["past"]["killed_bytes"]
    assert need_mib(Standing.from_dict(written), 400) == 100, "an older version's state"


def test_runs_that_never_end_are_not_awaited_for_ever() -> None:
    standing = Standing()
    for run in range(MOST_KILLED + 10):
        killed(standing, 200, f"r{run}")
    assert len(standing.past.killed_bytes) == MOST_KILLED
    assert need_mib(standing, 400, f"r{MOST_KILLED + 9}") == 200


class Sampled(ShownPeaks):
    """A sizer that is shown a part of each run's peak: samples miss the rest."""

    def completed(self, row: TraceRow, allocation_bytes: int, now_s: float, /) -> None:
        seen_bytes = int(row.peak_bytes * self._shown[row.line])
        self._sizer.completed(replace(row, peak_bytes=seen_bytes), allocation_bytes, now_s)


def test_a_task_whose_peaks_are_mostly_missed_is_killed_rarely() -> None:
    draw, rows, shown = random.Random(1), list[TraceRow](), dict[int, float]()
    for number in range(200):
        line, at_s = number + 2, 200.0 * number
        run = a_run(line).needing(int(GIB * draw.lognormvariate(0, 0.05))).asking(4 * GIB)
        rows.append(run.at(at_s, at_s, at_s + 20).row)
        shown[line] = draw.uniform(0.3, 1.0)
    found = replay(rows, Sampled(POLICIES["plimsoll"].make(Knobs()), shown)).rows
    assert sum(each.failed_attempts for each in found) <= 30
