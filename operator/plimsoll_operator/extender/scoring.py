"""Answers one question of a scheduler from memory; scores that are not ready in time are equal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from plimsoll_operator.extender.breaker import Breaker
from plimsoll_operator.extender.metrics import ExtenderMetrics
from plimsoll_operator.extender.questions import (
    EQUAL,
    BadQuestion,
    Question,
    TooManyNodes,
    answer,
    read_question,
)
from plimsoll_operator.metrics.quiet_log import QuietLog, place_of
from plimsoll_operator.pods.spec import metadata_of
from plimsoll_operator.sizing.node_hint import Heard
from plimsoll_operator.sizing.node_scores import Graded, Scores, score_nodes
from plimsoll_operator.sizing.state import AdmissionState


@dataclass(slots=True)
class Scorer:
    """Answers questions, and notes how late it was.

    monotonic: seconds on a clock that cannot jump. deadline_s: an answer that takes longer is late.
    heard_s: when the controller last answered; None before.
    excluded: namespaces whose pods are left alone.
    """

    state: AdmissionState
    metrics: ExtenderMetrics
    log: QuietLog
    monotonic: Callable[[], float]
    deadline_s: float
    excluded: frozenset[str] = frozenset()
    heard_s: float | None = None
    breaker: Breaker = field(default_factory=Breaker)

    def hear(self) -> None:
        """Note that the controller answered."""
        self.heard_s = self.monotonic()

    def age_s(self, now_s: float) -> float | None:
        """Seconds since the controller was heard; None before."""
        return None if self.heard_s is None else now_s - self.heard_s

    def rests(self, now_s: float) -> bool:
        """Say whether nothing is computed now, because answers were late."""
        return self.breaker.rests(now_s)

    def score(self, body: bytes, began_s: float) -> bytes:
        """Return the answer to a question that was read. It never raises."""
        if self._is_late(began_s):
            return self.without_scores(Graded.LATE, began_s)
        try:
            question = read_question(body)
            return self._scored(question, began_s)
        except TooManyNodes:
            return self.without_scores(Graded.OVERSIZED, began_s)
        except BadQuestion:
            return self.without_scores(Graded.MALFORMED, began_s)
        except Exception as error:  # whatever it is, the pod is scheduled
            # Not the error's own text: it may quote the pod, and pods carry secrets.
            return self.without_scores(Graded.ERROR, began_s, error=place_of(error))

    def without_scores(self, graded: Graded, began_s: float, **fields: str) -> bytes:
        """Return equal scores for a question whose nodes' names are unknown."""
        if graded is not Graded.RESTING:
            self.log.warning("equal-scores", graded.value, **fields)
        self._note(graded, began_s)
        return EQUAL

    def _scored(self, question: Question, began_s: float) -> bytes:
        now_s = self.monotonic()
        found = self._found(question, now_s)
        text = EQUAL if found.scores is None else answer(question.names, found.scores)
        if self._is_late(began_s):
            return self.without_scores(Graded.LATE, began_s)
        if found.best is not None:
            # Counted until the feed shows it, so that a burst is not sent to one node. If several
            # are best, the scheduler chooses by what it has assigned itself.
            host = question.hosts[found.best]
            self.state.placing.expect(str(found.task), host, now_s, found.need)
        self._note(found.graded, began_s)
        return text

    def _found(self, question: Question, now_s: float) -> Scores:
        if metadata_of(question.pod).get("namespace") in self.excluded:
            return Scores(Graded.OTHER)
        heard = Heard(now_s, self.age_s(now_s))
        return score_nodes(question.pod, question.hosts, self.state, heard)

    def _is_late(self, began_s: float) -> bool:
        return self.monotonic() - began_s > self.deadline_s

    def _note(self, graded: Graded, began_s: float) -> None:
        now_s = self.monotonic()
        if graded is Graded.LATE:
            self.breaker = self.breaker.after_late(now_s)
        elif graded is not Graded.RESTING:
            self.breaker = self.breaker.after_timely()
        self.metrics.answered(graded, now_s - began_s)
