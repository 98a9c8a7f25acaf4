"""No size changes a pod's quality-of-service class, and none gains or loses exclusive CPUs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_operator.attempts.retry_pod import NextAttempt, next_attempt
from plimsoll_operator.names.quantity import parse_bytes, parse_millicores
from plimsoll_operator.pods.spec import Qos, qos_of
from plimsoll_operator.sizing.bounds.namespaces import read_namespace
from plimsoll_operator.sizing.pod_sizing import size
from plimsoll_operator.sizing.state import AdmissionState, NamespaceState
from plimsoll_predictor.core.cpu import CpuUse
from plimsoll_predictor.core.policy import CpuPolicy, Limits, Mode, Policy
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.knowledge.knowledge import Knowledge, Lift
from tests.builders.pods import APod, a_pod, cpu_of, decision_of, memory_of
from tests.rigs.servers.admission_servers import knowledge_of

FITS = "1127Mi"
NEARLY = a_pod().asking("2Gi").limited("4Gi").with_cpu("2", "2")
"""Equal CPU: with equal memory it would be Guaranteed, and have two processors of its own."""


def known(limits: Limits = Limits.EQUAL, high_cores: float = 0.5) -> Knowledge:
    task = knowledge_of(limits=limits)
    policy = replace(task.policy, cpu=CpuPolicy(mode=Mode.ENFORCE))
    return replace(task, policy=policy, cpu=CpuUse(runs=64, high_cores=high_cores))


def state_of(task: Knowledge) -> AdmissionState:
    return AdmissionState(default_policy=Policy(mode=Mode.ENFORCE), tasks={task.task: task})


def after(pod: APod, task: Knowledge | None = None) -> APod:
    return pod.patched(size(pod.built(), state_of(task or known())).patch)


def class_by_kubernetes(pod: dict[str, Any]) -> Qos:
    """ComputePodQOS of kubernetes/pkg/apis/core/v1/helper/qos, from amounts summed over the pod."""
    parsers = {"cpu": parse_millicores, "memory": parse_bytes}
    containers = [*pod["spec"]["containers"], *pod["spec"].get("initContainers", [])]
    whole = pod["spec"].get("resources") or {}
    summed: dict[str, dict[str, float]] = {"requests": {}, "limits": {}}
    guaranteed = True
    for resources in [whole] if whole else [c.get("resources") or {} for c in containers]:
        limits = resources.get("limits") or {}
        requests = {**limits, **(resources.get("requests") or {})}  # as the API server defaults it
        for kind, amounts in (("requests", requests), ("limits", limits)):
            for of, amount in amounts.items():
                if of in parsers and parsers[of](amount) > 0:
                    summed[kind][of] = summed[kind].get(of, 0) + parsers[of](amount)
        guaranteed &= {of for of in limits if of in parsers and parsers[of](limits[of]) > 0} == {
            *parsers
        }
    if not summed["requests"] and not summed["limits"]:
        return Qos.BEST_EFFORT
    same = guaranteed and summed["requests"] == summed["limits"]
    return Qos.GUARANTEED if same else Qos.BURSTABLE


def test_a_burstable_pod_with_equal_cpu_keeps_its_limit_and_stays_burstable() -> None:
    pod = after(NEARLY)
    assert memory_of(pod) == (FITS, "4Gi")
    assert "would become Guaranteed" in decision_of(pod)["why"]
    assert after(pod).built() == pod.built()


def test_one_without_a_limit_gets_none() -> None:
    assert memory_of(after(a_pod().asking("2Gi").with_cpu("2", "2"))) == (FITS, None)


def test_one_that_is_raised_to_its_limit_or_above_asks_for_a_little_less() -> None:
    """Its limit is not raised instead: it may be the most that a LimitRange allows."""
    pod = after(a_pod().asking("64Mi").limited("256Mi").with_cpu("2", "2"))
    assert memory_of(pod) == ("1126Mi", FITS)
    assert decision_of(pod)["allocation"] == "1126Mi"
    assert after(pod).built() == pod.built()


@pytest.mark.parametrize(
    ("limit_range", "sized"),
    [
        pytest.param({"max": {"memory": "4Gi"}}, ("1127Mi", "4Gi"), id="its largest limit"),
        pytest.param(
            {"maxLimitRequestRatio": {"memory": "2"}}, ("2Gi", "4Gi"), id="its largest ratio"
        ),
    ],
)
def test_the_kept_limit_is_within_the_namespaces_limit_range(
    limit_range: dict[str, Any], sized: tuple[str, str]
) -> None:
    """The API server refuses a pod that is not, and the pod as written was within."""
    state = state_of(known())
    bounds = read_namespace([{"spec": {"limits": [{"type": "Container", **limit_range}]}}], [])
    state.namespaces["shop"] = NamespaceState(None, bounds)
    assert memory_of(NEARLY.patched(size(NEARLY.built(), state).patch)) == sized


@pytest.mark.parametrize("limits", Limits)
def test_a_guaranteed_pod_keeps_its_cpus_and_an_equal_limit(limits: Limits) -> None:
    pod = after(a_pod().asking("4Gi").limited("4Gi").with_cpu("2", "2"), known(limits))
    assert memory_of(pod) == (FITS, FITS)
    assert cpu_of(pod) == ("2", "2")
    assert qos_of(pod.built()) is Qos.GUARANTEED


def test_cpu_raised_to_its_limit_does_not_make_a_pod_guaranteed() -> None:
    pod = after(a_pod().asking("4Gi").limited("4Gi").with_cpu("1", "2"), known(high_cores=5.0))
    assert memory_of(pod) == (FITS, FITS)
    assert cpu_of(pod) == ("1", "2")
    assert decision_of(pod)["cpu"]["reason"] == "left"


def test_a_besteffort_pod_gets_neither_memory_nor_cpu() -> None:
    pod = after(a_pod())
    assert (memory_of(pod), cpu_of(pod)) == ((None, None), (None, None))


def test_any_request_of_its_own_lets_a_pod_be_sized() -> None:
    assert memory_of(after(a_pod().asking("1Mi"))) == (FITS, FITS)
    assert memory_of(after(a_pod().with_cpu("10m"))) == (FITS, FITS)


def test_where_resources_are_set_for_the_whole_pod_these_alone_are_its_class() -> None:
    cpu = {"limits": {"cpu": "2"}, "requests": {"cpu": "2"}}
    pod = a_pod().asking("2Gi").with_cpu("1", "1").with_spec(resources=cpu)
    assert qos_of(pod.built()) is Qos.BURSTABLE
    whole = a_pod().with_spec(resources={"limits": {"cpu": "2", "memory": "4Gi"}})
    assert qos_of(whole.built()) is Qos.GUARANTEED


def test_a_retry_that_plimsoll_makes_keeps_the_class_without_admission() -> None:
    pod = NEARLY.named("train-1")
    following = NextAttempt("train-2", "main", 8 * GIB, "{}")
    made = next_attempt(pod.built(), following)
    assert qos_of(made) is Qos.BURSTABLE
    assert memory_of(APod(made)) == ("8Gi", "8193Mi")
    guaranteed = pod.asking("4Gi").built()
    assert qos_of(next_attempt(guaranteed, following)) is Qos.GUARANTEED


_MEMORY = st.none() | st.sampled_from(["0", "1Mi", "64Mi", "1127Mi", "1Gi", "1024Mi", "2Gi", "8Gi"])
_CPU = st.none() | st.sampled_from(["0", "100m", "500m", "0.5", "600m", "1", "1000m", "2", "2000m"])


@st.composite
def _resources(draw: st.DrawFn) -> dict[str, Any]:
    """One container's resources. The API server refuses a request above its limit."""
    found: dict[str, Any] = {"requests": {}, "limits": {}}
    for of, amounts, parse in (("memory", _MEMORY, parse_bytes), ("cpu", _CPU, parse_millicores)):
        request, limit = draw(amounts), draw(amounts)
        if draw(st.booleans()):
            request = limit
        if request is not None and limit is not None and parse(request) > parse(limit):
            request, limit = limit, request
        for kind, amount in (("requests", request), ("limits", limit)):
            if amount is not None:
                found[kind][of] = amount
    return {kind: amounts for kind, amounts in found.items() if amounts}


