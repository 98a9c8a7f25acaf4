"""Plimsoll steps back where others set a pod's memory, and says for whom."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from plimsoll_operator.names import labels
from plimsoll_operator.pods.autoscalers import Autoscaler, by_target, read_autoscaler
from plimsoll_operator.sizing.pod_sizing import size
from plimsoll_operator.sizing.sized import Sized, Treatment
from plimsoll_operator.sizing.state import UNBOUNDED_NAMESPACE, AdmissionState
from plimsoll_predictor.core.cpu import CpuUse
from plimsoll_predictor.core.decision import Reason
from plimsoll_predictor.core.policy import CpuPolicy, Mode
from plimsoll_predictor.core.units import GIB, MIB
from tests.builders.kubernetes.autoscalers import a_vpa, updated
from tests.builders.pods import APod, a_pod, cpu_of, decision_of, memory_of
from tests.rigs.servers.admission_servers import knowledge_of

SIZED = ("1127Mi", "1127Mi")
"""The size of a task whose largest need is 1Gi."""
ASKING = a_pod().asking("2Gi").limited("4Gi")
POD = ASKING.owned_by_job("report-29391234").received()
OTHER = "another webhook changed its memory after Plimsoll had sized it"
VPA = "the VerticalPodAutoscaler report-vpa sets its memory, so Plimsoll leaves the pod alone"


def state(*vpas: Autoscaler | None, mode: Mode = Mode.ENFORCE, **more: Any) -> AdmissionState:
    known = replace(knowledge_of(mode=mode), **more) if more else knowledge_of(mode=mode)
    found = by_target([each for each in vpas if each is not None])
    namespace = replace(UNBOUNDED_NAMESPACE, autoscalers=found)
    return AdmissionState(tasks={known.task: known}, namespaces={"shop": namespace})


def sized(pod: APod, known: AdmissionState | None = None) -> Sized:
    return size(pod.built(), known or state(), "shop")


def after(pod: APod, known: AdmissionState | None = None) -> APod:
    """The pod after admission's answer; a second call gives the same answer."""
    answer = sized(pod, known)
    changed = pod.patched(answer.patch)
    assert sized(changed, known).patch == []
    return changed


def test_a_pod_of_an_autoscalers_target_is_left() -> None:
    known = state(read_autoscaler(a_vpa()))
    answer = sized(POD, known)
    assert answer.treatment is Treatment.LEFT
    changed = after(POD, known)
    assert memory_of(changed) == ("2Gi", "4Gi")
    said = decision_of(changed)
    assert said["reason"] == Reason.LEFT
    assert said["why"] == VPA
    assert said["mode"] == "recommend"
    assert said["allocation"] is None


@pytest.mark.parametrize(
    "vpa",
    [
        pytest.param(a_vpa(mode="Off"), id="it only recommends"),
        pytest.param(a_vpa(target="other"), id="another target"),
        pytest.param(
            a_vpa(containers=[{"containerName": "main", "controlledResources": ["cpu"]}]),
            id="it sets the CPU only",
        ),
    ],
)
def test_a_pod_that_no_autoscaler_sets_is_sized(vpa: dict[str, object]) -> None:
    assert memory_of(after(POD, state(read_autoscaler(vpa)))) == SIZED


def test_without_enforcing_it_goes_on_recommending() -> None:
    known = state(read_autoscaler(a_vpa()), mode=Mode.RECOMMEND)
    assert decision_of(after(POD, known))["allocation"] == SIZED[0]


def test_an_autoscaler_that_came_first_has_the_last_word() -> None:
    changed = after(updated(POD, "3Gi", limit="6Gi"))
    assert memory_of(changed) == ("3Gi", "6Gi")
    assert decision_of(changed)["why"] == VPA


def test_an_autoscaler_that_comes_second_has_the_last_word() -> None:
    changed = after(updated(after(POD), "3Gi", limit="3Gi"))
    assert memory_of(changed) == ("3Gi", "3Gi")
    assert decision_of(changed)["why"] == VPA
    assert decision_of(changed)["was"] == {"request": "3Gi", "limit": "3Gi"}


def test_a_limit_that_plimsoll_wrote_goes_back_to_the_authors() -> None:
    """The autoscaler sets requests only, and never above the limit that it finds."""
    assert memory_of(after(updated(after(POD), "1000Mi"))) == ("1000Mi", "4Gi")


def test_the_annotation_in_a_copied_manifest_is_not_believed() -> None:
    pod = updated(ASKING, "2Gi").received()
    assert memory_of(after(pod)) == SIZED


@pytest.mark.parametrize(
    ("changed", "left"),
    [
        pytest.param(("3Gi", "3Gi"), ("3Gi", "3Gi"), id="both raised"),
        pytest.param(("512Mi", "512Mi"), ("512Mi", "512Mi"), id="both lowered"),
        pytest.param(("1500Mi", SIZED[1]), ("1500Mi", "4Gi"), id="the request only"),
        pytest.param((None, None), (None, None), id="both removed"),
    ],
)
def test_what_another_webhook_changed_is_left(
    changed: tuple[str | None, str | None], left: tuple[str | None, str | None]
) -> None:
    request, limit = changed
    pod = after(after(POD).asking(request).limited(limit))
    assert memory_of(pod) == left
    assert decision_of(pod)["why"] == OTHER
    assert decision_of(pod)["allocation"] is None


