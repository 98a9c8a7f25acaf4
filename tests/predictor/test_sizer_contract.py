"""What holds for every way of deciding, whatever is asked."""

from __future__ import annotations

import copy
import json
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_predictor.deciding import decide
from plimsoll_predictor.decision import Ask, Bounds
from plimsoll_predictor.knowledge import Expert, Knowledge, Lift
from plimsoll_predictor.lifting import FailedAttempt, next_allocation
from plimsoll_predictor.model import Model
from plimsoll_predictor.policy import Mode, Policy
from plimsoll_predictor.units import GIB, MIB
from tests.drawing import examples
from tests.predictor.serving_builders import TRAIN, a_model

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


@cache
def models() -> tuple[Model, ...]:
    return (a_model(300), a_model(300, 600), a_model())


KNOWLEDGE = st.builds(
    Knowledge,
    task=st.just(TRAIN),
    policy=POLICIES,
    runs=st.integers(0, 20),
    max_need_bytes=st.none() | SIZES,
    champion=st.sampled_from(list(Expert)),
    model=st.none() | st.deferred(lambda: st.sampled_from(models())),
    lifts=st.dictionaries(
        st.just("job:1"), st.builds(Lift, SIZES, st.integers(2, 5), SIZES), max_size=1
    ),
)


@given(ask=ASKS, knowledge=st.none() | KNOWLEDGE, bounds=BOUNDS)
@examples(400)
def test_every_decision_is_repeatable_within_bounds_and_explained(
    ask: Ask, knowledge: Knowledge | None, bounds: Bounds
) -> None:
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


@given(ask=ASKS, knowledge=KNOWLEDGE, bounds=BOUNDS)
@examples(100)
def test_saved_and_loaded_knowledge_decides_alike(
    ask: Ask, knowledge: Knowledge, bounds: Bounds
) -> None:
    loaded = Knowledge.from_dict(json.loads(json.dumps(knowledge.to_dict())))
    assert decide(ask, loaded, bounds) == decide(ask, knowledge, bounds)


@given(knowledge=KNOWLEDGE, bounds=BOUNDS, killed_bytes=SIZES, request_bytes=st.none() | SIZES)
@examples(300)
def test_a_kill_is_always_answered_by_more_memory_within_the_cap_or_by_a_reason(
    knowledge: Knowledge, bounds: Bounds, killed_bytes: int, request_bytes: int | None
) -> None:
    failed = FailedAttempt(allocation_bytes=killed_bytes, attempt=1, request_bytes=request_bytes)
    step = next_allocation(failed, knowledge, bounds)
    assert next_allocation(failed, knowledge, bounds) == step
    if isinstance(step, Lift):
        assert step.allocation_bytes >= 1.05 * killed_bytes
        for cap_bytes in (knowledge.policy.max_bytes, bounds.cap_bytes):
            assert cap_bytes is None or step.allocation_bytes <= cap_bytes
    else:
        assert step.reason


@given(features=st.dictionaries(NAMES, VALUES, max_size=6))
@examples(100)
def test_the_order_of_features_is_irrelevant(features: dict[str, float | str]) -> None:
    turned = dict(reversed(features.items()))
    for model in models():
        assert model.probabilities(turned).tolist() == model.probabilities(features).tolist()


def test_a_run_that_reports_more_memory_than_exists_is_still_decided() -> None:
    knowledge = Knowledge(
        task=TRAIN, policy=Policy(), runs=9, max_need_bytes=2**80, champion=Expert.REQUEST
    )
    decision = decide(Ask(features={}, request_bytes=MIB), knowledge, Bounds(cap_bytes=GIB))
    assert decision.allocation_bytes == pytest.approx(32 * MIB)
