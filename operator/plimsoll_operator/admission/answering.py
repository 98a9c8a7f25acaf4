"""Answers one AdmissionReview. Whatever happens, the pod is admitted."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, TypeVar

from plimsoll_operator.admission.admission_review import (
    JOB,
    Creation,
    Unanswerable,
    allowed,
    read_review,
    uid_in,
)
from plimsoll_operator.admission.fail_open import or_else
from plimsoll_operator.admission.freshness import Freshness
from plimsoll_operator.admission.metrics import AdmissionMetrics
from plimsoll_operator.admission.waiting_for_lift import AwaitedLift, awaited_lift
from plimsoll_operator.metrics.quiet_log import QuietLog, place_of
from plimsoll_operator.names import labels
from plimsoll_operator.names.json_patch import Operation
from plimsoll_operator.ordering.gate import is_held
from plimsoll_operator.ordering.holding import Holding, HoldOutcome, Readiness, hold_for
from plimsoll_operator.ordering.suspending import Suspension, suspension_of
from plimsoll_operator.pods.creation import webhook_wrote
from plimsoll_operator.pods.job_attempts import (
    notes_for_job,
    notes_for_unlabelled_job,
    patch_with,
)
from plimsoll_operator.pods.recognising import patch_for_recognised, recognise
from plimsoll_operator.sizing.decision_note import read_note
from plimsoll_operator.sizing.job_sizing import Moment, mistakes_in, patch_for_new_job
from plimsoll_operator.sizing.node_hint import Heard, Hinted, HintOutcome, hint_for
from plimsoll_operator.sizing.pod_sizing import size
from plimsoll_operator.sizing.sized import Sized, Treatment
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_operator.splitting.cut_job import CutJob, CutOutcome, cut_new_job
from plimsoll_operator.splitting.leased_job import Leasing
from plimsoll_operator.splitting.spark_driver import DriverOutcome, GivenDriver, give_driver
from plimsoll_predictor.core.decision import Reason

A = TypeVar("A")
Notes = Callable[[Mapping[str, Any]], dict[str, str] | None]
"""Returns the annotations for a Job's template; None if its pods are not Plimsoll's."""
_EXCLUDED: Final = Sized(Treatment.EXCLUDED, [])


@dataclass(frozen=True, slots=True)
class Answerer:
    """Answers reviews from memory.

    monotonic: seconds on a clock that cannot jump.
    excluded: namespaces whose objects stay as they are. The webhooks' selectors say the same, but
        the API server may still have older ones, and people may change them.
    now_s: Unix seconds.
    watched: by the resource that waits (pods, jobs), whether this replica would let the objects go
        that wait in a namespace, if the controller were away.
    """

    state: AdmissionState
    freshness: Freshness
    metrics: AdmissionMetrics
    log: QuietLog
    monotonic: Callable[[], float]
    excluded: frozenset[str] = frozenset()
    now_s: Callable[[], float] = time.time
    watched: Mapping[str, Callable[[str | None], bool]] = field(default_factory=dict)
    leases: Callable[[str], Leasing | None] = lambda _: None
    """Returns what a new Job that leases its items is told, by its run; None if there are no
    leases."""

    def answer(self, body: bytes) -> bytes:
        """The answer to one request. It never raises and never refuses."""
        began_s = self.monotonic()
        text = self._answered(body, self._sized)
        self.metrics.seconds.observe(self.monotonic() - began_s)
        return text

    def answer_unless_lift_awaited(self, body: bytes) -> bytes | AwaitedLift:
        """As ``answer``; the awaited lift if it is worth waiting a moment for it."""
        began_s = self.monotonic()
        text = self._answered(body, self._sized_unless_lift_awaited)
        if not isinstance(text, AwaitedLift):
            self.metrics.seconds.observe(self.monotonic() - began_s)
        return text

    def has_news(self, lift: AwaitedLift) -> bool:
        """Say whether the awaited lift is there, or nothing will come."""
        return lift.has_news(self.state) or self._unhealed() is not None

    def answer_waited(self, body: bytes, lift: AwaitedLift) -> bytes:
        """The answer to a pod that waited for its lift, by what is known now."""
        self.metrics.waited(lifted=lift.has_news(self.state))
        return self.answer(body)

    def answer_job(self, body: bytes, may_cut: bool) -> bytes:
        """The answer to a Job's creation: its pods' template gets to know the Job's attempts.

        Only a suspended Job's size, a policy and a cut need the feed. It never raises or refuses.
        may_cut: whether a Job over items is cut, which takes some tenths of a second.
        """
        return self._answered(body, partial(self._of_job, notes_for_job, may_cut))

    def answer_unlabelled(self, body: bytes) -> bytes:
        """The answer to a pod without a label, in a namespace whose people want it recognised.

        A recognised pod gets its label; the API server then asks for its size. It needs nothing
        from the feed. It never raises and never refuses.
        """
        return self._answered(body, self._recognised)

    def answer_unlabelled_job(self, body: bytes, may_cut: bool) -> bytes:
        """As ``answer_job``, for a Job in such a namespace whose template has no label."""
        return self._answered(body, partial(self._of_job, notes_for_unlabelled_job, may_cut))

    def _answered(self, body: bytes, answer: Callable[[bytes], A]) -> A | bytes:
        try:
            return answer(body)
        except Unanswerable as error:
            return self._let_through(error)
        except Exception as error:  # whatever it is, the object is admitted
            # Not the error's own text: it may quote the pod, and pods carry secrets.
            unanswerable = Unanswerable("error", uid_in(body))
            return self._let_through(unanswerable, error=place_of(error))

    def answer_oversized(self, start: bytes) -> bytes:
        """The answer to a request too large to be read; ``start`` is its beginning."""
        return self._let_through(Unanswerable("oversized", uid_in(start)))

    def _sized(self, body: bytes) -> bytes:
        creation, sized = self._decided(body)
        return self._told(creation, sized)

    def _sized_unless_lift_awaited(self, body: bytes) -> bytes | AwaitedLift:
        creation, sized = self._decided(body)
        lift = awaited_lift(creation.object, sized, self.state)
        if lift is not None and self._unhealed() is None:
            return lift
        return self._told(creation, sized)

    def _decided(self, body: bytes) -> tuple[Creation, Sized]:
        creation = read_review(body)
        if creation.namespace in self.excluded:
            return creation, _EXCLUDED
        now_s = self.monotonic()
        trouble = self.freshness.trouble(now_s)
        if trouble is not None:
            raise Unanswerable(trouble, creation.uid)
        unhealed = self.freshness.unhealed(now_s)
        return creation, size(
            creation.object, self.state, creation.namespace, unhealed, self.now_s()
        )

    def _told(self, creation: Creation, sized: Sized) -> bytes:
        if _is_new(creation) or _is_left_now(creation, sized):
            self.metrics.answered(sized)
        waits = self._wait(creation, sized)
        # A pod that waits gets its hint when its turn comes, also if it is asked for again.
        hint = () if waits or is_held(creation.object) else self._hint(creation, sized)
        patch = [*sized.patch, *waits, *hint, *self._driver(creation, sized)]
        return allowed(creation.uid, patch=patch, warnings=[sized.warning] if sized.warning else ())

    def _wait(self, creation: Creation, sized: Sized) -> Sequence[Operation]:
        """The operations that hold the pod until its turn; none if it starts at once."""
        holding = self._holding(creation, sized)
        if holding is None:
            return ()
        if _is_new(creation):
            self.metrics.held(holding.outcome)
        return holding.patch

    @or_else("not-held", lambda _: Holding(HoldOutcome.ERROR))
    def _holding(self, creation: Creation, sized: Sized) -> Holding | None:
        readiness = self._readiness("pods", creation.namespace)
        return hold_for(creation.object, sized, self.state, readiness)

    def _readiness(self, resource: str, namespace: str | None) -> Readiness:
        age_s = self.freshness.age_s(self.monotonic()) if self.freshness.from_feed else None
        watched = self.watched.get(resource)
        return Readiness(age_s, watched is not None and watched(namespace))

    def _hint(self, creation: Creation, sized: Sized) -> Sequence[Operation]:
        """The operations of a hint at nodes; none if the pod gets no hint."""
        hinted = self._hinted(creation, sized)
        if hinted is None:
            return ()
        if _is_new(creation):
            self.metrics.hinted(hinted.outcome)
        return hinted.patch

    @or_else("no-hint", lambda _: Hinted(HintOutcome.ERROR))
    def _hinted(self, creation: Creation, sized: Sized) -> Hinted | None:
        now_s = self.monotonic()
        # A copy on disk says nothing about nodes that is still true.
        age_s = self.freshness.age_s(now_s) if self.freshness.from_feed else None
        hinted = hint_for(creation.object, sized, self.state, Heard(now_s, age_s))
        if hinted is not None:
            self._expect(creation, sized, hinted, now_s)
        return hinted

    def _expect(self, creation: Creation, sized: Sized, hinted: Hinted, now_s: float) -> None:
        """Count the pod on its best node until the feed does: the next pods may come at once."""
        if hinted.best is None or sized.identity is None or creation.dry_run:
            return
        self.state.placing.expect(str(sized.identity.task), hinted.best, now_s, hinted.need)

    def _driver(self, creation: Creation, sized: Sized) -> Sequence[Operation]:
        """The operations that give a driver of Spark its properties; none for all other pods."""
        given = self._given(creation, sized)
        if given is None:
            return ()
        if _is_new(creation):
            self.metrics.gave(given.outcome)
        return given.patch

    @or_else("no-spark", lambda _: GivenDriver(DriverOutcome.ERROR))
    def _given(self, creation: Creation, sized: Sized) -> GivenDriver | None:
        return give_driver(creation.object, sized, self.state, self._unhealed())

    def _unhealed(self) -> str | None:
        return self.freshness.unhealed(self.monotonic()) or self.state.unhealed

    def _of_job(self, notes_for: Notes, may_cut: bool, body: bytes) -> bytes:
        creation = read_review(body, JOB)
        if creation.namespace in self.excluded:
            return allowed(creation.uid)
        notes = notes_for(creation.object)
        if notes is None:
            return allowed(creation.uid)
        now_s = self.monotonic()
        if self.freshness.trouble(now_s) is not None:
            return allowed(creation.uid, patch=patch_with(creation.object, notes))
        unhealed = self.freshness.unhealed(now_s)
        moment = Moment(self.state, creation.namespace, unhealed, self.now_s())
        mistakes = self._mistakes(creation.object, notes)
        cut = self._cut(creation, moment) if may_cut else None
        if cut is None:
            patch = self._of_whole_job(creation, notes, moment)
            return allowed(creation.uid, patch=patch, warnings=mistakes)
        # How often a Job tries each of its pods depends on how many pods there are.
        notes = {**(notes_for(cut.job) or notes), **cut.notes}
        whole = replace(creation, object=cut.job)
        patch = [*self._of_whole_job(whole, notes, moment), *cut.patch]
        if cut.warning:
            mistakes.append(cut.warning)
        return allowed(creation.uid, patch=patch, warnings=mistakes)

    @or_else("no-words", lambda _: list[str]())
    def _mistakes(self, job: Mapping[str, Any], notes: Mapping[str, str]) -> list[str]:
        """What its people are warned of."""
        return mistakes_in(job, notes)

    def _of_whole_job(
        self, creation: Creation, notes: Mapping[str, str], moment: Moment
    ) -> list[Operation]:
        """The operations for a Job that is cut as it stays; those that suspend it are the last."""
        job = creation.object
        suspension = self._suspension(creation, moment)
        if suspension is None:
            return self._with_knowledge(job, notes, moment)
        if suspension.outcome is HoldOutcome.HELD:
            # Its template is sized like that of any waiting Job: the queue reads the room from it.
            job = {**job, "spec": {**job["spec"], "suspend": True}}
        notes = {**notes, **suspension.notes}
        return [*self._with_knowledge(job, notes, moment), *suspension.patch]

    def _suspension(self, creation: Creation, moment: Moment) -> Suspension | None:
        """Whether the Job waits for its turn; None if it starts at once."""
        suspension = self._suspended(creation, moment)
        if suspension is not None and not creation.dry_run:
            self.metrics.held_job(suspension.outcome)
        return suspension

    @or_else("not-suspended", lambda _: Suspension(HoldOutcome.ERROR))
    def _suspended(self, creation: Creation, moment: Moment) -> Suspension | None:
        readiness = self._readiness("jobs", moment.namespace)
        return suspension_of(creation.object, moment, readiness)

    def _cut(self, creation: Creation, moment: Moment) -> CutJob | None:
        """How a Job over items is cut; None for all other Jobs."""
        cut = self._cut_job(creation, moment)
        if cut is not None and not creation.dry_run:
            self.metrics.cut(cut.outcome)
        return cut

    @or_else("not-cut", lambda creation: CutJob(CutOutcome.ERROR, creation.object))
    def _cut_job(self, creation: Creation, moment: Moment) -> CutJob | None:
        return cut_new_job(creation.object, moment, self.leases(creation.uid))

    def _with_knowledge(
        self, job: Mapping[str, Any], notes: Mapping[str, str], moment: Moment
    ) -> list[Operation]:
        """The operations for a Job; if they fail, its template gets its notes all the same."""
        try:
            return patch_for_new_job(job, notes, moment)
        except Exception as error:  # its attempts are written all the same
            self.metrics.failed_open.labels("error").inc()
            self.log.warning("failed-open", "job", error=place_of(error))
            return patch_with(job, notes)

    def _recognised(self, body: bytes) -> bytes:
        creation = read_review(body)
        if creation.namespace in self.excluded:
            return allowed(creation.uid)
        found = recognise(creation.object)
        if not creation.dry_run:
            self.metrics.recognised(found)
        patch = patch_for_recognised(creation.object) if found.why is None else []
        return allowed(creation.uid, patch=patch)

    def _let_through(self, why: Unanswerable, **fields: str) -> bytes:
        self.metrics.failed_open.labels(why.reason).inc()
        self.log.warning("failed-open", why.reason, uid=why.uid[:64], **fields)
        return allowed(why.uid, version=why.version)


def _is_new(creation: Creation) -> bool:
    """Say whether the pod is counted: it is no dry run, and was not answered before.

    It is answered again if another webhook has changed it.
    """
    return not creation.dry_run and not webhook_wrote(creation.object, labels.DECISION)


def _is_left_now(creation: Creation, sized: Sized) -> bool:
    """Say whether the pod was sized before, and is left to another webhook now."""
    if creation.dry_run or sized.treatment is not Treatment.LEFT:
        return False
    before = read_note(creation.object)
    return before is not None and before.reason is not Reason.LEFT
