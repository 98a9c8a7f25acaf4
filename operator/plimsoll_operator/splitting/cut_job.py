"""Cuts a new Job over items by what its task's chunks took, or says why it stays as written.

The cut is on the Job before any pod is made, and nothing needs Plimsoll after that: a Job that was
cut does all its items even if Plimsoll is gone. If a pod's chunk is larger than any that succeeded,
it has no less memory than was written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

import orjson

from plimsoll_operator.names import labels
from plimsoll_operator.names.json_patch import Operation, add, annotation_path
from plimsoll_operator.pods.chunk_starts import STARTS, starts_text
from plimsoll_operator.pods.job_attempts import (
    has_room,
    is_made_again,
    is_made_here,
    was_counted_before,
)
from plimsoll_operator.pods.queue_managers import DEADLINE
from plimsoll_operator.pods.spec import annotations_of, mapping, template_of
from plimsoll_operator.sizing.bounds.caps import PodAmounts, bounds_of_lift
from plimsoll_operator.sizing.chunk_floor import AS_WRITTEN
from plimsoll_operator.sizing.job_sizing import Moment, task_and_policy_of
from plimsoll_operator.splitting.items_job import (
    ItemsJob,
    NotOverItems,
    has_deadline,
    read_items_job,
)
from plimsoll_operator.splitting.leased_job import (
    Leasing,
    mentions_leases,
    room_notes,
    run_of,
    told_template,
    wants_leases,
    without_leases,
)
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.splitting.chunk_runs import Learned
from plimsoll_predictor.splitting.cutting import Cut, CuttableJob, cut
from plimsoll_predictor.splitting.proposing import Verdict

MOST_LEASING_PODS: Final = 2_000
"""The most pods of a Job that leases: all of them are listed every few seconds."""
CHUNK_FEATURE: Final = f"{labels.FEATURE_PREFIX}{labels.CHUNK_ITEMS}"


_ROOM: Final = {"room for a decision and more": " " * 8192}
"""A Job is cut only if Plimsoll's notes fit on its template: its pods' memory must suit the cut."""


class CutOutcome(StrEnum):
    """The result for one Job over items, for counting."""

    CUT = "cut"
    RECOMMENDED = "recommended"
    """Another cut would be better, but the mode of its task changes nothing."""
    AS_WRITTEN = "as-written"
    """There is nothing to gain, or the gain is not sure."""
    UNKNOWN = "unknown"
    """No chunk of its task has succeeded yet."""
    KEPT = "kept"
    """It must not be cut otherwise."""
    LEASED = "leased"
    """Its pods lease their items; how many pods there are matters little."""
    UNREADABLE = "unreadable"
    """It lacks something that is needed to cut it."""
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class CutJob:
    """The answer for a Job. job: after the cut, without new annotations. patch: makes the cut.

    notes: annotations for its template. warning: for the Job's creator; empty if there is none.
    """

    outcome: CutOutcome
    job: Mapping[str, Any]
    patch: Sequence[Operation] = ()
    notes: Mapping[str, str] = field(default_factory=dict)
    warning: str = ""


@dataclass(frozen=True, slots=True)
class _NewJob:
    """A new Job over items, its task and the policy that holds for it."""

    job: Mapping[str, Any]
    over_items: ItemsJob
    task: TaskId
    policy: Policy

    @property
    def stays(self) -> bool:
        """Whether the containers stay as written, with the leases that a copy has from another."""
        return self.policy.mode is not Mode.ENFORCE or was_counted_before(self.job)

    @property
    def copies_leases(self) -> bool:
        """Whether the containers have the leases of the Job that was copied."""
        return run_of(self.job) is not None


def cut_new_job(
    job: Mapping[str, Any], moment: Moment, leasing: Leasing | None = None
) -> CutJob | None:
    """Decide on a Job whose pods are Plimsoll's; None if it is not over items, or is off.

    leasing: None if leases are off.
    """
    if labels.ITEMS not in annotations_of(job) and not mentions_leases(job):
        return None
    task, policy = task_and_policy_of(job, moment)
    if task is None or policy.mode is Mode.OFF or policy.paused or moment.state.paused:
        return None
    try:
        leases, over_items = wants_leases(job), read_items_job(job)
    except NotOverItems as error:
        words = f"Plimsoll leaves the Job as it is written: {error}"
        return CutJob(CutOutcome.UNREADABLE, job, warning=words)
    new = _NewJob(job, over_items, task, policy)
    learned = moment.state.leased.get(task)
    found = _leased(new, leasing, learned) if leases else _cut(new, moment)
    if found.outcome is CutOutcome.LEASED or not new.copies_leases or new.stays:
        return found
    return replace(found, patch=[*found.patch, *without_leases(job)])


def _leased(new: _NewJob, leasing: Leasing | None, learned: Learned | None) -> CutJob:
    """Write on the Job how its pods lease, and how much at most; nothing else of it changes."""
    if leasing is None:
        return _unleased(new, "leases are switched off (leases.enabled)")
    why = _why_unleased(new)
    if why is not None:
        return _unleased(new, why)
    room = room_notes(new.over_items.cuttable, learned, new.policy)
    try:
        patch, notes = told_template(new.job, new.task.namespace, leasing, room)
    except NotOverItems as error:
        return _unleased(new, str(error))
    return CutJob(CutOutcome.LEASED, new.job, [*patch, *_without_chunk(new.job)], notes)


def _unleased(new: _NewJob, why: str) -> CutJob:
    words = "Plimsoll gives its pods no leases, so each does its share"
    if new.copies_leases and new.stays:
        words = "Plimsoll gives its pods no leases, but they have those of the Job that was copied"
    return CutJob(CutOutcome.KEPT, new.job, warning=f"{words}: {why}")


def _why_unleased(new: _NewJob) -> str | None:
    """Return why a Job whose author asks for leases gets none; None if it may get them."""
    job, mode = new.job, new.policy.mode
    reasons = [
        (
            mode is not Mode.ENFORCE,
            f"the task's mode is {mode.value}, and they need enforce",
        ),
        (
            is_made_again(job),
            "Terraform deletes a Job whose template is not as it planned, and makes it again",
        ),
        (
            not is_made_here(job),
            "its pods are made in another cluster (managedBy)",
        ),
        (
            was_counted_before(job),
            "Kueue never starts a Job whose containers are not as it counted them",
        ),
        (
            mapping(job.get("spec")).get("manualSelector") is True,
            "it selects its pods itself (manualSelector), so they do not get its name",
        ),
        (
            has_deadline(job),
            f"it has a deadline (activeDeadlineSeconds or {DEADLINE}), and a pod that is cut off"
            " waits",
        ),
        (
            new.over_items.is_listed,
            f"its {STARTS} says what each pod does; write it empty",
        ),
        (
            new.over_items.cuttable.pods > MOST_LEASING_PODS,
            f"it has more than {MOST_LEASING_PODS:,} pods",
        ),
    ]
    return next((words for holds, words in reasons if holds), None)


def _without_chunk(job: Mapping[str, Any]) -> list[Operation]:
    """Return what removes the items of a chunk: this Job leases, but is a copy of a cut one."""
    template = template_of(job)
    if CHUNK_FEATURE not in annotations_of(template):
        return []
    return [{"op": "remove", "path": f"/spec/template{annotation_path(CHUNK_FEATURE)}"}]


def _cut(new: _NewJob, moment: Moment) -> CutJob:
    job, over_items = new.job, new.over_items
    chunk = {CHUNK_FEATURE: str(over_items.cuttable.usual_items)}
    if _is_cut(job, over_items):
        # The Job was asked for again, or copied with the same chunks.
        return CutJob(CutOutcome.CUT, job, notes={**chunk, **_floor_of(job)})
    stale = _without_note(job)
    kept = over_items.kept
    if kept is None and not has_room(job, _ROOM):
        kept = "its template's annotations leave no room"
    if kept is None and moment.state.namespace(new.task.namespace).bounds.counts_ended:
        kept = "a quota of its namespace counts pods that have ended (count/pods)"
    if kept is not None:
        return CutJob(CutOutcome.KEPT, job, stale, chunk, f"Plimsoll does not cut it: {kept}")
    learned = moment.state.chunks.get(new.task)
    if learned is None:
        return CutJob(CutOutcome.UNKNOWN, job, stale, chunk)
    found = cut(_liftable(new, moment), learned, new.policy.memory_weight)
    return _decided(new, found, learned)


def _liftable(new: _NewJob, moment: Moment) -> CuttableJob:
    """Return the Job with what a pod may have after a kill, so that no chunk needs more."""
    cuttable, policy = new.over_items.cuttable, new.policy
    if not policy.max_lifts:
        return replace(cuttable, may_grow=False)
    limit_bytes, state = cuttable.limit_bytes, moment.state
    amounts = PodAmounts(request=limit_bytes, limit=limit_bytes, killed=limit_bytes)
    namespace = state.namespace(new.task.namespace).bounds
    bounds = bounds_of_lift(template_of(new.job), amounts, namespace, state.nodes)
    mosts = (policy.max_bytes, bounds.cap_bytes, bounds.room_bytes)
    most = min((each for each in mosts if each is not None), default=None)
    return replace(cuttable, most_lifted_bytes=most)


def _decided(new: _NewJob, found: Cut, learned: Learned) -> CutJob:
    """Return the answer: the cut that was found, if it differs and the task's mode allows it."""
    job, policy = new.job, new.policy
    outcome = _outcome(new, found)
    note = _note_on(new, found, learned, done=outcome is CutOutcome.CUT)
    if outcome is not CutOutcome.CUT:
        usual = {CHUNK_FEATURE: str(new.over_items.cuttable.usual_items)}
        return CutJob(outcome, job, note, usual)
    chunk = {CHUNK_FEATURE: str(found.items)}
    if found.grows:
        chunk[labels.CHUNK_MEMORY] = AS_WRITTEN
    elif learned.peaks is not None:
        # What nine of ten need: the experts decide how much room above it is worth its price.
        needed = round(learned.peaks.interval_bytes(found.items)[1])
        chunk[labels.CHUNK_MEMORY] = str(min(needed, policy.max_bytes or needed))
    patch = [*_patch(job, found, new.over_items), *note]
    return CutJob(outcome, _as_cut(job, found.pods), patch, chunk)