@st.composite
def _pods(draw: st.DrawFn) -> APod:
    containers = [
        {"name": f"c{number}", "image": "x", "resources": draw(_resources())}
        for number in range(draw(st.integers(1, 3)))
    ]
    pod = a_pod().with_spec(containers=containers)
    if draw(st.booleans()):
        pod = pod.with_init_container("first", resources=draw(_resources()))
    if draw(st.integers(0, 4)) == 0:
        amount = draw(st.sampled_from(["1", "2"]))
        pod = pod.with_spec(resources={"requests": {"cpu": amount}, "limits": {"cpu": amount}})
    return pod.owned_by_job(attempts=draw(st.sampled_from([None, 1, 7])))


def _lifted(task: Knowledge, pod: APod) -> Knowledge:
    uid = pod.built()["metadata"]["ownerReferences"][0]["uid"]
    lift = Lift(allocation_bytes=3 * GIB, attempt=2, after_bytes=GIB)
    return replace(task, lifts={f"job:{uid}": lift})


@pytest.mark.slow
@given(
    pod=_pods(),
    limits=st.sampled_from(Limits),
    need_mib=st.sampled_from([1, 63, 930, 1024, 2000, 9000]),
    high_cores=st.sampled_from([0.01, 0.5, 0.9, 5.0]),
    lifted=st.booleans(),
)
def test_the_class_after_any_answer_is_the_class_as_written(
    pod: APod, limits: Limits, need_mib: int, high_cores: float, lifted: bool
) -> None:
    task = replace(known(limits, high_cores), max_need_bytes=need_mib * MIB)
    sized = after(pod, _lifted(task, pod) if lifted else task)
    written = class_by_kubernetes(pod.built())
    assert qos_of(pod.built()) is written
    assert class_by_kubernetes(sized.built()) is written
    if written is Qos.GUARANTEED:
        for container in pod.built()["spec"]["containers"]:
            assert cpu_of(sized, container["name"]) == cpu_of(pod, container["name"])
    again = size(sized.built(), state_of(_lifted(task, pod) if lifted else task))
    assert class_by_kubernetes(sized.patched(again.patch).built()) is written
