"""The attempts that run at a moment of a replay, and how much each has reached by then.

Traces have a run's peak, not its curve. So the replay states how memory grows, and the figures say
under which growth they hold.
"""

from __future__ import annotations

from plimsoll_predictor.replay.growth import Growth
from plimsoll_predictor.replay.sizes.figures import ReplayedRow
from plimsoll_predictor.replay.sizes.sizer import RunningAttempt


class RunningAttempts:
    """The attempts in flight, by task."""

    def __init__(self, growth: Growth | None) -> None:
        """growth: None if running attempts are not measured; then only their starts are known."""
        self._growth = growth
        self._by_task: dict[str, dict[int, tuple[ReplayedRow, float]]] = {}

    def start(self, run: ReplayedRow, start_s: float) -> None:
        """Note a run's attempt; it may start later."""
        self._by_task.setdefault(run.row.task, {})[run.row.line] = (run, start_s)

    def end(self, run: ReplayedRow) -> None:
        """Forget a run's attempt that ended."""
        self._by_task.get(run.row.task, {}).pop(run.row.line, None)

    def of(self, task: str, now_s: float) -> list[RunningAttempt]:
        """The task's attempts that have started by now."""
        return [
            self._seen(run, line, start_s, now_s)
            for line, (run, start_s) in self._by_task.get(task, {}).items()
            if start_s <= now_s
        ]

    def _seen(self, run: ReplayedRow, line: int, start_s: float, now_s: float) -> RunningAttempt:
        if self._growth is None or run.row.runtime_s <= 0:
            return RunningAttempt(line=line, started_s=start_s, reached_bytes=0.0)
        share = (now_s - start_s) / run.row.runtime_s
        wanted_bytes = self._growth.reached(share) * run.row.peak_bytes
        # By the protocol an attempt that is too small fails at its very end, at its limit.
        return RunningAttempt(
            line=line,
            started_s=start_s,
            reached_bytes=min(wanted_bytes, run.last_bytes),
            climbs=self._growth.goes_on(share) and wanted_bytes < run.last_bytes,
        )