def _outcome(new: _NewJob, found: Cut) -> CutOutcome:
    as_written = found.pods == new.over_items.cuttable.pods and not found.sizes
    if as_written:
        return CutOutcome.AS_WRITTEN
    return CutOutcome.CUT if new.policy.mode is Mode.ENFORCE else CutOutcome.RECOMMENDED


def _is_cut(job: Mapping[str, Any], over_items: ItemsJob) -> bool:
    """Say whether the Job has the cut that its annotation describes.

    A copy may have other items in as many pods: what was found for its chunks does not hold.
    """
    try:
        note = mapping(orjson.loads(annotations_of(job).get(labels.CUT, "")))
    except ValueError:
        return False
    cuttable = over_items.cuttable
    as_cut = cuttable.pods, cuttable.usual_items
    return note.get("done") is True and (note.get("pods"), note.get("items")) == as_cut


def _without_note(job: Mapping[str, Any]) -> Sequence[Operation]:
    """Return what removes the annotation of another cut: the Job is a copy, and nothing is found.

    If something is found, that is written over it.
    """
    if labels.CUT not in annotations_of(job):
        return ()
    return ({"op": "remove", "path": annotation_path(labels.CUT)},)


def _floor_of(job: Mapping[str, Any]) -> dict[str, str]:
    """Return the annotation of its template that says what its chunk may need, if it has one."""
    template = template_of(job)
    told = annotations_of(template).get(labels.CHUNK_MEMORY)
    return {labels.CHUNK_MEMORY: told} if isinstance(told, str) else {}


