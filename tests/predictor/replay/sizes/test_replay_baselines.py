"""The simple rules, each by a handful of runs."""

from __future__ import annotations

import pytest

from plimsoll_predictor.replay.sizes.baselines import BASELINES
from plimsoll_predictor.replay.sizes.sizer import UNASKED_BYTES, Knobs, Sizer
from tests.builders.replays import GB, START_S, a_run


def taught(policy: str, *needs_gb: float, knobs: Knobs | None = None) -> Sizer:
    sizer = BASELINES[policy](knobs or Knobs())
    for line, need_gb in enumerate(needs_gb, start=2):
        sizer.completed(a_run(line).needing(int(need_gb * GB)).row, 0, START_S)
    return sizer


def next_gb(sizer: Sizer) -> float:
    return sizer.decide(a_run(99).asking(8 * GB).row.asked, START_S) / GB


@pytest.mark.parametrize(
    ("policy", "needs_gb", "gb"),
    [
        pytest.param("preset", (1, 2), 8, id="the preset is the request whatever was seen"),
        pytest.param("max-seen", (1, 3, 2), 3, id="max-seen is the largest need"),
        pytest.param("max-seen-1.1", (1, 3, 2), 3.3, id="with a tenth of headroom"),
        pytest.param("last-20", (9, *[2] * 20), 2.2, id="what is older than 20 runs is forgotten"),
        pytest.param("last-20", (9, *[2] * 19), 9.9, id="the twentieth is not"),
        pytest.param("p95-vpa", range(1, 22), 20 * 1.15, id="the 95th percentile with a margin"),
        pytest.param("p95-vpa", (1, 2), 1.95 * 1.15, id="interpolated between two runs"),
        pytest.param("tovar", (2,), 2, id="one run leaves one step"),
        pytest.param("tovar", (1, 1, 1, 10), 1, id="a rare giant is not worth giving to all"),
        pytest.param("tovar", (9, 9.5, 10), 10, id="to save a little is not worth a failure"),
    ],
)
def test_a_rule_decides(policy: str, needs_gb: tuple[float, ...], gb: float) -> None:
    assert next_gb(taught(policy, *needs_gb)) == pytest.approx(gb, rel=1e-6)


@pytest.mark.parametrize("policy", list(BASELINES))
def test_a_task_never_seen_gets_its_request_or_the_share_asked_for(policy: str) -> None:
    assert next_gb(BASELINES[policy](Knobs())) == 8
    assert next_gb(BASELINES[policy](Knobs(first_size=0.75))) == 6
    asked = a_run().asking(None).row.asked
    assert BASELINES[policy](Knobs()).decide(asked, START_S) == UNASKED_BYTES


@pytest.mark.parametrize("policy", [name for name in BASELINES if name != "preset"])
def test_one_tasks_needs_are_not_anothers(policy: str) -> None:
    sizer = taught(policy, 1, 1, 1)
    assert sizer.decide(a_run(9).of("other").asking(8 * GB).row.asked, START_S) == 8 * GB


@pytest.mark.parametrize(
    ("policy", "gb"),
    [
        pytest.param("max-seen", 8, id="doubled"),
        pytest.param("last-20", 8, id="doubled, too"),
        pytest.param("p95-vpa", 4.8, id="a fifth more"),
        pytest.param("tovar", 7, id="the largest need seen"),
    ],
)
def test_a_failed_attempt_is_lifted(policy: str, gb: float) -> None:
    sizer = taught(policy, 1, 7)
    assert sizer.lift(a_run(9).row.asked, 4 * GB, 1, START_S) == pytest.approx(gb * GB, rel=1e-6)


def test_tovar_doubles_where_the_largest_need_is_no_step_up() -> None:
    sizer = taught("tovar", 1, 4.0001)
    assert sizer.lift(a_run(9).row.asked, 4 * GB, 1, START_S) == 8 * GB


@pytest.mark.parametrize("policy", list(BASELINES))
def test_even_a_byte_is_lifted_to_more(policy: str) -> None:
    assert BASELINES[policy](Knobs()).lift(a_run().row.asked, 1, 1, START_S) > 1


@pytest.mark.parametrize("policy", [name for name in BASELINES if name != "preset"])
def test_a_margin_of_ones_own_replaces_the_rules(policy: str) -> None:
    assert next_gb(taught(policy, 2, knobs=Knobs(strictness=1.5))) == pytest.approx(3)
