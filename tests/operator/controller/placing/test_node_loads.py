"""What the controller knows about nodes' load, and what it notes with an attempt."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from plimsoll_operator.attempts.node_use import NodeUse
from plimsoll_operator.controller.hub.habits import SEEN_AT_ONCE_S
from plimsoll_operator.controller.placing.node_loads import (
    FRESH_S,
    LIVES_KEPT,
    SETTLING_S,
    STALE_S,
    NodeLoads,
    NodeUsed,
)
from plimsoll_operator.controller.tasks.nodes import Capacity
from plimsoll_operator.pods.status import AttemptStatus
from plimsoll_predictor.core.record import Observation
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.placing.kinds import UNLABELLED
from plimsoll_predictor.placing.loads import Expected, NodeLoad
from tests.builders.controller.ledgers import TRAIN, Inside, a_train, an_inside, ended
from tests.builders.controller.rescues import running


def a_status(
    uid: str = "a",
    started_s: float | None = 1_000.0,
    finished_s: float | None = None,
    restarts: int = 0,
) -> AttemptStatus:
    return AttemptStatus(
        uid=uid,
        phase="Running",
        pod_reason=None,
        disruption=None,
        restarts=restarts,
        ended=finished_s is not None,
        terminated=None,
        container_id=None,
        submitted_s=started_s,
        started_s=started_s,
        finished_s=finished_s,
        node="n1",
        being_deleted=False,
    )


class Loads:
    """NodeLoads with clocks that tests set, for tasks that are already told apart."""

    def __init__(self, **bounds: int) -> None:
        self.now_s, self.monotonic_s = 1_000.0, 50.0
        self.of = NodeLoads(lambda: self.now_s, lambda: self.monotonic_s, **bounds)
        self.reads(0.0)
        self.passes(SETTLING_S)

    def passes(self, seconds: float) -> None:
        self.now_s += seconds
        self.monotonic_s += seconds

    def reads(self, cpu: float | None = 0.5, node: str = "n1", **pods: float) -> None:
        use = NodeUse(node=node, over_s=10.0, cpu_share=cpu, memory_share=0.4, pods_cores=pods)
        self.of.take(use)

    def reads_memory(self, **pods_mib: int) -> None:
        used = {uid: mib * MIB for uid, mib in pods_mib.items()}
        use = NodeUse(
            node="n1", over_s=10.0, cpu_share=0.5, memory_share=0.4, pods_cores={}, pods_bytes=used
        )
        self.of.take(use)

    def left(self) -> NodeLoad | None:
        return self.of.left_on("n1", Capacity(1000 * MIB, 4000))

    def begins(self, uid: str = "a") -> None:
        self.of.living(a_status(uid, self.now_s))
        self.started_s = self.now_s

    def ends(self, uid: str = "a", **other: Any) -> NodeUsed | None:
        return self.of.ended(a_status(uid, self.started_s, self.now_s, **other))


def test_an_attempt_is_told_what_was_in_use_when_it_began() -> None:
    loads = Loads()
    loads.reads(0.5, batch=1.5)
    loads.begins()
    loads.passes(60.0)
    loads.reads(0.9, batch=1.5)
    first = loads.ends()
    # A sixth of its time was read: the start's load stands for all.
    assert first == NodeUsed(0.5, 0.4, 1.5)
    loads.reads(0.9, batch=9.0)
    assert loads.ends() is first  # however often it is asked


def test_unlabelled_load_is_averaged_over_the_run() -> None:
    loads = Loads()
    loads.reads(batch=1.0)
    loads.begins()
    for cores in (1.0, 2.0, 6.0):
        loads.passes(10.0)
        loads.reads(batch=cores, a=0.9)
    used = loads.ends()
    assert used is not None
    assert used.unlabelled_cores == pytest.approx(3.0)


def test_pods_of_tasks_are_not_unlabelled_whether_they_wait_run_or_are_gone() -> None:
    loads = Loads()
    loads.of.living(a_status("waits", None))
    loads.of.living(a_status("gone"))
    loads.of.ended(a_status("gone", 1_000.0, 1_010.0))
    loads.of.gone(a_status("gone"))
    loads.of.ended(a_status("never_alive", 1_000.0, 1_010.0))
    loads.reads(waits=1.0, gone=1.0, never_alive=1.0, stranger=0.25)
    newest = loads.of.newest("n1")
    assert newest is not None
    assert newest.unlabelled_cores == 0.25
    # A pod that is asked about once more does not count as living.
    assert loads.of.ended(a_status("gone", 1_000.0, 1_010.0)) is None


def test_without_agents_nothing_is_known() -> None:
    loads = Loads()
    assert loads.of.newest("n1") is None
    loads.begins()
    loads.passes(10.0)
    loads.reads()
    assert loads.ends() is None


def test_a_reading_too_old_says_nothing_and_is_dropped() -> None:
    loads = Loads()
    loads.reads()
    loads.passes(FRESH_S)
    assert loads.of.newest("n1") is not None
    loads.passes(1.0)
    assert loads.of.newest("n1") is None
    loads.begins()
    assert loads.ends() is None
    loads.reads(node="n2")
    assert len(loads.of) == 1


def test_an_attempt_that_ran_before_anybody_looked_gets_nothing_invented() -> None:
    loads = Loads()
    loads.reads()
    loads.of.living(a_status("a", loads.now_s - SEEN_AT_ONCE_S - 1))
    loads.passes(10.0)
    loads.reads()
    assert loads.of.ended(a_status("a", 1_000.0, 1_100.0)) is None


def test_a_controller_that_begins_believes_nothing_until_it_knows_the_tasks() -> None:
    loads = Loads()
    loads.of = NodeLoads(lambda: loads.now_s, lambda: loads.monotonic_s)
    for _ in range(3):
        loads.reads(train=1.0)
        assert loads.of.newest("n1") is None
        loads.passes(SETTLING_S / 3)
    loads.reads()
    assert loads.of.newest("n1") is not None


@pytest.mark.parametrize("ahead_s", [-20.0, 300.0])
def test_a_nodes_clock_may_be_off(ahead_s: float) -> None:
    loads = Loads()
    loads.reads(batch=1.0)
    began_s = loads.now_s + ahead_s
    loads.of.living(a_status("a", began_s))
    loads.passes(20.0)
    loads.reads(batch=2.0)
    loads.reads(batch=2.0)
    found = loads.of.ended(a_status("a", began_s, began_s + 20.0))
    assert found == NodeUsed(0.5, 0.4, 2.0)


def test_a_wall_clock_that_jumps_neither_ages_nor_renews_a_reading() -> None:
    loads = Loads()
    loads.reads()
    loads.now_s += 1e6
    assert loads.of.newest("n1") is not None
    loads.now_s -= 2e6
    loads.monotonic_s += FRESH_S + 1
    assert loads.of.newest("n1") is None


def test_each_life_of_a_pod_has_a_start_of_its_own() -> None:
    loads = Loads()
    for restarts in range(2 * LIVES_KEPT):
        loads.reads(restarts / 10)
        status = a_status("a", loads.now_s, restarts=restarts)
        loads.of.living(status)
        used = loads.of.ended(a_status("a", loads.now_s, loads.now_s, restarts=restarts))
        assert used is not None
        assert used.cpu_share == restarts / 10


def test_nodes_and_pods_are_bounded() -> None:
    loads = Loads(nodes_kept=10, pods_kept=10)
    for number in range(50):
        loads.reads(node=f"n{number}")
        loads.begins(f"p{number}")
    assert len(loads.of) == 10
    assert loads.of.newest("n49") is not None
    assert loads.of.newest("n39") is None
    loads.reads(p0=1.0, p49=1.0)
    newest = loads.of.newest("n1")
    assert newest is not None
    assert newest.unlabelled_cores == 1.0


def test_a_node_that_was_forgotten_meanwhile_leaves_the_start_to_stand() -> None:
    loads = Loads(nodes_kept=1)
    loads.reads(batch=1.0)
    loads.begins()
    loads.reads(node="another")
    for _ in range(6):
        loads.passes(10.0)
        loads.reads(batch=5.0)
    assert loads.ends() == NodeUsed(0.5, 0.4, 1.0)


BEGAN_S = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
"""When the pods of ``running`` begin."""
END = "2026-01-01T00:01:01Z"
"""An end after the controller has begun to look."""


def settle(inside: Inside, cores: float) -> None:
    """Let its agent have reported for a while."""
    loads, clock_s = inside.controller.loads, iter((0.0, SETTLING_S))
    loads.monotonic_s = lambda: next(clock_s, SETTLING_S)
    loads.now_s = lambda: BEGAN_S + 5.0
    pods = {"uid-one": 0.9, "uid-of-nobody": cores}
    for _ in range(2):
        loads.take(
            NodeUse(node="node-1", over_s=10.0, cpu_share=0.7, memory_share=0.3, pods_cores=pods)
        )


def of_run(inside: Inside) -> Observation:
    (found,) = inside.store.observations.of_task(TRAIN)
    return found


@pytest.mark.slow
async def test_the_ledger_writes_down_the_load_of_the_node(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(a_train("one"))  # it waits; its own use is not unlabelled
        settle(inside, cores=1.25)
        await inside.see(running("one"))
        await inside.see(ended(running("one"), at=END))
        found = of_run(inside)
        assert (found.node_use_cpu_share, found.node_use_memory_share) == (0.7, 0.3)
        assert found.beside == {UNLABELLED: 1.25}
        # An end that is seen again after a restart knows less, but removes nothing.
    async with an_inside(tmp_path) as again:
        await again.see(ended(running("one"), at=END))
        assert of_run(again) == found


@pytest.mark.slow
async def test_without_an_agent_the_ledger_writes_what_it_wrote_before(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        await inside.see(running("one"))
        await inside.see(ended(running("one"), at=END))
        found = of_run(inside)
        assert (found.node_use_cpu_share, found.node_use_memory_share) == (None, None)
        assert found.beside == {}


def test_what_is_left_of_a_node_counts_what_its_tasks_will_still_take() -> None:
    loads = Loads()
    assert loads.left() is None
    for uid in "ab":
        loads.of.living(a_status(uid, loads.now_s), Expected(300 * MIB, 1.0))
    loads.reads_memory(a=100, nobody=50)
    assert loads.left() == NodeLoad(4000, 1000, 600 - 200 - 300), "b began after the reading"
    loads.reads_memory(a=100, b=350)
    assert loads.left() == NodeLoad(4000, 2000, 600 - 200), "b has more than was expected"
    loads.of.ended(a_status("a", 1_000.0, loads.now_s))
    assert loads.left() == NodeLoad(4000, 2000, 600)
    loads.of.living(a_status("a", loads.now_s, restarts=1), Expected(300 * MIB, 1.0))
    loads.of.gone(a_status("a"))
    assert loads.left() == NodeLoad(4000, 2000, 600)


def test_of_an_agent_that_tells_no_memory_of_pods_nobody_is_known_to_grow() -> None:
    loads = Loads()
    loads.of.living(a_status("a", loads.now_s), Expected(300 * MIB, 1.0))
    loads.reads()
    assert loads.left() == NodeLoad(4000, 2000, 600)


def test_a_reading_that_is_some_seconds_old_tells_nothing_of_what_is_left() -> None:
    loads = Loads()
    loads.reads_memory()
    loads.passes(STALE_S)
    assert loads.left() == NodeLoad(4000, 2000, 600)
    loads.passes(1.0)
    assert loads.left() is None


def test_tasks_that_run_are_forgotten_with_the_pods_forgotten_first() -> None:
    loads = Loads(pods_kept=2)
    for uid in "abc":
        loads.of.living(a_status(uid, loads.now_s), Expected(100 * MIB))
    loads.reads_memory()
    assert loads.left() == NodeLoad(4000, 2000, 600 - 200)


@pytest.mark.slow
async def test_of_a_running_pod_its_need_is_still_to_come_as_it_was_decided(tmp_path: Path) -> None:
    async with an_inside(tmp_path) as inside:
        settle(inside, cores=0.0)
        await inside.see(running("one"))
        controller = inside.controller
        pod = running("one").built()["metadata"]["uid"]
        node, capacity = "node-1", Capacity(4096 * MIB, 4000)

        def room(used: dict[str, int]) -> int | None:
            use = NodeUse(node=node, over_s=10.0, cpu_share=0.5, memory_share=0.5, pods_bytes=used)
            controller.loads.take(use)
            left = controller.loads.left_on(node, capacity)
            return None if left is None else left.room_mib

        before, after = room({}), room({pod: 100 * MIB})
        assert before is not None
        assert after == before + 100, "what it uses is no more to come"
        await inside.see(ended(running("one"), at=END))
        assert room({}) == 2048
        assert before < 2048
