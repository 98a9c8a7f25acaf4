"""When a campaign stops because more runs would change nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from plimsoll_predictor.campaigns import needs, settled
from plimsoll_predictor.campaigns.ending import Ending
from plimsoll_predictor.campaigns.rules import StopRule
from plimsoll_predictor.campaigns.runs import CampaignRun, RunState
from plimsoll_predictor.campaigns.saving import Saving
from plimsoll_predictor.core.units import MIB
from tests.predictor.campaigns.lives import RULES, Life, registered, rows


def test_a_campaign_stops_when_the_estimate_moves_no_more() -> None:
    rules = replace(RULES, stop=StopRule(change=0.01, runs=5))
    life = Life.of(rules, registered(rows(60)), lambda _: 100 * MIB)
    assert life.until_ended().ending is Ending.NOTHING_MOVES
    assert len(life.made) < 20


def test_whether_more_runs_would_change_anything_is_asked_from_the_newest_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs = [
        replace(run, state=RunState.LEARNED, peak_bytes=MIB, ended_s=float(run.scenario))
        for run in registered(rows(20))
    ]
    asked: list[int] = []

    def estimate(runs: Sequence[CampaignRun], _: int, newest_left_out: int) -> Saving:
        asked.append(len(runs) - newest_left_out)
        cautious = 0.5 if asked[-1] > 17 else 0.1
        return Saving(optimal=1.0, expected=asked[-1] / 20, cautious=cautious, to_learn=0.0)

    monkeypatch.setattr(settled, "saving_of", estimate)
    assert not settled.moves_no_more(runs, MIB, change=0.01, window=10)
    assert asked == [20, 19, 18, 17]
    assert settled.moves_no_more(runs, MIB, change=0.01, window=2)


@pytest.mark.slow
def test_another_look_fits_nothing_again_however_many_runs_are_compared() -> None:
    most = 100
    runs = [
        replace(run, state=RunState.LEARNED, peak_bytes=MIB, ended_s=float(run.scenario))
        for run in registered(rows(most + 20))
    ]
    assert settled.moves_no_more(runs, MIB, change=0.01, window=most)
    fits = needs._fitted.cache_info().misses
    assert settled.moves_no_more(runs, MIB, change=0.01, window=most)
    assert needs._fitted.cache_info().misses == fits


@pytest.mark.slow
def test_a_campaign_does_not_stop_while_there_is_much_to_learn() -> None:
    """The known kinds come first, and each of their runs is as expected."""
    rules = replace(RULES, stop=StopRule(change=0.01, runs=5))
    known = [{"n": str(n % 6), "kind": "ab"[n % 2]} for n in range(40)]
    others = [{"n": "1", "kind": f"other {n}"} for n in range(8)]
    needs = {"a": 100 * MIB, "b": 400 * MIB}

    def need(run: CampaignRun) -> int:
        return needs.get(run.values["kind"], 200 * MIB)

    alone = Life.of(rules, registered(known, 512), need)
    assert alone.until_ended().ending is Ending.NOTHING_MOVES
    both = Life.of(rules, registered([*known, *others], 512), need)
    both.until_ended()
    assert len(alone.made) < len(known) < len(both.made)
