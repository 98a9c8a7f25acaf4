"""A try that Airflow remembers becomes an attempt of the same task as its next pod."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from plimsoll_operator.airflow_history.past_tries import (
    LeftOut,
    PastTry,
    label_value,
    observation_of,
)
from plimsoll_operator.pods.identity import identify
from plimsoll_predictor.core.record import Observation, Outcome, PeakSource
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import MIB

RUN = "manual__2026-01-05T08:00:00+00:00"
A_TRY = PastTry(
    dag="nightly",
    task="chunk",
    run=RUN,
    map_index=7,
    number=2,
    state="success",
    started=datetime(2026, 1, 5, 8, 0, tzinfo=UTC),
    ended=datetime(2026, 1, 5, 8, 1, 30, tzinfo=UTC),
    operator="KubernetesPodOperator",
    pod_name="nightly-chunk-1",
    pod_namespace="shop",
    rendered_namespace="shop",
    resources={"claims": None, "limits": {"memory": "96Mi"}, "requests": {"memory": "64Mi"}},
)


def attempt_of(past: PastTry, namespace: str | None = None) -> Observation:
    found = observation_of(past, namespace)
    assert isinstance(found, Observation)
    return found


def test_a_try_is_an_attempt_of_its_dags_task() -> None:
    found = attempt_of(A_TRY)
    assert found.task == TaskId("shop", "nightly.chunk")
    assert (found.attempt, found.outcome, found.runtime_s) == (2, Outcome.SUCCEEDED, 90.0)
    assert (found.request_bytes, found.allocation_bytes) == (64 * MIB, 96 * MIB)
    assert (found.peak_bytes, found.peak_source) == (None, PeakSource.IMPORTED)


def test_a_pod_of_the_same_try_has_the_same_task_and_run() -> None:
    found = attempt_of(A_TRY)
    pod_labels = {
        "plimsoll.dev/task": "auto",
        "dag_id": "nightly",
        "task_id": "chunk",
        "run_id": "manual__2026-01-05T0800000000-9aac08794",
        "map_index": "7",
        "try_number": "2",
        "kubernetes_pod_operator": "True",
    }
    pod = {"metadata": {"namespace": "shop", "labels": pod_labels}, "spec": {}}
    identity = identify(pod)
    assert identity is not None
    assert (identity.task, identity.run, identity.work.run) == (
        found.task,
        found.run,
        found.workflow_run,
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("nightly", "nightly", id="what fits stays"),
        pytest.param(RUN, "manual__2026-01-05T0800000000-9aac08794", id="colons and plus"),
        pytest.param("é", "-66ddcd97c", id="nothing that fits"),
        pytest.param("x" * 70, "x" * 53 + "-7d56c0f83", id="a long one"),
        pytest.param("-a-", "a-9ad117707", id="begins with what no label may"),
    ],
)
def test_names_are_those_of_airflows_labels(text: str, value: str) -> None:
    """The values come from make_safe_label_value of the provider cncf-kubernetes 10.25.0."""
    assert label_value(text) == value


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        pytest.param(
            {"operator": "PythonOperator", "pod_name": None, "rendered_namespace": None}
            | {"resources": None, "pod_namespace": None},
            LeftOut.NO_POD,
            id="a function that the worker ran",
        ),
        pytest.param(
            {"pod_namespace": None, "rendered_namespace": None},
            LeftOut.NO_NAMESPACE,
            id="a pod of an unknown namespace",
        ),
        pytest.param({"ended": None}, LeftOut.NO_TIMES, id="no end"),
        pytest.param({"started": "yesterday"}, LeftOut.NO_TIMES, id="no time"),
        pytest.param(
            {"ended": datetime(2026, 1, 5, 7, 0, tzinfo=UTC)}, LeftOut.NO_TIMES, id="ends first"
        ),
    ],
)
def test_what_is_no_attempt_is_left_out_with_its_reason(
    changes: dict[str, object], reason: LeftOut
) -> None:
    assert observation_of(replace(A_TRY, **changes), None) is reason  # type: ignore[arg-type]


def test_a_namespace_is_that_of_unknown_ones_and_the_only_one() -> None:
    unknown = replace(A_TRY, pod_namespace=None, rendered_namespace=None)
    assert attempt_of(unknown, "lab").task.namespace == "lab"
    assert observation_of(A_TRY, "lab") is LeftOut.OTHER_NAMESPACE
    assert attempt_of(A_TRY, "shop").task.namespace == "shop"


@pytest.mark.parametrize("state", ["failed", "up_for_retry"])
def test_a_try_that_failed_teaches_no_need(state: str) -> None:
    found = attempt_of(replace(A_TRY, state=state))
    assert (found.outcome, found.need, found.failed_by_itself) == (Outcome.FAILED, None, False)


def test_a_function_that_ran_in_an_executors_pod_is_a_task_of_its_own() -> None:
    pod = {"limits": {"memory": "1Gi"}}
    past = replace(A_TRY, pod_name=None, pod_namespace=None, resources=None, pod_resources=pod)
    assert attempt_of(past).task.name == "airflow-worker.nightly.chunk"
    # For an operator's task both pods are remembered: the operator's pod does the work.
    both = replace(A_TRY, pod_resources=pod)
    assert attempt_of(both).task.name == "nightly.chunk"


def test_a_task_that_is_not_mapped_has_no_index_in_its_run() -> None:
    run = label_value(RUN)
    assert attempt_of(replace(A_TRY, map_index=-1)).run == f"airflow:nightly.chunk:{run}"
    assert attempt_of(A_TRY).run == f"airflow:nightly.chunk:{run}:7"


@pytest.mark.parametrize(
    ("resources", "pod_resources", "sizes"),
    [
        pytest.param(
            "{'claims': None,\n 'limits': {'memory': '1Gi'},\n 'requests': {'memory': '512Mi'}}",
            None,
            (512 * MIB, 1024 * MIB),
            id="as the text of Airflow 2",
        ),
        pytest.param(None, {"limits": {"memory": "1Gi"}}, (1024 * MIB,) * 2, id="an executor's"),
        pytest.param({"requests": {"memory": "1Gi"}}, None, (1024 * MIB, None), id="no limit"),
        pytest.param({"limits": {"memory": "much"}}, None, (None, None), id="no quantity"),
        pytest.param({"limits": {"memory": "{{ x }}"}}, None, (None, None), id="a template"),
        pytest.param("__import__('os').getcwd()", None, (None, None), id="no literal"),
        pytest.param("(" * 4000, None, (None, None), id="deeply nested"),
        pytest.param("{'limits': '" + "x" * 9000 + "'}", None, (None, None), id="a long text"),
        pytest.param(None, None, (None, None), id="forgotten"),
    ],
)
def test_what_the_author_asked_for_is_read_where_airflow_still_has_it(
    resources: object, pod_resources: object, sizes: tuple[int | None, int | None]
) -> None:
    found = attempt_of(replace(A_TRY, resources=resources, pod_resources=pod_resources))
    assert (found.request_bytes, found.allocation_bytes) == sizes


@pytest.mark.parametrize("written", ["shop", '"shop"', b'"shop"'])
def test_xcoms_of_all_airflows_are_read(written: object) -> None:
    past = replace(A_TRY, pod_namespace=written, rendered_namespace=None)
    assert attempt_of(past).task.namespace == "shop"


@pytest.mark.parametrize(
    "ended",
    ["2026-01-05 08:01:30.000000", "2026-01-05T08:01:30+00:00", datetime(2026, 1, 5, 8, 1, 30)],
)
def test_times_are_of_utc_where_they_name_no_zone(ended: object) -> None:
    assert attempt_of(replace(A_TRY, ended=ended)).runtime_s == 90.0
