"""Answers the creation of a Job: its template gets what its pods are to know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any

from plimsoll_operator.admission.admission_review import Creation, allowed
from plimsoll_operator.admission.guarded import Guarded, counted
from plimsoll_operator.admission.metrics import AdmissionMetrics
from plimsoll_operator.metrics.quiet_log import place_of
from plimsoll_operator.names.json_patch import Operation
from plimsoll_operator.ordering.holding import HoldOutcome
from plimsoll_operator.pods.job_attempts import patch_with
from plimsoll_operator.sizing.job_sizing import Moment, patch_for_new_job

NotesFor = Callable[[Mapping[str, Any]], dict[str, str] | None]
"""Returns the annotations for a Job's template; None if its pods are not Plimsoll's."""


class Cutting(Enum):
    """Whether there is time to cut a Job over items, which takes some tenths of a second."""

    IN_TIME = auto()
    NO_TIME = auto()


@dataclass(frozen=True, slots=True)
class JobAnswerer:
    """Answers for Jobs of namespaces that are not excluded. now_s: Unix seconds."""

    guarded: Guarded
    metrics: AdmissionMetrics
    now_s: Callable[[], float]

    def answer(self, creation: Creation, notes_for: NotesFor, cutting: Cutting) -> bytes:
        """Return the answer to a Job's creation."""
        notes = notes_for(creation.object)
        if notes is None:
            return allowed(creation.uid)
        known = self.guarded
        now_s = known.monotonic()
        if known.freshness.trouble(now_s) is not None:
            return allowed(creation.uid, patch=patch_with(creation.object, notes))
        unhealed = known.freshness.unhealed(now_s)
        moment = Moment(known.state, creation.namespace, unhealed, self.now_s())
        mistakes = known.mistakes(creation.object, notes)
        is_new = not creation.dry_run
        cut = None
        if cutting is Cutting.IN_TIME:
            cut = counted(known.cut(creation, moment), self.metrics.cut, is_new=is_new)
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

    def _of_whole_job(
        self, creation: Creation, notes: Mapping[str, str], moment: Moment
    ) -> list[Operation]:
        """The operations for a Job that is cut as it stays; those that suspend it are the last."""
        job = creation.object
        suspension = counted(
            self.guarded.suspension(creation, moment),
            self.metrics.held_job,
            is_new=not creation.dry_run,
        )
        if suspension is None:
            return self._with_knowledge(job, notes, moment)
        if suspension.outcome is HoldOutcome.HELD:
            # Its template is sized like that of any waiting Job: the queue reads the room from it.
            job = {**job, "spec": {**job["spec"], "suspend": True}}
        notes = {**notes, **suspension.notes}
        return [*self._with_knowledge(job, notes, moment), *suspension.patch]

    def _with_knowledge(
        self, job: Mapping[str, Any], notes: Mapping[str, str], moment: Moment
    ) -> list[Operation]:
        """The operations for a Job; if they fail, its template gets its notes all the same."""
        try:
            return patch_for_new_job(job, notes, moment)
        except Exception as error:  # its attempts are written all the same
            self.metrics.failed_open.labels("error").inc()
            self.guarded.log.warning("failed-open", "job", error=place_of(error))
            return patch_with(job, notes)
