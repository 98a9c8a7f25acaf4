"""Rules for every expert that can serve, for any request.

The experts are those of ``plimsoll_predictor.experts.panel``: a new one is tested automatically.
"""

from __future__ import annotations

import copy
import json
import math
import random
import sys
from dataclasses import replace
from functools import cache

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_predictor.core.decision import Ask, Bounds, Reason
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.record import Features
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.deciding.lifting import FailedAttempt, next_allocation
from plimsoll_predictor.deciding.memory import decide
from plimsoll_predictor.experts.charging import EndedRun
from plimsoll_predictor.experts.panel import ANCHORS, EXPERTS, MODELLED, words_for_expert
from plimsoll_predictor.experts.pool import Pool
from plimsoll_predictor.experts.standing import Ended, Exceeded, Standing
from plimsoll_predictor.knowledge.curve import Curve, KindLines, Product, Straight
from plimsoll_predictor.knowledge.expert_names import REQUEST
from plimsoll_predictor.knowledge.knowledge import Knowledge, Lift
from plimsoll_predictor.knowledge.rule import Rule
from plimsoll_predictor.model.task_model import Model
from tests.builders.experts.serving import TRAIN, a_model, with_boosted
from tests.rigs.drawing import examples

SIZES = st.integers(1, 64 * GIB)
VALUES = st.floats() | st.text(max_size=8) | st.sampled_from(["1", "900", "1e308", "eu", "nan"])
NAMES = st.sampled_from(["rows", "columns", "region", "since"]) | st.text(max_size=5)
ASKS = st.builds(
    Ask,
    features=st.dictionaries(NAMES, VALUES, max_size=6),
    request_bytes=st.none() | SIZES,
    limit_bytes=st.none() | SIZES,
    run=st.none() | st.sampled_from(["job:1", "job:2"]),
)
BOUNDS = st.builds(Bounds, floor_bytes=st.none() | SIZES, cap_bytes=st.none() | SIZES)
POLICIES = st.builds(
    Policy,
    mode=st.sampled_from(list(Mode)),
    paused=st.booleans(),
    min_bytes=SIZES,
    max_bytes=st.none() | SIZES,
    penalty=st.floats(1.0, 1000.0),
    max_lifts=st.integers(0, 5),
    min_runs=st.integers(0, 10),
    headroom=st.floats(1.0, 3.0),
)


RUNS = st.lists(
    st.tuples(SIZES, st.floats(0, 1e6), st.none() | SIZES, st.floats(0.1, 1e9)),
    min_size=1,
    max_size=8,
)


@cache
def models() -> tuple[Model, ...]:
    return (a_model(300), a_model(300, 600), a_model(), with_boosted(a_model()))


@pytest.fixture(scope="module", autouse=True)
def trained() -> None:
    """Train them before anything is drawn: the libraries of trainings use ``random``."""
    models()


MODELS = st.none() | st.deferred(lambda: st.sampled_from(models()))
LIFTS = st.dictionaries(
    st.just("job:1"), st.builds(Lift, SIZES, st.integers(2, 5), SIZES), max_size=1
)


@st.composite
def served_by(draw: st.DrawFn, expert: str) -> Knowledge:
    """Knowledge of a task with ended runs that this expert serves."""
    standing, pool = Standing(), Pool(EXPERTS, ANCHORS)
    for need_bytes, runtime_s, request_bytes, rows in draw(RUNS):
        run = EndedRun(float(need_bytes), runtime_s, request_bytes)
        standing.learn(Ended(run=run, features={"rows": rows}, bids=None, overhead_s=60.0), pool)
    informed = standing.inform(Knowledge(task=TRAIN, policy=draw(POLICIES)))
    return replace(
        informed,
        champion=expert,
        rule=standing.rules.get(expert),
        model=draw(MODELS),
        lifts=draw(LIFTS),
    )


WITHOUT_RULE = st.builds(
    Knowledge,
    task=st.just(TRAIN),
    policy=POLICIES,
    max_need_bytes=st.none() | SIZES,
    largest_bytes=st.none() | SIZES,
    champion=st.sampled_from([*EXPERTS, "an expert of another version"]),
    runs=st.integers(0, 20),
    model=MODELS,
    lifts=LIFTS,
)
EACH_EXPERT = pytest.mark.parametrize("expert", EXPERTS)


