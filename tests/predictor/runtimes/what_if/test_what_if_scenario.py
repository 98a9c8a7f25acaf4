from __future__ import annotations

import pytest

from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GIB
from plimsoll_predictor.runtimes.what_if.past_run import PastRun, of_observations
from plimsoll_predictor.runtimes.what_if.scenario import UNKNOWN, Scenario
from tests.builders.runtimes.what_ifs import a_run


def sides(scenario: Scenario, *runs: PastRun) -> list[int]:
    return [int(side) for side in scenario.sides(runs)]


def test_a_run_is_on_the_node_type_on_another_or_nobody_knows() -> None:
    runs = a_run(node_type="n2"), a_run(node_type="n1"), a_run()
    assert sides(Scenario(node_type="n2"), *runs) == [1, 0, UNKNOWN]


def test_a_run_may_burst_where_any_limit_lies_above_its_request_or_is_missing() -> None:
    runs = (
        a_run(memory_request_bytes=GIB, memory_limit_bytes=GIB),
        a_run(memory_request_bytes=GIB, memory_limit_bytes=2 * GIB),
        a_run(memory_request_bytes=GIB),
        a_run(memory_request_bytes=GIB, memory_limit_bytes=GIB, request_cores=1.0, limit_cores=1.0),
        a_run(memory_request_bytes=GIB, memory_limit_bytes=GIB, request_cores=1.0),
        a_run(),
    )
    assert sides(Scenario(limit_equal=True), *runs) == [1, 0, 0, 1, 0, UNKNOWN]


def test_load_is_even_where_a_node_is_loaded_as_the_cluster_is() -> None:
    runs = (
        a_run(node_load=0.55, cluster_load=0.5),
        a_run(node_load=0.95, cluster_load=0.5),
        a_run(node_load=0.1, cluster_load=0.5),
        a_run(cluster_load=0.5),
    )
    assert sides(Scenario(even_load=True), *runs) == [1, 0, 0, UNKNOWN]


def test_where_nodes_loads_are_unknown_load_is_even_near_the_clusters_usual() -> None:
    runs = [a_run(cluster_load=load) for load in (0.1, 0.45, 0.5, 0.55, 0.9)]
    assert sides(Scenario(even_load=True), *runs, a_run()) == [0, 1, 1, 1, 0, UNKNOWN]


def test_memory_is_of_the_size_or_of_another_and_lifted_attempts_tell_nothing() -> None:
    runs = (
        a_run(allocation_bytes=4 * GIB),
        a_run(allocation_bytes=int(4.4 * GIB)),
        a_run(allocation_bytes=2 * GIB),
        a_run(allocation_bytes=4 * GIB, attempt=2),
        a_run(),
    )
    assert sides(Scenario(memory_bytes=4 * GIB), *runs) == [1, 1, 0, UNKNOWN, UNKNOWN]


def test_several_conditions_are_met_together_or_not_at_all() -> None:
    scenario = Scenario(node_type="n2", memory_bytes=GIB)
    runs = (
        a_run(node_type="n2", allocation_bytes=GIB),
        a_run(node_type="n2", allocation_bytes=3 * GIB),
        a_run(node_type="n2"),
    )
    assert sides(scenario, *runs) == [1, 0, UNKNOWN]
    assert scenario.words == "on n2 with 1Gi"
    assert scenario.otherwise == "otherwise"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        pytest.param({}, "a what-if needs a condition", id="nothing asked"),
        pytest.param({"memory_bytes": 0}, "memory of 0 bytes", id="no memory"),
        pytest.param({"node_type": ""}, "a node type of 0 characters", id="no name"),
        pytest.param({"node_type": "x" * 254}, "a node type of 254 characters", id="a long name"),
    ],
)
def test_a_scenario_that_cannot_be_is_refused(asked: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Scenario(**asked)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong",
    [
        {"runtime_s": -1.0},
        {"runtime_s": float("nan")},
        {"runtime_s": float("inf")},
        {"submitted_s": float("nan")},
    ],
)
def test_a_run_without_a_true_runtime_or_time_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="leave out runs without"):
        a_run(**wrong)


def an_attempt(**more: object) -> Observation:
    told: dict[str, object] = {
        "attempt_uid": "u",
        "task": TaskId("lab", "train"),
        "run": "r",
        "outcome": Outcome.SUCCEEDED,
        "submitted_s": 990.0,
        "started_s": 1000.0,
        "finished_s": 1060.0,
        **more,
    }
    return Observation(**told)  # type: ignore[arg-type]


def test_attempts_that_succeeded_become_past_runs_with_what_they_ran_under() -> None:
    attempt = an_attempt(
        node_type="n2",
        attempt=2,
        allocation_bytes=2 * GIB,
        request_memory_ran_bytes=GIB,
        allocated_cores=2.0,
        limit_cores=4.0,
        node_cpu_share=0.7,
        node_memory_share=0.2,
        cluster_memory_share=0.4,
    )
    assert of_observations([attempt]) == [
        PastRun(
            runtime_s=60.0,
            submitted_s=990.0,
            node_type="n2",
            node_load=0.7,
            cluster_load=0.4,
            allocation_bytes=2 * GIB,
            memory_request_bytes=GIB,
            memory_limit_bytes=2 * GIB,
            request_cores=2.0,
            limit_cores=4.0,
            attempt=2,
        )
    ]


def test_a_killed_attempts_time_is_no_runtime_nor_is_one_of_a_jumping_clock() -> None:
    assert of_observations([an_attempt(outcome=Outcome.OOM_KILLED)]) == []
    assert of_observations([an_attempt(finished_s=900.0)]) == []
    assert of_observations([an_attempt(finished_s=None)]) == []


def test_attempts_of_before_requests_were_kept_do_not_say_whether_they_could_burst() -> None:
    (run,) = of_observations([an_attempt(allocation_bytes=GIB, allocated_cores=1.0)])
    assert run.limit_equals_request is None
    assert run.allocation_bytes == GIB