@pytest.mark.parametrize("limit", ["5Gi", "2Gi", None])
def test_the_limit_that_another_webhook_set_beside_the_size_stays(limit: str | None) -> None:
    pod = after(after(POD).limited(limit))
    assert memory_of(pod) == (SIZED[0], limit)
    assert decision_of(pod)["allocation"] == SIZED[0]
    assert decision_of(pod)["was"] == {"request": "2Gi", "limit": "4Gi"}


def test_a_pod_that_is_given_its_memory_later_is_left() -> None:
    """Plimsoll leaves a BestEffort pod; a later webhook may give any pod such a size."""
    pod = after(a_pod().received())
    assert memory_of(pod) == (None, None)
    pod = after(pod.asking("2Gi").limited("2Gi"))
    assert memory_of(pod) == ("2Gi", "2Gi")
    assert "if that webhook comes first" in decision_of(pod)["why"]


def test_a_pod_that_was_given_its_memory_before_is_sized() -> None:
    pod = after(a_pod().received().asking("2Gi").limited("2Gi"))
    assert memory_of(pod) == SIZED
    assert decision_of(pod)["was"] == {"request": "2Gi", "limit": "2Gi"}


def test_a_limit_that_is_filled_in_is_not_removed() -> None:
    """A quota on limits would refuse the pod without it."""
    held = a_pod().asking("2Gi").with_spec(activeDeadlineSeconds=60).received()
    pod = after(held)
    assert memory_of(pod) == ("2Gi", None)
    pod = after(pod.limited("3Gi"))
    assert memory_of(pod) == ("2Gi", "3Gi")
    assert decision_of(pod)["was"] == {"request": "2Gi", "limit": "3Gi"}


def test_a_pod_made_of_a_sized_ones_manifest_is_sized_by_what_it_asks_now() -> None:
    copied = after(POD).asking("3Gi").limited("3Gi").received()
    assert decision_of(after(copied))["was"] == {"request": "3Gi", "limit": "3Gi"}
    assert memory_of(after(copied)) == SIZED


def test_a_copy_that_asks_what_was_decided_was_written_as_the_decision_says() -> None:
    """So a pod that is copied, or restored from a backup, keeps what its author wrote."""
    copied = after(POD).received()
    assert memory_of(copied) == SIZED
    assert decision_of(after(copied))["was"] == decision_of(copied)["was"]


def test_a_pod_made_of_a_left_ones_manifest_is_sized() -> None:
    left = after(after(POD).asking("3Gi").limited("3Gi"))
    assert decision_of(left)["reason"] == Reason.LEFT
    assert memory_of(after(left.received())) == SIZED


def test_a_pod_that_was_left_stays_so_while_it_waits() -> None:
    left = after(after(POD).asking("3Gi").limited("3Gi")).built()
    left["metadata"]["resourceVersion"] = "7"
    assert size(left, state(), "shop").patch == []


def test_where_nobody_says_who_wrote_it_it_is_the_authors() -> None:
    pod = after(ASKING).asking("3Gi").limited("3Gi")
    assert memory_of(after(pod)) == SIZED


USED = CpuUse(runs=20, high_cores=0.5, peak_cores=None)
MEMORY_ONLY = [{"containerName": "*", "controlledResources": ["memory"]}]
CPU_ONLY = [{"containerName": "*", "controlledResources": ["cpu"]}]


def cpu_state(*vpas: Autoscaler | None) -> AdmissionState:
    policy = replace(knowledge_of().policy, cpu=CpuPolicy(mode=Mode.ENFORCE))
    return state(*vpas, policy=policy, cpu=USED)


def test_cpu_is_left_to_an_autoscaler_that_sets_it() -> None:
    pod = POD.with_cpu("2")
    assert cpu_of(after(pod, cpu_state()))[0] == "600m"
    changed = after(pod, cpu_state(read_autoscaler(a_vpa(containers=CPU_ONLY))))
    assert cpu_of(changed)[0] == "2"
    assert memory_of(changed) == SIZED
    assert decision_of(changed)["cpu"]["why"] == "the VerticalPodAutoscaler report-vpa sets it"


def test_cpu_is_sized_beside_an_autoscaler_that_sets_memory_only() -> None:
    changed = after(POD.with_cpu("2"), cpu_state(read_autoscaler(a_vpa(containers=MEMORY_ONLY))))
    assert (cpu_of(changed)[0], memory_of(changed)) == ("600m", ("2Gi", "4Gi"))


def test_neither_is_sized_beside_an_autoscaler_that_sets_both() -> None:
    changed = after(POD.with_cpu("2"), cpu_state(read_autoscaler(a_vpa())))
    assert (cpu_of(changed)[0], memory_of(changed)) == ("2", ("2Gi", "4Gi"))


def test_a_pod_without_room_for_the_decision_is_left_all_the_same() -> None:
    full = POD.annotated({"big": "x" * (labels.MAX_ALL_ANNOTATIONS_BYTES - 200)})
    assert sized(full, state(read_autoscaler(a_vpa()))).patch == []


def test_the_figures_of_this_page() -> None:
    assert SIZED[0] == f"{-(-GIB * 11 // 10 // MIB)}Mi"
