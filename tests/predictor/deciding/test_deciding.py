from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from plimsoll_predictor.core.decision import Ask, Bounds, Decision, Reason
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.deciding.choosing import cheapest_bins, cheapest_ceiling
from plimsoll_predictor.deciding.memory import decide
from plimsoll_predictor.experts.panel import EXPERTS
from plimsoll_predictor.knowledge.expert_names import CLASSIFIER, REQUEST
from tests.builders.experts.serving import AKnownTask, a_model, bins_up_to

ANYWHERE = Bounds()
LIGHT: dict[str, float | str] = {"rows": "100", "columns": 20.0, "region": "eu"}
HEAVY: dict[str, float | str] = {"rows": "950", "columns": 20.0, "region": "eu"}


def an_ask(request_mib: int | None = 2048, **more: object) -> Ask:
    request_bytes = None if request_mib is None else request_mib * MIB
    return Ask(**({"features": LIGHT, "request_bytes": request_bytes} | more))  # type: ignore[arg-type]


def sized(task: AKnownTask, ask: Ask, bounds: Bounds = ANYWHERE) -> Decision:
    return decide(ask, task.built, bounds)


def waiting_for_five() -> AKnownTask:
    """A task whose policy wants five runs before anything is lowered."""
    return AKnownTask().under(min_runs=5)


def by_classifier() -> AKnownTask:
    return AKnownTask().served_by(CLASSIFIER, a_model())


def test_a_task_nobody_has_seen_keeps_its_own_request() -> None:
    decision = decide(an_ask(2048), None, ANYWHERE)
    assert (decision.allocation_bytes, decision.reason) == (2 * GIB, Reason.COLD_START)
    assert decision.why == "this task was never seen before; the request of 2Gi is kept"


def test_a_task_with_too_few_runs_is_not_lowered() -> None:
    decision = sized(waiting_for_five().after(4).needing(100), an_ask(2048))
    assert (decision.allocation_bytes, decision.reason) == (2 * GIB, Reason.COLD_START)
    assert "only 4 of the 5 runs needed are known" in decision.why


def test_a_task_with_just_enough_runs_is() -> None:
    decision = sized(waiting_for_five().after(5).needing(100), an_ask(2048))
    assert (decision.allocation_bytes, decision.reason) == (110 * MIB, Reason.MAX_SEEN)


def test_few_runs_are_enough_to_raise_a_request_that_was_too_small() -> None:
    decision = sized(waiting_for_five().after(1).needing(1000), an_ask(1000))
    assert (decision.allocation_bytes, decision.reason) == (1100 * MIB, Reason.MAX_SEEN)
    assert "a need beyond the request was seen" in decision.why


def test_few_runs_are_not_enough_to_lower_a_limit_above_the_request() -> None:
    ask = an_ask(1000, limit_bytes=4 * GIB)
    decision = sized(waiting_for_five().after(1).needing(1500), ask)
    assert (decision.allocation_bytes, decision.reason) == (1000 * MIB, Reason.COLD_START)


def test_a_request_above_the_cap_is_left_as_it_is_rather_than_lowered() -> None:
    decision = decide(an_ask(2048), None, Bounds(cap_bytes=GIB))
    assert (decision.allocation_bytes, decision.reason) == (None, Reason.COLD_START)
    assert decision.why.endswith(
        "its request is above the LimitRange's maximum of 1Gi, left as it is"
    )


def test_a_request_below_the_floor_is_raised_to_it() -> None:
    decision = decide(an_ask(16), None, Bounds(floor_bytes=64 * MIB))
    assert decision.allocation_bytes == 64 * MIB
    assert decision.why.endswith("raised to the minimum of 64Mi")


def test_a_pod_without_a_request_is_left_alone_until_its_task_is_known() -> None:
    assert decide(an_ask(None), None, ANYWHERE).allocation_bytes is None
    assert sized(waiting_for_five().after(4), an_ask(None)).allocation_bytes is None


@pytest.mark.parametrize("champion", EXPERTS)
def test_a_pod_without_a_request_gets_a_size_from_any_champion(champion: str) -> None:
    task = AKnownTask().served_by(champion, a_model())
    assert sized(task, an_ask(None)).allocation_bytes is not None


