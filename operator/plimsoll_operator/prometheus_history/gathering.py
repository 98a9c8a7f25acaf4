"""Asks about one window of time, and writes the answers into the past pods."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from plimsoll_operator.attempts.truth_table import CLUSTER_REASONS, COMPLETED, DEADLINE
from plimsoll_operator.prometheus_history.client import PrometheusClient, Sample
from plimsoll_operator.prometheus_history.past_pods import PastContainer, PastPod
from plimsoll_operator.prometheus_history.promql import (
    CGROUP,
    CONTAINER,
    POD,
    Question,
    Where,
    latest,
)

MOST_BYTES: Final = 2.0**50
MOST_SECONDS: Final = 2.0**33
"""Larger times and CPU times cannot be a pod's."""
MOST_EXIT_CODE: Final = 255
SAYS_LITTLE: Final = "TerminationByKubelet"
"""A reason that says less than the pod's own, which tells why the kubelet terminated it."""

_POD_IN_CGROUP: Final = re.compile(
    r"pod([0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12})"
)
Pods = dict[str, PastPod]
"""UID -> pod."""
Take = Callable[[Any, Sample], None]
"""Writes a series of an answer into its pod or container."""


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


async def present(client: PrometheusClient, window: Window, where: Where) -> Pods:
    """The pods that existed in the window, with their nodes and owners."""
    pods: Pods = {}
    for series in await client.ask(_PODS.promql(where, window.length_s), window.end_s):
        uid, owner_kind = series.get("uid"), series.get("created_by_kind")
        if not uid or not series.get("pod") or not series.get("namespace"):
            continue
        pod = pods.setdefault(uid, PastPod(series.get("namespace"), series.get("pod"), uid))
        pod.node = series.get("node") or pod.node
        pod.met_s = window.start_s
        if owner_kind and owner_kind != "<none>":
            pod.owner_kind, pod.owner_name = owner_kind, series.get("created_by_name")
    return pods


async def name(client: PrometheusClient, window: Window, where: Where, pods: Pods) -> None:
    """Add labels and annotations to pods, as far as kube-state-metrics may show them."""
    for metric, add in (
        ("kube_pod_labels", PastPod.add_labels),
        ("kube_pod_annotations", PastPod.add_annotations),
    ):
        for series in await client.ask(latest(metric, where, window.length_s), window.end_s):
            if (pod := pods.get(series.get("uid"))) is not None:
                add(pod, series.labels)


async def fill(client: PrometheusClient, window: Window, where: Where, pods: Pods) -> None:
    """Add the ends, sizes and peaks of these pods."""
    narrow = where.narrowed([pod.namespace for pod in pods.values()])
    for container in (each for pod in pods.values() for each in pod.containers.values()):
        # Whatever lasts is in this window, too. What an earlier one showed ended an earlier life.
        container.ended = None
    by_cgroup = _ByCgroup(pods.values())

    def pod_of(series: Sample) -> PastPod | None:
        return pods.get(series.get("uid"))

    def container_of(series: Sample) -> PastContainer | None:
        pod, container = pod_of(series), series.get("container")
        return pod.container(container) if pod is not None and container else None

    for questions, owner_of in (
        (_OF_PODS, pod_of),
        (_OF_CONTAINERS, container_of),
        (_OF_CGROUPS, by_cgroup.container),
    ):
        for question, take in questions:
            asked = question.promql(narrow, window.length_s)
            for series in await client.ask(asked, window.end_s):
                if (owner := owner_of(series)) is not None:
                    take(owner, series)


class _ByCgroup:
    """Finds the container of cAdvisor's series by the pod's UID in the cgroup's path, or its name.

    If two pods had the same name in one window, only the path distinguishes them.
    """

    def __init__(self, pods: Iterable[PastPod]) -> None:
        self._by_uid: dict[str, PastPod] = {}
        self._by_name: dict[tuple[str, str], PastPod | None] = {}
        for pod in pods:
            self._by_uid[pod.uid] = pod
            key = (pod.namespace, pod.name)
            self._by_name[key] = None if key in self._by_name else pod

    def container(self, series: Sample) -> PastContainer | None:
        """The container, if its pod is asked about and has it."""
        in_path = _POD_IN_CGROUP.search(series.get("id"))
        if in_path is not None:
            pod = self._by_uid.get(in_path[1].replace("_", "-"))
        else:
            pod = self._by_name.get((series.get("namespace"), series.get("pod")))
        return None if pod is None else pod.containers.get(series.get("container"))


def _raise(field: str, most: float = MOST_SECONDS) -> Take:
    """Raise a field to the series' value if that makes sense."""

    def take(owner: object, series: Sample) -> None:
        before = getattr(owner, field)
        if 0 <= series.value <= most and (before is None or series.value > before):
            setattr(owner, field, series.value)

    return take


