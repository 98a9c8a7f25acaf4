"""What waits for a training, in words."""

from __future__ import annotations

from dataclasses import dataclass

from plimsoll_predictor.core.units import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingsNow:
    """Trainings of a cluster whose tasks are trained in rounds.

    longest_wait_s: the longest wait of a training that has not begun. last_round_s: how long the
    newest round took; None if none has ended since the leading controller began to lead.
    """

    waiting: int = 0
    running: int = 0
    longest_wait_s: float = 0.0
    last_round_s: float | None = None

    @property
    def words(self) -> str:
        """Return one sentence without its full stop."""
        if self.waiting:
            wait = "waits" if self.waiting == 1 else "wait"
            parts = [f"{counted(self.waiting, 'training')} {wait}"]
            if self.longest_wait_s >= 1:
                parts[0] += f", the longest for {self.longest_wait_s:,.0f} s"
        else:
            parts = ["no training waits"]
        parts.append(f"{self.running or 'none'} {'runs' if self.running <= 1 else 'run'}")
        if self.last_round_s is not None:
            parts.append(f"the last round took {self.last_round_s:,.0f} s")
        return "; ".join(parts)
