"""Computes the memory that a task needs from its cgroup's readings, without its page cache.

The kernel kills a task only when nothing can be reclaimed any more, so the need is what cannot be
reclaimed: usage less the page cache on the file lists (tmpfs is on the anonymous lists and
counts). Sampling alone misses what happens between two readings; the kernel's own peak misses
nothing, but counts page cache, which fills up to the limit. Both together:

- each reading: need ≥ usage - file cache + hot mapped pages;
- where the kernel's peak rose to B since the last reading, or its limit B was touched, usage was
  B at some moment in between: need ≥ B - the cache of that moment.

The cache of that moment is not recorded. It is taken as the present cache, or the earlier
cache less what was reclaimed since, whichever is more: exact for growing anonymous memory, for
streaming reads, for a spike that pushed cache out at the limit, and for a temporary file deleted
after its cache had been counted once.

It errs by at most one interval's page cache:
- too high: cache came and was deleted between two readings (a short task's temporary file); or
  version 1, at the limit, where reclaim is known only as an upper bound; or, in some readings in a
  hundred, the kernel's counts are up to 2 s old and lack cache that has just come;
- too low: a spike was freed and cache grew by more than the spike, between two readings.

A page that is mapped *and* active is hot: program text, or a mapped file read again and again.
It could be reclaimed and the task would live, but it would crawl; so it counts. Pages that were
only read, however often, do not count: a task that reads a file larger than its limit needs no
room for the file. The kubelet's working set does count those once they are active; it is kept
beside the need, and can lie above it.

Memory in swap counts: a pod whose request equals its limit gets none, and the next pod of the task
may be such a one. At the moment of the highest usage there was as much in swap as before or after
it, whichever is less: what went there later was still in memory then.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from plimsoll_operator.agent.cgroup_memory import CgroupSample
from plimsoll_operator.agent.cpu_pace import Pace
from plimsoll_operator.attempts.peaks import is_nearly_all


@dataclass(frozen=True, slots=True, kw_only=True)
class Peaks:
    """Running maxima of one cgroup's life, in bytes. Starts empty, moves by ``advance``.

    anon_peak_bytes <= need_peak_bytes <= kernel_peak_bytes holds after the first reading; what is
    in swap counts in the last two.
    last: the reading before; None before the first.
    since_s: when it was first read, Unix seconds; None if nobody said.
    before_bytes: the most that it can have used before, or before ``resumed``; None if the kernel
        did not say.
    unseen_s: for how long in all no agent read it after since_s.
    read_clock_s: when it was last looked at, by the monotonic clock; None in what an older agent
        saved.
    cpu_s, limit_bytes: as last read; None if never read, or unlimited.
    """

    need_peak_bytes: int = 0
    kernel_peak_bytes: int = 0
    working_set_peak_bytes: int = 0
    anon_peak_bytes: int = 0
    cpu_s: float | None = None
    limit_bytes: int | None = None
    last: CgroupSample | None = None
    pace: Pace = field(default_factory=Pace)
    since_s: float | None = None
    before_bytes: int | None = None
    unseen_s: float = 0.0
    read_clock_s: float | None = None

    @property
    def unknown_until_s(self) -> float | None:
        """Return when it was first read, if it may have needed clearly more before; else None."""
        return None if self._knows_before else self.since_s

    @property
    def unknown_s(self) -> float:
        """Return for how long no agent read it, if it may have needed clearly more then; else 0."""
        return 0.0 if self._knows_before else self.unseen_s

    @property
    def _knows_before(self) -> bool:
        return is_nearly_all(self.need_peak_bytes, self.before_bytes)

    def resumed(self, reading: CgroupSample, clock_s: float) -> Peaks:
        """The maxima of an earlier agent, before ``advance`` with the first reading of the next.

        What happened while no agent read is unknown, unless the kernel's peak tells. What is known
        of the time before that stays known.
        """
        last, read_s = self.last, self.read_clock_s
        # After a reboot the clock has begun again, and the cgroup was made again.
        if last is None or read_s is None or clock_s < read_s or _started_anew(last, reading):
            return self
        return replace(
            self,
            since_s=self.unknown_until_s,
            unseen_s=self.unknown_s + clock_s - read_s,
            before_bytes=reading.kernel_peak_bytes,
        )

    def advance(
        self, reading: CgroupSample, at_s: float | None = None, clock_s: float | None = None
    ) -> Peaks:
        """The maxima after one more reading of the same cgroup.

        at_s: when it was read, Unix seconds; None if nobody wants to know. clock_s: the same by the
        monotonic clock; None if no pace is wanted.
        """
        last, is_first = self.last, self.last is None
        if last is not None and _started_anew(last, reading):
            last = None
        # Without the kernel's peak, a limit that was touched is the highest usage known.
        highest = reading.kernel_peak_bytes
        if highest is None:
            highest = max(reading.usage_bytes, _highest_between(last, reading) or 0)
        highest = max(highest, _highest_with_swap(last, reading))
        kernel_peak = max(self.kernel_peak_bytes, highest)
        anon_peak = min(max(self.anon_peak_bytes, reading.anon_bytes), kernel_peak)
        need = max(self.need_peak_bytes, need_bytes(last, reading), anon_peak)
        working_set = reading.usage_bytes - reading.inactive_file_bytes
        return replace(
            self,
            need_peak_bytes=min(need, kernel_peak),
            kernel_peak_bytes=kernel_peak,
            working_set_peak_bytes=min(max(self.working_set_peak_bytes, working_set), kernel_peak),
            anon_peak_bytes=anon_peak,
            cpu_s=max((s for s in (self.cpu_s, reading.cpu_s) if s is not None), default=None),
            limit_bytes=reading.limit_bytes,
            last=reading,
            pace=self.pace
            if clock_s is None or reading.cpu_s is None
            else self.pace.advance(clock_s, reading.cpu_s),
            since_s=at_s if is_first else self.since_s,
            before_bytes=reading.kernel_peak_bytes if is_first else self.before_bytes,
        )


def need_bytes(last: CgroupSample | None, reading: CgroupSample) -> int:
    """The bytes that the cgroup needed for sure between ``last`` and ``reading``."""
    unseen = 0
    highest = _highest_between(last, reading)
    if highest is not None:
        unseen = highest - _cache_between(last, reading) - reading.slab_reclaimable_bytes
        unseen += _swapped_between(last, reading)
    return max(_kept_bytes(reading) + reading.swapped_bytes, unseen) + _hot_bytes(reading)


def held_bytes(reading: CgroupSample) -> int:
    """The bytes of memory that could not be reclaimed at this reading."""
    return _kept_bytes(reading) + _hot_bytes(reading)


def _kept_bytes(reading: CgroupSample) -> int:
    # Counters are read one after another: what is surely not cache is a floor.
    anon_bytes = reading.anon_bytes + reading.shmem_bytes
    return max(reading.usage_bytes - reading.reclaimable_bytes, anon_bytes)


def _hot_bytes(reading: CgroupSample) -> int:
    return min(reading.mapped_file_bytes, reading.active_file_bytes)


def _highest_between(last: CgroupSample | None, reading: CgroupSample) -> int | None:
    """The highest usage since ``last`` that is certain; None if only the sample is known."""
    peak, peak_before = reading.kernel_peak_bytes, last.kernel_peak_bytes if last else 0
    if peak is not None and peak_before is not None and peak > peak_before:
        return peak
    touched = _least_limit(last, reading)
    if touched is not None and reading.limit_hits > (last.limit_hits if last else 0):
        return touched if peak is None else min(peak, touched)
    return None


def _least_limit(last: CgroupSample | None, reading: CgroupSample) -> int | None:
    """The least limit that a charge can have met since ``last``; None without any.

    It may have been raised or lowered meanwhile, and it may be that of a cgroup below, also of one
    that is gone by now.
    """
    limits = [reading.limit_bytes, reading.least_below_bytes]
    if last is not None:
        limits += [last.limit_bytes, last.least_below_bytes]
    return min((each for each in limits if each is not None), default=None)


def _highest_with_swap(last: CgroupSample | None, reading: CgroupSample) -> int:
    """The highest memory and swap together since ``last`` that is certain; 0 without swap."""
    if not reading.swapped_bytes:
        return 0
    unseen = (_highest_between(last, reading) or 0) + _swapped_between(last, reading)
    return max(reading.usage_bytes + reading.swapped_bytes, unseen)


def _swapped_between(last: CgroupSample | None, reading: CgroupSample) -> int:
    """The bytes that were surely in swap at the moment of the highest usage."""
    return min(last.swapped_bytes, reading.swapped_bytes) if last is not None else 0


def _cache_between(last: CgroupSample | None, reading: CgroupSample) -> int:
    """The best estimate of the file cache at the moment of the highest usage."""
    if last is None:
        return reading.file_bytes
    reclaimed = max(0, reading.reclaimed_bytes - last.reclaimed_bytes)
    return max(reading.file_bytes, last.file_bytes - reclaimed)


def _started_anew(last: CgroupSample, reading: CgroupSample) -> bool:
    """Whether the kernel's counters went back: the cgroup was made again, as after a reboot."""
    if reading.kernel_peak_bytes is None or last.kernel_peak_bytes is None:
        return reading.limit_hits < last.limit_hits
    return reading.kernel_peak_bytes < last.kernel_peak_bytes
