"""Plimsoll among other mutating webhooks, in every order: its decision on a pod is true."""

from __future__ import annotations

from dataclasses import replace

import pytest

from plimsoll_operator.pods.spec import qos_of
from plimsoll_operator.sizing.bounds.namespaces import read_namespace
from plimsoll_operator.sizing.decision_note import read_note
from plimsoll_operator.sizing.state import UNBOUNDED_NAMESPACE, AdmissionState
from plimsoll_predictor.core.decision import Reason
from plimsoll_predictor.core.policy import Limits, Mode
from plimsoll_predictor.core.units import GIB, MIB
from tests.builders.kubernetes.webhooks import (
    OTHERS,
    PODS,
    Change,
    Hook,
    Json,
    admitted,
    memory,
    prepending,
    sized_by,
)
from tests.builders.nodes import a_node, nodes_of
from tests.builders.pods import APod
from tests.rigs.servers.admission_servers import knowledge_of


def plimsoll(need_bytes: int, limits: Limits) -> Hook:
    known = knowledge_of(max_need_bytes=need_bytes, limits=limits)
    return Hook(sized_by(AdmissionState(tasks={known.task: known}), "shop"))


def is_valid(pod: APod) -> bool:
    request, limit = memory(pod.built(), _main(pod))
    return limit is None or request is None or request <= limit


def _main(pod: APod) -> int:
    return [each["name"] for each in pod.built()["spec"]["containers"]].index("main")


def check(pod: APod, other: Hook, ours: Hook, *, first: bool) -> None:
    """In any order the pod is as good as without Plimsoll, and its decision is true."""
    without, _ = admitted(pod, [other])
    hooks = [ours, other] if first else [other, ours]
    found, asked = admitted(pod, hooks)

    assert asked.count(hooks.index(ours)) <= 2
    assert is_valid(found) or not is_valid(without), "it would be refused"
    # Plimsoll need not keep a class that another webhook changes.
    classes = {qos_of(pod.built()), qos_of(without.built())}
    assert qos_of(found.built()) in classes, "another class"
    note, (request, limit) = read_note(found.built()), memory(found.built(), _main(found))
    assert note is not None
    assert note.container == "main"
    if note.mode is Mode.ENFORCE and note.allocation_bytes is not None:
        assert note.allocation_bytes == (limit if request is None else request), "a false claim"
    if note.reason is Reason.LEFT:
        written, given = memory(pod.built()), memory(without.built(), _main(without))
        # An autoscaler may have cut its size to a limit of Plimsoll's; then it is the author's.
        assert (request or 0) >= min(given[0] or 0, written[0] or 0)


@pytest.mark.parametrize("again", [True, False], ids=["asked again", "asked once"])
@pytest.mark.parametrize("first", [True, False], ids=["Plimsoll first", "Plimsoll second"])
@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("pod", PODS)
def test_what_is_said_of_a_pod_is_what_it_has(
    pod: str, other: str, first: bool, again: bool
) -> None:
    for need_bytes in (100 * MIB, GIB, 3 * GIB):
        for limits in Limits:
            ours = plimsoll(need_bytes, limits)
            check(PODS[pod], Hook(OTHERS[other], again), ours, first=first)


def labelling(pod: Json) -> Json:
    pod["metadata"].setdefault("labels", {})["team"] = "shop"
    return pod


def appending(pod: Json) -> Json:
    containers = pod["spec"]["containers"]
    if all(each["name"] != "proxy" for each in containers):
        containers.append({"name": "proxy", "image": containers[0]["image"]})
    return pod


def held_back() -> dict[str, AdmissionState]:
    """States in which a pod that needs 3Gi is often left as its author wrote it."""
    known, capped = (
        knowledge_of(max_need_bytes=3 * GIB, max_bytes=most) for most in (None, 1500 * MIB)
    )
    quota = {"spec": {"hard": {"requests.memory": "2500Mi", "limits.memory": "4500Mi"}}}
    bounded = replace(UNBOUNDED_NAMESPACE, bounds=read_namespace([], [quota]))
    tasks = {known.task: known}
    return {
        "a quota": AdmissionState(tasks=tasks, namespaces={"shop": bounded}),
        "a max": AdmissionState(tasks={capped.task: capped}),
        "a small node": AdmissionState(tasks=tasks, nodes=nodes_of(a_node("2500Mi"))),
    }


@pytest.mark.parametrize(
    "change", [labelling, appending, prepending()], ids=["label", "after", "before"]
)
@pytest.mark.parametrize("held", held_back())
@pytest.mark.parametrize("pod", PODS)
def test_a_webhook_that_changes_no_memory_is_not_said_to_set_it(
    pod: str, held: str, change: Change
) -> None:
    ours = Hook(sized_by(held_back()[held], "shop"))
    found, asked = admitted(PODS[pod], [ours, Hook(change)])
    assert asked[:3] == [0, 1, 0]
    note = read_note(found.built())
    assert note is not None
    assert note.reason is not Reason.LEFT
    assert note.mode is Mode.ENFORCE


@pytest.mark.parametrize("held", held_back())
def test_each_of_these_leaves_a_pod_as_it_was_written(held: str) -> None:
    found, _ = admitted(PODS["a request"], [Hook(sized_by(held_back()[held], "shop"))])
    note = read_note(found.built())
    assert note is not None
    assert note.allocation_bytes is None
    assert memory(found.built()) == memory(PODS["a request"].built())
