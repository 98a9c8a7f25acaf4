"""A CPU limit that another webhook writes after Plimsoll: the request never stays above it."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest

from plimsoll_operator.names.quantity import parse_millicores
from plimsoll_operator.pods.spec import Qos, qos_of
from plimsoll_operator.sizing.bounds.namespaces import read_namespace
from plimsoll_operator.sizing.bounds.quotas import CPU
from plimsoll_operator.sizing.decision_note import CpuNote, read_note
from plimsoll_operator.sizing.pod_sizing import size
from plimsoll_operator.sizing.state import AdmissionState, NamespaceState
from plimsoll_predictor.core.cpu import CpuUse
from plimsoll_predictor.core.policy import CpuPolicy, Mode
from plimsoll_predictor.deciding.cpu import CpuReason
from tests.builders.kubernetes.webhooks import Change, Hook, Json, admitted, sized_by
from tests.builders.pods import APod, a_pod, cpu_of
from tests.rigs.servers.admission_servers import knowledge_of

EQUAL = a_pod().owned_by_job(attempts=7).asking("2Gi").limited("2Gi")
SIZED = "600m"


def using(cores: float, memory: Mode = Mode.ENFORCE) -> AdmissionState:
    """Knowledge by which a pod requests 1.2 times as many cores."""
    known = knowledge_of()
    policy = replace(known.policy, mode=memory, cpu=CpuPolicy(mode=Mode.ENFORCE))
    known = replace(known, policy=policy, cpu=CpuUse(runs=20, high_cores=cores))
    return AdmissionState(tasks={known.task: known})


def limiting_cpu(limit: str) -> Change:
    """Write a CPU limit, as a policy of defaults or a governor of resources does."""

    def change(pod: Json) -> Json:
        resources = pod["spec"]["containers"][0].setdefault("resources", {})
        resources.setdefault("limits", {})["cpu"] = limit
        return pod

    return change


def removing_memory(pod: Json) -> Json:
    resources = pod["spec"]["containers"][0].get("resources") or {}
    for kind in ("requests", "limits"):
        resources.get(kind, {}).pop("memory", None)
    return pod


def cpu_note(pod: APod) -> CpuNote:
    note = read_note(pod.built())
    assert note is not None
    assert note.cpu is not None
    return note.cpu


@pytest.mark.parametrize("memory", [Mode.ENFORCE, Mode.RECOMMEND])
@pytest.mark.parametrize("limit", ["100m", "500m", "600m", "2"])
@pytest.mark.parametrize("request_cpu", [None, "50m", "400m", "700m", "4"])
@pytest.mark.parametrize("cores", [0.05, 0.5, 1.5])
def test_a_limit_written_after_plimsoll_gives_the_pod_that_it_gives_without_plimsoll(
    cores: float, request_cpu: str | None, limit: str, memory: Mode
) -> None:
    pod, other = EQUAL.with_cpu(request_cpu), Hook(limiting_cpu(limit))
    without, _ = admitted(pod, [other])
    found, asked = admitted(pod, [Hook(sized_by(using(cores, memory), "shop")), other])
    assert asked[:2] == [0, 1]
    request, _ = cpu_of(found)
    assert request is not None
    if parse_millicores(cpu_of(without)[0]) <= parse_millicores(limit):
        assert parse_millicores(request) <= parse_millicores(limit)
        # Where nothing was written, the pod is of its author's class if the limit has room.
        as_sized = request_cpu is None and parse_millicores(request) < parse_millicores(limit)
        assert qos_of(found.built()) is (Qos.BURSTABLE if as_sized else qos_of(without.built()))
    if cpu_note(found).request_millicores is not None:
        assert cpu_note(found).request_millicores == parse_millicores(request)


def test_a_guaranteed_pod_requests_its_new_limit_and_says_so() -> None:
    ours = Hook(sized_by(using(0.5), "shop"))
    found, _ = admitted(EQUAL, [ours, Hook(limiting_cpu("100m"))])
    assert cpu_of(found) == ("100m", "100m")
    note = cpu_note(found)
    assert (note.request_millicores, note.was_millicores) == (100, None)
    assert note.reason is CpuReason.LEFT
    assert "its CPU request equals its limit" in note.why


@pytest.mark.parametrize("memory", [Mode.ENFORCE, Mode.RECOMMEND])
@pytest.mark.parametrize("limit", ["2", "16"])
def test_a_request_where_none_was_written_is_not_raised_to_a_later_limit(
    limit: str, memory: Mode
) -> None:
    """Such a webhook writes a small request beside its limit, unless there is one already."""

    def defaults(pod: Json) -> Json:
        resources = pod["spec"]["containers"][0].setdefault("resources", {})
        resources.setdefault("requests", {}).setdefault("cpu", "100m")
        resources.setdefault("limits", {}).setdefault("cpu", limit)
        return pod

    ours = Hook(sized_by(using(0.5, memory), "shop"))
    found, asked = admitted(EQUAL, [ours, Hook(defaults)])
    assert asked[:3] == [0, 1, 0]
    assert cpu_of(found) == (SIZED, limit)
    assert (cpu_note(found).was_millicores, cpu_note(found).request_millicores) == (None, 600)
    assert cpu_note(found).why == "another webhook wrote a CPU limit after the request, which stays"


@pytest.mark.parametrize("memory", [Mode.ENFORCE, Mode.RECOMMEND])
@pytest.mark.parametrize("kind", ["Container", "Pod"])
def test_where_none_was_written_the_request_is_what_a_ratio_demands_of_a_later_limit(
    kind: str, memory: Mode
) -> None:
    state = using(0.5, memory)
    ratio = {"spec": {"limits": [{"type": kind, "maxLimitRequestRatio": {"cpu": "4"}}]}}
    cpu = read_namespace([ratio], [], CPU)
    state.namespaces["shop"] = NamespaceState(None, read_namespace([ratio], []), cpu=cpu)
    found, _ = admitted(EQUAL, [Hook(sized_by(state, "shop")), Hook(limiting_cpu("16"))])
    assert cpu_of(found) == ("4", "16")


@pytest.mark.parametrize("memory", [Mode.ENFORCE, Mode.RECOMMEND])
@pytest.mark.parametrize("request_cpu", ["700m", "1", "4"])
def test_a_limit_made_from_plimsolls_request_is_not_exceeded(
    request_cpu: str, memory: Mode
) -> None:
    """Such a webhook writes a limit like the request that it sees, where none is."""

    def as_requested(pod: Json) -> Json:
        resources = pod["spec"]["containers"][0]["resources"]
        resources["limits"].setdefault("cpu", resources["requests"]["cpu"])
        return pod

    ours = Hook(sized_by(using(0.5, memory), "shop"))
    found, _ = admitted(EQUAL.with_cpu(request_cpu), [ours, Hook(as_requested)])
    assert cpu_of(found) == (SIZED, SIZED)


def test_a_request_that_would_now_make_the_pod_guaranteed_is_as_it_was_written() -> None:
    ours = Hook(sized_by(using(0.5), "shop"))
    found, _ = admitted(EQUAL.with_cpu("400m"), [ours, Hook(limiting_cpu("500m"))])
    assert cpu_of(found) == ("400m", "500m")
    assert qos_of(found.built()) is Qos.BURSTABLE


def test_a_pod_that_lost_its_memory_is_best_effort_as_without_plimsoll() -> None:
    ours = Hook(sized_by(using(0.5, Mode.RECOMMEND), "shop"))
    found, _ = admitted(EQUAL, [ours, Hook(removing_memory)])
    assert qos_of(found.built()) is Qos.BEST_EFFORT


def test_a_request_that_is_not_plimsolls_stays() -> None:
    ours, state = Hook(sized_by(using(0.5), "shop")), using(0.5)
    sized, _ = admitted(EQUAL, [ours])
    assert cpu_of(sized) == (SIZED, None)
    changed = APod(limiting_cpu("1")(copy.deepcopy(sized.built()))).with_cpu("1", "1")
    assert cpu_of(changed.patched(size(changed.built(), state).patch)) == ("1", "1")


def test_a_further_look_changes_nothing() -> None:
    for limit in ("100m", "2"):
        state = using(0.5)
        found, _ = admitted(EQUAL, [Hook(sized_by(state, "shop")), Hook(limiting_cpu(limit))])
        assert size(found.built(), state, "shop").patch == []
