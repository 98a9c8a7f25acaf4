"""Decisions beside a new object's size. If one fails, the object goes without that one alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from plimsoll_operator.admission.admission_review import Creation
from plimsoll_operator.admission.fail_open import or_else
from plimsoll_operator.admission.freshness import Freshness
from plimsoll_operator.metrics.quiet_log import QuietLog
from plimsoll_operator.names.json_patch import Operation
from plimsoll_operator.ordering.holding import Holding, HoldOutcome, Readiness, hold_for
from plimsoll_operator.ordering.suspending import Suspension, suspension_of
from plimsoll_operator.sizing.job_sizing import Moment, mistakes_in
from plimsoll_operator.sizing.node_hint import Heard, Hinted, HintOutcome, hint_for
from plimsoll_operator.sizing.sized import Sized
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_operator.splitting.cut_job import CutJob, CutOutcome, cut_new_job
from plimsoll_operator.splitting.leased_job import Leasing
from plimsoll_operator.splitting.spark_driver import DriverOutcome, GivenDriver, give_driver


class _Decided(Protocol):
    """A decision. outcome: what is counted of it."""

    @property
    def outcome(self) -> Any: ...

    @property
    def patch(self) -> Sequence[Operation]: ...


D = TypeVar("D", bound=_Decided)


@dataclass(frozen=True, slots=True)
class Guarded:
    """Decides, and never raises. A decision is None if it does not concern the object.

    The fields are those of ``Answerer``.
    """

    state: AdmissionState
    freshness: Freshness
    log: QuietLog
    monotonic: Callable[[], float]
    watched: Mapping[str, Callable[[str | None], bool]]
    leases: Callable[[str], Leasing | None]

    @or_else("not-held", lambda _: Holding(HoldOutcome.ERROR))
    def holding(self, creation: Creation, sized: Sized) -> Holding | None:
        """Say whether the pod waits for its turn; None if it starts at once."""
        readiness = self._readiness("pods", creation.namespace)
        return hold_for(creation.object, sized, self.state, readiness)

    @or_else("no-hint", lambda _: Hinted(HintOutcome.ERROR))
    def hint(self, creation: Creation, sized: Sized) -> Hinted | None:
        """Give the pod a hint at nodes; None if it gets none."""
        now_s = self.monotonic()
        # A copy on disk says nothing about nodes that is still true.
        age_s = self.freshness.age_s(now_s) if self.freshness.from_feed else None
        hinted = hint_for(creation.object, sized, self.state, Heard(now_s, age_s))
        if hinted is not None:
            self._expect(creation, sized, hinted, now_s)
        return hinted

    @or_else("no-spark", lambda _: GivenDriver(DriverOutcome.ERROR))
    def driver(self, creation: Creation, sized: Sized) -> GivenDriver | None:
        """Give a driver of Spark its properties; None for all other pods."""
        return give_driver(creation.object, sized, self.state, self.unhealed())

    @or_else("not-suspended", lambda _: Suspension(HoldOutcome.ERROR))
    def suspension(self, creation: Creation, moment: Moment) -> Suspension | None:
        """Say whether the Job waits for its turn; None if it starts at once."""
        readiness = self._readiness("jobs", moment.namespace)
        return suspension_of(creation.object, moment, readiness)

    @or_else("not-cut", lambda creation: CutJob(CutOutcome.ERROR, creation.object))
    def cut(self, creation: Creation, moment: Moment) -> CutJob | None:
        """Cut a Job over items; None for all other Jobs."""
        return cut_new_job(creation.object, moment, self.leases(creation.uid))

    @or_else("no-words", lambda _: list[str]())
    def mistakes(self, job: Mapping[str, Any], notes: Mapping[str, str]) -> list[str]:
        """Return what the Job's people are warned of."""
        return mistakes_in(job, notes)

    def unhealed(self) -> str | None:
        """Say why nobody would notice a kill now; None if somebody would."""
        return self.freshness.unhealed(self.monotonic()) or self.state.unhealed

    def _readiness(self, resource: str, namespace: str | None) -> Readiness:
        age_s = self.freshness.age_s(self.monotonic()) if self.freshness.from_feed else None
        watched = self.watched.get(resource)
        return Readiness(age_s, watched is not None and watched(namespace))

    def _expect(self, creation: Creation, sized: Sized, hinted: Hinted, now_s: float) -> None:
        """Count the pod on its best node until the feed does: the next pods may come at once."""
        if hinted.best is None or sized.identity is None or creation.dry_run:
            return
        self.state.placing.expect(str(sized.identity.task), hinted.best, now_s, hinted.need)


def counted(decided: D | None, count: Callable[[Any], None], *, is_new: bool) -> D | None:
    """Count what was decided on a new object, and return it."""
    if decided is not None and is_new:
        count(decided.outcome)
    return decided


def patch_of(decided: _Decided | None) -> Sequence[Operation]:
    """Return a decision's operations; none if there was nothing to decide."""
    return () if decided is None else decided.patch
