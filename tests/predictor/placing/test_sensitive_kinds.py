"""What is guessed of a kind's slowdowns by neighbours that it has not met."""

from __future__ import annotations

from statistics import fmean

import numpy as np
import pytest

from plimsoll_predictor.placing.encounter import Encounter
from plimsoll_predictor.placing.interference import Interference
from plimsoll_predictor.placing.matrix import Array
from plimsoll_predictor.placing.ridge import (
    MOST_TIMES_USUAL,
    SPREAD_OF_A_KIND,
    SPREAD_OF_A_PAIR,
    guess,
    sensitive_guess,
)

HARM = (0.9, 0.8, 0.1, 0.1, 0.1, 0.1)
HARDLY = 0.05
"""The last kind suffers a twentieth of what a neighbour does to others."""


def test_who_hardly_suffers_from_the_worst_hardly_suffers_from_others() -> None:
    """The order puts such a kind beside those that slow others most, so it meets nobody else."""
    assert fmean(error_beside_the_harmless(seed) for seed in range(4)) < 0.04


def error_beside_the_harmless(seed: int) -> float:
    draw = np.random.default_rng(seed)
    size = len(HARM)
    suffers = [*draw.uniform(0.6, 1.4, size - 1), HARDLY]
    model = Interference()
    for _ in range(150):
        kind = int(draw.integers(size))
        other = int(draw.integers(2 if kind == size - 1 else size))
        slowed = HARM[other] * suffers[kind] + draw.normal(0, 0.05)
        model.learn(Encounter(f"k{kind}", {f"k{other}": 1.0}, slowed))
    believed = np.log(model.matrix().times_forecast[model.matrix().place(f"k{size - 1}")])
    beside = [model.matrix().place(f"k{other}") for other in range(2, size)]
    return float(np.abs(believed[beside] - HARM[-1] * HARDLY).mean())


def test_half_of_what_a_kind_suffers_more_goes_by_what_all_suffer() -> None:
    covariance = sensitive_guess(np.array([0.1, 0.3]))
    more = covariance[1:, 1:] - np.eye(2) * SPREAD_OF_A_PAIR**2
    assert more / SPREAD_OF_A_KIND**2 == pytest.approx(
        np.array([[(1 + 0.25) / 2, (1 + 0.75) / 2], [(1 + 0.75) / 2, (1 + 2.25) / 2]])
    )
    assert covariance[0, 0] == guess(2)[0, 0]
    assert not covariance[0, 1:].any()


@pytest.mark.parametrize(
    "suffered",
    [
        pytest.param(np.zeros(0), id="no kinds"),
        pytest.param(np.zeros(3), id="nobody suffers"),
        pytest.param(np.array([-0.4, -0.2, 0.0]), id="all help"),
        pytest.param(np.array([-5.0, 5.0, 1e-9]), id="one neighbour is all there is"),
        pytest.param(np.full(51, 0.2), id="all harm alike"),
    ],
)
def test_the_guess_is_a_covariance_whatever_is_suffered(suffered: Array) -> None:
    covariance = sensitive_guess(suffered)
    assert covariance.shape == (len(suffered) + 1,) * 2
    assert np.linalg.eigvalsh(covariance).min() > 0
    assert covariance.max() <= SPREAD_OF_A_KIND**2 * (1 + MOST_TIMES_USUAL**2) / 2 + 0.01
    if len(set(suffered.tolist())) == 1 and suffered[0] > 0:
        assert covariance == pytest.approx(guess(len(suffered)))
