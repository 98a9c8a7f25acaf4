"""A Job whose pods lease its items: what is written on its template, and what the controller reads.

All is on the template from the Job's creation on. So a pod that is made while admission is away
leases, too. If admission was away when the Job was created, all its pods do their shares.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from plimsoll_operator.names import labels
from plimsoll_operator.names.json_patch import Operation, add, annotation_path
from plimsoll_operator.pods.job_attempts import attempts_of_job, has_room
from plimsoll_operator.pods.spec import (
    EMPTY,
    SizedContainer,
    annotations_of,
    conditions_in,
    mapping,
    metadata_of,
    sequence,
    sized_container,
    template_of,
    whole_number,
)
from plimsoll_operator.splitting.items_job import SHOWN_CHARS, NotOverItems, read_items_job
from plimsoll_operator.splitting.job_tokens import JobName, is_token_of, token_for
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.splitting.chunk_runs import Learned
from plimsoll_predictor.splitting.costs import MOST_ITEMS
from plimsoll_predictor.splitting.cutting import CuttableJob
from plimsoll_predictor.splitting.jobs import MOST_WORKERS, Job
from plimsoll_predictor.splitting.lease_room import lease_room
from plimsoll_predictor.splitting.proposing import Aim

URL: Final = "PLIMSOLL_CHUNKS_URL"
JOB: Final = "PLIMSOLL_CHUNKS_JOB"
TOKEN: Final = "PLIMSOLL_CHUNKS_TOKEN"
WORKER: Final = "PLIMSOLL_WORKER"
JOB_UID: Final = "PLIMSOLL_JOB_UID"
_JOB_NAME: Final = "PLIMSOLL_JOB_NAME"
_ADDED: Final = frozenset({URL, JOB, TOKEN, WORKER, JOB_UID, _JOB_NAME})
_YES: Final = "true"
_NO: Final = "false"
LEASE_FEATURE: Final = f"{labels.FEATURE_PREFIX}{labels.LEASE_ITEMS}"
START_S: Final = 2.0
WAIT_S: Final = 0.05
"""The seconds that one more lease costs a worker."""


@dataclass(frozen=True, slots=True)
class Leasing:
    """What admission writes on a new Job. url: of the server; key: of tokens; run: of this Job."""

    url: str
    key: bytes
    run: str


@dataclass(frozen=True, slots=True)
class LeasedJob:
    """A Job that leases, as the API server has it. job: its items and workers. shares: its pods.

    most_items: of a lease, as chosen at the Job's creation; None if not chosen. retries: whether
    each of its pods surely gets a second attempt. task: of its pods; None if not told.
    """

    name: JobName
    uid: str
    job: Job
    shares: int
    most_items: int | None = None
    retries: bool = True
    task: TaskId | None = None


def mentions_leases(job: Mapping[str, Any]) -> bool:
    """Say whether the Job's author says anything of leases but that there are none."""
    told: object = annotations_of(job).get(labels.LEASES, _NO)
    return told != _NO


def wants_leases(job: Mapping[str, Any]) -> bool:
    """Say whether the Job's author asks for leases.

    Raises:
        NotOverItems: if that is unclear; a cut Job has other pods than its author relies on.
    """
    told: object = annotations_of(job).get(labels.LEASES, _NO)
    if told not in (_YES, _NO):
        shown = str(told)[:SHOWN_CHARS]
        raise NotOverItems(f"{labels.LEASES} is {shown!r}; write 'true' or 'false'")
    if told == _YES and labels.ITEMS not in annotations_of(job):
        raise NotOverItems(f"{labels.LEASES} needs {labels.ITEMS}: how many items its pods share")
    return told == _YES


def told_template(
    job: Mapping[str, Any], namespace: str, leasing: Leasing, room: Mapping[str, str] = EMPTY
) -> tuple[list[Operation], dict[str, str]]:
    """Return the operations for the Job's container, and the annotations for its template.

    room: those of ``room_notes``.

    A Job that is asked for again has all of them. A copy of a Job gets its own run: in the record
    of the original, all items may already be done.

    Raises:
        NotOverItems: if there is no container for it, or no room.
    """
    template = template_of(job)
    container = sized_container(template)
    if not isinstance(container, SizedContainer):
        raise NotOverItems(f"{labels.LEASES}: {container.why}")
    spec = mapping(sequence(mapping(template.get("spec")).get("containers"))[container.index])
    there = [mapping(each) for each in sequence(spec.get("env"))]
    told = run_of(job)
    if told == leasing.run and _has_token(there, leasing.key, namespace, told):
        return [], {labels.LEASE_RUN: told, **room}
    notes = {labels.LEASE_RUN: leasing.run, **room}
    if not has_room(job, notes):
        raise NotOverItems(f"{labels.LEASES}: its template's annotations leave no room")
    kept = [dict(each) for each in there if each.get("name") not in _ADDED]
    path = f"/spec/template/spec/containers/{container.index}/env"
    value = [*kept, *_variables(namespace, leasing)]
    return [add(path, value)], notes


