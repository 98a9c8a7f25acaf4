"""Memory and chunk together: three jobs whose peak grows with the chunk, as in Spark jobs.

The first run has containers of half of the share's need, the second those that are proposed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from benchmarks.split.plays import FIRST_JUDGED, LEASE_S, POD_START_S
from plimsoll_predictor.replay.splitting.memory import Container, Need, PlayedRun, play_leased
from plimsoll_predictor.replay.splitting.playing import even_s, lognormal_items
from plimsoll_predictor.splitting.jobs import Job
from plimsoll_predictor.splitting.proposing import MEMORY_TIME, Aim, Known, propose_leased
from plimsoll_predictor.splitting.strategies.guided import Guided

MB: Final = 10**6
PEAKS_MB: Final[Mapping[str, Mapping[int, float]]] = MappingProxyType(
    {
        "sort": {2: 383, 8: 143, 32: 71, 200: 64},
        "join": {2: 799, 8: 263, 32: 209, 200: 194},
        "Python workers": {2: 1416, 32: 392},
    }
)
"""Peak of a task by partitions, measured with PySpark 4.0.1, adaptive execution off."""
JOB: Final = Job(items=2_000, workers=16, start_s=POD_START_S, wait_s=LEASE_S)
MEDIAN_S: Final = 0.2
SIGMA: Final = 0.5
NOISE: Final = 0.05
JUDGED: Final = FIRST_JUDGED + 20_000
"""The room that a container leaves was chosen with seeds from FIRST_JUDGED on."""


@dataclass(frozen=True, slots=True)
class MemoryFigures:
    """A job, over all seeds; times in seconds, means. kills: of workers, in all seeds' runs.

    half_*: in the first run, with half of the share's need. memory_time: of the proposed run over
    the share's, which gets exactly its mean need.
    """

    job: str
    mode: str
    runs: int
    default_s: float
    tuned_s: float
    bound_s: float
    peak_default_mb: float
    peak_tuned_mb: float
    half_s: float
    half_kills: int
    half_memory_time: float
    kills: int
    memory_time: float

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class _Seen:
    default_s: float
    bound_s: float
    half: PlayedRun
    tuned: PlayedRun
    tuned_bytes: int


def memory_figures(seeds: int) -> Iterator[MemoryFigures]:
    """Play all jobs."""
    for name, peaks in PEAKS_MB.items():
        need = _need(peaks)
        share_bytes = round(need.base_bytes + JOB.share * need.slope_bytes)
        seen = [_played(need, share_bytes, JUDGED + 10 * seed) for seed in range(seeds)]
        default_s = float(np.mean([each.default_s for each in seen]))
        half_s = float(np.mean([each.half.makespan_s for each in seen]))
        tuned_s = float(np.mean([each.tuned.makespan_s for each in seen]))
        tuned_bytes = float(np.mean([each.tuned_bytes for each in seen]))
        yield MemoryFigures(
            job=f"{name}, {JOB.items:,} × {MEDIAN_S:g} s, {JOB.workers} workers",
            mode="leased, for memory × time",
            runs=2,
            default_s=default_s,
            tuned_s=tuned_s,
            bound_s=float(np.mean([each.bound_s for each in seen])),
            peak_default_mb=share_bytes / MB,
            peak_tuned_mb=tuned_bytes / MB,
            half_s=half_s,
            half_kills=sum(each.half.kills for each in seen),
            half_memory_time=half_s / default_s / 2,
            kills=sum(each.tuned.kills for each in seen),
            memory_time=tuned_s * tuned_bytes / (default_s * share_bytes),
        )


def _need(peaks: Mapping[int, float]) -> Need:
    """Fit base + slope ÷ partitions; two partitions are a worker's share here."""
    measured = np.array(list(peaks.values()))
    parts = np.array([[1.0, 2 / count] for count in peaks]) / measured[:, None]
    base, slope = np.linalg.lstsq(parts, np.ones(len(measured)), rcond=None)[0]
    return Need(float(base) * MB, float(slope) * MB / JOB.share, NOISE)


def _played(need: Need, share_bytes: int, seed: int) -> _Seen:
    times = lognormal_items(JOB.items, MEDIAN_S, SIGMA, seed)
    first = Guided(share_bytes // 2)
    half = play_leased(first, JOB, times, Container(share_bytes // 2, need, seed))
    known = Known(first.past.costs(), first.past.memory(), first.past.noise)
    plan = propose_leased(JOB, known, Aim(MEMORY_TIME), JOB.share).plan
    if plan is None or plan.memory_bytes is None:
        raise RuntimeError("a run with peaks has a proposal with memory")
    next_times = lognormal_items(JOB.items, MEDIAN_S, SIGMA, seed + 1)
    second = Guided(plan.memory_bytes, plan.largest)
    second.past = first.past
    container = Container(plan.memory_bytes, need, seed + 1)
    tuned = play_leased(second, JOB, next_times, container)
    bound_s = JOB.bound_s(float(next_times.sum()))
    default_s = even_s(JOB, next_times, JOB.share)
    return _Seen(default_s, bound_s, half, tuned, plan.memory_bytes)
