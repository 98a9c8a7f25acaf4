"""Plimsoll among other mutating webhooks, in every order: its decision on a pod is true."""

from __future__ import annotations

import pytest

from plimsoll_operator.pods.spec import qos_of
from plimsoll_operator.sizing.decision_note import read_note
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.decision import Reason
from plimsoll_predictor.core.policy import Limits, Mode
from plimsoll_predictor.core.units import GIB, MIB
from tests.builders.kubernetes.webhooks import OTHERS, PODS, Hook, admitted, memory, sized_by
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
