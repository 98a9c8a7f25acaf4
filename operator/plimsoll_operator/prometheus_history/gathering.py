"""One window of time, asked about: what it tells goes into the pods of the past."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

from plimsoll_operator.attempts.truth_table import NODE_REASONS
from plimsoll_operator.prometheus_history import questions
from plimsoll_operator.prometheus_history.client import Sample
from plimsoll_operator.prometheus_history.past_pods import PastContainer, PastPod
from plimsoll_operator.prometheus_history.questions import Where

MOST_BYTES: Final = 2.0**50
MOST_SECONDS: Final = 2.0**33
"""Times and CPU time beyond are no pod's."""

_POD_IN_CGROUP: Final = re.compile(
    r"pod([0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12})"
)
Pods = dict[str, PastPod]
"""By UID."""


class Asks(Protocol):
    """Answers PromQL as of a moment; see client.py."""

    async def ask(self, promql: str, at_s: float) -> list[Sample]:
        """The answer to an instant query."""


@dataclass(frozen=True, slots=True)
class Window:
    """A part of the past: the seconds before ``end_s``, Unix seconds."""

    end_s: float
    length_s: int

    @property
    def start_s(self) -> float:
        """Its beginning."""
        return self.end_s - self.length_s

    def halves(self) -> tuple[Window, Window]:
        """The earlier and the later half."""
        early_s = self.length_s // 2
        middle_s = self.start_s + early_s
        return Window(middle_s, early_s), Window(self.end_s, self.length_s - early_s)


async def present(client: Asks, window: Window, where: Where) -> Pods:
    """The pods that were there in the window, with what names them."""
    pods: Pods = {}
    for each in await client.ask(questions.known(where, window.length_s), window.end_s):
        uid, owner_kind = each.get("uid"), each.get("created_by_kind")
        if not uid or not each.get("pod") or not each.get("namespace"):
            continue
        pod = pods.setdefault(uid, PastPod(each.get("namespace"), each.get("pod"), uid))
        pod.node = each.get("node") or pod.node
        pod.met_s = window.start_s
        if owner_kind and owner_kind != "<none>":
            pod.owner_kind, pod.owner_name = owner_kind, each.get("created_by_name")
    return pods


async def name(client: Asks, window: Window, where: Where, pods: Pods) -> None:
    """Labels and annotations of pods; where kube-state-metrics may show none, there are none."""
    length_s, end_s = window.length_s, window.end_s
    for each in await client.ask(questions.labelled(where, length_s), end_s):
        if (pod := pods.get(each.get("uid"))) is not None:
            pod.add_labels(each.labels)
    for each in await client.ask(questions.annotated(where, length_s), end_s):
        if (pod := pods.get(each.get("uid"))) is not None:
            pod.add_annotations(each.labels)


async def fill(client: Asks, window: Window, where: Where, pods: Pods) -> None:
    """All that is asked about the pods given: ends, sizes, peaks."""
    length_s, end_s = window.length_s, window.end_s
    narrow = where.narrowed([pod.namespace for pod in pods.values()])
    for metric, take in _OF_PODS.items():
        asked = questions.of_pods(narrow, length_s, metric, by=take.by, only=take.only)
        for each in await client.ask(asked, end_s):
            if (pod := pods.get(each.get("uid"))) is not None:
                take.into(pod, each)
    for metric, put in _OF_CONTAINERS.items():
        asked = questions.of_containers(narrow, length_s, metric, by=put.by)
        for each in await client.ask(asked, end_s):
            if (pod := pods.get(each.get("uid"))) is not None and each.get("container"):
                put.into(pod.container(each.get("container")), each)
    await _fill_measured(client, window, narrow, pods)


async def _fill_measured(client: Asks, window: Window, where: Where, pods: Pods) -> None:
    owners = _ByCgroup(pods.values())
    for metric, take in _OF_CGROUPS.items():
        asked = questions.of_cgroups(where, window.length_s, metric)
        for each in await client.ask(asked, window.end_s):
            if (container := owners.container(each)) is not None:
                take(container, each.value)
    asked = questions.samples_of_cgroups(
        where, window.length_s, "container_memory_working_set_bytes"
    )
    for each in await client.ask(asked, window.end_s):
        if (container := owners.container(each)) is not None:
            container.samples += int(min(each.value, 1e9))


