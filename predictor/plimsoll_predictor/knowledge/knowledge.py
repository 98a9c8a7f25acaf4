"""All that deciding needs to know of one task. The feed carries it and the snapshot keeps it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from plimsoll_predictor.core.cpu import CpuUse
from plimsoll_predictor.core.documents import from_document, to_document
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.knowledge.error_budget import NOTHING_SPENT, Spent
from plimsoll_predictor.knowledge.expert_names import MAX_SEEN
from plimsoll_predictor.knowledge.floor import Floor
from plimsoll_predictor.knowledge.guarded import Guarded
from plimsoll_predictor.knowledge.rule import Rule
from plimsoll_predictor.knowledge.shown import NOTHING_SHOWN, Shown
from plimsoll_predictor.model.task_model import Model

EXACTLY: Final = 2
"""``Lift.written`` of a lift to what was written, and no more."""
ANSWERED: Final = 4
"""``Lift.written`` has this in addition if the lift is answered."""
_WRITTEN: Final = 3
"""The place of ``Lift.written`` in what the feed carries."""


@dataclass(frozen=True, slots=True)
class Lift:
    """The allocation of a run's next attempt after an OOM kill, or after a failure by itself.

    The order of its first three fields is the feed's format.
    """

    allocation_bytes: int
    attempt: int
    """The attempt that gets it: 2 for the first retry."""
    after_bytes: int
    """The allocation that was too small, or may have been. 0 if none was."""
    as_written: bool = False
    """Whether its attempts get no less than their author wrote, as after a failure by itself."""
    killed_s: float | None = field(default=None, compare=False)
    """The run's latest kill, Unix seconds; None if unknown. The feed carries the first kill since
    the lift was made; a later one alone does not change the feed."""
    exactly: bool = False
    """Whether its attempts get no more than was written, either, as after a node has refused one
    that had more. Such a lift is ``as_written``, too."""
    answered: bool = False
    """Whether a pod with its key has succeeded since, where siblings with that key may still need
    it."""

    @property
    def is_held(self) -> bool:
        """Whether its attempts get as much as the killed one, since they will need less."""
        return not self.as_written and self.allocation_bytes == self.after_bytes

    @property
    def tells_need(self) -> bool:
        """Whether its attempts are known to need more than the killed one had."""
        return not (self.as_written or self.is_held or self.answered)

    def is_answered_by(self, attempt: int | None, submitted_s: float | None) -> bool:
        """Say whether a success ends the wait for the attempt that the lift was made for.

        attempt, submitted_s: of the success; None if not known. An attempt before the lifted one
        does not, and neither does a pod made before the run's latest kill: pods of one Job may
        share a run, and the pod that the lift was made for may still have to come.
        """
        if attempt is not None and attempt < self.attempt:
            return False
        return submitted_s is None or submitted_s >= (self.killed_s or 0)

    @property
    def is_awaited(self) -> bool:
        """Whether a size was too small, and no later attempt has succeeded yet."""
        return self.after_bytes > 0 and not self.answered

    @property
    def written(self) -> int:
        """1 if ``as_written``, EXACTLY if ``exactly``, else 0; ANSWERED is added to each.

        An older reader takes all but 0 for 1.
        """
        written = EXACTLY if self.exactly else int(self.as_written)
        return written + ANSWERED if self.answered else written

    def with_written(self, written: int) -> Lift:
        """Return the lift with what ``written`` says."""
        kind = written % ANSWERED
        return replace(
            self,
            as_written=bool(kind),
            exactly=kind == EXACTLY,
            answered=written >= ANSWERED,
        )

    @property
    def told(self) -> tuple[int, ...]:
        """What the feed carries. An older reader knows neither ``written`` nor the time."""
        told = self.allocation_bytes, self.attempt, self.after_bytes
        if self.killed_s is not None:
            return (*told, self.written, int(self.killed_s))
        return (*told, self.written) if self.written else told

    @classmethod
    def from_told(cls, told: Sequence[Any]) -> Lift:
        """Inverse of ``told``; TypeError on foreign data."""
        return cls(*told).with_written(int(told[_WRITTEN]) if len(told) > _WRITTEN else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """One task as deciding sees it. Immutable; a change makes a new one."""

    task: TaskId
    policy: Policy
    runs: int = 0
    """Runs whose need is known."""
    max_need_bytes: int | None = None
    """Largest need known; a censored one counts as what it exceeds. None if none is known."""
    champion: str = MAX_SEEN
    """The expert that serves; named in expert_names.py, or of another version."""
    rule: Rule | None = None
    """The champion's rule, where it bids by one."""
    largest_bytes: int | None = None
    """Largest need of a run that succeeded; the lower bound that a kill shows does not count."""
    largest_request_bytes: int | None = None
    """The largest request of a run that succeeded."""
    model: Model | None = None
    lifts: Mapping[str, Lift] = field(default_factory=dict)
    """Run key -> lift, for runs that were OOM-killed and have not succeeded yet. If siblings have
    a run's key, too, its lift stays after a success, marked as answered."""
    guarded: Guarded | None = None
    """The rule that it follows if its learned sizes were worse for long; None if experts decide."""
    spent: Spent = NOTHING_SPENT
    """The runs that were killed below their request, by which an error budget is counted."""
    cpu: CpuUse | None = None
    """The CPU that the newest runs used; None if not measured."""
    floor: Floor | None = None
    """The least size below what is written; None if nothing says that there is one."""
    fails_often: bool = False
    """Whether it also fails so often as written that no failure says anything about a size."""
    shown: Shown = NOTHING_SHOWN
    """What its running attempts show."""

    @property
    def paused(self) -> bool:
        """Whether its policy says to leave its pods alone for now."""
        return self.policy.paused

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; ``from_dict`` reads it back."""
        return {
            "task": str(self.task),
            "policy": self.policy.to_dict(),
            "runs": self.runs,
            "max_need_bytes": self.max_need_bytes,
            "champion": self.champion,
            "rule": to_document(self.rule),
            "largest_bytes": self.largest_bytes,
            "largest_request_bytes": self.largest_request_bytes,
            "model": self.model.to_dict() if self.model else None,
            "lifts": {run: list(lift.told) for run, lift in self.lifts.items()},
            "paused": self.paused,  # for a reader from before the policy said it
            "cpu": to_document(self.cpu),
            "floor": to_document(self.floor),
            "fails_often": self.fails_often,
            "spent": to_document(self.spent),
            "guarded": to_document(self.guarded),
            "shown": to_document(self.shown),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Knowledge:
        """Inverse of ``to_dict``; ModelError, KeyError, TypeError or ValueError on foreign data."""
        model, cpu, rule = data["model"], data.get("cpu"), data.get("rule")
        floor = data.get("floor")
        spent = data.get("spent", ())  # an older controller counted none
        guarded = data.get("guarded")
        shown = data.get("shown", {})  # and saw none
        return cls(
            task=TaskId.parse(data["task"]),
            policy=Policy.from_dict(data["policy"]),
            runs=int(data["runs"]),
            max_need_bytes=data["max_need_bytes"],
            champion=from_document(str, data["champion"], "its champion"),
            rule=None if rule is None else from_document(Rule, rule, "its rule"),
            largest_bytes=data.get("largest_bytes"),
            largest_request_bytes=data.get("largest_request_bytes"),
            model=Model.from_dict(model) if model is not None else None,
            lifts={run: Lift.from_told(told) for run, told in data["lifts"].items()},
            spent=from_document(Spent, spent, "what it has spent"),
            guarded=None if guarded is None else from_document(Guarded, guarded, "its guard"),
            cpu=None if cpu is None else from_document(CpuUse, cpu, "its CPU use"),
            floor=None if floor is None else from_document(Floor, floor, "its floor"),
            fails_often=bool(data.get("fails_often")),
            shown=from_document(Shown, shown, "what it shows"),
        )
