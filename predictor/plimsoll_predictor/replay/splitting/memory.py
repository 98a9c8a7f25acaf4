"""A job whose workers have limited memory: chunks that need more are killed and done again."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from plimsoll_predictor.replay.splitting.playing import Array
from plimsoll_predictor.splitting.jobs import Job
from plimsoll_predictor.splitting.strategies.guided import Guided
from plimsoll_predictor.splitting.strategies.strategy import Chunk, Cut


@dataclass(frozen=True, slots=True)
class Need:
    """The memory of a chunk of n items: base_bytes + n × slope_bytes, times a noise.

    noise: a share of that, one standard deviation.
    """

    base_bytes: float
    slope_bytes: float
    noise: float

    def peak_bytes(self, items: int, draw: np.random.Generator) -> int:
        """Draw the peak of a chunk."""
        mean = self.base_bytes + items * self.slope_bytes
        return max(1, round(mean * float(np.exp(self.noise * draw.standard_normal()))))


@dataclass(frozen=True, slots=True)
class PlayedRun:
    """A run's makespan in seconds, chunks that finished, workers killed, and its highest peak."""

    makespan_s: float
    chunks: int
    kills: int
    peak_bytes: int


@dataclass(frozen=True, slots=True)
class Container:
    """A worker's memory, and the need of its chunks. seed: of the noise."""

    container_bytes: int
    need: Need
    seed: int


@dataclass(frozen=True, slots=True)
class _Running:
    """A worker at work. chunk: what it will report; None if it is killed before."""

    first: int
    items: int
    chunk: Chunk | None


def play_leased(guided: Guided, job: Job, times: Array, container: Container) -> PlayedRun:
    """Play a leased run. A worker that is killed starts again; its items are leased again."""
    guided.begin(job, Cut.LEASED)
    return _Play(guided, job, times, container).play()


class _Play:
    def __init__(self, guided: Guided, job: Job, times: Array, container: Container) -> None:
        self._guided, self._job, self._container = guided, job, container
        self._draw = np.random.default_rng(container.seed)
        self._ends = [0.0, *np.cumsum(times).tolist()]
        self._back: list[tuple[int, int]] = []
        """Ranges of workers that were killed: their first item, and how many items."""
        self._first = self._chunks = self._kills = 0
        self._largest, self._peaks = [0] * job.workers, [0] * job.workers
        self._highest = 0

    def play(self) -> PlayedRun:
        last_s = self._job.start_s
        running: list[tuple[float, int, _Running]] = []
        for worker in range(self._job.workers):
            self._start(running, worker, self._job.start_s)
        while running:
            now_s, worker, was = heapq.heappop(running)
            if was.chunk is None:
                self._killed(worker, was)
                self._start(running, worker, now_s + self._job.start_s)
                continue
            last_s = now_s
            self._chunks += 1
            self._guided.done(was.chunk)
            self._start(running, worker, now_s)
        return PlayedRun(last_s, self._chunks, self._kills, self._highest)

    def _start(self, running: list[tuple[float, int, _Running]], worker: int, now_s: float) -> None:
        leased = self._lease()
        if leased is None:
            return
        first, items = leased
        seconds = self._ends[first + items] - self._ends[first]
        peak = self._container.need.peak_bytes(items, self._draw)
        chunk = None
        if peak <= self._container.container_bytes:
            self._largest[worker] = max(self._largest[worker], items)
            self._peaks[worker] = max(self._peaks[worker], peak)
            self._highest = max(self._highest, peak)
            chunk = Chunk(items, seconds, self._peaks[worker], self._largest[worker])
        entry = _Running(first, items, chunk)
        heapq.heappush(running, (now_s + self._job.wait_s + seconds, worker, entry))

    def _lease(self) -> tuple[int, int] | None:
        """Ranges that came back go first; they may be cut smaller."""
        if self._back:
            first, rest = self._back.pop()
            items = self._guided.next_items(rest)
            if items < rest:
                self._back.append((first + items, rest - items))
            return first, items
        left = self._job.items - self._first
        if not left:
            return None
        first, items = self._first, self._guided.next_items(left)
        self._first += items
        return first, items

    def _killed(self, worker: int, was: _Running) -> None:
        self._kills += 1
        self._back.append((was.first, was.items))
        self._guided.killed(was.items, self._container.container_bytes)
        self._largest[worker] = self._peaks[worker] = 0
