"""Pods that keep what was written, because their run's next pod may never come."""

from __future__ import annotations

import pytest

from plimsoll_operator.names import labels
from plimsoll_operator.sizing.bounds.namespaces import NamespaceBounds, read_namespace
from plimsoll_predictor.core.units import GIB
from tests.builders.pods import JOB_UID, APod, decision_of, memory_of
from tests.operator.sizing.admitted import ASKING, FITS, after, bounded, lifted, state_of
from tests.rigs.servers.admission_servers import knowledge_of

AIRFLOW = {"dag_id": "nightly", "task_id": "train", "run_id": "1", "try_number": "1"}
BESIDE = ASKING.with_container("proxy")
SAYS_THREE = {labels.ATTEMPTS: "3"}


@pytest.mark.parametrize(
    ("pod", "memory"),
    [
        pytest.param(ASKING, FITS, id="bare, alone"),
        pytest.param(BESIDE, "4Gi", id="bare"),
        pytest.param(ASKING.with_sidecar("proxy"), FITS, id="bare, with Kubernetes' own sidecar"),
        pytest.param(BESIDE.annotated(SAYS_THREE).labelled(jenkins="agent"), "4Gi", id="polled"),
        pytest.param(
            BESIDE.annotated(SAYS_THREE).owned_by("RayJob", "r", version="ray.io/v1"),
            "4Gi",
            id="an unknown owner's",
        ),
        pytest.param(BESIDE.owned_by_job(), FITS, id="a Job's, which is replaced"),
        pytest.param(
            BESIDE.annotated(SAYS_THREE).with_labels(AIRFLOW), FITS, id="an engine's, which looks"
        ),
    ],
)
def test_a_pod_that_another_container_may_keep_alive_is_lowered_only_where_its_end_is_seen_to(
    pod: APod, memory: str
) -> None:
    sized = after(pod, state_of(knowledge_of()))
    assert memory_of(sized) == (memory, memory)
    if memory == "4Gi":
        assert "its other containers may wait for it" in decision_of(sized)["why"]


@pytest.mark.parametrize(
    ("hard", "memory"),
    [
        pytest.param({"count/pods": "5"}, "4Gi", id="until they are deleted"),
        pytest.param({"pods": "5"}, FITS, id="until they end"),
        pytest.param({"count/jobs.batch": "5"}, FITS, id="of Jobs"),
    ],
)
@pytest.mark.parametrize("pod", [ASKING, ASKING.owned_by_job()])
def test_nothing_is_lowered_where_a_pod_that_ended_takes_the_place_of_the_next(
    pod: APod, hard: dict[str, str], memory: str
) -> None:
    state = bounded(read_namespace([], [{"spec": {"hard": hard}}]))
    assert memory_of(after(pod, state)) == (memory, memory)


@pytest.mark.parametrize("pod", [ASKING, ASKING.owned_by_job()], ids=["bare", "a Job's"])
def test_nothing_is_lowered_on_a_node_that_its_author_names(pod: APod) -> None:
    """The kubelet refuses a larger next attempt for good, if others have taken the room."""
    sized = after(pod.with_spec(nodeName="node-1"), state_of(knowledge_of()))
    assert memory_of(sized) == ("4Gi", "4Gi")
    assert "its author names its node" in decision_of(sized)["why"]


def test_a_lifted_attempt_there_has_no_less_than_was_written() -> None:
    """An older version lowered the first one."""
    pod = ASKING.owned_by_job().with_spec(nodeName="node-1")
    state = lifted(f"job:{JOB_UID}", 2 * GIB)
    assert memory_of(after(pod, state)) == ("4Gi", "4Gi")


def test_a_need_above_the_request_is_served_all_the_same() -> None:
    pod = BESIDE.asking("512Mi").limited("512Mi")
    assert memory_of(after(pod, bounded(NamespaceBounds(counts_ended=True)))) == (FITS, FITS)
