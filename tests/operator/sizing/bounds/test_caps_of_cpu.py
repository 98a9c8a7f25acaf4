"""What a namespace and the nodes allow a CPU request."""

from __future__ import annotations

from typing import Any

import pytest

from plimsoll_operator.controller.hub.hub import Hub
from plimsoll_operator.controller.tasks.bounds import ClusterBounds
from plimsoll_operator.controller.tasks.nodes import ClusterNodes
from plimsoll_operator.controller.tasks.task_policies import TaskPolicies
from plimsoll_operator.feed.applying import apply, steps
from plimsoll_operator.feed.board import FeedBoard
from plimsoll_operator.feed.wire import decode_message
from plimsoll_operator.names.quantity import BadQuantity, format_millicores, parse_millicores
from plimsoll_operator.sizing.bounds.caps import cpu_bounds_for
from plimsoll_operator.sizing.bounds.namespaces import UNBOUNDED, read_namespace
from plimsoll_operator.sizing.bounds.nodes import NO_NODES
from plimsoll_operator.sizing.bounds.quotas import CPU
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.deciding.cpu import CpuAsk, CpuBounds
from tests.builders.nodes import a_node, nodes_of
from tests.builders.pods import APod, a_pod


def a_range(kind: str = "Container", **fields: Any) -> dict[str, Any]:
    values = {key: value if key == "type" else {"cpu": value} for key, value in fields.items()}
    return {"spec": {"limits": [{"type": kind, **values}]}}


def a_quota(hard: str, used: str | None = None, **spec: Any) -> dict[str, Any]:
    status = {} if used is None else {"used": {"requests.cpu": used}}
    return {"spec": {"hard": {"requests.cpu": hard}, **spec}, "status": status}


def bounds(
    *objects: dict[str, Any],
    pod: APod | None = None,
    node: str | None = None,
    limit: int | None = None,
) -> CpuBounds:
    ranges = [each for each in objects if "limits" in each["spec"]]
    quotas = [each for each in objects if "hard" in each["spec"]]
    namespace = read_namespace(ranges, quotas, CPU)
    nodes = NO_NODES if node is None else nodes_of(a_node(cpu=node))
    return cpu_bounds_for((pod or a_pod()).built(), 0, CpuAsk(1000, limit), namespace, nodes)


def test_a_pod_whose_author_names_its_node_asks_for_no_more_cpu() -> None:
    assert bounds(pod=a_pod().with_spec(nodeName="node-1")) == CpuBounds(None, 1000)


def test_a_sandbox_takes_its_share_of_a_quota_and_a_node() -> None:
    sandboxed = a_pod().with_spec(overhead={"memory": "1Gi", "cpu": "250m"})
    assert bounds(pod=sandboxed, node="10") == CpuBounds(None, 8750)
    assert bounds(a_range("Pod", min="1", max="2"), pod=sandboxed) == CpuBounds(1000, 2000)


def test_nothing_bounds_where_nothing_is_set() -> None:
    assert bounds() == CpuBounds(None, None)
    assert read_namespace([], [], CPU) == UNBOUNDED


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param([a_range(min="50m")], CpuBounds(50, None), id="a minimum"),
        pytest.param([a_range("Pod", min="1")], CpuBounds(1000, None), id="a pod's minimum"),
        pytest.param([a_range(max="2")], CpuBounds(None, 2000), id="a maximum"),
        pytest.param([a_range(max="2"), a_range(max="1")], CpuBounds(None, 1000), id="the tighter"),
        pytest.param([a_range(min="1"), a_range(min="2")], CpuBounds(2000, None), id="the higher"),
        pytest.param([a_quota("8", "3")], CpuBounds(None, 1000), id="a quota: no raise at all"),
        pytest.param([a_quota("8", "9")], CpuBounds(None, 1000), id="a quota that is used up"),
        pytest.param(
            [a_quota("8", scopes=["Terminating"])], CpuBounds(None, None), id="another's quota"
        ),
        pytest.param([a_quota("much")], CpuBounds(None, None), id="what cannot be read"),
        pytest.param(
            [{"spec": {"hard": {"requests.memory": "1Gi"}}}],
            CpuBounds(None, None),
            id="a quota of memory alone",
        ),
    ],
)
def test_the_namespaces_objects_bound(objects: list[dict[str, Any]], expected: CpuBounds) -> None:
    assert bounds(*objects) == expected


