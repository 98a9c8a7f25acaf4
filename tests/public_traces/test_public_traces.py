"""Policies on the public traces: published figures of the simple rules, which ours beats.

`make test-traces` runs these where the traces are; see docs/replay.md.
"""

from __future__ import annotations

from functools import cache

import pytest

from plimsoll_predictor.replay.sizes.baselines import BASELINES
from plimsoll_predictor.replay.sizes.engine import replay
from plimsoll_predictor.replay.sizes.figures import Totals, totals
from plimsoll_predictor.replay.sizes.policies import PLIMSOLL, POLICIES
from plimsoll_predictor.replay.sizes.sizer import Knobs
from plimsoll_predictor.replay.sizes.traces import Trace, read_trace
from tests.rigs.traces import trace_file

# GB·h and failed attempts, decided at submission: measured on the public traces before this code.
FIGURES = {
    "nfcore-eager": {
        "preset": (3251, 0),
        "max-seen": (2675, 292),
        "max-seen-1.1": (2577, 145),
        "last-20": (2576, 150),
        "tovar": (2491, 539),
        "p95-vpa": (2677, 309),
    },
    "nfcore-rnaseq": {
        "preset": (1777, 0),
        "max-seen": (1646, 123),
        "max-seen-1.1": (1642, 88),
        "last-20": (1641, 88),
        "tovar": (1641, 145),
        "p95-vpa": (1644, 212),
    },
}
COLD = {"nfcore-eager": 1654, "nfcore-rnaseq": 1630}


@cache
def trace(name: str) -> Trace:
    return read_trace(trace_file(name))


@cache
def replayed(name: str, policy: str) -> Totals:
    found = replay(trace(name).rows, POLICIES[policy].make(Knobs()))
    return totals(found.rows, found.decisions_s, found.updates_s)


@pytest.mark.parametrize("policy", list(BASELINES))
@pytest.mark.parametrize("name", list(FIGURES))
def test_a_baseline_reproduces_its_published_figures(name: str, policy: str) -> None:
    waste_gb_h, failed_attempts = FIGURES[name][policy]
    found = replayed(name, policy)
    assert found.waste_gb_h == pytest.approx(waste_gb_h, rel=0.005)
    assert found.failed_attempts == pytest.approx(failed_attempts, rel=0.005)
    assert found.cold_gb_h == pytest.approx(COLD[name], rel=0.005)


def test_every_baseline_has_its_figures() -> None:
    for figures in FIGURES.values():
        assert list(figures) == list(BASELINES)


# Measured figures, and how far a change of the experts may exceed them.
OURS = {"nfcore-eager": (1960, 116), "nfcore-rnaseq": (1636, 23)}
ROOM = 1.04


@pytest.mark.parametrize("name", list(OURS))
def test_plimsoll_wastes_less_than_every_rule_and_fails_less_than_max_seen(name: str) -> None:
    ours = replayed(name, PLIMSOLL.name)
    assert ours.waste_gb_h < min(replayed(name, rule).waste_gb_h for rule in BASELINES)
    assert ours.failed_attempts <= 0.7 * replayed(name, "max-seen").failed_attempts
    assert ours.waste_gb_h <= OURS[name][0] * ROOM
