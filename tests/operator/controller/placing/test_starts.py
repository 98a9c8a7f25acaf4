"""How the nodes on which pods start compare with Plimsoll's choices."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import orjson
import pytest
from prometheus_client import CollectorRegistry

from plimsoll_operator.attempts.watched_pod import read_pod
from plimsoll_operator.controller.hub.habits import SEEN_AT_ONCE_S
from plimsoll_operator.controller.placing.starts import Starts
from plimsoll_operator.controller.tasks.nodes import ClusterNodes
from plimsoll_operator.metrics.placing import PlacingMetrics
from plimsoll_operator.names.labels import HINT
from plimsoll_operator.sizing.node_hint import PREFERRED, terms_for
from plimsoll_predictor.core.policy import Placing
from plimsoll_predictor.core.units import MIB
from plimsoll_predictor.placing.hinting import Neighbourhoods
from plimsoll_predictor.placing.loads import Expected, NodeLoad
from tests.builders.controller.ledgers import decided
from tests.builders.nodes import a_node
from tests.builders.placing.told_nodes import costs_of
from tests.builders.pods import APod, a_pod
from tests.rigs.servers.admission_servers import TRAIN, knowledge_of

EXPECTED = Expected(1000 * MIB, 1.0)


@dataclass
class Rig:
    """Three nodes: one runs the task itself, which slows itself."""

    placing: Placing = Placing.RECOMMEND
    now_s: float = 1_700_000_000.0
    here: Neighbourhoods = field(default_factory=Neighbourhoods)
    nodes: ClusterNodes = field(default_factory=ClusterNodes)
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)

    def __post_init__(self) -> None:
        metrics = PlacingMetrics(self.registry)
        self.of = Starts(self.here, self.nodes, metrics, lambda: self.now_s, lambda: 5.0)
        self.here.costs = costs_of(TRAIN)
        for name, count in (("busy", 1), ("free", 0), ("other", 0)):
            self.nodes.see(a_node(name=name), gone=False)
            self.here.put(name, [(1, count)])

    def starts(
        self,
        node: str | None,
        uid: str = "1",
        age_s: float = 1.0,
        restarts: int = 0,
        pod: APod | None = None,
    ) -> None:
        knowledge = knowledge_of(placing=self.placing)
        built = (pod or a_pod()).built()
        watched = read_pod(built, lambda _: knowledge)
        assert watched is not None
        started_s = None if node is None else self.now_s - age_s
        status = replace(watched.status, uid=uid, node=node, started_s=started_s, restarts=restarts)
        self.of.living(built, watched, status, EXPECTED)

    def counted(self, node: str) -> float:
        labels = {"placing": self.placing.value, "node": node}
        return self.registry.get_sample_value("plimsoll_placing_starts_total", labels) or 0.0

    @property
    def lost(self) -> float:
        labels = {"placing": self.placing.value}
        found = self.registry.get_sample_value("plimsoll_placing_lost_slowdowns_total", labels)
        return found or 0.0


def test_a_start_on_the_best_node_loses_nothing() -> None:
    rig = Rig()
    rig.starts("free")
    assert (rig.counted("best"), rig.counted("worse"), rig.lost) == (1, 0, 0)


def test_what_the_schedulers_own_choice_costs_more_is_added_up() -> None:
    rig = Rig()
    rig.starts("busy", "1")
    rig.starts("busy", "2")
    assert (rig.counted("worse"), rig.lost) == (2, 3.0)


def test_what_is_left_of_a_node_counts_with_who_runs_there() -> None:
    rig = Rig()
    rig.here.put_load("free", NodeLoad(8000, 8000, 200))
    rig.starts("free")
    assert rig.counted("worse") == 1
    assert rig.lost == pytest.approx(0.8), "of 1,000 MiB 200 have room"


def test_each_attempt_counts_once_and_only_when_its_start_was_seen() -> None:
    rig = Rig()
    rig.starts(None, "1")
    rig.starts("free", "1")
    rig.starts("free", "1")
    rig.starts("free", "2", age_s=SEEN_AT_ONCE_S + 1)
    assert rig.counted("best") == 1


def test_a_restart_in_place_is_no_choice_of_a_node() -> None:
    rig = Rig()
    rig.starts("busy", restarts=1)
    assert rig.counted("worse") == 0


def test_what_is_not_known_is_counted_as_such() -> None:
    rig = Rig()
    rig.starts("nowhere", "1")
    rig.nodes.see(a_node(name="free", cordoned=True), gone=False)
    rig.starts("free", "2")
    rig.here.costs = None
    rig.starts("busy", "3")
    assert (rig.counted("elsewhere"), rig.counted("unknown"), rig.lost) == (2, 1, 0)


def test_pods_for_which_no_node_is_chosen_are_not_compared() -> None:
    rig = Rig()
    rig.starts("busy", "1", pod=a_pod().with_spec(nodeSelector={"pool": "a"}))
    rig.starts("busy", "2", pod=a_pod().with_spec(affinity={"nodeAffinity": {PREFERRED: [{}]}}))
    rig.starts("busy", "3", pod=decided(a_pod(), attempt=2))
    assert (rig.counted("no-choice"), rig.counted("worse"), rig.lost) == (3, 0, 0)


def test_where_karpenter_makes_nodes_no_start_is_compared() -> None:
    rig = Rig()
    rig.nodes.see_karpenter()
    rig.starts("busy")
    assert (rig.counted("no-choice"), rig.counted("worse"), rig.lost) == (1, 0, 0)


def test_pods_with_a_hint_are_compared() -> None:
    rig = Rig()
    hint = orjson.dumps({"nodes": ["free"]}).decode()
    hinted = a_pod().annotated({HINT: hint})
    affinity = {"nodeAffinity": {PREFERRED: terms_for(["free"])}}
    rig.starts("busy", pod=hinted.with_spec(affinity=affinity))
    assert rig.counted("worse") == 1


def test_tasks_whose_policy_never_places_are_not_counted() -> None:
    rig = Rig(placing=Placing.NEVER)
    rig.starts("busy")
    assert rig.counted("worse") == 0