def without_leases(job: Mapping[str, Any]) -> list[Operation]:
    """Return what removes the variables and note of leasing from a copy of a Job that leased.

    Else its pods would lease without permission, or wait for an answer before they begin. The last
    variable is removed first, so that places stay right, also those of earlier operations.
    """
    template = template_of(job)
    container = sized_container(template)
    if run_of(job) is None or not isinstance(container, SizedContainer):
        return []
    spec = mapping(sequence(mapping(template.get("spec")).get("containers"))[container.index])
    path = f"/spec/template/spec/containers/{container.index}/env"
    added = [
        place
        for place, each in enumerate(sequence(spec.get("env")))
        if mapping(each).get("name") in _ADDED
    ]
    note = f"/spec/template{annotation_path(labels.LEASE_RUN)}"
    paths = [*(f"{path}/{place}" for place in reversed(added)), note]
    return [{"op": "remove", "path": each} for each in paths]


def run_of(job: Mapping[str, Any]) -> str | None:
    """Return the run that the Job got at its creation; None if it leases nothing."""
    template = template_of(job)
    run = annotations_of(template).get(labels.LEASE_RUN)
    return run if isinstance(run, str) and run else None


def read_leased_job(job: Mapping[str, Any]) -> LeasedJob | None:
    """Read a Job of the API server; None if it leases nothing.

    Raises:
        NotOverItems, ValueError: if it lacks something that is needed.
    """
    run, metadata = run_of(job), metadata_of(job)
    if run is None:
        return None
    cuttable = read_items_job(job).cuttable
    if cuttable.pods > MOST_WORKERS:
        raise NotOverItems(f"{labels.LEASES}: it has more than {MOST_WORKERS} pods")
    return LeasedJob(
        name=JobName(str(metadata["namespace"]), str(metadata["name"]), run),
        uid=str(metadata["uid"]),
        job=job_of(cuttable),
        shares=cuttable.pods,
        most_items=_most_items(job),
        retries=attempts_of_job(job) > 1,
    )


def job_of(cuttable: CuttableJob) -> Job:
    """Return a Job over items as one whose pods lease them."""
    return Job(cuttable.items, cuttable.workers, START_S, WAIT_S)


def room_notes(cuttable: CuttableJob, learned: Learned | None, policy: Policy) -> dict[str, str]:
    """Return the annotations that bound leases, and memory from below, as far as known."""
    if learned is None:
        return {}
    bounds = [each for each in (cuttable.limit_bytes, policy.max_bytes) if each is not None]
    aim = Aim(policy.memory_weight, min(bounds, default=None))
    room = lease_room(job_of(cuttable), cuttable.pods, learned, aim)
    notes = {LEASE_FEATURE: str(room.items)} if room.bound else {}
    if room.memory_bytes is not None:
        notes[labels.CHUNK_MEMORY] = str(room.memory_bytes)
    return notes


def _most_items(job: Mapping[str, Any]) -> int | None:
    template = template_of(job)
    return whole_number(annotations_of(template).get(LEASE_FEATURE), MOST_ITEMS)


def has_ended(job: Mapping[str, Any]) -> bool:
    """Say whether a Job makes no more pods."""
    return any(
        each.get("type") in ("Complete", "Failed") and each.get("status") == "True"
        for each in conditions_in(job)
    )


def _has_token(variables: list[Mapping[str, Any]], key: bytes, namespace: str, run: str) -> bool:
    try:
        job = JobName(namespace, "any", run)
    except ValueError:
        return False
    tokens = (each.get("value") for each in variables if each.get("name") == TOKEN)
    return any(isinstance(told, str) and is_token_of(key, job, told) for told in tokens)


def _variables(namespace: str, leasing: Leasing) -> list[dict[str, Any]]:
    """Return the variables; the kubelet fills in those of the pod itself."""

    def of_pod(name: str, path: str) -> dict[str, Any]:
        return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}

    return [
        of_pod(WORKER, "metadata.name"),
        of_pod(JOB_UID, "metadata.labels['batch.kubernetes.io/controller-uid']"),
        of_pod(_JOB_NAME, "metadata.labels['batch.kubernetes.io/job-name']"),
        {"name": URL, "value": leasing.url},
        {"name": JOB, "value": f"{namespace}/$({_JOB_NAME})/{leasing.run}"},
        {"name": TOKEN, "value": token_for(leasing.key, namespace, leasing.run)},
    ]
