"""Where pods fit: on the nodes that one by one would be found to have room."""

from __future__ import annotations

import random

import pytest

from plimsoll_operator.ordering.asks import Amounts, Asked, fits
from plimsoll_operator.ordering.fitting import Fitting

NAMES = ("cpu", "memory", "pods", "example.com/gpu", "example.com/fpga")


def test_many_nodes_at_once_are_found_as_one_by_one() -> None:
    draw = random.Random(7)
    for _ in range(300):
        nodes: list[Amounts] = [
            {name: draw.randint(-2, 4) for name in NAMES if draw.random() < 0.7}
            for _ in range(draw.randint(0, 5))
        ]
        asked: Asked = tuple((name, draw.randint(1, 4)) for name in NAMES if draw.random() < 0.5)
        one_by_one = tuple(at for at, free in enumerate(nodes) if fits(asked, free))
        assert Fitting(nodes).of(asked) == one_by_one


@pytest.mark.parametrize(
    ("pods", "fit"), [(1, True), (3, True), (5, True), (6, False)], ids=lambda each: str(each)
)
def test_pods_that_ask_alike_share_the_room(pods: int, fit: bool) -> None:
    nodes = {"cpu": 3500}, {"cpu": 2000}, {"cpu": 0}
    assert Fitting(nodes).takes((("cpu", 1000),), pods) is fit


def test_without_nodes_nothing_fits() -> None:
    assert not Fitting(()).takes((), 1)
    assert Fitting(()).of((("cpu", 1),)) == ()


def test_numbers_of_any_size_are_compared() -> None:
    huge = 10**400
    assert Fitting([{"memory": huge}]).of((("memory", 10**300),)) == (0,)
    assert Fitting([{"memory": 2**40}]).of((("memory", huge),)) == ()
