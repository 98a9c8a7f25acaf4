"""One log through one method: the figures that are printed and written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from plimsoll_predictor.replay.runtimes.methods import MethodKind
from plimsoll_predictor.replay.runtimes.protocol import replay_log
from plimsoll_predictor.replay.runtimes.scoring import Score, score
from plimsoll_predictor.runtimes.runs.log_run import RuntimeLog


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """How well a method forecast the runs of a log.

    bytes_per_task: None where a method keeps all runs of a task.
    """

    log: str
    method: str
    score: Score
    us_per_forecast: float
    us_per_run: float
    bytes_per_task: float | None

    def to_dict(self) -> dict[str, Any]:
        """The figures in plain JSON types."""
        return {
            "log": self.log,
            "method": self.method,
            **self.score.to_dict(),
            "us_per_forecast": self.us_per_forecast,
            "us_per_run": self.us_per_run,
            "bytes_per_task": self.bytes_per_task,
        }


def judge(
    log: RuntimeLog, kind: MethodKind, progress: Callable[[int], None] | None = None
) -> Judged:
    """Replay a log through a fresh method of the kind.

    progress: told the number of runs submitted so far, every so often.

    Raises MethodBroken if the method's answer is no distribution.
    """
    method = kind.make(len(log.runs))
    replayed = replay_log(log, method, progress)
    return Judged(
        log=log.name,
        method=kind.name,
        score=score(replayed.scored),
        us_per_forecast=replayed.us_per_forecast,
        us_per_run=replayed.us_per_run,
        bytes_per_task=method.bytes_per_task(),
    )
