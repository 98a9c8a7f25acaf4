"""A container that ended twice in one window: its last end counts, in any order of the series."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import pytest

from plimsoll_operator.prometheus_history.client import Sample
from plimsoll_operator.prometheus_history.gathering import Window, fill
from plimsoll_operator.prometheus_history.past_pods import PastContainer, PastPod
from plimsoll_operator.prometheus_history.promql import Where

MAIN = {"namespace": "shop", "pod": "train", "uid": "u1", "container": "main"}
ENDED = "kube_pod_container_status_terminated_reason{"
BEFORE = "kube_pod_container_status_last_terminated_reason{"


@dataclass
class Past:
    """Shows these reasons in one window, in this order."""

    ended: Sequence[str]
    before: str | None

    async def ask(self, promql: str, _at_s: float) -> list[Sample]:
        if ENDED in promql:
            return [Sample({**MAIN, "reason": reason}, 1.0) for reason in self.ended]
        if BEFORE in promql and self.before is not None:
            return [Sample({**MAIN, "reason": self.before}, 1.0)]
        return []


async def read(*windows: Past) -> PastContainer:
    pods = {"u1": PastPod("shop", "train", "u1")}
    for number, window in enumerate(windows):
        await fill(cast(Any, window), Window(3600.0 * number, 3600), Where(), pods)
    return pods["u1"].container("main")


@pytest.mark.parametrize(
    ("earlier", "last"),
    [
        pytest.param("OOMKilled", "Completed", id="killed, then completed"),
        pytest.param("Error", "Completed", id="failed, then completed"),
        pytest.param("OOMKilled", "Error", id="killed, then failed"),
        pytest.param("Error", "OOMKilled", id="failed, then killed"),
    ],
)
async def test_the_last_end_counts_in_either_order(earlier: str, last: str) -> None:
    for reasons in itertools.permutations((earlier, last)):
        container = await read(Past(reasons, earlier))
        assert (container.ended, container.ended_before) == (last, earlier)


async def test_an_end_of_an_earlier_window_was_of_an_earlier_life() -> None:
    container = await read(Past(["OOMKilled"], None), Past(["Error"], "Error"))
    assert container.ended == "Error"


async def test_a_container_that_restarted_and_runs_has_not_ended() -> None:
    container = await read(Past(["OOMKilled"], None), Past([], "OOMKilled"))
    assert (container.ended, container.ended_before) == (None, "OOMKilled")
