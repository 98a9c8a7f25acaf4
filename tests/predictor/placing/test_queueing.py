"""The next of the waiting jobs, where not every job fits on every node."""

from __future__ import annotations

import numpy as np
import pytest

from plimsoll_predictor.placing.kinds import OTHERS
from plimsoll_predictor.placing.policies.getting_along import GettingAlong
from plimsoll_predictor.placing.policies.policy import Outlook, Waiting
from plimsoll_predictor.placing.queueing import AGE, Candidate, PairWaste, Turn, best_turn
from plimsoll_predictor.placing.soft_pairing import fair_regret

KINDS = (OTHERS, "a", "b", "c")


def drawn(seed: int) -> tuple[Outlook, PairWaste]:
    """Slowdowns of four kinds, and what they waste."""
    draw = np.random.default_rng(seed)
    outlook = Outlook(1.0 + draw.random((4, 4)), np.full(4, 0.25), np.ones(4))
    regret = fair_regret(outlook.slowdowns, outlook.shares, outlook.work)
    return outlook, PairWaste(KINDS, regret)


@pytest.mark.parametrize("seed", range(20))
def test_where_all_fit_everywhere_it_is_the_simulations_choice(seed: int) -> None:
    """The same except for fairness between kinds, which begins at zero there and is absent here."""
    outlook, beside = drawn(seed)
    simulated = GettingAlong()
    simulated.learn(outlook)
    draw = np.random.default_rng(seed + 100)
    kinds = [int(each) for each in draw.integers(0, 4, 8)]
    overtaken = [int(each) for each in draw.integers(0, 30, 8)]
    nodes = [(int(each),) for each in draw.integers(0, 4, 3)]
    choice = simulated.order(
        [Waiting(kind, times) for kind, times in zip(kinds, overtaken, strict=True)], nodes
    )
    turn = best_turn(
        [
            Candidate(KINDS[kind], times, range(3))
            for kind, times in zip(kinds, overtaken, strict=True)
        ],
        [[KINDS[kind] for kind in residents] for residents in nodes],
        beside,
    )
    assert (turn.job, turn.nodes[0]) == (choice.job, choice.node)


def test_only_nodes_with_room_are_named_the_best_first() -> None:
    beside = PairWaste((OTHERS, "a"), np.array([[0.0, 0.0], [0.0, 0.4]]))
    nodes = [["a", "a"], ["a"], ["unknown"]]
    assert best_turn([Candidate("a", 0, (0, 1, 2))], nodes, beside) == Turn(0, (2, 1, 0))
    assert best_turn([Candidate("a", 0, (0, 1))], nodes, beside) == Turn(0, (1, 0))


def test_a_kind_that_nobody_told_apart_counts_as_one_of_the_others() -> None:
    beside = PairWaste((OTHERS, "a"), np.array([[0.3, 0.1], [0.1, 0.2]]))
    turn = best_turn([Candidate("new", 0, (0, 1))], [["other"], ["a"]], beside)
    assert turn.nodes == (1, 0)


def test_who_waits_long_comes_first_in_the_end() -> None:
    beside = PairWaste(
        (OTHERS, "a", "b"), np.array([[0, 0, 0], [0, 0.5, 0], [0, 0, 0]], dtype=float)
    )
    for overtaken, job in ((int(0.5 / AGE) - 1, 1), (int(0.5 / AGE) + 1, 0)):
        window = [Candidate("a", overtaken, (0,)), Candidate("b", 0, (0,))]
        assert best_turn(window, [["a"]], beside).job == job


def test_while_nothing_is_known_the_first_goes_to_the_node_with_the_fewest() -> None:
    window = [Candidate("a", 0, (0, 1)), Candidate("b", 0, (0, 1))]
    assert best_turn(window, [["a", "b"], ["a"]], None) == Turn(0, (1, 0))


@pytest.mark.parametrize("kinds", [("a",), (OTHERS, "a", "b")])
def test_waste_that_does_not_belong_to_its_kinds_is_refused(kinds: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="kinds"):
        PairWaste(kinds, np.zeros((1, 1)) if kinds == ("a",) else np.zeros((2, 2)))