class _ByCgroup:
    """Whose a series of cAdvisor's is: the pod's UID is in its cgroup's path, else its name says.

    Another pod may have had the name in the same window: then only the path tells them apart.
    """

    def __init__(self, pods: Iterable[PastPod]) -> None:
        self._by_uid: dict[str, PastPod] = {}
        self._by_name: dict[tuple[str, str], PastPod | None] = {}
        for pod in pods:
            self._by_uid[pod.uid] = pod
            key = (pod.namespace, pod.name)
            self._by_name[key] = None if key in self._by_name else pod

    def container(self, series: Sample) -> PastContainer | None:
        """The container, if its pod is one of those asked about and has it."""
        found = _POD_IN_CGROUP.search(series.get("id"))
        if found is not None:
            pod = self._by_uid.get(found[1].replace("_", "-"))
        else:
            pod = self._by_name.get((series.get("namespace"), series.get("pod")))
        return None if pod is None else pod.containers.get(series.get("container"))


def _largest(name: str, most: float, target: object, value: float) -> None:
    """Raise one field to a value that makes sense."""
    known = getattr(target, name)
    if 0 <= value <= most and (known is None or value > known):
        setattr(target, name, value)


@dataclass(frozen=True, slots=True)
class _OfPod:
    into: Callable[[PastPod, Sample], None]
    by: str = ""
    only: str = ""


@dataclass(frozen=True, slots=True)
class _OfContainer:
    into: Callable[[PastContainer, Sample], None]
    by: str = ""


def _time(name: str) -> _OfPod:
    return _OfPod(lambda pod, each: _largest(name, MOST_SECONDS, pod, each.value))


def _phase(pod: PastPod, each: Sample) -> None:
    if each.value > 0:
        pod.phase = each.get("phase")


def _reason(pod: PastPod, each: Sample) -> None:
    if each.value > 0:
        pod.reason = each.get("reason")


_OF_PODS: Final[Mapping[str, _OfPod]] = {
    "kube_pod_created": _time("created_s"),
    "kube_pod_start_time": _time("started_s"),
    "kube_pod_completion_time": _time("finished_s"),
    "kube_pod_status_phase": _OfPod(_phase, by="phase", only='phase=~"Succeeded|Failed"'),
    "kube_pod_status_reason": _OfPod(
        _reason, by="reason", only=f'reason=~"{"|".join(sorted(NODE_REASONS))}"'
    ),
}


def _asked(container: PastContainer, each: Sample) -> None:
    if each.get("resource") == "memory":
        _largest("request_bytes", MOST_BYTES, container, each.value)
    elif each.get("resource") == "cpu":
        _largest("request_cores", 1e6, container, each.value)


def _limit(container: PastContainer, each: Sample) -> None:
    if each.get("resource") == "memory":
        _largest("limit_bytes", MOST_BYTES, container, each.value)


def _image(container: PastContainer, each: Sample) -> None:
    container.image = each.get("image_spec") or each.get("image") or container.image


def _ended(container: PastContainer, each: Sample) -> None:
    if each.value > 0:
        container.ended = each.get("reason")


def _ended_before(container: PastContainer, each: Sample) -> None:
    if each.value > 0:
        container.ended_before = each.get("reason")


def _restarts(container: PastContainer, each: Sample) -> None:
    container.restarts = max(container.restarts, int(min(each.value, 1e6)))


def _started(container: PastContainer, each: Sample) -> None:
    _largest("started_s", MOST_SECONDS, container, each.value)


_OF_CONTAINERS: Final[Mapping[str, _OfContainer]] = {
    # First: it names the containers, so that those of pods without any figures are known.
    "kube_pod_container_info": _OfContainer(_image, by="image, image_spec"),
    "kube_pod_container_resource_requests": _OfContainer(_asked, by="resource"),
    "kube_pod_container_resource_limits": _OfContainer(_limit, by="resource"),
    "kube_pod_container_state_started": _OfContainer(_started),
    "kube_pod_container_status_terminated_reason": _OfContainer(_ended, by="reason"),
    "kube_pod_container_status_last_terminated_reason": _OfContainer(_ended_before, by="reason"),
    "kube_pod_container_status_restarts_total": _OfContainer(_restarts),
}
_OF_CGROUPS: Final[Mapping[str, Callable[[PastContainer, float], None]]] = {
    "container_memory_working_set_bytes": partial(_largest, "working_set_bytes", MOST_BYTES),
    "container_memory_rss": partial(_largest, "anon_bytes", MOST_BYTES),
    "container_memory_max_usage_bytes": partial(_largest, "kernel_bytes", MOST_BYTES),
    "container_cpu_usage_seconds_total": partial(_largest, "cpu_s", MOST_SECONDS),
}