def _patch(job: Mapping[str, Any], found: Cut, over_items: ItemsJob) -> list[Operation]:
    pods, workers = found.pods, over_items.cuttable.workers
    changes: list[tuple[str, int | str]] = [("/spec/completions", pods)]
    if mapping(job.get("spec")).get("parallelism", 1) > workers:
        # It had fewer pods than might run at once: as before, no more than those run at once.
        changes.append(("/spec/parallelism", workers))
    changes += [(path, str(pods)) for path in over_items.shares]
    patch: list[Operation] = [
        {"op": "replace", "path": path, "value": value} for path, value in changes
    ]
    # An empty value is absent, so it cannot be replaced.
    starts = over_items.starts if found.sizes else ()
    text = starts_text(found.sizes)
    return [*patch, *(add(path, text) for path in starts)]


def _as_cut(job: Mapping[str, Any], pods: int) -> Mapping[str, Any]:
    """Return the Job with that many pods, as far as other code has to know it."""
    cut_job = deepcopy(dict(job))
    cut_job["spec"]["completions"] = pods
    return cut_job


def _note_on(new: _NewJob, found: Cut, learned: Learned, *, done: bool) -> list[Operation]:
    """Return the operation that writes the decision and its reason on the Job."""
    proposal = found.proposal
    note: dict[str, Any] = {"was": new.over_items.cuttable.pods, "verdict": proposal.verdict.value}
    if proposal.verdict is Verdict.CUT:
        note |= {"pods": found.pods, "items": found.items, "gain": round(proposal.gain, 2)}
        if found.sizes:
            note["least"] = min(found.sizes)
        note["done"] = done
    if learned.failed:
        note["failed"] = learned.failed
    if learned.hung:
        note["hung"] = learned.hung
    if proposal.plan is not None:
        note["expected_s"] = round(proposal.plan.makespan.mean_s, 1)
    text = orjson.dumps(note).decode()
    taken = sum(len(str(key)) + len(str(value)) for key, value in annotations_of(new.job).items())
    if taken + len(labels.CUT) + len(text) > labels.MAX_ALL_ANNOTATIONS_BYTES // 4:
        return []  # a character has at most four bytes
    return [add(annotation_path(labels.CUT), text)]
