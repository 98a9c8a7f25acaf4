"""What kube-state-metrics shows of a pod, to be queried like a Prometheus.

Only what its documentation says (docs/metrics/workload/pod-metrics.md): the reasons of
kube_pod_status_reason are a fixed list, exit codes are shown only for lives before the last one,
and no termination message is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from plimsoll_operator.names.quantity import parse_bytes
from plimsoll_operator.pods.status import read_time
from plimsoll_operator.prometheus_history.client import Sample
from plimsoll_operator.prometheus_history.gathering import Window, fill
from plimsoll_operator.prometheus_history.past_pods import PastPod
from plimsoll_operator.prometheus_history.promql import Where

Pod = Mapping[str, Any]

SHOWN_REASONS: Final = (
    *("Evicted", "NodeAffinity", "NodeLost", "Shutdown", "UnexpectedAdmissionError"),
)
_METRIC: Final = re.compile(r"[a-z_]+(?=\{)")


@dataclass(frozen=True)
class PastOf:
    """Stands for the client of a Prometheus that watched these pods to their end."""

    pods: tuple[Pod, ...]

    async def ask(self, promql: str, _at_s: float) -> list[Sample]:
        metric = _METRIC.search(promql)
        assert metric is not None
        return [
            Sample({**_names(pod), **labels}, value)
            for pod in self.pods
            for name, labels, value in _series(pod)
            if name == metric[0]
        ]


async def past_of(pod: Pod) -> PastPod:
    """The pod as an import puts it together."""
    meta = pod["metadata"]
    past = PastPod(
        meta["namespace"],
        meta["name"],
        meta["uid"],
        labels=dict(meta["labels"]),
        annotations=dict(meta.get("annotations") or {}),
    )
    await fill(PastOf((pod,)), Window(0.0, 3600), Where(), {past.uid: past})  # type: ignore[arg-type]
    return past


def _names(pod: Pod) -> dict[str, str]:
    meta = pod["metadata"]
    return {"namespace": meta["namespace"], "pod": meta["name"], "uid": meta["uid"]}


def _series(pod: Pod) -> Iterator[tuple[str, dict[str, str], float]]:
    status = pod["status"]
    for phase in ("Pending", "Running", "Succeeded", "Failed"):
        yield "kube_pod_status_phase", {"phase": phase}, float(status["phase"] == phase)
    reasons = {status.get("reason")} | {
        each.get("reason") for each in status.get("conditions") or () if each["status"] == "True"
    }
    for reason in SHOWN_REASONS:
        yield "kube_pod_status_reason", {"reason": reason}, float(reason in reasons)
    deletion_s = read_time(pod["metadata"].get("deletionTimestamp"))
    if deletion_s is not None:
        yield "kube_pod_deletion_timestamp", {}, deletion_s
    for container in pod["spec"]["containers"]:
        limit = (container.get("resources") or {}).get("limits", {}).get("memory")
        if limit is not None:
            labels = {"container": container["name"], "resource": "memory"}
            yield "kube_pod_container_resource_limits", labels, float(parse_bytes(limit))
    for each in status.get("containerStatuses") or ():
        yield from _of_container(each)


def _of_container(status: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, str], float]]:
    named = {"container": status["name"]}
    yield "kube_pod_container_info", {**named, "image": "train:1"}, 1.0
    restarts = float(status.get("restartCount") or 0)
    yield "kube_pod_container_status_restarts_total", named, restarts
    last = (status.get("state") or {}).get("terminated")
    if last:
        finished_s, started_s = read_time(last.get("finishedAt")), read_time(last.get("startedAt"))
        yield "kube_pod_container_status_terminated_reason", named | {"reason": last["reason"]}, 1.0
        if finished_s is not None:
            yield "kube_pod_completion_time", {}, finished_s
        if started_s is not None:
            yield "kube_pod_container_state_started", named, started_s
    before = (status.get("lastState") or {}).get("terminated")
    if before:
        reason = {"reason": before["reason"]}
        yield "kube_pod_container_status_last_terminated_reason", named | reason, 1.0
        code = float(before["exitCode"])
        yield "kube_pod_container_status_last_terminated_exitcode", named, code