def test_a_task_switched_off_is_left_alone() -> None:
    task = by_classifier().under(mode=Mode.OFF).lifted("job:1", to_mib=900, after_mib=500)
    decision = sized(task, an_ask(run="job:1"))
    assert (decision.allocation_bytes, decision.reason) == (None, Reason.OFF)


def test_a_task_that_only_wants_recommendations_is_decided_like_any_other() -> None:
    recommended = sized(by_classifier().under(mode=Mode.RECOMMEND), an_ask())
    assert recommended == sized(by_classifier().under(mode=Mode.ENFORCE), an_ask())


def test_a_paused_task_keeps_its_request() -> None:
    decision = sized(by_classifier().paused(), an_ask(2048))
    assert (decision.allocation_bytes, decision.reason) == (2 * GIB, Reason.KEPT)
    assert "paused" in decision.why


def test_a_lifted_run_gets_its_lift_before_anything_else() -> None:
    task = by_classifier().after(0).paused().lifted("job:1", to_mib=600, after_mib=300, attempt=3)
    decision = sized(task, an_ask(run="job:1"))
    assert decision.allocation_bytes == 600 * MIB
    assert (decision.reason, decision.attempt) == (Reason.LIFTED, 3)
    assert decision.why == "attempt 3 of this run: 300Mi was too small, lifted to 600Mi"


def test_another_run_of_the_task_is_not_lifted() -> None:
    task = by_classifier().lifted("job:1", to_mib=600, after_mib=300)
    assert sized(task, an_ask(run="job:2")).reason is Reason.PREDICTED
    assert sized(task, an_ask(run=None)).reason is Reason.PREDICTED


def test_a_lift_is_cut_only_by_a_cap() -> None:
    task = AKnownTask().lifted("job:1", to_mib=4000, after_mib=2000)
    capped = sized(task, an_ask(run="job:1"), Bounds(cap_bytes=3000 * MIB))
    assert capped.allocation_bytes == 3000 * MIB
    assert "cut to the LimitRange's maximum" in capped.why


def test_the_classifier_tells_light_runs_from_heavy_ones() -> None:
    light = sized(by_classifier(), an_ask(features=LIGHT))
    heavy = sized(by_classifier(), an_ask(features=HEAVY))
    assert (light.allocation_bytes, light.bin) == (300 * MIB, 0)
    assert (heavy.allocation_bytes, heavy.bin) == (900 * MIB, 2)
    assert heavy.reason is Reason.PREDICTED
    assert heavy.model_version == a_model().version
    assert "bin 3 of 3 (up to 900Mi): 100% of its probability lies at or below" in heavy.why
    assert heavy.why.endswith("212 runs known")


def test_a_model_may_raise_above_the_users_request() -> None:
    assert sized(by_classifier(), an_ask(400, features=HEAVY)).allocation_bytes == 900 * MIB


def test_the_last_ceiling_follows_a_kill_that_the_model_has_not_learned_yet() -> None:
    task = by_classifier().needing(1000)
    heavy = sized(task, an_ask(features=HEAVY))
    assert heavy.allocation_bytes == 1100 * MIB
    assert "raised over the largest need seen" in heavy.why
    assert sized(task, an_ask(features=LIGHT)).allocation_bytes == 300 * MIB


def test_a_classifier_without_a_model_falls_back_to_the_largest_need() -> None:
    decision = sized(AKnownTask().served_by(CLASSIFIER), an_ask())
    assert (decision.allocation_bytes, decision.reason) == (880 * MIB, Reason.MAX_SEEN)
    assert decision.why.startswith("there is no model yet; 1.1 times the largest need seen")


def test_a_model_that_fails_falls_back_to_the_largest_need_and_says_so() -> None:
    no_features = Ask(features=None, request_bytes=GIB)  # type: ignore[arg-type]
    decision = sized(by_classifier(), no_features)
    assert (decision.allocation_bytes, decision.reason) == (880 * MIB, Reason.MAX_SEEN)
    assert "the model failed (AttributeError)" in decision.why


def test_a_request_that_is_the_cheapest_choice_is_kept_to_the_byte() -> None:
    task = AKnownTask().served_by(REQUEST)
    decision = sized(task, Ask(features={}, request_bytes=123_456_789))
    assert (decision.allocation_bytes, decision.reason) == (123_456_789, Reason.KEPT)


