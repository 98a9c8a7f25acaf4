"""Does due trainings: by rounds of workers if the chart has them, else by one process."""

from __future__ import annotations

from dataclasses import dataclass

from plimsoll_operator.controller.hub.hub import TrainingDue
from plimsoll_operator.controller.training_rounds.rounds import TrainingRounds
from plimsoll_operator.training.queue import TrainingQueue


@dataclass(frozen=True, slots=True)
class Trainers:
    """rounds: None if there is no template of a Job."""

    queue: TrainingQueue
    rounds: TrainingRounds | None = None

    def training_due(self, event: TrainingDue) -> None:
        """Have the task trained."""
        if self.rounds is None:
            self.queue.request(event.task, event.policy, event.why)
        else:
            self.rounds.request(event.task, event.policy, event.why, killed=event.killed)

    @property
    def waiting(self) -> int:
        """Trainings that have not begun."""
        return len(self.queue.waiting) + (self.rounds.waiting if self.rounds else 0)

    @property
    def running(self) -> int:
        """Trainings that have begun and not ended."""
        return len(self.queue.running) + (self.rounds.running if self.rounds else 0)

    @property
    def longest_wait_s(self) -> float:
        """How long the training that waits longest has waited."""
        return max(self.queue.longest_wait_s, self.rounds.longest_wait_s if self.rounds else 0.0)
