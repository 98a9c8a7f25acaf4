"""Answers one AdmissionReview. Whatever happens, the pod is admitted."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeVar

from plimsoll_operator.admission.admission_review import (
    JOB,
    Creation,
    Unanswerable,
    allowed,
    read_review,
    uid_in,
)
from plimsoll_operator.admission.answering_jobs import Cutting, JobAnswerer, NotesFor
from plimsoll_operator.admission.freshness import Freshness
from plimsoll_operator.admission.guarded import Guarded, counted, patch_of
from plimsoll_operator.admission.metrics import AdmissionMetrics
from plimsoll_operator.admission.waiting_for_lift import AwaitedLift, awaited_lift
from plimsoll_operator.metrics.quiet_log import QuietLog, place_of
from plimsoll_operator.names import labels
from plimsoll_operator.names.json_patch import Operation
from plimsoll_operator.ordering.gate import is_held
from plimsoll_operator.pods.creation import webhook_wrote
from plimsoll_operator.pods.job_attempts import notes_for_job, notes_for_unlabelled_job
from plimsoll_operator.pods.recognising import patch_for_recognised, recognise
from plimsoll_operator.sizing.decision_note import read_note
from plimsoll_operator.sizing.pod_sizing import size
from plimsoll_operator.sizing.sized import Sized, Treatment
from plimsoll_operator.sizing.state import AdmissionState
from plimsoll_operator.splitting.leased_job import Leasing
from plimsoll_predictor.core.decision import Reason

A = TypeVar("A")
_EXCLUDED: Final = Sized(Treatment.EXCLUDED, [])


@dataclass(slots=True)
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
    _guarded: Guarded = field(init=False)
    _jobs: JobAnswerer = field(init=False)

    def __post_init__(self) -> None:
        self._guarded = Guarded(
            self.state, self.freshness, self.log, self.monotonic, self.watched, self.leases
        )
        self._jobs = JobAnswerer(self._guarded, self.metrics, self.now_s)

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
        return lift.has_news(self.state) or self._guarded.unhealed() is not None

    def answer_waited(self, body: bytes, lift: AwaitedLift) -> bytes:
        """The answer to a pod that waited for its lift, by what is known now."""
        self.metrics.waited(lifted=lift.has_news(self.state))
        return self.answer(body)

    def answer_job(self, body: bytes, cutting: Cutting) -> bytes:
        """The answer to a Job's creation: its pods' template gets to know the Job's attempts.

        Only a suspended Job's size, a policy and a cut need the feed. It never raises or refuses.
        """
        return self._answered(body, partial(self._of_job, notes_for_job, cutting))

    def answer_unlabelled(self, body: bytes) -> bytes:
        """The answer to a pod without a label, in a namespace whose people want it recognised.

        A recognised pod gets its label; the API server then asks for its size. It needs nothing
        from the feed. It never raises and never refuses.
        """
        return self._answered(body, self._recognised)

    def answer_unlabelled_job(self, body: bytes, cutting: Cutting) -> bytes:
        """As ``answer_job``, for a Job in such a namespace whose template has no label."""
        return self._answered(body, partial(self._of_job, notes_for_unlabelled_job, cutting))

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
        if lift is not None and self._guarded.unhealed() is None:
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
        is_new = _is_new(creation)
        if is_new or _is_left_now(creation, sized):
            self.metrics.answered(sized)
        decided, metrics = self._guarded, self.metrics
        waits = patch_of(counted(decided.holding(creation, sized), metrics.held, is_new=is_new))
        hint: Sequence[Operation] = ()
        # A pod that waits gets its hint when its turn comes, also if it is asked for again.
        if not waits and not is_held(creation.object):
            hint = patch_of(counted(decided.hint(creation, sized), metrics.hinted, is_new=is_new))
        driver = patch_of(counted(decided.driver(creation, sized), metrics.gave, is_new=is_new))
        patch = [*sized.patch, *waits, *hint, *driver]
        return allowed(creation.uid, patch=patch, warnings=[sized.warning] if sized.warning else ())

    def _of_job(self, notes_for: NotesFor, cutting: Cutting, body: bytes) -> bytes:
        creation = read_review(body, JOB)
        if creation.namespace in self.excluded:
            return allowed(creation.uid)
        return self._jobs.answer(creation, notes_for, cutting)

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
