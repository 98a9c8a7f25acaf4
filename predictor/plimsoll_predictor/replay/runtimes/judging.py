"""The methods that can replay a log, by name, and the figures of one of them on a log."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from plimsoll_predictor.core.documents import to_document
from plimsoll_predictor.replay.runtimes.baselines import NEWEST, OwnHistory, RequestedTime
from plimsoll_predictor.replay.runtimes.method import Method
from plimsoll_predictor.replay.runtimes.product import Product
from plimsoll_predictor.replay.runtimes.protocol import replay_log
from plimsoll_predictor.replay.runtimes.scoring import Score, score
from plimsoll_predictor.replay.runtimes.shapes_method import PaperShapes
from plimsoll_predictor.runtimes.runs.log_run import RuntimeLog


class NoSuchMethod(ValueError):
    """No method has that name; the message lists the names."""


@dataclass(frozen=True, slots=True)
class MethodKind:
    """A method that can be made afresh for each replayed log.

    make: called with the number of runs in the log, the last half of which is the test.
    """

    name: str
    words: str
    make: Callable[[int], Method]


OWN: Final = "plimsoll"
ALL: Final = "all"
METHODS: Final[Mapping[str, MethodKind]] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            MethodKind(OWN, "the forecaster that serves", lambda _: Product()),
            MethodKind("own-history", "the task's newest 2,000 runs", lambda _: OwnHistory()),
            MethodKind("last-20", "the task's newest 20", lambda _: OwnHistory(NEWEST)),
            MethodKind("requested-time", "the request, as used so far", lambda _: RequestedTime()),
            MethodKind("shapes-8", "the paper's 8 shapes, scaled", PaperShapes),
        )
    }
)


def methods_named(names: Sequence[str]) -> list[MethodKind]:
    """The methods of these names, each once, in the order of METHODS; "all" means all.

    Raises NoSuchMethod for an unknown name.
    """
    for name in names:
        if name not in METHODS and name != ALL:
            raise NoSuchMethod(
                f"there is no method {name[:60]!r} of forecasting; choose of"
                f" {', '.join(METHODS)}, or {ALL}"
            )
    return [kind for name, kind in METHODS.items() if ALL in names or name in names]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """How well a method forecast the runs of a log.

    bytes_per_task: None if a method keeps all runs of a task.
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
            **to_document(self.score),
            "us_per_forecast": self.us_per_forecast,
            "us_per_run": self.us_per_run,
            "bytes_per_task": self.bytes_per_task,
        }


def judge(
    log: RuntimeLog, kind: MethodKind, progress: Callable[[int], None] | None = None
) -> Judged:
    """``replay_log`` with a fresh method of the kind, and its figures.

    progress: gets the number of runs submitted so far, every so often.

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
