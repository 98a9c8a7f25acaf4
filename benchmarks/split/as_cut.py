"""Jobs as admission cuts them: by its rules, into even chunks, or into decreasing ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from plimsoll_predictor.splitting.chunk_runs import KEPT, NEXT_POD_S, ChunkRun, learned_of
from plimsoll_predictor.splitting.cutting import CuttableJob, cut
from plimsoll_predictor.splitting.jobs import Job
from plimsoll_predictor.splitting.strategies.strategy import Chunk, Cut


class AsCut:
    """Decides once per run, at its beginning. most_listed: see ``CuttableJob``."""

    def __init__(self, most_listed: int) -> None:
        self._most_listed = most_listed
        self._runs: deque[ChunkRun] = deque(maxlen=KEPT)
        self._sizes: Iterator[int] = iter(())
        self._waited_s = 0.0

    def begin(self, job: Job, cut: Cut) -> None:  # noqa: ARG002 (of the interface)
        """Cut the Job; its author wrote one pod per worker."""
        self._waited_s = max(0.0, job.wait_s - NEXT_POD_S)
        self._sizes = iter(_sizes(job, self._runs, self._most_listed))

    def next_items(self, left: int) -> int:
        """Return the next pod's chunk."""
        return min(left, next(self._sizes, left))

    def done(self, chunk: Chunk) -> None:
        """Keep the chunk's time."""
        self._runs.append(ChunkRun(chunk.items, chunk.seconds, self._waited_s))

    def ended(self, makespan_s: float) -> None:
        """Learn nothing beyond the chunks."""


def _sizes(job: Job, runs: deque[ChunkRun], most_listed: int) -> tuple[int, ...]:
    learned = learned_of(list(runs))
    pods = min(job.workers, job.items)
    if learned is not None:
        written = CuttableJob(job.items, job.workers, pods, None, most_listed=most_listed)
        found = cut(written, learned)
        if found.sizes:
            return found.sizes
        pods = found.pods
    firsts = [job.items * at // pods for at in range(pods + 1)]
    return tuple(firsts[at + 1] - firsts[at] for at in range(pods))
