"""Other people's mutating webhooks, and the order in which the API server asks all of them.

A webhook is a function of a pod, as JSON. These do what Kyverno's policies, a namespace's defaults,
injectors and VerticalPodAutoscalers do. ``admitted`` asks them as the API server does; the tests on
a real one show that it does so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jsonpatch

from plimsoll_operator.names.quantity import format_bytes, parse_bytes
from plimsoll_operator.sizing.pod_sizing import size
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_predictor.core.units import GIB, MIB
from tests.builders.json_copies import json_copy
from tests.builders.pods import APod, a_pod

Json = dict[str, Any]
Change = Callable[[Json], Json]


@dataclass(frozen=True, slots=True)
class Hook:
    """One webhook. again: its reinvocationPolicy is IfNeeded, not Never."""

    change: Change
    again: bool = True


def admitted(pod: APod, hooks: Sequence[Hook]) -> tuple[APod, list[int]]:
    """The pod after all webhooks, in this order, and which of them were asked, one after another.

    Each is asked once. If one changes the pod, those asked before it that want it are asked once
    more, in a second round. A change in that round does the same for those that still follow.
    """
    now, asked = defaulted(pod.received().built()), list[int]()
    before: set[int] = set()
    due = set(range(len(hooks)))
    for _ in range(2):
        again: set[int] = set()
        for number, hook in enumerate(hooks):
            if number not in due:
                continue
            asked.append(number)
            changed = defaulted(hook.change(json_copy(now)))
            if changed != now:
                again |= before
                due |= before
                before = set()
            now = changed
            if hook.again:
                before.add(number)
        due = again
        if not due:
            break
    return APod(now), asked


def defaulted(pod: Json) -> Json:
    """Write what the API server writes before and after each webhook: a limit is a request, too."""
    for container in pod["spec"]["containers"]:
        resources = container.get("resources") or {}
        for name, limit in resources.get("limits", {}).items():
            resources.setdefault("requests", {}).setdefault(name, limit)
    return pod


def memory(pod: Json, index: int = 0) -> tuple[int | None, int | None]:
    """Request and limit of a container, in bytes."""
    resources = pod["spec"]["containers"][index].get("resources") or {}
    found = [resources.get(kind, {}).get("memory") for kind in ("requests", "limits")]
    request, limit = (None if each is None else parse_bytes(each) for each in found)
    return request, limit


def with_memory(pod: Json, request: int | None, limit: int | None, index: int = 0) -> Json:
    """The pod with another memory in a container; None removes it."""
    resources = pod["spec"]["containers"][index].setdefault("resources", {})
    for kind, size_bytes in (("requests", request), ("limits", limit)):
        if size_bytes is not None:
            resources.setdefault(kind, {})["memory"] = format_bytes(size_bytes)
        elif "memory" in resources.get(kind, {}):
            del resources[kind]["memory"]
    return pod


def filling(request: int, limit: int | None) -> Change:
    """Write values that nobody has written, as a policy of defaults does."""

    def change(pod: Json) -> Json:
        now = memory(pod)
        asked = request if now[0] is None and now[1] is None else now[0]
        return with_memory(pod, asked, limit if now[1] is None else now[1])

    return change


def setting(request: int, limit: int | None) -> Change:
    """Always write the same memory, as a policy of fixed sizes does."""
    return lambda pod: with_memory(pod, request, limit)


def limiting(ratio: int) -> Change:
    """Write a limit of that many requests, where there is a request."""

    def change(pod: Json) -> Json:
        request, limit = memory(pod)
        return with_memory(pod, request, limit if request is None else request * ratio)

    return change


def capping(most: int) -> Change:
    """Cut request and limit to at most that much."""

    def change(pod: Json) -> Json:
        request, limit = (None if each is None else min(each, most) for each in memory(pod))
        return with_memory(pod, request, limit)

    return change


def autoscaling(request: int, *, limits: bool = True, name: str = "vpa") -> Change:
    """Do what a VerticalPodAutoscaler's webhook does to the first container.

    limits: the limit keeps its ratio to the request, or else the request is cut to the limit.
    """

    def change(pod: Json) -> Json:
        asked, limit = memory(pod)
        asked = limit if asked is None else asked
        said = f"Pod resources updated by {name}: container 0: memory request"
        if limits and limit and asked:
            changed = with_memory(pod, request, request * limit // asked)
            said += ", memory limit"
        else:
            changed = with_memory(pod, min(request, limit or request), limit)
        changed["metadata"].setdefault("annotations", {})["vpaUpdates"] = said
        return changed

    return change


def prepending(name: str = "proxy") -> Change:
    """Put a container before all others, as some injectors of proxies do."""

    def change(pod: Json) -> Json:
        containers = pod["spec"]["containers"]
        if all(each["name"] != name for each in containers):
            resources = {"requests": {"memory": "64Mi"}, "limits": {"memory": "128Mi"}}
            image = containers[0]["image"]
            containers.insert(0, {"name": name, "image": image, "resources": resources})
        return pod

    return change


def sized_by(state: AdmissionState, namespace: str) -> Change:
    """Do what Plimsoll does with the knowledge of ``state``."""

    def change(pod: Json) -> Json:
        changed: Json = jsonpatch.apply_patch(pod, size(pod, state, namespace).patch)
        return changed

    return change


OTHERS: dict[str, Change] = {
    "defaults": filling(512 * MIB, GIB),
    "a default request": filling(512 * MIB, None),
    "large defaults": filling(4 * GIB, 4 * GIB),
    "small sizes for all": setting(256 * MIB, 256 * MIB),
    "large sizes for all": setting(4 * GIB, 6 * GIB),
    "requests for all": setting(3 * GIB, None),
    "limits of two requests": limiting(2),
    "at most 1.5Gi": capping(3 * GIB // 2),
    "an autoscaler": autoscaling(3 * GIB),
    "an autoscaler of requests": autoscaling(3 * GIB, limits=False),
    "an autoscaler that lowers": autoscaling(300 * MIB),
    "a proxy before it": prepending(),
}
PODS: dict[str, APod] = {
    "nothing": a_pod(),
    "a request": a_pod().asking("2Gi"),
    "a small request": a_pod().asking("256Mi"),
    "a limit": a_pod().limited("2Gi"),
    "equal ones": a_pod().asking("2Gi").limited("2Gi"),
    "a higher limit": a_pod().asking("1Gi").limited("4Gi"),
    "Guaranteed": a_pod().asking("2Gi").limited("2Gi").with_cpu("1", "1"),
    "nearly Guaranteed": a_pod().asking("2Gi").limited("3Gi").with_cpu("1", "1"),
    "CPU only": a_pod().with_cpu("1"),
    "CPU and its limit": a_pod().with_cpu("1", "1"),
    "one attempt": a_pod().asking("2Gi").with_spec(activeDeadlineSeconds=60),
    "one attempt, limited": a_pod().asking("2Gi").limited("3Gi").with_spec(activeDeadlineSeconds=9),
}


AS_A_JOB = {"resource": {"group": "batch", "version": "v1", "resource": "jobs"}}
