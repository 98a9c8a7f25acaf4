"""The largest node that a pod may run on: selectors, affinity, taints, cordons, devices."""

from __future__ import annotations

import json
from typing import Any

import pytest

from plimsoll_operator.names.quantity import format_bytes
from plimsoll_operator.sizing.bounds.nodes import NO_NODES, Nodes
from tests.builders.nodes import NODE_NAME, a_node, nodes_of
from tests.builders.pods import a_pod

POOLS = nodes_of(
    a_node("8Gi", labels={"pool": "small", "cores": "8"}),
    a_node("16Gi", labels={"pool": "mid", "cores": "16", "disk": "ssd"}),
    a_node("64Gi", labels={"pool": "gpu", "cores": "64"}, taints=[("gpu", "yes", "NoSchedule")]),
    a_node("128Gi", labels={"pool": "mid", "cores": "16"}, cordoned=True),
    a_node("256Gi", labels={"pool": "mid", "kubernetes.io/os": "windows"}),
)
GPU, PAGES = "nvidia.com/gpu", "hugepages-2Mi"
MIXED = nodes_of(
    a_node("64Gi", extended={GPU: "8", PAGES: "0"}),
    a_node("128Gi", extended={PAGES: "4Gi"}),
    a_node("256Gi", extended={GPU: "8"}, taints=[("gpu", "yes", "NoSchedule")]),
    a_node("512Gi", extended={GPU: "0"}),
)
TOLERATES = {"key": "gpu", "operator": "Equal", "value": "yes", "effect": "NoSchedule"}


def largest(nodes: Nodes = POOLS, **spec: Any) -> str | None:
    found = nodes.largest_for(a_pod().with_spec(**spec).built())
    return None if found is None else format_bytes(found.memory_bytes)


def affinity(*terms: dict[str, Any]) -> dict[str, Any]:
    required = {"nodeSelectorTerms": list(terms)}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def term(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def test_a_plain_pod_runs_where_nothing_keeps_it_away() -> None:
    assert largest() == "16Gi"


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        pytest.param({"pool": "small"}, "8Gi", id="a smaller pool"),
        pytest.param({"pool": "mid", "disk": "ssd"}, "16Gi", id="both labels"),
        pytest.param({"pool": "gpu"}, None, id="its only nodes are tainted"),
        pytest.param({"pool": "huge"}, None, id="a pool that is scaled to zero"),
        pytest.param({"zone": "a"}, None, id="a label that no node has"),
        pytest.param({NODE_NAME: "node-0", "pool": "x"}, None, id="an unknown pool"),
    ],
)
def test_a_node_selector_decides(selector: dict[str, str], expected: str | None) -> None:
    assert largest(nodeSelector=selector) == expected


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        pytest.param([term("pool", "In", "small", "huge")], "8Gi", id="In"),
        pytest.param([term("pool", "NotIn", "mid")], "8Gi", id="NotIn"),
        pytest.param([term("disk", "NotIn", "ssd")], "8Gi", id="NotIn, where there is none"),
        pytest.param([term("disk", "Exists")], "16Gi", id="Exists"),
        pytest.param([term("disk", "DoesNotExist")], "8Gi", id="DoesNotExist"),
        pytest.param([term("cores", "Gt", "8")], "16Gi", id="Gt"),
        pytest.param([term("cores", "Lt", "9")], "8Gi", id="Lt"),
        pytest.param([term("pool", "Gt", "8")], None, id="Gt of what is no number"),
        pytest.param([term("pool", "In", "small"), term("disk", "Exists")], "16Gi", id="one of"),
        pytest.param([{"matchExpressions": []}], None, id="an empty term matches nothing"),
        pytest.param([], None, id="no term"),
        pytest.param([term("pool", "Resembles", "small")], None, id="an unknown operator"),
        pytest.param(
            [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-0"]}]}],
            None,
            id="by name: nobody can tell",
        ),
        pytest.param([term("pool", "In", *map(str, range(300)))], None, id="dear to tell"),
        pytest.param([term("pool", "In", "small")] * 300, None, id="many terms"),
    ],
)
def test_a_required_affinity_decides(terms: list[dict[str, Any]], expected: str | None) -> None:
    assert largest(affinity=affinity(*terms)) == expected


def test_a_selector_and_an_affinity_have_to_be_met_together() -> None:
    both: dict[str, Any] = {
        "nodeSelector": {"pool": "mid"},
        "affinity": affinity(term("disk", "DoesNotExist")),
    }
    assert largest(**both) is None
    assert largest(nodeSelector={"pool": "mid"}, affinity=affinity(term("disk", "Exists"))) == (
        "16Gi"
    )


