"""Holds the agents' latest measurements in memory. Final reports are also in the store."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from plimsoll_operator.attempts.observation import UNSEEN_WITHIN_S
from plimsoll_operator.attempts.peaks import PeakReport, is_nearly_all
from plimsoll_operator.controller.hub.hub import FinalPeakReported, Hub, PeaksReported
from plimsoll_predictor.core.units import MIB

PODS_KEPT: Final = 20_000
CONTAINERS_KEPT: Final = 64
"""A pod that restarts for ever must not grow for ever."""
PAUSE_BYTES: Final = 16 * MIB
"""A pod's pause container stays below this (3.7 MiB were seen, while runc starts it). Agents report
it like any other. A container below this distorts its pod's peak by no more than this."""


@dataclass(frozen=True, slots=True)
class _Merged:
    """All reports of one cgroup as one.

    began_s: when its last agent without files first read it; None if no agent says. It tells one
        agent from the next: each report of one agent, and of those that have its files, has it.
    before_s: for how long in all no agent read it before began_s, which that agent cannot know.
    """

    report: PeakReport
    began_s: float | None = None
    before_s: float = 0.0


_Reports = OrderedDict[str | None, _Merged]


class PeakBook:
    """Reports by pod, on one event loop; the pod reported longest ago is forgotten first."""

    def __init__(self, pods_kept: int = PODS_KEPT, hub: Hub | None = None) -> None:
        self._pods_kept = pods_kept
        self._hub = hub or Hub()
        self._pods: OrderedDict[str, _Reports] = OrderedDict()

    def __len__(self) -> int:
        return len(self._pods)

    def add(self, reports: Iterable[PeakReport]) -> None:
        """Add newer reports. Maxima never fall, even if an agent forgot them."""
        finals: dict[str, None] = {}
        news: dict[str, None] = {}
        for report in reports:
            news[report.pod_uid] = None
            if report.final:
                finals[report.pod_uid] = None
            pod = self._pods.setdefault(report.pod_uid, _Reports())
            self._pods.move_to_end(report.pod_uid)
            before = pod.get(report.container_id)
            pod[report.container_id] = _first(report) if before is None else _merge(before, report)
            pod.move_to_end(report.container_id)
            if len(pod) > CONTAINERS_KEPT:
                pod.popitem(last=False)
        while len(self._pods) > self._pods_kept:
            self._pods.popitem(last=False)
        self._hub.publish(PeaksReported(tuple(news)))
        for pod_uid in finals:
            self._hub.publish(FinalPeakReported(pod_uid))

    def final(self, pod_uid: str) -> bool:
        """Say whether no further report will come for this pod: its own cgroup is empty or gone."""
        of_pod = (self._pods.get(pod_uid) or _Reports()).get(None)
        return of_pod is not None and of_pod.report.final

    def of_container(self, pod_uid: str, container_id: str | None) -> PeakReport | None:
        """Return the report of a container's own cgroup; None if it was never seen."""
        reports = self._pods.get(pod_uid)
        merged = reports.get(container_id) if reports and container_id else None
        return None if merged is None else merged.report

    def best(self, pod_uid: str, container_id: str | None, containers: int) -> PeakReport | None:
        """Return the report that says most about one container; None if none does.

        container_id: without its scheme; None if it never got one.
        containers: how many the pod has, those that size it or run beside it.

        The pod's own report sees everything, also the last moment before a container's cgroup
        went, but it covers all containers. So it is taken only if no other container has used
        memory, including init containers and earlier lives of a restarted one. Until a container is
        seen beside such others, or in a pod of several, nothing is known about it.
        """
        reports = self._pods.get(pod_uid) or _Reports()
        of_pod, own = reports.get(None), self.of_container(pod_uid, container_id)
        others = any(
            merged.report.kernel_peak_bytes > PAUSE_BYTES
            for key, merged in reports.items()
            if key is not None and key != container_id
        )
        if of_pod is not None and containers <= 1 and (container_id is None or not others):
            return _as_seen(of_pod.report, own)
        return own


def _as_seen(of_pod: PeakReport, own: PeakReport | None) -> PeakReport:
    """Return the pod's report, without the times that were unseen before its container began.

    The pod's cgroup is there while an image is pulled. Its container's own report says how much of
    the container's life was seen, if an agent saw it to its end.
    """
    if own is None or not own.final or not own.measured_s or own.unseen_s is None:
        return of_pod
    # Less is no matter, and the beginning may be seen a little later than the rest.
    if (of_pod.unseen_s or 0.0) <= max(UNSEEN_WITHIN_S, own.unseen_s):
        return of_pod
    return replace(of_pod, since_s=own.since_s, unseen_s=own.unseen_s)


def _first(report: PeakReport) -> _Merged:
    return _Merged(report, report.since_s)


def _merge(merged: _Merged, report: PeakReport) -> _Merged:
    before = merged.report
    before_s, unseen_s = _unseen_s(merged, report)
    together = replace(
        report,
        need_peak_bytes=max(before.need_peak_bytes, report.need_peak_bytes),
        kernel_peak_bytes=max(before.kernel_peak_bytes, report.kernel_peak_bytes),
        working_set_peak_bytes=max(before.working_set_peak_bytes, report.working_set_peak_bytes),
        anon_peak_bytes=max(before.anon_peak_bytes, report.anon_peak_bytes),
        cpu_s=report.cpu_s if before.cpu_s is None else max(before.cpu_s, report.cpu_s or 0.0),
        limit_bytes=report.limit_bytes or before.limit_bytes,
        peak_cores=max(before.peak_cores or 0.0, report.peak_cores or 0.0) or None,
        since_s=None
        if before.since_s is None or report.since_s is None
        else min(before.since_s, report.since_s),
        unseen_s=unseen_s,
    )
    # The kernel's peak, which a new agent reads, may have been seen to be needed by an earlier one.
    if is_nearly_all(together.need_peak_bytes, report.before_bytes):
        together, before_s = replace(together, since_s=None, unseen_s=0.0), 0.0
    began_s = report.since_s if _is_of_another_agent(merged, report) else merged.began_s
    return _Merged(together, began_s, before_s)


def _is_of_another_agent(merged: _Merged, report: PeakReport) -> bool:
    """Say whether an agent without files made it that had not reported before.

    Its clock may have been set back since the one before began: then all its times are earlier.
    """
    began_s, since_s = merged.began_s, report.since_s
    if since_s is None:
        return False
    if began_s is None or since_s > began_s:
        return True
    return since_s < began_s and report.measured_s < began_s


def _unseen_s(merged: _Merged, report: PeakReport) -> tuple[float, float | None]:
    """Return for how long no agent read the cgroup, as far as it may have needed more then.

    First before this agent began, then in all.
    """
    before = merged.report
    if report.since_s is None:
        return 0.0, report.unseen_s  # all before its agent's first reading is known
    if before.unseen_s is None:
        return 0.0, report.unseen_s  # an older agent does not tell when it last read
    before_s = merged.before_s
    # An agent without files cannot know of the one before it, nor when that one ended. The times of
    # one agent are not compared: its clock may have been set back.
    if _is_of_another_agent(merged, report) and report.since_s > before.measured_s:
        before_s = before.unseen_s + report.since_s - before.measured_s
    return before_s, max(before.unseen_s, before_s + (report.unseen_s or 0.0))