def _note(field: str, label: str) -> Take:
    """Note a label of the series whose value is not 0: only that series holds."""

    def take(owner: object, series: Sample) -> None:
        if series.value > 0:
            setattr(owner, field, series.get(label))

    return take


def _by_resource(**takes: Take) -> Take:
    def take(owner: object, series: Sample) -> None:
        if (of_resource := takes.get(series.get("resource"))) is not None:
            of_resource(owner, series)

    return take


def _image(container: PastContainer, series: Sample) -> None:
    container.image = series.get("image_spec") or series.get("image") or container.image


def _restarts(container: PastContainer, series: Sample) -> None:
    container.restarts = max(container.restarts, int(min(series.value, 1e6)))


def _exit_before(container: PastContainer, series: Sample) -> None:
    if 0 <= series.value <= MOST_EXIT_CODE:
        container.exit_code_before = int(series.value)


def _end(container: PastContainer, series: Sample) -> None:
    """Note why its last life ended, though a window may show the end of an earlier one as well.

    What has completed is not restarted. Of two other ends, the earlier is known as the one before.
    """
    earlier = container.ended in (None, container.ended_before) and container.ended != COMPLETED
    if series.value > 0 and (earlier or series.get("reason") == COMPLETED):
        container.ended = series.get("reason")


def _reason(pod: PastPod, series: Sample) -> None:
    """Note why the cluster ended it; if a pod has two such reasons, SAYS_LITTLE gives way."""
    if series.value > 0 and (pod.reason is None or pod.reason == SAYS_LITTLE):
        pod.reason = series.get("reason")


def _samples(container: PastContainer, series: Sample) -> None:
    container.samples += int(min(series.value, 1e9))


def _of_container(metric: str, *by: str) -> Question:
    return Question(f"kube_pod_container_{metric}", ", ".join([CONTAINER, *by]))


def _of_cgroup(metric: str, over: str = "max_over_time") -> Question:
    """A metric of cAdvisor's, for containers without pods' pause containers."""
    only = ('container!=""', 'container!="POD"')
    return Question(f"container_{metric}", CGROUP, only, over)


_PODS: Final = Question("kube_pod_info", f"{POD}, node, created_by_kind, created_by_name")
_BY_CLUSTER: Final = f'reason=~"{"|".join(sorted([*CLUSTER_REASONS, DEADLINE]))}"'
_OF_PODS: Final[Sequence[tuple[Question, Take]]] = (
    (Question("kube_pod_created", POD), _raise("created_s")),
    (Question("kube_pod_start_time", POD), _raise("started_s")),
    (Question("kube_pod_completion_time", POD), _raise("finished_s")),
    (
        Question("kube_pod_status_phase", f"{POD}, phase", ('phase=~"Succeeded|Failed"',)),
        _note("phase", "phase"),
    ),
    (
        Question("kube_pod_status_reason", f"{POD}, reason", (_BY_CLUSTER,)),
        _reason,
    ),
    (Question("kube_pod_deletion_timestamp", POD), _raise("deleted_by_s")),
)
_OF_CONTAINERS: Final[Sequence[tuple[Question, Take]]] = (
    # The first question names all containers, also those without figures.
    (_of_container("info", "image", "image_spec"), _image),
    (
        _of_container("resource_requests", "resource"),
        _by_resource(memory=_raise("request_bytes", MOST_BYTES), cpu=_raise("request_cores", 1e6)),
    ),
    (
        _of_container("resource_limits", "resource"),
        _by_resource(memory=_raise("limit_bytes", MOST_BYTES)),
    ),
    (_of_container("state_started"), _raise("started_s")),
    (_of_container("status_last_terminated_reason", "reason"), _note("ended_before", "reason")),
    # After the one before: it says which of two ends is the later.
    (_of_container("status_terminated_reason", "reason"), _end),
    (_of_container("status_last_terminated_exitcode"), _exit_before),
    (_of_container("status_restarts_total"), _restarts),
)
_OF_CGROUPS: Final[Sequence[tuple[Question, Take]]] = (
    (_of_cgroup("memory_working_set_bytes"), _raise("working_set_bytes", MOST_BYTES)),
    (_of_cgroup("memory_rss"), _raise("anon_bytes", MOST_BYTES)),
    (_of_cgroup("memory_max_usage_bytes"), _raise("kernel_bytes", MOST_BYTES)),
    (_of_cgroup("cpu_usage_seconds_total"), _raise("cpu_s")),
    (_of_cgroup("memory_working_set_bytes", "count_over_time"), _samples),
)
