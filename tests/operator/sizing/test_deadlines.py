"""A pod that must start in time is raised only if it needs more; one due keeps its CPU, too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from plimsoll_operator.names import labels
from plimsoll_operator.pods.identity import identify
from plimsoll_operator.pods.job_attempts import notes_for_job
from plimsoll_operator.sizing.bounds.namespaces import NamespaceBounds
from plimsoll_predictor.core.cpu import CpuUse
from plimsoll_predictor.core.policy import Mode
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.knowledge.knowledge import Lift
from tests.builders.engines.job_patches import patch_for_job
from tests.builders.pods import APod, a_pod, cpu_of, decision_of, memory_of
from tests.operator.sizing.admitted import ASKING, FITS, after, bounded, lifted, state_of
from tests.rigs.servers.admission_servers import knowledge_of

NEAR = a_pod().asking("1100Mi").limited("1100Mi")
"""Its request is above the largest need of 1Gi, and below the size with headroom."""
KNOWN = state_of(knowledge_of())
OWN, OF_ITS_JOB = {"activeDeadlineSeconds": 600}, {labels.JOB_DEADLINE: "true"}
KUEUES = {"kueue.x-k8s.io/max-exec-time-seconds": "600"}
HURRIED: list[Any] = [
    pytest.param(lambda pod: pod.with_spec(**OWN), id="its own"),
    pytest.param(lambda pod: pod.owned_by_job(attempts=1).annotated(OF_ITS_JOB), id="its Job's"),
    pytest.param(lambda pod: pod.with_labels(KUEUES), id="Kueue's"),
]
"""What gives a pod a deadline."""
UNSEEN = pytest.param(lambda pod: pod.owned_by_job(attempts=None), id="its Job was created unseen")
AIRFLOWS = {"dag_id": "sales", "task_id": "train", "run_id": "r1", "try_number": "1"}
AWAITED: list[Any] = [
    pytest.param(lambda pod: pod.with_labels(AIRFLOWS), id="Airflow's"),
    pytest.param(lambda pod: pod.with_labels({"jenkins": "agent"}), id="a polled one"),
    pytest.param(
        lambda pod: pod.with_labels(
            {"dagster/run-id": "r", "dagster/job": "j", "dagster/op": "o"}
        ).owned_by_job(),
        id="an engine's, by a Job",
    ),
]
"""What has a pod failed if it starts late."""


def a_job(**spec: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {labels.TASK: "train"}}, "spec": {"restartPolicy": "Never"}}
    return {"metadata": {"name": "train"}, "spec": {"template": template, **spec}}


@pytest.mark.parametrize("hurried", [*HURRIED, UNSEEN, *AWAITED])
def test_a_pod_that_must_start_in_time_is_not_raised_for_headroom_alone(
    hurried: Callable[[APod], APod],
) -> None:
    assert memory_of(after(NEAR, KNOWN)) == (FITS, FITS)
    sized = after(hurried(NEAR), KNOWN)
    assert memory_of(sized) == ("1100Mi", "1100Mi")
    assert "might wait too long for more" in decision_of(sized)["why"]


@pytest.mark.parametrize(
    "marks",
    [
        {"workflows.argoproj.io/workflow": "w-x7k2p"},
        {"nextflow.io/processName": "ALIGN", "nextflow.io/runName": "happy-pike"},
        {"nextflow.io/processName": "ALIGN"},
    ],
)
def test_a_pod_whose_engine_waits_for_its_start_is_raised_as_others(marks: dict[str, str]) -> None:
    assert memory_of(after(NEAR.with_labels(marks), KNOWN)) == (FITS, FITS)


def test_a_pod_of_a_job_is_raised_whatever_marks_would_name_a_watcher() -> None:
    """The Job's controller waits for as long as it takes."""
    assert memory_of(after(NEAR.with_labels({"app": "snakemake"}), KNOWN)) == ("1100Mi", "1100Mi")
    of_job = NEAR.with_labels({"app": "snakemake"}).owned_by_job()
    assert memory_of(after(of_job, KNOWN)) == (FITS, FITS)


def test_what_holds_a_raise_back_is_said() -> None:
    told = {
        "it has a deadline, and": NEAR.with_spec(**OWN),
        "nothing says whether its Job has a deadline, so it": NEAR.owned_by_job(attempts=None),
        "its maker may fail it for a late start": NEAR.with_labels(AIRFLOWS),
    }
    for words, pod in told.items():
        assert words in decision_of(after(pod, KNOWN))["why"]


@pytest.mark.parametrize("hurried", [*HURRIED, UNSEEN, *AWAITED])
def test_a_pod_that_must_start_in_time_gets_more_than_was_written_if_its_task_needs_that(
    hurried: Callable[[APod], APod],
) -> None:
    for asked in ("512Mi", "1Gi"):  # what was killed at 1Gi needs more than that
        pod = hurried(a_pod().asking(asked).limited(asked))
        assert memory_of(after(pod, KNOWN)) == (FITS, FITS)


@pytest.mark.parametrize("asked", ["512Mi", None])
@pytest.mark.parametrize("hurried", [*HURRIED, UNSEEN, *AWAITED])
def test_without_a_limit_its_node_is_enough_for_a_pod_that_must_start_in_time(
    hurried: Callable[[APod], APod], asked: str | None
) -> None:
    """Runs that needed more than such a request have succeeded with it."""
    pod = a_pod().asking(asked).with_cpu("100m")
    assert memory_of(after(pod, KNOWN)) == (FITS, FITS)
    assert memory_of(after(hurried(pod), KNOWN)) == (asked, None)


