"""One pod to size, after reading."""

from __future__ import annotations

from dataclasses import dataclass

from plimsoll_operator.pods.identity import RunIdentity
from plimsoll_operator.pods.spec import Pod, SizedContainer
from plimsoll_operator.pods.workflow_items import Context
from plimsoll_operator.sizing.cpu_sizing import cpu_asked
from plimsoll_operator.sizing.decision_note import DecisionNote
from plimsoll_operator.sizing.patch import Memory, pod_with
from plimsoll_predictor.knowledge.knowledge import Knowledge, Lift


@dataclass(frozen=True, slots=True)
class ReadPod:
    """One pod after reading.

    was: its memory as its author wrote it. note: the decision that it already has.
    words: oddities to report beside the decision; usually empty.
    unhealed, now_s: as in ``pod_sizing.size``.
    """

    body: Pod
    identity: RunIdentity
    container: SizedContainer
    was: Memory
    note: DecisionNote | None
    knowledge: Knowledge
    context: Context
    words: str
    unhealed: str | None
    now_s: float | None

    @property
    def as_written(self) -> Pod:
        """Return the pod as its author wrote it, without Plimsoll's own earlier changes."""
        note, container = self.note, self.container
        cpu = cpu_asked(self.body, container, note) if note is not None and note.cpu else None
        if cpu is None and self.was == Memory(container.request_bytes, container.limit_bytes):
            return self.body
        return pod_with(self.body, container, self.was, cpu)

    @property
    def attempt(self) -> int:
        """Return the attempt's number by Plimsoll's own count: the run's lift's, or the note's."""
        lift = self.lift
        return max(lift.attempt if lift else 1, self.note.attempt if self.note else 1)

    @property
    def lift(self) -> Lift | None:
        """Return the run's lift; None if it has none, or if this is a bare first pod."""
        run = self.identity.run
        return self.knowledge.lifts.get(run) if run is not None else None
