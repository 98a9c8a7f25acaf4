"""A cluster's past as kube-state-metrics and cAdvisor would have shown it, in OpenMetrics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from uuid import NAMESPACE_URL, uuid5

from plimsoll_predictor.core.units import GIB, MIB

EVERY_S = 30
NODE = "node-1"

Labels = Mapping[str, str]
Curve = Callable[[float], float]
"""Seconds since the start -> bytes."""


def flat(size_bytes: float) -> Curve:
    return lambda _: size_bytes


STEADY = flat(300 * MIB)


@dataclass(frozen=True, slots=True, kw_only=True)
class PastPodSeries:
    """One pod. gone_s: when it was deleted; None if it never was. labels: sanitised already."""

    name: str
    start_s: float
    runtime_s: float = 600.0
    namespace: str = "shop"
    uid: str = ""
    owner: tuple[str, str] = ("", "")
    labels: Labels = field(default_factory=dict)
    annotations: Labels = field(default_factory=dict)
    containers: tuple[str, ...] = ("main",)
    request_bytes: float | None = GIB
    limit_bytes: float | None = GIB
    memory: Curve = STEADY
    phase: str = "Succeeded"
    reason: str = "Completed"
    killed_before: int = 0
    evicted: bool = False
    lingers_s: float = 300.0
    read_every_s: float = EVERY_S
    unread: tuple[float, float] = (0.0, 0.0)
    """Seconds after the start: between these two its memory was not read."""

    @property
    def known_uid(self) -> str:
        return self.uid or str(uuid5(NAMESPACE_URL, f"{self.namespace}/{self.name}"))

    def but(self, **changes: object) -> PastPodSeries:
        return replace(self, **changes)  # type: ignore[arg-type]

    @property
    def end_s(self) -> float:
        return self.start_s + self.runtime_s


class PastCluster:
    """Gathers series; promtool makes blocks from ``text``."""

    def __init__(self) -> None:
        self._series: dict[str, dict[str, list[tuple[float, float]]]] = defaultdict(dict)

    def add(self, *pods: PastPodSeries) -> PastCluster:
        for pod in pods:
            self._state(pod)
            self._usage(pod)
        return self

    def text(self) -> str:
        return "\n".join([*self._lines(), "# EOF", ""])

    def _lines(self) -> Iterator[str]:
        for metric, series in self._series.items():
            family = metric.removesuffix("_total")
            yield f"# TYPE {family} {'counter' if metric != family else 'gauge'}"
            for labels, samples in series.items():
                yield from (f"{metric}{{{labels}}} {value} {at_s}" for at_s, value in samples)

    def _put(self, metric: str, labels: Labels, samples: list[tuple[float, float]]) -> None:
        text = ",".join(f'{name}="{value}"' for name, value in labels.items())
        self._series[metric].setdefault(text, []).extend(samples)

    def _state(self, pod: PastPodSeries) -> None:
        of_pod = {"namespace": pod.namespace, "pod": pod.name, "uid": pod.known_uid}
        there = list(_steps(pod.start_s, pod.end_s + pod.lingers_s, EVERY_S))
        ended = [at_s for at_s in there if at_s >= pod.end_s]

        def told(metric: str, value: float, when: list[float], **more: str) -> None:
            self._put(metric, {**of_pod, **more}, [(at_s, value) for at_s in when])

        kind, owner = pod.owner
        told("kube_pod_info", 1, there, node=NODE, created_by_kind=kind, created_by_name=owner)
        told("kube_pod_created", pod.start_s - 5, there)
        told("kube_pod_start_time", pod.start_s - 2, there)
        if pod.labels:
            told("kube_pod_labels", 1, there, **{f"label_{k}": v for k, v in pod.labels.items()})
        if pod.annotations:
            shown = {f"annotation_{k}": v for k, v in pod.annotations.items()}
            told("kube_pod_annotations", 1, there, **shown)
        for phase in ("Running", "Succeeded", "Failed"):
            told("kube_pod_status_phase", float(phase == pod.phase), ended, phase=phase)
        told("kube_pod_completion_time", pod.end_s, ended)
        if pod.evicted:
            told("kube_pod_status_reason", 1, ended, reason="Evicted")
        self._containers(pod, told, (there, ended))

    def _containers(
        self, pod: PastPodSeries, told: Callable[..., None], when: tuple[list[float], list[float]]
    ) -> None:
        there, ended = when
        for name in pod.containers:
            told("kube_pod_container_info", 1, there, container=name, image_spec="train:1")
            told("kube_pod_container_state_started", pod.start_s, there, container=name)
            told(
                "kube_pod_container_status_restarts_total",
                pod.killed_before,
                there,
                container=name,
            )
            told(
                "kube_pod_container_status_terminated_reason",
                1,
                ended,
                container=name,
                reason=pod.reason,
            )
            if pod.killed_before:
                told(
                    "kube_pod_container_status_last_terminated_reason",
                    1,
                    there,
                    container=name,
                    reason="OOMKilled",
                )
            sizes = (("requests", pod.request_bytes), ("limits", pod.limit_bytes))
            for kind, size_bytes in sizes:
                if size_bytes is not None:
                    metric = f"kube_pod_container_resource_{kind}"
                    told(metric, size_bytes, there, container=name, resource="memory", unit="byte")
            told(
                "kube_pod_container_resource_requests",
                0.5,
                there,
                container=name,
                resource="cpu",
                unit="core",
            )

    def _usage(self, pod: PastPodSeries) -> None:
        for name in pod.containers:
            labels = {
                "namespace": pod.namespace,
                "pod": pod.name,
                "container": name,
                "id": f"/kubepods/burstable/pod{pod.known_uid}/c-{name}",
            }
            read = [
                at_s
                for at_s in _steps(pod.start_s + 10, pod.end_s, pod.read_every_s)
                if not pod.unread[0] <= at_s - pod.start_s < pod.unread[1]
            ]
            for metric, share in (
                ("container_memory_working_set_bytes", 1.0),
                ("container_memory_rss", 0.9),
            ):
                samples = [(at, share * pod.memory(at - pod.start_s)) for at in read]
                self._put(metric, labels, samples)
            cpu = [(at_s, 0.5 * (at_s - pod.start_s)) for at_s in read]
            self._put("container_cpu_usage_seconds_total", labels, cpu)


def _steps(start_s: float, end_s: float, every_s: float) -> Iterator[float]:
    at_s = start_s
    while at_s < end_s:
        yield at_s
        at_s += every_s
