"""Nodes as a few classes: what tells them apart, and how few they stay."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import orjson
import pytest

from plimsoll_operator.controller.tasks.nodes import ClusterNodes
from plimsoll_operator.sizing.bounds.node_groups import (
    MEMORY_STEP_BYTES,
    MOST_BYTES,
    MOST_CLASSES,
    MOST_VALUES,
    NodeGroups,
    SeenNode,
    read_seen,
)
from plimsoll_operator.sizing.bounds.nodes import NO_NODES, Nodes
from plimsoll_predictor.core.units import GIB, KIB
from tests.builders.nodes import NODE_NAME, a_node, nodes_of
from tests.builders.pods import a_pod


def seen(number: int, labels: dict[str, str], memory_bytes: int = 16 * GIB) -> SeenNode:
    return SeenNode({NODE_NAME: f"node-{number}", **labels}, (), (memory_bytes, 8000))


def filled(*nodes: SeenNode) -> NodeGroups:
    groups = NodeGroups()
    for number, node in enumerate(nodes):
        groups.see(f"node-{number}", node)
    return groups


@pytest.mark.slow
def test_five_thousand_nodes_of_three_types_are_three_classes() -> None:
    nodes = filled(
        *(
            seen(i, {"type": f"t{i % 3}"}, 16 * GIB - i * KIB // MEMORY_STEP_BYTES)
            for i in range(5000)
        )
    ).nodes
    assert len(nodes.classes) == 3
    assert nodes.label_keys == {"type"}
    assert len(orjson.dumps(nodes.to_document())) < KIB


def test_a_few_pages_less_make_no_class_and_no_news() -> None:
    groups = NodeGroups()
    assert groups.see("a", read_seen(a_node("16777216Ki")))
    assert groups.nodes.classes
    assert not groups.see("a", read_seen(a_node("16777217Ki")))
    assert groups.see("a", read_seen(a_node("12Gi")))


def test_the_largest_of_a_class_counts_and_another_when_it_goes() -> None:
    groups = filled(seen(0, {}, 8 * GIB), seen(1, {}, 64 * GIB), *map(_plain, range(2, 40)))
    assert groups.nodes.plain is not None
    assert groups.nodes.plain.memory_bytes == 64 * GIB
    assert groups.see("node-1", None)
    assert groups.nodes.plain.memory_bytes == 16 * GIB


def _plain(number: int) -> SeenNode:
    return seen(number, {})


def test_a_label_with_many_values_does_not_count() -> None:
    few, many = MOST_VALUES, MOST_VALUES + 1
    assert NODE_NAME in filled(*map(_plain, range(few))).nodes.label_keys
    assert NODE_NAME not in filled(*map(_plain, range(many))).nodes.label_keys


def test_nodes_with_the_same_devices_are_one_class_however_many_they_have() -> None:
    nodes = nodes_of(
        a_node("16Gi", extended={"nvidia.com/gpu": "1"}),
        a_node("64Gi", extended={"nvidia.com/gpu": "8"}),
    )
    (only,) = nodes.classes
    assert only.extended == nodes.extended == {"nvidia.com/gpu"}
    assert only.memory_bytes == 64 * GIB


@pytest.mark.parametrize(
    ("resource", "amount", "told"),
    [
        pytest.param("nvidia.com/gpu", "1", True, id="a device"),
        pytest.param("nvidia.com/gpu", "0", False, id="none of them"),
        pytest.param("nvidia.com/gpu", "many", False, id="what cannot be read"),
        pytest.param("hugepages-1Gi", "2Gi", True, id="huge pages"),
        pytest.param("hugepages-1Gi", "0", False, id="no huge pages"),
        pytest.param("ephemeral-storage", "10Gi", False, id="what all nodes have"),
        pytest.param("attachable-volumes-aws-ebs", "25", False, id="places for volumes"),
        pytest.param("node.kubernetes.io/thing", "1", False, id="Kubernetes' own"),
    ],
)
def test_only_the_names_of_extended_resources_are_told(
    resource: str, amount: str, told: bool
) -> None:
    nodes = nodes_of(a_node(extended={resource: amount}))
    assert nodes.extended == (frozenset({resource}) if told else frozenset())


def test_resources_that_each_node_has_for_itself_do_not_count() -> None:
    own = [
        replace(seen(i, {"pool": str(i % 2)}), extended=frozenset({f"example.com/disk-{i}"}))
        for i in range(MOST_VALUES + 1)
    ]
    nodes = filled(*own).nodes
    assert (nodes.label_keys, nodes.extended) == (frozenset({"pool"}), frozenset())
    assert len(filled(*own[:-1]).nodes.extended) == MOST_VALUES


def test_more_classes_than_may_be_count_fewer_labels() -> None:
    """Thirty types in thirty zones are 900 classes; a label with two values stays."""
    crossed = [
        seen(i, {"type": f"t{i % 30}", "zone": f"z{i // 30 % 30}", "spot": str(i % 2)})
        for i in range(3000)
    ]
    nodes = filled(*crossed).nodes
    assert 0 < len(nodes.classes) <= MOST_CLASSES
    assert nodes.label_keys == {"spot"}


def test_labels_that_make_a_message_large_do_not_count() -> None:
    wordy = [
        seen(i, {f"feature-{each}": f"{i % 20}-{'x' * 50}" for each in range(100)})
        for i in range(200)
    ]
    nodes = filled(*wordy).nodes
    assert nodes.classes
    assert len(orjson.dumps(nodes.to_document())) <= MOST_BYTES


def test_where_even_taints_make_too_many_classes_nothing_is_capped() -> None:
    taints = [[(f"taint-{i}", "", "NoSchedule")] for i in range(MOST_CLASSES + 1)]
    documents = [a_node(taints=each) for each in taints]
    assert nodes_of(*documents) == NO_NODES
    assert nodes_of(*documents[:-1]) != NO_NODES


@pytest.mark.slow
def test_who_saw_a_node_of_karpenter_knows_it_even_when_that_is_gone() -> None:
    nodes = ClusterNodes()
    node = {"metadata": {"name": "n", "labels": {"karpenter.sh/nodepool": "default"}}}
    before = nodes.classes
    assert nodes.see(node, gone=False), "it is published, though there is no class"
    assert not nodes.see(node, gone=True)
    told = nodes.classes.to_document()
    assert (before.karpenter, nodes.classes.karpenter) == (False, True)
    assert Nodes.from_document(told) == nodes.classes
    del told["karpenter"]  # as an older controller
    assert not Nodes.from_document(told).karpenter


def test_as_nodes_come_and_go_the_classes_are_those_of_the_nodes_that_are_there() -> None:
    draw = random.Random(5)
    groups, there = NodeGroups(), dict[str, SeenNode]()
    for _ in range(3000):
        name = f"node-{draw.randrange(60)}"
        node = None
        if draw.random() < 0.7:
            labels = {"pool": str(draw.randrange(3)), "rack": str(draw.randrange(40))}
            size = draw.randrange(1, 5) * GIB, -1
            devices = frozenset(draw.sample(["a.io/gpu", "a.io/fpga"], draw.randrange(3)))
            node = SeenNode({**labels, NODE_NAME: name}, (), size, devices)
        groups.see(name, node)
        if node is None:
            there.pop(name, None)
        else:
            there[name] = node
        if draw.random() < 0.1:
            anew = filled(*there.values())
            assert groups.nodes == anew.nodes
    for name in list(there):
        groups.see(name, None)
    assert groups.nodes == NO_NODES


@pytest.mark.parametrize(
    ("taint", "keeps_away"),
    [
        pytest.param(("gpu", "", "NoSchedule"), True, id="NoSchedule"),
        pytest.param(("gpu", "", "NoExecute"), True, id="NoExecute"),
        pytest.param(("gpu", "", "PreferNoSchedule"), False, id="only preferred"),
        pytest.param(("node.kubernetes.io/not-ready", "", "NoExecute"), False, id="not ready now"),
        pytest.param(("ToBeDeletedByClusterAutoscaler", "1", "NoSchedule"), True, id="it goes"),
    ],
)
def test_only_lasting_taints_keep_pods_away(taint: tuple[str, str, str], keeps_away: bool) -> None:
    nodes = nodes_of(a_node(taints=[taint]))
    assert (nodes.largest_for(a_pod().built()) is None) is keeps_away


@pytest.mark.parametrize(
    "document",
    [
        pytest.param({}, id="nothing"),
        pytest.param(a_node(None), id="no memory"),
        pytest.param(a_node("much"), id="memory that cannot be read"),
        pytest.param(a_node(labels={"kubernetes.io/os": "windows"}), id="not Linux"),
        pytest.param({"metadata": 3, "spec": [], "status": "x"}, id="odd"),
    ],
)
def test_a_node_that_tells_nothing_or_is_not_for_us_is_not_there(document: Any) -> None:
    assert read_seen(document) is None