def test_what_is_only_preferred_does_not_decide() -> None:
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}
    assert largest(affinity={"nodeAffinity": preferred}) == "16Gi"
    assert largest(affinity={"podAffinity": preferred}) == "16Gi"


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        pytest.param(TOLERATES, "64Gi", id="this taint"),
        pytest.param({"key": "gpu", "operator": "Exists"}, "64Gi", id="any value and effect"),
        pytest.param({"key": "gpu", "value": "yes"}, "64Gi", id="Equal is the default"),
        pytest.param({**TOLERATES, "value": "no"}, "16Gi", id="another value"),
        pytest.param({**TOLERATES, "effect": "NoExecute"}, "16Gi", id="another effect"),
        pytest.param({**TOLERATES, "key": "tpu"}, "16Gi", id="another taint"),
        pytest.param({"operator": "Exists"}, "128Gi", id="everything, cordons too"),
        pytest.param(
            {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}, "128Gi", id="cordons"
        ),
        pytest.param(
            {"key": "node.kubernetes.io/not-ready", "operator": "Exists"},
            "16Gi",
            id="what the API server gives every pod",
        ),
        pytest.param({"key": ["odd"]}, "16Gi", id="odd"),
    ],
)
def test_a_taint_keeps_away_who_does_not_tolerate_it(
    toleration: dict[str, Any], expected: str
) -> None:
    assert largest(tolerations=[toleration]) == expected


def test_who_tolerates_still_selects() -> None:
    assert largest(tolerations=[TOLERATES], nodeSelector={"pool": "gpu"}) == "64Gi"
    assert largest(tolerations=[TOLERATES], nodeSelector={"pool": "small"}) == "8Gi"
    assert largest(tolerations=[TOLERATES] * 1000) is None


def largest_with(nodes: Nodes, resources: Any, **spec: Any) -> set[str | None]:
    """The largest nodes for a pod with these resources, whichever of its parts asks for them."""
    pod = a_pod().with_spec(**spec)
    asking = (
        pod.with_container("gpu", resources=resources),
        pod.with_init_container("gpu", resources=resources),
        pod.with_spec(resources=resources),
    )
    found = [nodes.largest_for(each.built()) for each in asking]
    return {None if each is None else format_bytes(each.memory_bytes) for each in found}


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        pytest.param({}, "512Gi", id="nothing"),
        pytest.param({"requests": {"memory": "1Gi", "cpu": "1"}}, "512Gi", id="what all have"),
        pytest.param({"limits": {GPU: "1"}}, "64Gi", id="a GPU"),
        pytest.param({"requests": {GPU: 1}}, "64Gi", id="a GPU, as a number"),
        pytest.param({"requests": {GPU: "0"}}, "512Gi", id="no GPU"),
        pytest.param({"requests": {PAGES: "1Gi"}}, "128Gi", id="huge pages"),
        pytest.param({"requests": {GPU: "1", PAGES: "1Gi"}}, None, id="no node has both"),
        pytest.param({"requests": {"a.io/fpga": "1"}}, "512Gi", id="a pool scaled to zero"),
        pytest.param({"requests": {GPU: "1", "a.io/fpga": "1"}}, "64Gi", id="one of two is known"),
        pytest.param({"requests": {GPU: ["odd"]}, "limits": 3}, "512Gi", id="odd"),
    ],
)
def test_a_node_has_to_have_the_extended_resources(resources: Any, expected: str | None) -> None:
    assert largest_with(MIXED, resources) == {expected}


def test_who_asks_for_a_device_still_tolerates_and_selects() -> None:
    asked = {"limits": {GPU: "1"}}
    assert largest_with(MIXED, asked, tolerations=[TOLERATES]) == {"256Gi"}
    assert largest_with(MIXED, asked, nodeSelector={"pool": "x"}) == {None}


def test_a_feed_of_an_older_controller_knows_no_devices() -> None:
    document = MIXED.to_document()
    del document["extended"]
    for one in document["classes"]:
        del one["extended"]
    older = Nodes.from_document(document)
    assert largest_with(older, {"limits": {GPU: "1"}}) == {"512Gi"}


def test_without_nodes_or_with_one_named_there_is_no_cap() -> None:
    assert largest(NO_NODES) is None
    assert largest(NO_NODES, nodeSelector={"pool": "small"}, tolerations=[TOLERATES]) is None
    assert largest(nodeName="node-1") is None


@pytest.mark.parametrize("odd", [3, "x", [None], {"a": None}])
def test_an_odd_pod_is_no_error(odd: Any) -> None:
    for field in ("nodeSelector", "affinity", "tolerations"):
        largest(**{field: odd})
    largest(affinity={"nodeAffinity": odd})
    largest(affinity=affinity(odd))
    largest(affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": odd}})


def test_the_classes_are_read_back_as_they_were() -> None:
    for nodes in (POOLS, MIXED, NO_NODES):
        document = json.loads(json.dumps(nodes.to_document()))
        assert Nodes.from_document(document) == nodes
        for part in (document, *document["classes"]):
            part["of a later version"] = [1]
        assert Nodes.from_document(document) == nodes


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"labels": [], "classes": [{}]},
        {"labels": [], "classes": [{"labels": [7], "taints": [], "memory_bytes": 1}]},
        {"labels": [["a"]], "classes": []},
        {
            "labels": [],
            "classes": [
                {"labels": [], "taints": [], "memory_bytes": 1, "millicores": 1, "extended": [0]}
            ],
        },
        3,
    ],
)
def test_a_document_that_makes_no_sense_is_refused(document: Any) -> None:
    with pytest.raises((ValueError, IndexError)):
        Nodes.from_document(document)
