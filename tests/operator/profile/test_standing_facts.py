"""Which expert serves a task and why, and whether the task drifts, in words."""

from __future__ import annotations

import pytest

from plimsoll_operator.profile.standing_facts import standing_facts
from plimsoll_operator.wording.drift_words import DriftKind, drift_facts
from plimsoll_predictor.core.units import GIB
from plimsoll_predictor.experts.drift import BEFORE, Drift
from plimsoll_predictor.experts.failures import AttemptAt
from plimsoll_predictor.experts.panel import PANEL, YOUNG, YOUNG_RUNS, words_for_expert
from plimsoll_predictor.experts.pool import Pool
from plimsoll_predictor.experts.standing import Standing
from plimsoll_predictor.knowledge.expert_names import SAFE
from tests.builders.experts.standings import NEEDS_MIB, SHIFTED_MIB, a_fleet, a_run, facts_of
from tests.builders.reports import TASK


def test_the_champion_comes_first_and_the_others_by_their_cost() -> None:
    facts = facts_of(a_fleet())
    first, *others = facts.experts
    assert (first.serves, first.name, first.times) == (True, facts.champion, 1.0)
    costs = [each.cost for each in others if each.cost is not None]
    assert costs == sorted(costs)
    assert {each.name for each in facts.experts} == set(PANEL)
    assert all(
        each.words == words_for_expert(each.name) and each.bid_bytes for each in facts.experts
    )


def test_what_the_user_asks_for_is_shown_as_many_times_dearer_where_it_is_much_too_large() -> None:
    facts = facts_of(a_fleet())
    request = next(each for each in facts.experts if each.name == "request")
    assert request.bid_bytes == 4 * GIB
    assert facts.times["request"] > 5


def test_of_a_young_task_it_is_said_who_may_serve_and_how_many_runs_are_wanting() -> None:
    facts = facts_of(a_fleet(NEEDS_MIB[:3]))
    assert {each.name for each in facts.experts if each.eligible} == YOUNG
    assert "only 3 runs count" in facts.why
    assert facts.would_change[0].startswith(f"{YOUNG_RUNS - 3} runs more")


def test_of_a_grown_task_the_margin_is_said_that_another_expert_has_to_reach() -> None:
    facts = facts_of(a_fleet())
    assert not facts.young
    assert all(each.eligible for each in facts.experts)
    assert "1.1 times" in facts.would_change[0]
    if facts.champion == SAFE:
        assert "no other" in facts.why
    else:
        assert f"{SAFE} would have cost" in facts.why


def test_a_task_without_a_run_has_nothing_to_say() -> None:
    pool = a_fleet().pool
    assert standing_facts(None, pool) is None
    assert standing_facts(Standing(), pool) is None


def test_costs_of_nothing_are_no_ratio() -> None:
    fleet = a_fleet(NEEDS_MIB[:1])
    assert facts_of(fleet).times == {}, "the first run is charged to nobody"
    assert isinstance(fleet.pool, Pool)


def test_a_shift_of_level_tells_both_levels() -> None:
    facts = facts_of(a_fleet(SHIFTED_MIB[:-1]))
    assert facts.drift.change is DriftKind.LEVEL
    assert facts.runs == 8, "only those of the new level count"
    latest, earlier = "needed 2.15Gi to 2.22Gi", "which needed 6.05Gi to 6.79Gi, no longer count"
    assert f"its latest runs {latest}; the earlier runs, {earlier};" in facts.drift.words


def test_the_words_of_a_shift_stay_while_it_lasts() -> None:
    at_once, later = (facts_of(a_fleet(needs)).drift for needs in (SHIFTED_MIB[:-1], SHIFTED_MIB))
    assert at_once == later


def test_a_task_that_stays_at_its_level_does_not_drift() -> None:
    drift = facts_of(a_fleet()).drift
    assert (drift.drifting, drift.change, drift.shifts) == (False, DriftKind.NONE, 0)


def test_a_new_image_is_a_change_of_another_kind() -> None:
    drift = Drift()
    drift.see_version("shop/train:1")
    assert not drift_facts(drift).drifting
    drift.see_version("shop/train:2")
    assert drift_facts(drift).change is DriftKind.IMAGE
    assert "image or command is new" in drift_facts(drift).words


def test_an_image_that_comes_after_a_shift_is_the_newer_change() -> None:
    fleet = a_fleet(SHIFTED_MIB)
    drift = fleet.standing(next(iter(fleet))).drift
    for image in ("one", "two"):
        drift.see_version(image)
    assert drift_facts(drift).change is DriftKind.IMAGE


def test_drifting_ends_when_enough_runs_are_known_since() -> None:
    fleet = a_fleet(SHIFTED_MIB[:-1])
    [task] = fleet
    for place in range(BEFORE):
        assert fleet.standing(task).drift.drifting
        fleet.learn(task, a_run(2200 + place))
    facts = drift_facts(fleet.standing(task).drift)
    assert (facts.drifting, facts.shifts) == (False, 1)


@pytest.mark.parametrize("needs", [NEEDS_MIB, SHIFTED_MIB])
def test_a_standing_that_was_saved_tells_the_same(needs: tuple[int, ...]) -> None:
    fleet = a_fleet(needs)
    [task] = fleet
    standing = fleet.standing(task)
    again = Standing.from_dict(standing.to_dict())
    assert standing_facts(again, fleet.pool) == standing_facts(standing, fleet.pool)


def test_a_floor_is_told_where_it_holds() -> None:
    fleet = a_fleet()
    assert facts_of(fleet).floor == ""
    fleet.standing(str(TASK)).floors.failed(AttemptAt("r", GIB, lowered=True))
    assert facts_of(fleet).floor == (
        "a run failed by itself at a lower size than was written; floor 2Gi"
    )
