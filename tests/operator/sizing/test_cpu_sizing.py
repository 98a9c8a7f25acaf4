"""A pod's CPU request sized beside its memory: never its limit, never its class."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_operator.attempts.watched_pod import read_pod
from plimsoll_operator.names import labels
from plimsoll_operator.names.quantity import parse_millicores
from plimsoll_operator.pods.spec import Qos, qos_of
from plimsoll_operator.sizing.bounds.namespaces import read_namespace
from plimsoll_operator.sizing.bounds.quotas import CPU
from plimsoll_operator.sizing.decision_note import read_note
from plimsoll_operator.sizing.pod_sizing import size
from plimsoll_operator.sizing.sized import Treatment
from plimsoll_operator.sizing.state import AdmissionState, NamespaceState
from plimsoll_predictor.core.cpu import CpuUse
from plimsoll_predictor.core.policy import Limits, Mode, Policy
from plimsoll_predictor.knowledge.knowledge import Knowledge
from tests.builders.nodes import a_node, nodes_of
from tests.builders.pods import APod, a_pod, cpu_of, decision_of, memory_of
from tests.rigs.servers.admission_servers import TRAIN, knowledge_of

USE = CpuUse(runs=20, high_cores=0.5, peak_cores=2.0)
SIZED = "600m"
"""The request: 1.2 times what was used."""
BURSTABLE = a_pod().asking("4Gi").limited("8Gi").with_cpu("4")
BURSTABLE_WITHOUT = a_pod().asking("4Gi").limited("8Gi")
"""Its author wrote no CPU request."""
FITS = "1127Mi"
"""The memory by knowledge_of()."""


def known(
    cpu: Mode = Mode.ENFORCE, *, memory: Mode = Mode.RECOMMEND, limits: Limits = Limits.EQUAL
) -> Knowledge:
    """A task whose CPU is known."""
    knowledge = knowledge_of(mode=memory, limits=limits)
    policy = replace(knowledge.policy, cpu=replace(knowledge.policy.cpu, mode=cpu))
    return replace(knowledge, policy=policy, cpu=USE)


def state_of(knowledge: Knowledge) -> AdmissionState:
    return AdmissionState(tasks={knowledge.task: knowledge})


def after(pod: APod, knowledge: Knowledge) -> APod:
    return pod.patched(size(pod.built(), state_of(knowledge)).patch)


def test_enforced_cpu_sets_the_request_and_leaves_memory_that_is_only_recommended() -> None:
    pod = after(BURSTABLE, known())
    assert cpu_of(pod) == (SIZED, None)
    assert memory_of(pod) == ("4Gi", "8Gi")
    assert decision_of(pod)["cpu"] == {
        "request": SIZED,
        "was": "4",
        "mode": "enforce",
        "reason": "used",
        "why": "1.2 times 0.5 cores, which 95% of the last 20 runs stayed within on average",
    }


def test_recommended_cpu_is_only_written_down_beside_memory_that_is_enforced() -> None:
    pod = after(BURSTABLE, known(Mode.RECOMMEND, memory=Mode.ENFORCE))
    assert cpu_of(pod) == ("4", None)
    assert memory_of(pod) == (FITS, FITS)
    assert decision_of(pod)["cpu"]["request"] == SIZED


def test_both_are_enforced_at_once() -> None:
    pod = after(BURSTABLE.with_cpu(None, "6"), known(memory=Mode.ENFORCE))
    assert cpu_of(pod) == (SIZED, "6")
    assert memory_of(pod) == (FITS, FITS)


def test_cpu_is_recommended_unless_people_say_otherwise() -> None:
    knowledge = replace(knowledge_of(), cpu=USE)
    pod = after(BURSTABLE, knowledge)
    assert cpu_of(pod) == ("4", None)
    assert decision_of(pod)["cpu"]["mode"] == "recommend"


def test_off_says_nothing_of_cpu() -> None:
    assert "cpu" not in decision_of(after(BURSTABLE, known(Mode.OFF)))


def test_a_task_whose_cpu_nobody_measured_says_nothing_of_it() -> None:
    assert "cpu" not in decision_of(after(BURSTABLE, replace(known(), cpu=None)))


def test_the_mode_off_leaves_cpu_alone_too() -> None:
    sized = size(BURSTABLE.built(), state_of(known(memory=Mode.OFF)))
    assert (sized.treatment, sized.patch) == (Treatment.OFF, [])


@pytest.mark.parametrize(
    ("policy", "pods", "request_cpu"),
    [
        (Mode.RECOMMEND, "enforce", SIZED),
        (Mode.ENFORCE, "recommend", "4"),
        (Mode.ENFORCE, "off", "4"),
        (Mode.OFF, "enforce", SIZED),
    ],
)
def test_the_pods_own_cpu_mode_comes_first(policy: Mode, pods: str, request_cpu: str) -> None:
    for pod in (
        BURSTABLE.annotated({labels.CPU_MODE: pods}),
        BURSTABLE.with_labels({labels.CPU_MODE: pods}),
    ):
        assert cpu_of(after(pod, known(policy)))[0] == request_cpu


def test_an_unknown_cpu_mode_is_as_if_it_were_not_there_and_said() -> None:
    sized = size(BURSTABLE.annotated({labels.CPU_MODE: "maybe"}).built(), state_of(known()))
    assert sized.warning is not None
    assert "plimsoll.dev/cpu-mode: 'maybe' is none of off, recommend, enforce" in sized.warning


def test_too_few_runs_keep_the_request_and_say_so() -> None:
    few = replace(known(), cpu=replace(USE, runs=3))
    pod = after(BURSTABLE, few)
    assert cpu_of(pod) == ("4", None)
    assert decision_of(pod)["cpu"]["reason"] == "cold-start"


def test_a_guaranteed_pod_stays_guaranteed_and_its_cpu_is_left_alone() -> None:
    guaranteed = a_pod().asking("4Gi").limited("4Gi").with_cpu("4", "4")
    pod = after(guaranteed, known(memory=Mode.ENFORCE))
    assert cpu_of(pod) == ("4", "4")
    assert qos_of(pod.built()) is Qos.GUARANTEED
    assert "Guaranteed" in decision_of(pod)["cpu"]["why"]


def test_a_pod_nearly_guaranteed_is_sized() -> None:
    nearly = a_pod().asking("4Gi").limited("8Gi").with_cpu("4", "4")
    assert cpu_of(after(nearly, known())) == (SIZED, "4")


@pytest.mark.parametrize("memory", [Mode.RECOMMEND, Mode.ENFORCE])
def test_a_best_effort_pod_is_left_alone(memory: Mode) -> None:
    assert cpu_of(after(a_pod(), known(memory=memory))) == (None, None)


def test_a_limit_alone_is_a_request_of_the_same_size_and_stays() -> None:
    assert cpu_of(after(a_pod().asking("1Gi").with_cpu(None, "2"), known())) == (SIZED, "2")


def test_a_request_is_never_above_its_limit() -> None:
    pod = BURSTABLE.with_cpu("100m", "250m")
    assert cpu_of(after(pod, known())) == ("250m", "250m")


def test_the_same_cpu_in_other_words_is_not_patched() -> None:
    pod = a_pod().asking("4Gi").with_cpu("600m")
    patch = size(pod.built(), state_of(known())).patch
    assert [operation["path"] for operation in patch] == ["/metadata/annotations"]


def test_cpu_set_for_the_whole_pod_is_left_alone() -> None:
    pod = BURSTABLE.with_spec(resources={"requests": {"cpu": "8"}})
    assert "cpu" not in decision_of(after(pod, known()))


def test_cpu_that_cannot_be_read_is_left_to_the_api_server() -> None:
    pod = after(BURSTABLE.with_cpu("much"), known(memory=Mode.ENFORCE))
    assert cpu_of(pod) == ("much", None)
    assert memory_of(pod) == (FITS, FITS)


def test_the_namespaces_limit_range_and_quota_hold_back_a_raise() -> None:
    limit_range = {"spec": {"limits": [{"type": "Container", "max": {"cpu": "300m"}}]}}
    quota = {"spec": {"hard": {"requests.cpu": "1"}}, "status": {"used": {"requests.cpu": "800m"}}}
    pod = BURSTABLE.with_cpu("50m")
    for limit_ranges, quotas, expected in (
        ([limit_range], [], "300m"),
        ([], [quota], "50m"),
        ([], [], SIZED),
    ):
        state = state_of(known())
        state.namespaces["shop"] = NamespaceState(
            None, state.namespace("shop").bounds, {}, read_namespace(limit_ranges, quotas, CPU)
        )
        assert cpu_of(pod.patched(size(pod.built(), state).patch)) == (expected, None)


def test_a_pod_without_a_request_that_may_not_be_raised_gets_none() -> None:
    put = BURSTABLE_WITHOUT.with_spec(nodeName="node-1")
    pod = after(put, known())
    assert cpu_of(pod) == (None, None)
    cpu = decision_of(pod)["cpu"]
    assert (cpu["request"], cpu["reason"]) == (None, "left")
    assert cpu_of(after(BURSTABLE_WITHOUT, known())) == (SIZED, None)


def test_a_raise_leaves_a_node_some_room() -> None:
    state = state_of(known())
    state.nodes = nodes_of(a_node(cpu="500m"))
    pod = BURSTABLE.with_cpu("50m")
    assert cpu_of(pod.patched(size(pod.built(), state).patch)) == ("450m", None)


PODS = [
    pytest.param(a_pod(), id="BestEffort"),
    pytest.param(a_pod().asking("4Gi"), id="memory alone"),
    pytest.param(a_pod().with_cpu("2"), id="CPU alone"),
    pytest.param(a_pod().with_cpu(None, "2"), id="a CPU limit alone"),
    pytest.param(a_pod().limited("4Gi"), id="a memory limit alone"),
    pytest.param(BURSTABLE, id="Burstable"),
    pytest.param(BURSTABLE.with_cpu("100m", "250m"), id="raised to its limit"),
    pytest.param(a_pod().asking("4Gi").limited("4Gi").with_cpu("4", "4"), id="Guaranteed"),
    pytest.param(a_pod().asking("4Gi").limited("8Gi").with_cpu("4", "4"), id="nearly so"),
    pytest.param(
        a_pod().asking("1Gi").limited("1Gi").with_cpu("100m", "200m"), id="raised until nearly so"
    ),
    pytest.param(BURSTABLE.with_cpu("600m"), id="right already"),
    pytest.param(BURSTABLE.annotated({labels.CPU_MODE: "maybe"}), id="an unknown mode"),
    pytest.param(
        BURSTABLE.with_container("side", resources={"requests": {"cpu": "1"}}), id="two containers"
    ),
]


@pytest.mark.parametrize("memory", [Mode.RECOMMEND, Mode.ENFORCE])
@pytest.mark.parametrize("cpu", Mode)
@pytest.mark.parametrize("limits", Limits)
@pytest.mark.parametrize("pod", PODS)
def test_whatever_the_pod_a_second_look_changes_nothing(
    pod: APod, limits: Limits, cpu: Mode, memory: Mode
) -> None:
    knowledge = known(cpu, memory=memory, limits=limits)
    once = after(pod, knowledge)
    assert size(once.built(), state_of(knowledge)).patch == []


@pytest.mark.parametrize("pod", PODS)
def test_sizing_cpu_alone_never_changes_the_pods_class(pod: APod) -> None:
    sized = after(pod, known())
    assert qos_of(sized.built()) is qos_of(pod.built())


@pytest.mark.parametrize("pod", PODS)
def test_what_the_user_asked_for_is_found_again_after_sizing(pod: APod) -> None:
    def asked(one: APod) -> float | None:
        reading = read_pod(one.built(), lambda _: known())
        assert reading is not None
        return reading.attempt.request_cores

    assert asked(after(pod, known(memory=Mode.ENFORCE))) == asked(pod)


def test_an_observation_keeps_what_was_asked_and_what_was_given() -> None:
    reading = read_pod(after(BURSTABLE, known()).built(), lambda _: known())
    assert reading is not None
    assert (reading.attempt.request_cores, reading.attempt.allocated_cores) == (4.0, 0.6)


def test_a_pod_that_exists_is_not_sized_again_and_keeps_what_was_written() -> None:
    pod = after(BURSTABLE, known()).built()
    pod["metadata"]["resourceVersion"] = "7"
    learned = replace(known(), cpu=replace(USE, high_cores=3.0))
    sized = size(pod, state_of(learned))
    assert sized.note is not None
    assert sized.note.cpu == read_note(pod).cpu  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "damage",
    [
        {"request": "much"},
        {"mode": "sometimes"},
        {"reason": 3},
        {"why": None},
        {"was": -1},
        {"request": ["600m"]},
    ],
)
def test_a_forged_note_is_none_of_ours(damage: dict[str, object]) -> None:
    pod = after(BURSTABLE, known())
    decision = decision_of(pod)
    decision["cpu"].update(damage)
    forged = pod.annotated({labels.DECISION: json.dumps(decision)}).built()
    assert read_note(forged) is None


_QUANTITIES = st.none() | st.sampled_from(["0", "10m", "100m", "0.5", "600m", "1", "2", "64"])


@pytest.mark.slow
@given(request=_QUANTITIES, limit=_QUANTITIES, high=st.floats(0, 100), cpu=st.sampled_from(Mode))
def test_no_patch_touches_a_limit_or_passes_it(
    request: str | None, limit: str | None, high: float, cpu: Mode
) -> None:
    if request and limit and parse_millicores(request) > parse_millicores(limit):
        return  # the API server refuses such a pod
    pod = a_pod().asking("1Gi").with_cpu(request, limit)
    body = copy.deepcopy(pod.built())
    knowledge = replace(known(cpu), cpu=replace(USE, high_cores=high))
    sized = after(pod, knowledge)
    assert pod.built() == body
    now_request, now_limit = cpu_of(sized)
    assert now_limit == limit
    if now_limit is not None and now_request is not None:
        assert parse_millicores(now_request) <= parse_millicores(now_limit)


def test_an_unknown_task_says_nothing_of_cpu() -> None:
    state = AdmissionState(default_policy=Policy(mode=Mode.ENFORCE))
    assert "cpu" not in decision_of(BURSTABLE.patched(size(BURSTABLE.built(), state).patch))
    assert TRAIN not in state.tasks