@pytest.mark.slow
@EACH_EXPERT
@given(data=st.data(), ask=ASKS)
@examples(10)
def test_whoever_serves_decides_itself_and_is_named(
    expert: str, data: st.DataObject, ask: Ask
) -> None:
    """A new expert that deciding does not ask, or that does not differ from another, fails here."""
    knowledge = replace(
        data.draw(served_by(expert)),
        policy=Policy(mode=Mode.ENFORCE),
        model=with_boosted_model(),
        lifts={},
    )
    decision = decide(ask, knowledge, Bounds())
    if expert == REQUEST and ask.request_bytes is not None:
        assert (decision.reason, decision.model_version) == (Reason.KEPT, None)
        assert "the user's request" in decision.why
    elif expert == REQUEST:
        assert decision.reason is Reason.MAX_SEEN
    elif expert in MODELLED:
        assert decision.reason is Reason.PREDICTED
        assert decision.model_version == with_boosted_model().version
    else:
        assert (decision.reason, decision.model_version) == (Reason.LEARNED, None)
        assert words_for_expert(expert) in decision.why


def with_boosted_model() -> Model:
    return models()[-1]


@pytest.mark.slow
@EACH_EXPERT
@given(data=st.data(), ask=ASKS, bounds=BOUNDS)
@examples(20)
def test_every_expert_decides_repeatably_within_bounds_and_explains_it_saved_or_not(
    expert: str, data: st.DataObject, ask: Ask, bounds: Bounds
) -> None:
    knowledge = data.draw(served_by(expert))
    holds_for_every_decision(ask, knowledge, bounds)
    loaded = Knowledge.from_dict(json.loads(json.dumps(knowledge.to_dict())))
    assert decide(ask, loaded, bounds) == decide(ask, knowledge, bounds)


@pytest.mark.slow
@given(ask=ASKS, knowledge=st.none() | WITHOUT_RULE, bounds=BOUNDS)
@examples(100)
def test_what_is_decided_without_a_rule_is_repeatable_within_bounds_and_explained(
    ask: Ask, knowledge: Knowledge | None, bounds: Bounds
) -> None:
    holds_for_every_decision(ask, knowledge, bounds)


def holds_for_every_decision(ask: Ask, knowledge: Knowledge | None, bounds: Bounds) -> None:
    before = copy.deepcopy((ask.request_bytes, repr(ask.features), repr(bounds)))
    decision = decide(ask, knowledge, bounds)
    assert decide(ask, knowledge, bounds) == decision
    assert (ask.request_bytes, repr(ask.features), repr(bounds)) == before
    assert decision.why
    policy = knowledge.policy if knowledge else Policy()
    caps = [cap for cap in (policy.max_bytes, bounds.cap_bytes) if cap is not None]
    cap_bytes = min(caps, default=None)
    if decision.allocation_bytes is not None:
        assert cap_bytes is None or decision.allocation_bytes <= cap_bytes
        floor_bytes = max(policy.min_bytes, bounds.floor_bytes or 0)
        assert decision.allocation_bytes >= min(floor_bytes, cap_bytes or floor_bytes)


@pytest.mark.slow
@given(
    knowledge=WITHOUT_RULE,
    bounds=BOUNDS,
    killed_bytes=SIZES,
    request_bytes=st.none() | SIZES,
    limit_bytes=st.none() | SIZES,
)
@examples(150)
def test_a_kill_is_always_answered_by_more_memory_within_the_cap_or_by_a_reason(
    knowledge: Knowledge,
    bounds: Bounds,
    killed_bytes: int,
    request_bytes: int | None,
    limit_bytes: int | None,
) -> None:
    failed = FailedAttempt(
        killed_at_bytes=killed_bytes,
        attempt=1,
        request_bytes=request_bytes,
        limit_bytes=limit_bytes,
    )
    step = next_allocation(failed, knowledge, bounds)
    assert next_allocation(failed, knowledge, bounds) == step
    if isinstance(step, Lift) and step.as_written:
        assert failed.was_lowered, "what was written is more"
    elif isinstance(step, Lift):
        assert step.allocation_bytes >= 1.05 * killed_bytes
        assert bounds.cap_bytes is None or step.allocation_bytes <= bounds.cap_bytes
        if knowledge.policy.max_bytes is not None and not failed.was_lowered:
            most_bytes = max(knowledge.policy.max_bytes, request_bytes or 0)
            assert step.allocation_bytes <= most_bytes
    else:
        assert step.reason


@pytest.mark.slow
@given(features=st.dictionaries(NAMES, VALUES, max_size=6))
@examples(100)
def test_the_order_of_features_is_irrelevant(features: dict[str, float | str]) -> None:
    turned = dict(reversed(features.items()))
    for model in models():
        assert model.probabilities(turned).tolist() == model.probabilities(features).tolist()


