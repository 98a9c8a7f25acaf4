"""The demo's plan, manifests, watching and figures: pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest
from demo.record_history import COLUMNS as HISTORY_COLUMNS
from demo.record_history import planned
from demo.runs.plan import LAB, REQUEST_BYTES, SHOP, LiveRun, Shape, plan
from demo.runs.pods import CONTAINER, RUN_LABEL, TASK_LABEL, manifest
from demo.runs.workload import JOIN_SALES, TRAIN_DEMAND, Weight, Work
from demo.watching.figures import complaints, figures, learned, summary
from demo.watching.happenings import happenings, states
from demo.watching.watch import AttemptState, RunState, is_overdue, last_kill_s, views

from plimsoll_operator.pods.spec import SizedContainer, sized_container
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.tables.history_columns import COLUMNS as READ_COLUMNS

IMAGE = "localhost/demo:1"
NOON = "2026-11-21T12:00:{:02d}Z"
NOON_S = 1795262400.0
A_POD = LiveRun(
    "train-1", SHOP, Shape.POD, Work(TRAIN_DEMAND, {"rows": 100, "columns": 5}, 3), Weight.LIGHT
)
A_JOB = replace(A_POD, name="train-2", shape=Shape.JOB)


def pod_in(made: Mapping[str, Any]) -> Mapping[str, Any]:
    pod: Mapping[str, Any] = made if made["kind"] == "Pod" else made["spec"]["template"]
    return pod


@dataclass(frozen=True)
class PodBuilder:
    """A pod as the API server shows it; every step copies."""

    manifest: Mapping[str, Any]
    uid: str = "u1"
    status: Mapping[str, Any] | None = None
    memory: str = "4Gi"

    def known_as(self, uid: str) -> PodBuilder:
        return replace(self, uid=uid)

    def sized(self, memory: str) -> PodBuilder:
        return replace(self, memory=memory)

    def running(self, at_second: int = 1) -> PodBuilder:
        state = {"running": {"startedAt": NOON.format(at_second)}}
        return self._with("Running", state)

    def succeeded(self, after_s: int = 10) -> PodBuilder:
        return self._with("Succeeded", self._ended("Completed", 0, after_s))

    def oom_killed(self, after_s: int = 10, exit_code: int = 137) -> PodBuilder:
        return self._with("Failed", self._ended("OOMKilled", exit_code, after_s))

    def failed(self) -> PodBuilder:
        return self._with("Failed", self._ended("Error", 1, 5))

    def _ended(self, reason: str, exit_code: int, after_s: int) -> Mapping[str, Any]:
        return {
            "terminated": {
                "reason": reason,
                "exitCode": exit_code,
                "startedAt": NOON.format(1),
                "finishedAt": NOON.format(1 + after_s),
            }
        }

    def _with(self, phase: str, state: Mapping[str, Any]) -> PodBuilder:
        status = {"phase": phase, "containerStatuses": [{"name": CONTAINER, "state": state}]}
        return replace(self, status=status)

    def built(self) -> dict[str, Any]:
        made = (
            self.manifest if self.manifest["kind"] == "Pod" else self.manifest["spec"]["template"]
        )
        metadata = {
            **made["metadata"],
            "name": f"{self.manifest['metadata']['name']}-{self.uid}",
            "namespace": self.manifest["metadata"]["namespace"],
            "uid": self.uid,
            "creationTimestamp": NOON.format(0),
        }
        container = dict(made["spec"]["containers"][0])
        sizes = {"memory": self.memory}
        container["resources"] = {"requests": sizes, "limits": sizes}
        spec = {**made["spec"], "containers": [container]}
        return {
            "kind": "Pod",
            "metadata": metadata,
            "spec": spec,
            "status": self.status or {"phase": "Pending"},
        }


def a_pod_of(run: LiveRun) -> PodBuilder:
    return PodBuilder(manifest(run, IMAGE))


def a_failed_job(run: LiveRun) -> dict[str, Any]:
    made = manifest(run, IMAGE)
    return {**made, "status": {"conditions": [{"type": "Failed", "status": "True"}]}}


def all_runs() -> list[LiveRun]:
    return [run for phase in plan() for run in phase.runs]


# The plan


def test_the_same_seed_plans_the_same_runs_and_another_seed_others() -> None:
    assert plan(3) == plan(3)
    assert plan(3) != plan(4)


def test_at_least_forty_runs_of_three_tasks_half_of_them_jobs() -> None:
    runs = all_runs()
    jobs = [run for run in runs if run.shape is Shape.JOB]
    assert len(runs) >= 40
    assert {run.task for run in runs} == {
        "shop/train-demand",
        "shop/join-sales",
        "lab/train-demand",
    }
    assert 0.3 < len(jobs) / len(runs) < 0.7


def test_names_are_unique_within_their_namespace() -> None:
    names = [(run.namespace, run.name) for run in all_runs()]
    assert len(names) == len(set(names))


def test_only_the_second_and_third_phase_have_runs_heavier_than_the_history() -> None:
    first, second, third = (
        [run for run in phase.runs if run.weight is Weight.OUTSIZED] for phase in plan()
    )
    assert not first
    assert len(second) >= 2
    assert len(third) >= 2


def test_only_runs_whose_features_nobody_states_come_as_a_surprise() -> None:
    heavy = [run for run in plan()[1].runs if run.namespace == LAB]
    assert [run.shape for run in heavy] == [Shape.POD, Shape.JOB]
    assert {run.weight for run in heavy} == {Weight.HEAVY}
    for run in all_runs():
        states = bool(pod_in(manifest(run, IMAGE))["metadata"]["annotations"])
        assert states is (run.namespace != LAB)


def test_outsized_runs_are_larger_than_every_run_of_the_history() -> None:
    history = [work for _, work in planned(200)]
    for task, size in ((TRAIN_DEMAND, _cells), (JOIN_SALES, _rows)):
        largest = max(size(work) for work in history if work.task == task)
        live = [run.work for run in all_runs() if run.weight is Weight.OUTSIZED]
        assert all(size(work) > 1.3 * largest for work in live if work.task == task)


def _cells(work: Work) -> int:
    return int(work.features["rows"]) * int(work.features["columns"])


def _rows(work: Work) -> int:
    return int(work.features["rows"])


def test_the_task_without_history_starts_with_enough_runs_to_leave_the_cold_start() -> None:
    assert sum(run.namespace == LAB for run in plan()[0].runs) > 5
    assert sum(run.namespace == LAB for run in plan()[2].runs) > 0


def test_light_runs_dominate_the_history_and_about_one_in_eight_is_heavy() -> None:
    sizes = [_cells(work) for _, work in planned(200) if work.task == TRAIN_DEMAND]
    heavy = sum(size >= 19_000_000 for size in sizes) / len(sizes)
    light = sum(size <= 3_100_000 for size in sizes) / len(sizes)
    assert 0.08 < heavy < 0.18
    assert light > 0.5


def test_history_has_only_columns_that_the_import_reads() -> None:
    known = {name for name in HISTORY_COLUMNS if not name.startswith("feature.")}
    assert known <= READ_COLUMNS


# Manifests


@pytest.mark.parametrize("run", [A_POD, A_JOB], ids=lambda run: run.shape.value)
def test_a_run_asks_for_the_same_large_size_as_every_other(run: LiveRun) -> None:
    pod = pod_in(manifest(run, IMAGE))
    resources = pod["spec"]["containers"][0]["resources"]
    assert resources["requests"]["memory"] == resources["limits"]["memory"] == "4Gi"
    assert REQUEST_BYTES == 4 * GIB


@pytest.mark.parametrize("run", [A_POD, A_JOB], ids=lambda run: run.shape.value)
def test_features_are_annotations_and_arguments_alike(run: LiveRun) -> None:
    pod = pod_in(manifest(run, IMAGE))
    assert pod["metadata"]["labels"][TASK_LABEL] == TRAIN_DEMAND
    assert pod["metadata"]["annotations"] == {
        "features.plimsoll.dev/rows": "100",
        "features.plimsoll.dev/columns": "5",
    }
    assert pod["spec"]["containers"][0]["command"] == [
        *("python", "/tasks/train_demand.py"),
        *("--rows", "100", "--columns", "5", "--seed", "3"),
    ]


def test_a_job_leaves_room_for_three_retries_and_its_template_has_no_name() -> None:
    made = manifest(A_JOB, IMAGE)
    assert made["spec"]["backoffLimit"] >= 3
    assert "name" not in made["spec"]["template"]["metadata"]
    assert made["spec"]["template"]["metadata"]["labels"][RUN_LABEL] == A_JOB.name


def test_plimsoll_finds_the_container_to_size() -> None:
    sized = sized_container(manifest(A_POD, IMAGE))
    assert isinstance(sized, SizedContainer)
    assert (sized.name, sized.request_bytes) == (CONTAINER, REQUEST_BYTES)


# Watching


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        pytest.param([], RunState.UNSEEN, id="no pod yet"),
        pytest.param([a_pod_of(A_POD)], RunState.WAITING, id="a pending pod"),
        pytest.param([a_pod_of(A_POD).running()], RunState.RUNNING, id="a running pod"),
        pytest.param([a_pod_of(A_POD).succeeded()], RunState.SUCCEEDED, id="a finished pod"),
        pytest.param([a_pod_of(A_POD).oom_killed()], RunState.LIFTING, id="a killed pod"),
        pytest.param(
            [a_pod_of(A_POD).oom_killed(exit_code=0)], RunState.LIFTING, id="a killed child"
        ),
        pytest.param([a_pod_of(A_POD).failed()], RunState.FAILED, id="a failed bare pod"),
        pytest.param(
            [a_pod_of(A_POD).oom_killed(), a_pod_of(A_POD).known_as("u2").running()],
            RunState.RUNNING,
            id="a killed pod and its retry",
        ),
        pytest.param(
            [a_pod_of(A_POD).oom_killed(), a_pod_of(A_POD).known_as("u2").succeeded()],
            RunState.SUCCEEDED,
            id="a retry that succeeded",
        ),
    ],
)
def test_a_runs_state_follows_from_its_pods(pods: list[PodBuilder], expected: RunState) -> None:
    (view,) = views([A_POD], [pod.built() for pod in pods])
    assert view.state is expected


def test_a_job_that_gave_up_is_a_failed_run_though_its_pod_was_killed() -> None:
    objects = [a_pod_of(A_JOB).oom_killed().built(), a_failed_job(A_JOB)]
    (view,) = views([A_JOB], objects)
    assert view.state is RunState.FAILED


def test_a_jobs_failed_pod_alone_does_not_end_its_run() -> None:
    (view,) = views([A_JOB], [a_pod_of(A_JOB).failed().built()])
    assert not view.is_over


def test_pods_of_other_runs_do_not_count() -> None:
    (view,) = views([A_POD], [a_pod_of(A_JOB).succeeded().built()])
    assert view.state is RunState.UNSEEN


def test_a_killed_run_is_overdue_only_when_its_next_attempt_is_long_in_coming() -> None:
    (killed,) = views([A_POD], [a_pod_of(A_POD).oom_killed().built()])
    waiting = a_pod_of(A_POD).known_as("u2")
    (retried,) = views([A_POD], [a_pod_of(A_POD).oom_killed().built(), waiting.built()])
    assert not is_overdue(killed, NOON_S + 60)
    assert is_overdue(killed, NOON_S + 600)
    assert not is_overdue(retried, NOON_S + 600)


def test_the_last_kill_is_of_the_task_that_is_asked_for() -> None:
    seen = views([A_POD], [a_pod_of(A_POD).oom_killed(after_s=10).built()])
    assert last_kill_s(seen, "shop/train-demand") == NOON_S + 11
    assert last_kill_s(seen, "lab/train-demand") is None


def test_what_happens_is_told_once() -> None:
    seen = views([A_POD], [a_pod_of(A_POD).sized("300Mi").oom_killed().built()])
    first = happenings({}, seen)
    assert len(first) == 1
    assert "OOM-killed at 300Mi" in first[0]
    assert happenings(states(seen), seen) == []


# Figures


def test_gb_hours_count_killed_attempts_as_held_but_not_as_asked_for() -> None:
    killed = a_pod_of(A_POD).sized("1Gi").oom_killed(after_s=10)
    retried = a_pod_of(A_POD).known_as("u2").sized("2Gi").succeeded(after_s=20)
    total = figures(views([A_POD], [killed.built(), retried.built()]), {"u2": 1500 * MIB})
    assert total.requested_gb_h == pytest.approx(4 * GIB / 1e9 * 20 / 3600)
    assert total.allocated_gb_h == pytest.approx((GIB * 10 + 2 * GIB * 20) / 1e9 / 3600)
    assert total.peak_gb_h == pytest.approx(1500 * MIB * 20 / 1e9 / 3600)
    assert (total.attempts, total.oom_kills, total.lifted_then_succeeded) == (2, 1, 1)
    assert (total.failed_runs, total.first_attempts_fit, total.unmeasured) == (0, 0, 0)


def test_a_run_that_nobody_measured_is_counted_as_such() -> None:
    assert figures(views([A_POD], [a_pod_of(A_POD).succeeded().built()]), {}).unmeasured == 1


def test_a_kill_without_a_success_is_no_lift_and_the_run_failed() -> None:
    seen = views([A_POD], [a_pod_of(A_POD).oom_killed().built()])
    total = figures(seen, {})
    assert (total.oom_kills, total.lifted_then_succeeded, total.failed_runs) == (1, 0, 1)
    assert len(complaints(seen)) == 1


def test_nothing_is_complained_of_when_every_run_succeeded() -> None:
    assert complaints(views([A_POD], [a_pod_of(A_POD).succeeded().built()])) == []


def test_the_summary_has_exactly_the_keys_it_promises() -> None:
    total = figures(views([A_POD], [a_pod_of(A_POD).succeeded().built()]), {})
    status = {
        "task": "train-demand",
        "champion": "classifier",
        "uScore": 4.5,
        "accuracy": 0.97,
        "modelVersion": "abc",
        "trainedTime": NOON.format(5),
        "bins": [{"ceiling": "256Mi", "count": 90}, {"ceiling": "2Gi", "count": 10}],
    }
    profile = {"metadata": {"namespace": "shop", "name": "train-demand"}, "status": status}
    content = summary(total, learned([profile]))
    assert set(content) == {
        *("runs", "attempts", "oom_kills", "lifted_then_succeeded", "failed_runs"),
        *("requested_gb_h", "allocated_gb_h", "peak_gb_h", "first_attempt_fit_rate"),
        *("bins", "champion", "u_score", "accuracy"),
    }
    assert content["first_attempt_fit_rate"] == 1.0
    assert content["champion"] == {"shop/train-demand": "classifier"}
    assert content["bins"]["shop/train-demand"][1] == {"ceiling_bytes": 2 * GIB, "runs": 10}


def test_a_profile_without_a_model_says_so_by_none_and_no_bins() -> None:
    profile = {"metadata": {"namespace": "lab", "name": "train-demand"}}
    known = learned([profile])["lab/train-demand"]
    assert (known.champion, known.bins, known.u_score) == ("request", (), None)


def test_attempt_states_are_told_from_each_other() -> None:
    pods = [
        a_pod_of(A_POD).known_as("a").oom_killed(),
        a_pod_of(A_POD).known_as("b").failed(),
        a_pod_of(A_POD).known_as("c").running(),
    ]
    (view,) = views([A_POD], [pod.built() for pod in pods])
    assert {attempt.uid: attempt.state for attempt in view.attempts} == {
        "a": AttemptState.KILLED,
        "b": AttemptState.FAILED,
        "c": AttemptState.RUNNING,
    }