def test_a_ratio_leaves_no_less_than_its_share_of_the_limit() -> None:
    ratio = {"spec": {"limits": [{"type": "Container", "maxLimitRequestRatio": {"cpu": "4"}}]}}
    assert bounds(ratio, limit=1001).floor_millicores == 251
    assert bounds(ratio).floor_millicores is None


def test_what_runs_beside_takes_its_part() -> None:
    pod = (
        a_pod()
        .with_container("side", resources={"requests": {"cpu": "500m"}})
        .with_sidecar("proxy", resources={"limits": {"cpu": "250m"}})
        .with_init_container("fetch", resources={"requests": {"cpu": "3"}})
        .with_container("odd", resources={"requests": {"cpu": "much"}})
    )
    assert bounds(a_range("Pod", max="2"), pod=pod).cap_millicores == 1250
    assert bounds(pod=pod, node="4").cap_millicores == 3600 - 750


def told_to_admission(board: FeedBoard) -> AdmissionState:
    state = AdmissionState()
    for kind, name, data in steps(decode_message(board.message(0, None))):
        apply(state, kind, name, data)
    return state


def test_admission_is_told_the_cores_of_the_node_with_the_most_memory() -> None:
    board = FeedBoard("e")
    cluster = ClusterBounds(board, TaskPolicies(Policy(), Hub()), ClusterNodes())

    def cores() -> int | None:
        largest = told_to_admission(board).nodes.largest_for(a_pod().built())
        return None if largest is None else largest.millicores

    cluster.see_node(a_node("16Gi", "many-cores", cpu="96"), gone=False)
    cluster.see_node(a_node("256Gi", "much-memory", cpu="32"), gone=False)
    assert cores() == 32_000
    cluster.see_node(a_node("256Gi", "much-memory", cpu="31500m"), gone=False)
    assert cores() == 31_500
    cluster.see_node(a_node("256Gi", "much-memory", cpu="much"), gone=False)
    assert cores() is None
    cluster.see_node(a_node(None, "much-memory", cpu=None), gone=True)
    assert cores() == 96_000


def test_a_namespaces_cpu_reaches_admission() -> None:
    board = FeedBoard("e")
    board.set_namespace("shop", policy=None, limit_ranges=[a_range(max="2")], quotas=[a_quota("8")])
    known = told_to_admission(board).namespace("shop").cpu
    assert known.most == 2000
    assert known.quotas[0].request == 8000


@pytest.mark.parametrize(
    ("text", "millicores"),
    [
        ("1", 1000),
        ("250m", 250),
        ("0.5", 500),
        ("1e3", 10**6),
        ("1u", 1),
        ("1500m", 1500),
        (2, 2000),
    ],
)
def test_cpu_quantities_are_thousandths_of_a_core(text: object, millicores: int) -> None:
    assert parse_millicores(text) == millicores


@pytest.mark.parametrize("text", ["", "-1", "much", None, True, ["1"], "1" * 100])
def test_what_is_no_quantity_of_cpu_is_refused(text: object) -> None:
    with pytest.raises(BadQuantity):
        parse_millicores(text)


@pytest.mark.parametrize("millicores", [0, 1, 10, 250, 999, 1000, 1500, 64_000])
def test_cpu_quantities_are_read_back_as_they_were(millicores: int) -> None:
    assert parse_millicores(format_millicores(millicores)) == millicores
