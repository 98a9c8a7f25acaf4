"""What the feed tells admission about tasks on nodes: only changes, and only if wanted."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from plimsoll_operator.attempts.node_use import NodeUse
from plimsoll_operator.controller.hub.hub import Hub
from plimsoll_operator.controller.placing.node_loads import SETTLING_S, STALE_S, NodeLoads
from plimsoll_operator.controller.placing.publishing import PlacingNews, chosen
from plimsoll_operator.controller.placing.told import ToldNodes
from plimsoll_operator.controller.tasks.nodes import ClusterNodes
from plimsoll_operator.controller.tasks.task_policies import TaskPolicies
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.feed.wire import FeedMessage, decode_message
from plimsoll_predictor.core.bounded_text import MOST_NODE_BYTES, bounded_or_none
from plimsoll_predictor.core.policy import Placing, Policy
from plimsoll_predictor.placing.hinting import MOST_NODES
from plimsoll_predictor.placing.kinds import OTHERS
from plimsoll_predictor.placing.matrix import Matrix
from tests.builders.nodes import NODE_NAME, a_node


def a_matrix(*kinds: str, theta: float = 0.3) -> Matrix:
    size = len(kinds) + 1
    return Matrix(
        kinds=(OTHERS, *kinds),
        theta=np.full((size, size), theta),
        deviation=np.full((size, size), 0.05),
        own=np.zeros(size),
        shares=np.full(size, 1 / size),
    )


@dataclass
class Known:
    """The knowledge of neighbours; a test changes it."""

    matrix: Matrix = field(default_factory=lambda: a_matrix("shop/a", "shop/b"))
    running: dict[str, dict[str, int]] = field(default_factory=dict)
    broken: bool = False
    complete: bool = True

    def residents(self) -> Mapping[str, Mapping[str, int]]:
        if self.broken:
            raise RuntimeError("nobody knows")
        return self.running


@dataclass
class Rig:
    """The news with their sources and their reader."""

    known: Known = field(default_factory=Known)
    nodes: ClusterNodes = field(default_factory=ClusterNodes)
    board: FeedBoard = field(default_factory=lambda: FeedBoard("e1"))
    policies: TaskPolicies = field(
        default_factory=lambda: TaskPolicies(Policy(placing=Placing.ENFORCE), Hub())
    )

    def __post_init__(self) -> None:
        self.clock_s = 0.0
        self.loads = NodeLoads(monotonic_s=lambda: self.clock_s)
        self.news = PlacingNews(
            self.known, self.nodes, self.policies, ToldNodes(self.board), self.loads
        )

    def passes(self, seconds: float) -> None:
        self.clock_s += seconds

    def reads(self, cpu_share: float) -> None:
        """Let the agent of n1 report its use."""
        use = NodeUse(node="n1", over_s=10.0, cpu_share=cpu_share, memory_share=0.25)
        self.loads.take(use)
        if not self.loads:  # it settles first
            self.passes(SETTLING_S)
            self.loads.take(use)

    def look_later(self) -> None:
        """Look once it is time to look at loads again."""
        self.news._loads._due_s = 0.0
        self.news.look()

    def see(self, *documents: dict[str, Any], gone: bool = False) -> None:
        for document in documents:
            self.nodes.see(document, gone=gone)

    def told(self, since: int = 0) -> FeedMessage:
        return decode_message(self.board.message(since, "e1" if since else None))


@pytest.fixture
def rig() -> Rig:
    made = Rig()
    made.see(a_node(name="n1"), a_node(name="n2"))
    return made


def test_admission_is_told_what_pairs_cost_and_who_runs_where(rig: Rig) -> None:
    rig.known.running = {"n1": {"shop/b": 2, "shop/unknown": 3, "shop/a": 1}}
    rig.news.look()
    message = rig.told()
    assert message.pairs[""]["kinds"] == [OTHERS, "shop/a", "shop/b"]
    assert message.hosts == {
        "n1": {"residents": [[0, 3], [1, 1], [2, 2]]},
        "n2": {"residents": []},
    }


def test_where_nothing_changed_nothing_is_told(rig: Rig) -> None:
    rig.news.look()
    revision = rig.board.revision
    for _ in range(3):
        rig.news.look()
    assert rig.board.revision == revision


def test_only_nodes_that_changed_are_told_again(rig: Rig) -> None:
    rig.news.look()
    revision = rig.board.revision
    rig.known.running = {"n2": {"shop/a": 1}}
    rig.news.look()
    message = rig.told(revision)
    assert message.hosts == {"n2": {"residents": [[1, 1]]}}
    assert message.pairs == {}


def test_nothing_is_told_until_all_that_runs_was_seen(rig: Rig) -> None:
    """Nodes whose pods are not listed yet would look empty."""
    rig.known.complete = False
    rig.news.look()
    assert rig.told().hosts == {}
    assert rig.told().pairs == {}
    rig.known.complete = True
    rig.news.look()
    assert set(rig.told().hosts) == {"n1", "n2"}


def test_a_node_with_a_long_name_is_told_with_what_runs_there(rig: Rig) -> None:
    name = "n" * (MOST_NODE_BYTES + 6)
    rig.see(a_node(name=name, labels={NODE_NAME: "long"}))
    rig.known.running = {bounded_or_none(name, MOST_NODE_BYTES) or "": {"shop/a": 1}}
    rig.news.look()
    assert rig.told().hosts["long"] == {"residents": [[1, 1]]}


def test_what_was_learned_is_told(rig: Rig) -> None:
    rig.news.look()
    revision = rig.board.revision
    rig.known.matrix = a_matrix("shop/a", "shop/b", theta=0.5)
    rig.news.look()
    message = rig.told(revision)
    assert set(message.pairs) == {""}
    assert message.hosts == {}


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(a_node(name="n3", cordoned=True), id="cordoned"),
        pytest.param(a_node(name="n3", taints=[("gpu", "", "NoSchedule")]), id="tainted"),
        pytest.param(
            a_node(name="n3", taints=[("x", "", "PreferNoSchedule")]), id="better without"
        ),
        pytest.param(
            {
                **a_node(name="n3"),
                "status": {"conditions": [{"type": "Ready", "status": "Unknown"}]},
            },
            id="not ready",
        ),
        pytest.param(
            {
                **a_node(name="n3"),
                "status": {"conditions": [{"type": "MemoryPressure", "status": "True"}]},
            },
            id="short of memory",
        ),
        pytest.param({**a_node(), "metadata": {"name": "n3", "labels": {}}}, id="without a name"),
        pytest.param(
            {
                **a_node(),
                "metadata": {
                    "name": "n3",
                    "labels": {NODE_NAME: "n3"},
                    "deletionTimestamp": "2026-01-01T00:00:00Z",
                },
            },
            id="being deleted",
        ),
    ],
)
def test_a_node_that_not_every_pod_may_go_to_is_not_told(
    rig: Rig, document: dict[str, Any]
) -> None:
    rig.see(a_node(name="n3"))
    rig.news.look()
    assert "n3" in rig.told().hosts
    revision = rig.board.revision
    rig.see(document)
    rig.news.look()
    assert rig.told(revision).removed.hosts == ["n3"]


def test_a_node_goes_by_its_host_name(rig: Rig) -> None:
    rig.see(a_node(name="n3", labels={NODE_NAME: "host-3"}))
    rig.known.running = {"n3": {"shop/a": 1}}
    rig.news.look()
    assert rig.told().hosts["host-3"] == {"residents": [[1, 1]]}


@pytest.mark.parametrize("level", ["cluster", "namespace", "profile"])
def test_only_while_a_level_wants_hints_there_are_news(level: str) -> None:
    rig = Rig(policies=TaskPolicies(Policy(), Hub()))
    rig.see(a_node(name="n1"))

    def say(spec: dict[str, Any] | None) -> None:
        if level == "profile":
            rig.policies.set_profile_spec("shop", "a", spec)
            return
        own = rig.policies.own_namespace
        meta = (
            {"namespace": own, "name": "cluster"}
            if level == "cluster"
            else {"namespace": "shop", "name": "default"}
        )
        rig.policies.see({"metadata": meta, "spec": spec}, gone=spec is None)

    rig.news.look()
    assert rig.board.revision == 0
    say({"placing": "recommend"})
    rig.news.look()
    assert set(rig.told().hosts) == {"n1"}
    revision = rig.board.revision
    say({"placing": "never"})
    rig.news.look()
    assert rig.told(revision).removed.hosts == ["n1"]
    assert list(rig.told(revision).removed.pairs) == [""]
    say({"placing": "enforce"})
    rig.news.look()
    assert set(rig.told().hosts) == {"n1"}
    assert set(rig.told().pairs) == {""}
    say(None)
    rig.news.look()
    assert rig.told().hosts == {}


def test_a_nodes_load_is_told_by_steps_and_taken_back_when_nobody_hears_of_it(rig: Rig) -> None:
    rig.reads(cpu_share=0.5)
    rig.look_later()
    assert rig.told().loads == {
        "n1": {"millicores": 8000, "idle_millicores": 4000, "room_mib": 16 * 1024 * 3 // 4}
    }
    revision = rig.board.revision
    rig.reads(cpu_share=0.51)
    rig.look_later()
    assert rig.board.revision == revision
    rig.reads(cpu_share=0.6)
    rig.look_later()
    assert set(rig.told(revision).loads) == {"n1"}
    rig.passes(STALE_S + 1)
    rig.look_later()
    assert list(rig.told(revision).removed.loads) == ["n1"]


@pytest.mark.parametrize("kind", ["MemoryPressure", "DiskPressure", "PIDPressure"])
def test_a_node_under_pressure_is_told_to_be_avoided(rig: Rig, kind: str) -> None:
    document = a_node(name="n2")
    document["status"]["conditions"] = [{"type": kind, "status": "True"}]
    rig.see(document)
    rig.look_later()
    assert rig.told().loads == {"n2": {"pressed": True}}
    assert set(rig.told().hosts) == {"n1"}
    rig.see(a_node(name="n2"))
    rig.look_later()
    assert rig.told().loads == {}
    assert set(rig.told().hosts) == {"n1", "n2"}


def test_loads_are_taken_back_where_no_policy_places_any_more(rig: Rig) -> None:
    rig.reads(cpu_share=0.5)
    rig.look_later()
    revision = rig.board.revision
    rig.known.broken = True
    with pytest.raises(RuntimeError):
        asyncio.run(rig.news.run())
    assert list(rig.told(revision).removed.loads) == ["n1"]


async def test_what_cannot_be_kept_up_to_date_is_withdrawn(rig: Rig) -> None:
    rig.news.look()
    rig.known.broken = True
    with pytest.raises(RuntimeError):
        await asyncio.wait_for(rig.news.run(), 30)
    assert rig.told().hosts == {}
    assert rig.told().pairs == {}
    rig.known.broken = False
    rig.news.look()
    assert set(rig.told().hosts) == {"n1", "n2"}


def test_of_many_nodes_a_part_is_told_and_stays_the_same() -> None:
    hosts = {f"n{number}": f"h{number}" for number in range(3 * MOST_NODES)}
    first = chosen(hosts)
    assert len(first) == MOST_NODES
    fewer = {name: host for name, host in hosts.items() if name not in list(first)[:10]}
    assert len(set(chosen(fewer)) & set(first)) == MOST_NODES - 10
