"""One look at every pod's cgroups: which maxima moved, which cgroups ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from plimsoll_operator.agent.cgroup_memory import (
    CgroupFiles,
    CgroupSample,
    Glance,
    Read,
    glance_v1,
    glance_v2,
    read_v1,
    read_v2,
)
from plimsoll_operator.agent.kept_files import KeptFiles
from plimsoll_operator.agent.known_needs import KnownNeeds
from plimsoll_operator.agent.need import Peaks
from plimsoll_operator.agent.outbox import Key
from plimsoll_operator.agent.pod_cgroups import PodCgroup, Version
from plimsoll_operator.attempts.peaks import PeakReport
from plimsoll_predictor.core.units import MIB

REPORTED_STEP_BYTES: Final = MIB
REPORTED_STEP: Final = 0.01
"""Maxima that rose by less than both are reported at the end, not at once."""
STEADY_BYTES: Final = MIB
STEADY_TRIES: Final = 3
FULL_READING_EVERY: Final = 10
"""Ticks. A cgroup whose memory does not move is still read, for its CPU time."""


@dataclass(slots=True)
class _Watched:
    """One cgroup that was alive at the last look."""

    peaks: Peaks
    glance: Glance | None = None
    reported: PeakReport | None = None
    had_containers: bool = False
    read_s: float = 0.0
    """The time of the last reading; 0 for a cgroup that only an earlier agent read."""
    read_clock_s: float | None = None
    """The same by the monotonic clock; None for such a cgroup."""
    folder: str = ""
    """Where its files are; empty for such a cgroup."""

    @property
    def saved(self) -> Peaks:
        """Its maxima for a later agent, which must know when this one last looked."""
        if self.read_clock_s is None:
            return self.peaks
        return replace(self.peaks, read_clock_s=self.read_clock_s)


class Sampler:
    """Follows every cgroup from its first sight to its end. Belongs to one thread."""

    def __init__(
        self,
        version: Version,
        restored: Mapping[Key, Peaks],
        wall_s: Callable[[], float],
        known: KnownNeeds | None = None,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """restored: maxima of cgroups that an earlier agent followed; those gone end at once.

        known: what need not be reported before the end; None reports every rise.
        clock_s: for intervals; wall_s: for times, as it may be set meanwhile.
        """
        v1 = version is Version.V1
        self._glance = glance_v1 if v1 else glance_v2
        self._read: Read = read_v1 if v1 else read_v2
        self.files = KeptFiles()
        """The files read at every tick. Looks between two ticks use it, too."""
        # Version 2 counts a child's limit hits in its parents, version 1 does not.
        self._hits_of_children_count = v1
        self._wall_s = wall_s
        self._clock_s = clock_s
        self._known = known or KnownNeeds()
        self._renewed = self._known.renewed
        self._ticks = 0
        with_containers = {pod_uid for pod_uid, container_id in restored if container_id}
        self._tick_s = self._tick_clock_s = 0.0
        # They count as reported: the outbox, which is restored too, has the unacknowledged ones.
        self._watched = {
            key: _Watched(
                peaks,
                reported=self._report(key, peaks, final=False, read_s=0.0),
                had_containers=key[0] in with_containers,
            )
            for key, peaks in restored.items()
        }

    def running(self) -> dict[Key, Peaks]:
        """The maxima of all followed cgroups, for a later agent to restore."""
        return {key: watched.saved for key, watched in self._watched.items()}

    def unreported(self) -> list[PeakReport]:
        """Return the maxima of living cgroups as far as they were not reported, however little.

        They also tell when each was last read. A next agent that has no files tells the controller
        when it began, and the time between counts as unseen.
        """
        reports = (
            self._report(key, watched.peaks, final=False, read_s=watched.read_s)
            for key, watched in self._watched.items()
            if watched.peaks.last is not None
            and (watched.reported is None or not watched.reported.final)
        )
        return [report for report in reports if self._is_new(report)]

    def _is_new(self, report: PeakReport) -> bool:
        reported = self._watched[report.pod_uid, report.container_id].reported
        return report != reported

    def last(self, key: Key) -> CgroupSample | None:
        """The last reading of one cgroup; None before the first, or if it is gone."""
        watched = self._watched.get(key)
        return None if watched is None else watched.peaks.last

    @property
    def followed(self) -> int:
        """How many cgroups are followed."""
        return len(self._watched)

    @property
    def read_all(self) -> bool:
        """Say whether the last tick read all figures of every cgroup, also of those at rest."""
        return self._ticks % FULL_READING_EVERY == 0

    def tick(self, pods: list[PodCgroup]) -> list[PeakReport]:
        """Read all ``pods``, and report once what changed and what ended."""
        self._ticks += 1
        self._tick_s, self._tick_clock_s = self._wall_s(), self._clock_s()
        self._begin_again_for_another_controller()
        self._known.keep_only({pod.uid for pod in pods})
        reports = [report for pod in pods for report in self._pod(pod)]
        alive = {(pod.uid, inner_id) for pod in pods for inner_id in (None, *pod.containers)}
        for key in [key for key in self._watched if key not in alive]:
            ended = self._watched.pop(key)
            self.files.close_below(ended.folder)
            if ended.peaks == Peaks():
                continue  # it went while it was first read: nobody knows what it needed
            if ended.reported is None or not ended.reported.final:
                reports.append(self._report(key, ended.peaks, final=True, read_s=ended.read_s))
        return reports

    def _pod(self, pod: PodCgroup) -> Iterator[PeakReport]:
        hits, limits = 0, list[int]()
        for container_id, files in pod.containers.items():
            key = (pod.uid, container_id)
            watched = self._watch(key, files)
            if watched.peaks.limit_bytes is not None:
                limits.append(watched.peaks.limit_bytes)
            if watched.glance is not None and self._hits_of_children_count:
                hits += watched.glance.limit_hits
            yield from self._news(key, watched, final=False)
        pod_key: Key = (pod.uid, None)
        watched = self._watch(pod_key, pod.files, hits, min(limits, default=None))
        # Kubelet keeps a pod's folder for 2 to 3 s after its last container, the pause container
        # included, has gone: nothing will follow, and the controller is waiting for this.
        final = watched.had_containers and not pod.containers
        watched.had_containers = watched.had_containers or bool(pod.containers)
        yield from self._news(pod_key, watched, final=final)

    def _begin_again_for_another_controller(self) -> None:
        """Report what runs once more: a controller that has just started knows no maxima."""
        if self._known.renewed != self._renewed:
            self._renewed = self._known.renewed
            for watched in self._watched.values():
                if watched.reported is not None and not watched.reported.final:
                    watched.reported = None

    def _watch(
        self, key: Key, files: CgroupFiles, hits_below: int = 0, least_below: int | None = None
    ) -> _Watched:
        watched = self._watched.get(key)
        if watched is None:
            watched = self._watched[key] = _Watched(Peaks())
        watched.folder = files.memory
        try:
            glance = self._look(files, hits_below)
            if glance != watched.glance or self._ticks % FULL_READING_EVERY == 0:
                is_first = watched.glance is None
                reading, watched.glance = self._steady_reading(files, glance, hits_below)
                reading = replace(reading, least_below_bytes=least_below)
                if is_first:
                    watched.peaks = watched.peaks.resumed(reading, self._tick_clock_s)
                watched.peaks = watched.peaks.advance(reading, self._tick_s, self._tick_clock_s)
            watched.read_s, watched.read_clock_s = self._tick_s, self._tick_clock_s
        except OSError:
            pass  # it went away between the scan and now; the next tick ends it
        return watched

    def _look(self, files: CgroupFiles, hits_below: int) -> Glance:
        glance = self._glance(files, self.files.text)
        if hits_below:
            return replace(glance, limit_hits=glance.limit_hits + hits_below)
        return glance

    def _steady_reading(
        self, files: CgroupFiles, glance: Glance, hits_below: int
    ) -> tuple[CgroupSample, Glance]:
        """A reading during which usage hardly moved, if one can be had.

        The files are read one after another. On a busy node the agent may wait in between while
        a task fills hundreds of megabytes of cache, which would then pass for need, for ever.
        """
        for _ in range(STEADY_TRIES):
            reading, before = self._read(files, glance), glance
            glance = self._look(files, hits_below)
            if abs(glance.usage_bytes - before.usage_bytes) <= STEADY_BYTES:
                break
        return reading, before

    def _news(self, key: Key, watched: _Watched, *, final: bool) -> Iterator[PeakReport]:
        if watched.peaks.last is None:
            return
        reported = watched.reported
        if reported is None or final != reported.final or _risen(reported, watched.peaks):
            report = self._report(key, watched.peaks, final=final, read_s=watched.read_s)
            resized = reported is not None and reported.limit_bytes != report.limit_bytes
            if reported is None or final or resized or self._known.is_news(report):
                watched.reported = report
                yield report

    def _report(self, key: Key, peaks: Peaks, *, final: bool, read_s: float) -> PeakReport:
        return PeakReport(
            pod_uid=key[0],
            container_id=key[1],
            need_peak_bytes=peaks.need_peak_bytes,
            kernel_peak_bytes=peaks.kernel_peak_bytes,
            working_set_peak_bytes=peaks.working_set_peak_bytes,
            anon_peak_bytes=peaks.anon_peak_bytes,
            cpu_s=peaks.cpu_s,
            limit_bytes=peaks.limit_bytes,
            final=final,
            measured_s=read_s,
            peak_cores=peaks.pace.peak_cores,
            since_s=peaks.unknown_until_s,
            unseen_s=peaks.unknown_s,
            before_bytes=peaks.before_bytes,
        )


def _risen(reported: PeakReport, peaks: Peaks) -> bool:
    if reported.limit_bytes != peaks.limit_bytes:
        return True
    return any(
        now - before > max(REPORTED_STEP_BYTES, REPORTED_STEP * before)
        for before, now in (
            (reported.need_peak_bytes, peaks.need_peak_bytes),
            (reported.kernel_peak_bytes, peaks.kernel_peak_bytes),
            (reported.working_set_peak_bytes, peaks.working_set_peak_bytes),
            (reported.anon_peak_bytes, peaks.anon_peak_bytes),
        )
    )
