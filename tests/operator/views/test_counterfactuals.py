"""What would change a size: the same decision, made again with one thing changed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from plimsoll_operator.commands.sizes.policies_in_force import bounds_from
from plimsoll_operator.views.counterfactuals import Situation, outlook_of
from plimsoll_predictor.core.decision import Ask, Bounds, Reason
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.knowledge.expert_names import CLASSIFIER, MAX_SEEN
from plimsoll_predictor.knowledge.knowledge import Knowledge
from plimsoll_predictor.knowledge.rule import Line, Rule
from tests.builders.experts.standings import a_fleet
from tests.builders.nodes import a_node
from tests.builders.reports import TASK, a_model

ROOMY_BYTES = 2253 * MIB
"""A tenth over 2Gi, in whole Mi."""
BY_ROWS = Rule(
    base_bytes=3.0 * GIB,
    lines=(Line("rows", 1.0, 13.0),),
    factor=1.0,
    least_bytes=100.0 * MIB,
    most_bytes=3.0 * GIB,
)


def a_situation(policy: Policy | None = None, **knowledge: Any) -> Situation:
    """Forty runs of at most 2Gi; the largest seen serves, in enforce mode."""
    known = Knowledge(
        task=TASK,
        policy=policy or Policy(mode=Mode.ENFORCE),
        **{"runs": 40, "max_need_bytes": 2 * GIB, "champion": MAX_SEEN, **knowledge},
    )
    return Situation(ask=Ask(features={}, request_bytes=4 * GIB), knowledge=known)


def by_feature(**features: Any) -> Situation:
    situation = a_situation(champion="features-97", rule=BY_ROWS)
    return replace(situation, ask=Ask(features=features, request_bytes=4 * GIB))


def changes(situation: Situation) -> dict[str, int | None]:
    return {each.change: each.size_bytes for each in outlook_of(situation).changes}


def test_a_cap_that_binds_is_named_with_what_would_be_without_it() -> None:
    asking = Ask(features={}, request_bytes=GIB // 2)
    capped = replace(a_situation(Policy(mode=Mode.ENFORCE, max_bytes=1 * GIB)), ask=asking)
    outlook = outlook_of(capped)
    assert outlook.size_bytes == 1 * GIB
    assert changes(capped)["without max 1Gi"] == ROOMY_BYTES


def test_a_cap_that_does_not_bind_is_not_mentioned() -> None:
    roomy = a_situation(Policy(mode=Mode.ENFORCE, max_bytes=64 * GIB))
    assert not [change for change in changes(roomy) if "max" in change]


@pytest.mark.parametrize(
    ("bounds", "words", "then_bytes"),
    [
        (Bounds(cap_bytes=1 * GIB), "without the LimitRange's maximum 1Gi", ROOMY_BYTES),
        (Bounds(floor_bytes=8 * GIB), "without the LimitRange's least 8Gi", ROOMY_BYTES),
    ],
)
def test_what_the_cluster_bounds_is_told_apart_from_the_policy(
    bounds: Bounds, words: str, then_bytes: int
) -> None:
    found = changes(replace(a_situation(), bounds=bounds))
    [change] = [each for each in found if each.startswith(words)]
    assert found[change] == then_bytes


def test_what_holds_back_a_raise_is_named() -> None:
    asking = replace(a_situation(), ask=Ask(features={}, request_bytes=GIB))
    held = replace(asking, bounds=Bounds(room_bytes=GIB, room_of="its request (a quota counts it)"))
    assert outlook_of(held).size_bytes == GIB
    assert changes(held)["without its request (a quota counts it), 1Gi"] == ROOMY_BYTES
    assert outlook_of(held).after_kill == "the next attempt gets 2Gi"


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (Policy(mode=Mode.RECOMMEND), "its mode is recommend"),
        (Policy(mode=Mode.OFF), "its mode is off"),
        (Policy(mode=Mode.ENFORCE, paused=True), "`plimsoll resume` ends that"),
    ],
)
def test_a_size_that_no_pod_gets_says_why_and_is_worked_out_all_the_same(
    policy: Policy, words: str
) -> None:
    outlook = outlook_of(a_situation(policy))
    assert words in str(outlook.applied)
    assert outlook.size_bytes == outlook_of(a_situation()).size_bytes


def test_a_task_with_too_few_runs_says_how_many_more_and_what_then() -> None:
    waiting = a_situation(Policy(mode=Mode.ENFORCE, min_runs=5), runs=2)
    assert outlook_of(waiting).size_bytes == 4 * GIB
    assert changes(waiting)["with 3 more runs (minRuns 5)"] == ROOMY_BYTES


def test_another_price_of_a_failure_bids_anew() -> None:
    fleet = a_fleet([300 + 40 * (place % 30) for place in range(60)])
    standing = fleet.standing(str(TASK))
    priced = replace(
        a_situation(), knowledge=standing.inform(a_situation().knowledge), standing=standing
    )
    priced = replace(priced, pool=fleet.pool)
    found = changes(priced)
    cheap, dear = (found.get(f"at risk.overheadSeconds {each}") for each in ("240", "24000"))
    now = outlook_of(priced).size_bytes
    assert cheap is not None or dear is not None, "one of them is another size"
    assert (cheap or now or 0) <= (now or 0) <= (dear or now or 0)
    assert (
        standing.to_dict()
        == a_fleet([300 + 40 * (place % 30) for place in range(60)]).standing(str(TASK)).to_dict()
    ), "looking changes nothing"


def test_another_penalty_chooses_another_ceiling_where_the_classifier_serves() -> None:
    model = a_model()
    served = replace(
        a_situation(champion=CLASSIFIER, model=model, max_need_bytes=300 * MIB),
        ask=Ask(features={"rows": 9.0}, request_bytes=4 * GIB),
    )
    assert outlook_of(served).reason is Reason.PREDICTED
    ceilings = set(model.bins.ceilings_bytes)
    penalties = {name: size for name, size in changes(served).items() if "penalty" in name}
    assert set(penalties.values()) <= ceilings


def test_a_feature_that_decides_is_varied_and_left_out() -> None:
    found = changes(by_feature(rows=1000.0, region="eu"))
    now = outlook_of(by_feature(rows=1000.0)).size_bytes
    assert now is not None
    assert found["if rows were 2000, not 1000"] == pytest.approx(2 * now, rel=0.01)
    assert found["if rows were not said"] == 3 * GIB
    assert not [change for change in found if "region" in change], "it decides nothing"


def test_a_category_is_varied_over_what_was_seen() -> None:
    situation = replace(by_feature(rows="many"), values={"rows": ["many", 1000.0, "few"]})
    assert changes(situation)["if rows were 1000, not many"] is not None


def test_an_oom_kill_says_what_the_next_attempt_gets() -> None:
    assert outlook_of(a_situation()).after_kill == "the next attempt gets 2.97Gi"
    never = a_situation(Policy(mode=Mode.ENFORCE, max_lifts=0))
    assert "lifting is switched off" in outlook_of(never).after_kill


def test_what_could_not_be_read_is_told() -> None:
    assert (
        outlook_of(a_situation(), "the defaults are assumed").assumed == "the defaults are assumed"
    )


def test_the_bounds_are_those_of_limit_ranges_quotas_and_the_largest_node() -> None:
    limits = {"spec": {"limits": [{"type": "Container", "min": {"memory": "64Mi"}}]}}
    quota = {"spec": {"hard": {"limits.memory": "8Gi"}}}
    nodes = [a_node(size, name=size) for size in ("4Gi", "20Gi", "oops")]
    ask = Ask(features={}, request_bytes=4 * GIB)
    first, lifted = bounds_from([limits], [quota], nodes, ask)
    assert (first.floor_bytes, first.room_bytes) == (64 * MIB, 4 * GIB)
    assert (lifted.room_bytes, lifted.room_of) == (8 * GIB, "its quota")
    assert bounds_from([], [], nodes, ask)[0].room_bytes == 18 * GIB
    assert [each.room_bytes for each in bounds_from([], [], [], ask)] == [None, None]


def test_a_counterfactual_is_plain_for_programs() -> None:
    capped = outlook_of(a_situation(Policy(mode=Mode.ENFORCE, max_bytes=1 * GIB)))
    assert {"change": "without max 1Gi", "size_bytes": ROOMY_BYTES} in capped.to_dict()["if"]