DBL_MAX = sys.float_info.max
HUGE: tuple[Features, ...] = (
    {"rows": DBL_MAX, "workers": DBL_MAX},
    {"rows": -DBL_MAX, "workers": DBL_MAX},
    {"rows": DBL_MAX, "workers": 2.0, "kind": "a"},
)


def with_two_features(runs: int) -> tuple[Standing, Pool]:
    """A task whose need grows with rows and falls with workers."""
    standing, pool, draw = Standing(), Pool(EXPERTS, ANCHORS), random.Random(1)
    for place in range(runs):
        rows, workers = draw.uniform(1e3, 1e5), draw.uniform(1, 50)
        need_bytes = 2e9 + 2e4 * rows - 3e7 * workers + draw.gauss(0, 1e6)
        features: Features = {"rows": rows, "workers": workers, "kind": "ab"[place % 2]}
        run = EndedRun(need_bytes, 60.0, 8e9)
        standing.learn(Ended(run=run, features=features, bids=None, overhead_s=None), pool)
    return standing, pool


@EACH_EXPERT
@pytest.mark.parametrize("features", HUGE)
@pytest.mark.parametrize("request_bytes", [8 * GIB, None])
def test_features_as_large_as_numbers_get_are_sized_by_a_finite_bid(
    expert: str, features: Features, request_bytes: int | None
) -> None:
    standing, _ = with_two_features(20)
    assert isinstance(standing.past.curve, Straight), "over both features"
    assert all(map(math.isfinite, standing.bids(request_bytes, features).values()))
    informed = standing.inform(Knowledge(task=TRAIN, policy=Policy(mode=Mode.ENFORCE)))
    informed = replace(informed, champion=expert, rule=standing.rules.get(expert))
    knowledge = replace(informed, model=with_boosted_model())
    decision = decide(
        Ask(features=dict(features), request_bytes=request_bytes), knowledge, Bounds()
    )
    assert decision.allocation_bytes is None or decision.allocation_bytes <= 8 * GIB


@pytest.mark.parametrize(
    "curve",
    [
        Straight(("rows",), (2.0,), 0.0),
        Straight(("rows", "workers"), (2.0, -2.0), 0.0),
        Straight(("rows",), (1.0,), 0.0, factor=1.01, room_bytes=DBL_MAX),
        KindLines("rows", "kind", {"a": (0.0, 2.0)}),
        KindLines("rows", "kind", {"a": (0.0, -1.0)}, room_bytes=math.inf),
        Product(("rows", "workers"), 1.0, 0.0),
    ],
)
def test_a_curve_that_leads_to_no_number_says_nothing(curve: Curve) -> None:
    features: Features = {"rows": DBL_MAX, "workers": DBL_MAX, "kind": "a"}
    assert curve.at(features) is None
    rule = Rule(base_bytes=3e9, curves=(curve,), most_bytes=9e9)
    assert rule.bid_bytes(8e9, features) == 3e9


@pytest.mark.parametrize("features", HUGE)
def test_a_run_with_such_features_is_learned_and_what_is_stored_is_read_back(
    features: Features,
) -> None:
    standing, pool = with_two_features(20)
    bids = dict(standing.bids(8e9, features))
    for number in range(3):
        run = EndedRun(3e9 + number, 60.0, 8e9)
        standing.learn(Ended(run=run, features=features, bids=None, overhead_s=None), pool)
    killed = Exceeded(run="r", allocation_bytes=4e9, request_bytes=8e9, bids=bids)
    standing.exceeded(killed)
    written = orjson.dumps(standing.to_dict())
    assert Standing.from_dict(orjson.loads(written)).to_dict() == standing.to_dict()
    shared = pool.to_dict()
    assert orjson.loads(orjson.dumps(shared)) == shared
    informed = standing.inform(Knowledge(task=TRAIN, policy=Policy()))
    assert Knowledge.from_dict(orjson.loads(orjson.dumps(informed.to_dict()))) == informed


def test_a_run_that_reports_more_memory_than_exists_is_still_decided() -> None:
    knowledge = Knowledge(
        task=TRAIN, policy=Policy(), runs=9, max_need_bytes=2**80, champion=REQUEST
    )
    decision = decide(Ask(features={}, request_bytes=MIB), knowledge, Bounds(cap_bytes=GIB))
    assert decision.allocation_bytes == pytest.approx(32 * MIB)
