from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_predictor.placing.policies.catalogue import OWN, POLICIES
from plimsoll_predictor.placing.policies.policy import Outlook, Policy, Residents, Waiting

SIZE = 4
KIND = st.integers(0, SIZE - 1)
RESIDENTS = st.lists(KIND, max_size=3).map(lambda kinds: tuple(sorted(kinds)))
SLOWDOWNS = np.array(
    [[1.0, 1.0, 1.5, 1.5], [1.0, 3.0, 2.0, 2.0], [1.5, 2.0, 1.2, 1.2], [1.5, 2.0, 1.2, 1.2]]
)


def a_policy(name: str) -> Policy:
    policy = POLICIES[name]()
    policy.learn(Outlook(SLOWDOWNS, np.full(SIZE, 1 / SIZE), np.ones(SIZE)))
    return policy


@pytest.mark.slow
@pytest.mark.parametrize("name", POLICIES)
@given(
    st.lists(st.builds(Waiting, KIND, st.integers(0, 60)), min_size=1, max_size=15),
    st.lists(RESIDENTS, min_size=1, max_size=8),
    st.floats(1.0, 10.0),
)
def test_every_policy_chooses_one_of_what_there_is(
    name: str, window: list[Waiting], nodes: list[Residents], slowdown: float
) -> None:
    policy = a_policy(name)
    for _ in range(3):
        choice = policy.order(window, nodes)
        assert 0 <= choice.job < len(window)
        assert 0 <= choice.node < len(nodes)
        job = window[choice.job].kind
        assert 0 <= policy.node(job, nodes) < len(nodes)
        policy.ended(job, nodes[choice.node], slowdown)


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_goes_on_when_kinds_are_added(name: str) -> None:
    policy = a_policy(name)
    policy.ended(3, (1,), 2.0)
    more = np.pad(SLOWDOWNS, ((0, 1), (0, 1)), constant_values=1.1)
    policy.learn(Outlook(more, np.full(SIZE + 1, 1 / (SIZE + 1)), np.ones(SIZE + 1)))
    assert policy.node(4, [(4,), (0,)]) in {0, 1}
    policy.ended(4, (4,), 1.1)


def test_ours_takes_the_partner_that_no_other_needs_more() -> None:
    policy = a_policy(OWN)
    window = [Waiting(2, 0), Waiting(1, 0)]
    assert policy.order(window, [(0,)]).job == 1
    assert policy.order(window, [(3,)]).job == 0


def test_ours_lets_nobody_wait_for_ever() -> None:
    policy = a_policy(OWN)
    window = [Waiting(1, 59), Waiting(2, 0)]
    assert policy.order([Waiting(1, 0), Waiting(2, 0)], [(3,)]).job == 1
    assert policy.order([Waiting(1, 10_000), Waiting(2, 0)], [(3,)]).job == 0
    assert policy.order(window, [()]).job == 0


def test_ours_prefers_an_empty_node_and_then_who_gets_along() -> None:
    policy = a_policy(OWN)
    assert policy.node(1, [(1,), (), (0,)]) == 1
    assert policy.node(1, [(1,), (0,), (2,)]) == 1


def test_spreading_takes_the_first_job_to_the_emptiest_node() -> None:
    policy = a_policy("least-loaded")
    choice = policy.order([Waiting(3, 0), Waiting(0, 0)], [(1, 1), (2,)])
    assert (choice.job, choice.node) == (0, 1)


def test_the_bandit_comes_to_prefer_what_did_well() -> None:
    policy = a_policy("hugo-1")
    for _ in range(200):
        policy.ended(1, (0,), 1.0)
        policy.ended(1, (1,), 3.0)
        policy.ended(2, (0,), 3.0)
        policy.ended(2, (1,), 1.0)
    window = [Waiting(1, 0), Waiting(2, 0)]
    beside_0 = [policy.order(window, [(0,)]).job for _ in range(50)]
    assert beside_0.count(0) > 40