@pytest.mark.parametrize("hurried", HURRIED)
def test_a_pod_with_a_deadline_is_not_lowered(hurried: Callable[[APod], APod]) -> None:
    assert memory_of(after(ASKING, KNOWN)) == (FITS, FITS)
    sized = after(hurried(ASKING), KNOWN)
    assert memory_of(sized) == memory_of(ASKING)
    assert "a slower attempt may pass its deadline" in decision_of(sized)["why"]


def test_a_limit_that_holds_the_need_is_enough_until_a_deadline() -> None:
    pod = a_pod().asking("512Mi").limited("2Gi").with_spec(**OWN)
    assert memory_of(after(pod, KNOWN)) == ("512Mi", "2Gi")


@pytest.mark.parametrize("limit", [None, "4Gi"])
def test_a_run_of_an_engine_that_was_killed_is_lifted_above_its_request(limit: str | None) -> None:
    """It was killed because Plimsoll made it smaller: what was written would be too small."""
    pod = a_pod().asking("512Mi").limited(limit).with_labels(AIRFLOWS | {"max_tries": "5"})
    identity = identify(pod.built())
    assert identity is not None
    assert identity.run is not None
    assert memory_of(after(pod, lifted(identity.run, 2 * GIB))) == ("2Gi", "2Gi")
    failed = Lift(allocation_bytes=512 * MIB, attempt=2, after_bytes=0, as_written=True)
    state = state_of(replace(knowledge_of(), lifts={identity.run: failed}))
    assert memory_of(after(pod, state)) == ("512Mi", limit)


def test_a_tighter_bound_says_itself_why_it_holds_a_raise_back() -> None:
    state = bounded(NamespaceBounds())
    pod = NEAR.with_spec(nodeName="node-1", **OWN)
    assert "its author names its node" in decision_of(after(pod, state))["why"]


def test_the_cpu_of_a_pod_with_a_deadline_stays_as_it_was_written() -> None:
    knowledge = knowledge_of()
    policy = replace(knowledge.policy, cpu=replace(knowledge.policy.cpu, mode=Mode.ENFORCE))
    use = CpuUse(runs=20, high_cores=0.5, peak_cores=2.0)
    state = state_of(replace(knowledge, policy=policy, cpu=use))
    pod = a_pod().asking("4Gi").limited("8Gi").with_cpu("250m")
    assert cpu_of(after(pod, state)) == ("600m", None)
    late = after(pod.with_spec(**OWN), state)
    assert cpu_of(late) == ("250m", None)
    assert decision_of(late)["cpu"]["why"] == (
        "it has a deadline, and might wait too long for more CPU"
    )
    for awaited in AWAITED:
        small = after(awaited.values[0](pod), state)
        assert cpu_of(small) == ("250m", None)
        assert decision_of(small)["cpu"]["why"] == (
            "its maker may fail it for a late start, and it might wait too long for more CPU"
        )
    raised = after(pod, state).with_spec(**OWN)  # its deadline came after a first decision
    assert cpu_of(after(raised, state)) == ("250m", None), (
        "its deadline came after a first decision"
    )
    unasked = a_pod().asking("4Gi").limited("8Gi").with_spec(**OWN)
    assert cpu_of(after(unasked, state)) == (None, None), "no request of zero is written"
    large = pod.with_cpu("4")
    assert cpu_of(after(large, state)) == ("600m", None)
    in_a_hurry = (
        large.with_spec(**OWN),
        large.owned_by_job().annotated(OF_ITS_JOB),
        large.with_labels(KUEUES),
    )
    for hurried in in_a_hurry:
        slow = after(hurried, state)
        assert cpu_of(slow) == ("4", None)
        assert decision_of(slow)["cpu"]["why"] == (
            "it has a deadline, and might run too long with less CPU"
        )
    unseen = after(large.owned_by_job(attempts=None), state)
    assert cpu_of(unseen) == ("4", None)
    assert cpu_of(after(pod.owned_by_job(attempts=None), state)) == ("250m", None)
    assert cpu_of(after(large.with_labels(AIRFLOWS), state)) == ("600m", None), "it starts at once"
    lowered = after(large, state).with_spec(**OWN)
    assert cpu_of(after(lowered, state)) == ("4", None)


def test_the_pods_of_a_job_with_a_deadline_know_it() -> None:
    late = a_job(activeDeadlineSeconds=60)
    assert (notes_for_job(late) or {})[labels.JOB_DEADLINE] == "true"
    assert labels.JOB_DEADLINE not in (notes_for_job(a_job()) or {})
    queued = a_job()
    queued["metadata"]["labels"] = KUEUES
    assert (notes_for_job(queued) or {})[labels.JOB_DEADLINE] == "true"


def test_a_template_that_was_copied_from_another_job_forgets_that_jobs_deadline() -> None:
    copied = a_job()
    copied["spec"]["template"]["metadata"].setdefault("annotations", {}).update(OF_ITS_JOB)
    removed = [each["path"] for each in patch_for_job(copied) if each["op"] == "remove"]
    assert removed == ["/spec/template/metadata/annotations/plimsoll.dev~1job-deadline"]
