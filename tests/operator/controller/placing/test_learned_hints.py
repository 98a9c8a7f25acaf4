"""From ended runs to a new pod's preference: learned, sent by the feed, decided."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from plimsoll_operator.controller.hub.hub import Hub
from plimsoll_operator.controller.placing.node_loads import NodeLoads
from plimsoll_operator.controller.placing.publishing import PlacingNews
from plimsoll_operator.controller.placing.told import ToldNodes
from plimsoll_operator.controller.tasks.nodes import ClusterNodes
from plimsoll_operator.controller.tasks.task_policies import TaskPolicies
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.feed.client import FeedClient, FeedSource
from plimsoll_operator.feed.wire import decode_message
from plimsoll_operator.sizing.node_hint import Heard, HintOutcome, hint_for
from plimsoll_operator.sizing.pod_sizing import size
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.policy import Mode, Placing, Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.knowledge.knowledge import Knowledge
from plimsoll_predictor.placing.encounter import Encounter
from plimsoll_predictor.placing.interference import Interference
from plimsoll_predictor.placing.matrix import Matrix
from tests.builders.nodes import a_node
from tests.builders.pods import a_pod

CPU, WAIT = TaskId("shop", "cpu"), TaskId("shop", "wait")
TRUTH = {(CPU, CPU): 0.65, (CPU, WAIT): 0.1, (WAIT, CPU): 0.07, (WAIT, WAIT): 0.01}
"""ln of slowdowns, as they were measured on one core."""
POLICY = Policy(mode=Mode.ENFORCE, placing=Placing.ENFORCE)
NOW = Heard(now_s=50.0, age_s=0.1)


@dataclass
class Past:
    """Runs that have ended, and pods that run now."""

    model: Interference = field(default_factory=Interference)
    running: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    complete: bool = True

    @property
    def matrix(self) -> Matrix:
        return self.model.matrix()

    def residents(self) -> Mapping[str, Mapping[str, int]]:
        return self.running

    def learn(self, runs: int) -> None:
        draw = np.random.default_rng(7)
        kinds = [CPU, WAIT]
        for _ in range(runs):
            kind, other = (kinds[int(at)] for at in draw.integers(0, 2, 2))
            share = float(draw.random())
            slow = share * TRUTH[kind, other] + 0.1 * float(draw.normal())
            self.model.learn(Encounter(str(kind), {str(other): share}, slow))


async def admission_after(past: Past) -> AdmissionState:
    """A replica's knowledge when it has read the feed."""
    board, nodes = FeedBoard("e1"), ClusterNodes()
    for number in (1, 2, 3):
        nodes.see(a_node(name=f"node-{number}"), gone=False)
    for task in (CPU, WAIT):
        board.publish(Knowledge(task=task, policy=POLICY))
    told = ToldNodes(board)
    PlacingNews(past, nodes, TaskPolicies(POLICY, Hub()), told, NodeLoads()).look()
    state = AdmissionState()
    client = FeedClient(
        FeedSource("", Path()), state, lambda: None, lambda why: pytest.fail(why), random.Random(1)
    )
    await client.take(decode_message(board.message(0, None)))
    return state


def outcome(state: AdmissionState, task: TaskId) -> tuple[HintOutcome, str]:
    """The hint of a new pod of the task, and its patch as text."""
    pod = a_pod().labelled(task.name).asking("1Gi").built()
    hinted = hint_for(pod, size(pod, state), state, NOW)
    assert hinted is not None
    return hinted.outcome, str(hinted.patch)


BUSY = {"node-1": {str(CPU): 1}, "node-2": {str(WAIT): 1}, "node-3": {str(CPU): 1}}


async def test_what_was_learned_keeps_busy_tasks_apart() -> None:
    past = Past(running=BUSY)
    past.learn(400)
    what, patch = outcome(await admission_after(past), CPU)
    assert what is HintOutcome.GIVEN
    assert "node-2" in patch
    assert "node-1" not in patch
    assert "node-3" not in patch


async def test_who_gets_along_with_all_is_left_to_the_scheduler() -> None:
    """It takes no place from tasks that need it more, and no node is clearly better for it."""
    past = Past(running={"node-1": {str(WAIT): 1}, "node-2": {str(WAIT): 2}})
    past.learn(400)
    assert outcome(await admission_after(past), WAIT) == (HintOutcome.ALIKE, "()")


@pytest.mark.parametrize("runs", [0, 4])
async def test_before_much_is_known_no_pod_is_changed(runs: int) -> None:
    past = Past(running=BUSY)
    past.learn(runs)
    assert outcome(await admission_after(past), CPU) == (HintOutcome.UNKNOWN, "()")
