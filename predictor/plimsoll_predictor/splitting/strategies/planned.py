"""The cut that the fitted model expects to be best; the share while nothing is known."""

from __future__ import annotations

from collections.abc import Iterator

from plimsoll_predictor.splitting.jobs import Job
from plimsoll_predictor.splitting.makespans import played_s
from plimsoll_predictor.splitting.proposing import Aim, Known, Proposal, Verdict, propose
from plimsoll_predictor.splitting.runs import RunSums
from plimsoll_predictor.splitting.strategies.strategy import Chunk, Cut


class Planned:
    """Decides once per run, at its beginning."""

    def __init__(self, aim: Aim | None = None) -> None:
        self.past = RunSums()
        self.proposal: Proposal | None = None
        self._aim = aim or Aim()
        self._job = Job(1, 1, 0.0, 0.0)
        self._took: list[float] = []
        self._sizes: Iterator[int] = iter(())

    def begin(self, job: Job, cut: Cut) -> None:  # noqa: ARG002 (of the interface)
        """Choose the plan."""
        self._job, self._took = job, []
        self.past.begin()
        costs = self.past.costs()
        known = Known(costs, self.past.memory(), self.past.noise)
        self.proposal = propose(job, known, self._aim, job.share)
        plan = self.proposal.plan
        if self.proposal.verdict is Verdict.CUT and plan is not None and costs is not None:
            self._sizes = plan.sizes(job, costs)
        else:
            self._sizes = _shares(job)

    def next_items(self, left: int) -> int:
        """Return the plan's next chunk."""
        return min(left, next(self._sizes, left))

    def done(self, chunk: Chunk) -> None:
        """Keep the chunk's time."""
        self._took.append(chunk.seconds)
        self.past.times.add(chunk.items, chunk.seconds)
        if chunk.peak_bytes is not None:
            self.past.peaks.add(chunk.largest or chunk.items, chunk.peak_bytes)

    def ended(self, makespan_s: float) -> None:
        """Compare the makespan with the chunks' times."""
        waits = (self._job.wait_s + seconds for seconds in self._took)
        self.past.ended(makespan_s, played_s(list(waits), self._job.workers, self._job.start_s))


def _shares(job: Job) -> Iterator[int]:
    while True:
        yield job.share