def test_without_any_known_need_the_request_is_kept() -> None:
    decision = sized(AKnownTask().needing(None), an_ask(2048))
    assert (decision.allocation_bytes, decision.reason) == (2 * GIB, Reason.KEPT)


def test_allocations_are_rounded_up_to_whole_mebibytes() -> None:
    task = AKnownTask(replace(AKnownTask().built, max_need_bytes=100 * MIB + 1))
    assert sized(task, an_ask()).allocation_bytes == 111 * MIB


@pytest.mark.parametrize(
    ("policy", "bounds", "expected_mib", "words"),
    [
        pytest.param({"min_bytes": GIB}, ANYWHERE, 1024, "raised to the minimum", id="policy min"),
        pytest.param({}, Bounds(floor_bytes=GIB), 1024, "raised to the minimum", id="LimitRange"),
        pytest.param({}, Bounds(cap_bytes=500 * MIB), 500, "the LimitRange's maximum", id="cap"),
        pytest.param(
            {"min_bytes": GIB},
            Bounds(cap_bytes=500 * MIB),
            500,
            "cut to the LimitRange's maximum of 500Mi",
            id="a floor above the cap: the cap wins",
        ),
    ],
)
def test_an_allocation_stays_between_floor_and_cap(
    policy: dict[str, int], bounds: Bounds, expected_mib: int, words: str
) -> None:
    decision = sized(AKnownTask().under(**policy), an_ask(), bounds)
    assert decision.allocation_bytes == expected_mib * MIB
    assert words in decision.why


def test_a_need_above_the_policys_maximum_holds_back_a_raise_and_cuts_no_request() -> None:
    task = AKnownTask().under(max_bytes=500 * MIB)
    raised, kept = sized(task, an_ask(400)), sized(task, an_ask(4096))
    assert raised.allocation_bytes == 500 * MIB
    assert "cut to the policy's maximum of 500Mi" in raised.why
    assert (kept.allocation_bytes, kept.reason) == (None, Reason.KEPT)
    assert "is more than the policy's maximum of 500Mi, so it is left as written" in kept.why


def test_the_cheapest_ceiling_is_the_one_with_the_least_expected_cost() -> None:
    bins = bins_up_to(100, 200)
    probabilities = np.array([0.9, 0.1])
    minute = 60.0 * MIB
    low = 0.9 * 10 * minute + 0.1 * (10 * 100 + 20) * minute
    high = 0.9 * 110 * minute + 0.1 * 20 * minute
    assert high < low
    choice = cheapest_ceiling(probabilities, bins, penalty=10.0)
    assert (choice.bin, choice.ceiling_bytes, choice.probability) == (1, 200 * MIB, 1.0)
    assert choice.expected_cost_gb_h == pytest.approx(high / 1e9 / 3600)
    assert cheapest_ceiling(probabilities, bins, penalty=1.0).bin == 0


def test_a_higher_penalty_never_chooses_a_smaller_ceiling() -> None:
    bins = bins_up_to(100, 200, 400, 800)
    rng = np.random.default_rng(0)
    for _ in range(200):
        probabilities = rng.dirichlet(np.ones(4))
        chosen = [cheapest_ceiling(probabilities, bins, p).bin for p in (1.0, 3.0, 10.0, 100.0)]
        assert chosen == sorted(chosen)


def test_many_rows_are_chosen_for_as_one_by_one() -> None:
    bins = bins_up_to(100, 200, 400)
    rows = np.random.default_rng(0).dirichlet(np.ones(3), size=300)
    expected = [cheapest_ceiling(row, bins, 10.0).bin for row in rows]
    assert cheapest_bins(rows, bins, 10.0).tolist() == expected


def test_bins_without_known_runtimes_do_not_make_failing_free() -> None:
    bins = bins_up_to(100, 200)
    free = type(bins)(bins.ceilings_bytes, bins.counts, bins.mean_need_bytes, (0.0, 0.0))
    assert cheapest_ceiling(np.array([0.5, 0.5]), free, 10.0).bin == 1


@pytest.mark.parametrize(
    "probabilities", [[1.0], [0.5, 0.4], [np.nan, 1.0], [0.2, 0.3, 0.5]], ids=str
)
def test_what_is_not_a_probability_per_bin_is_an_error(probabilities: list[float]) -> None:
    with pytest.raises(ValueError, match="probabilities"):
        cheapest_ceiling(np.array(probabilities), bins_up_to(100, 200), 10.0)
