"""Reads what the API server shows of a campaign's Jobs and their pods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from plimsoll_operator.names import labels
from plimsoll_operator.names.objects import (
    conditions_in,
    labels_of,
    mapping,
    metadata_of,
    sequence,
    spec_of,
)
from plimsoll_operator.pods.owners import controller_of
from plimsoll_operator.pods.status import read_time, unscheduled
from plimsoll_predictor.campaigns.seen import SeenJob

Document = Mapping[str, Any]

_MOST_WORDS: Final = 300


def seen_jobs(
    uid: str, jobs: Iterable[Document], pods: Iterable[Document]
) -> dict[tuple[int, int], SeenJob]:
    """Return the Jobs that a campaign owns, by scenario and attempt.

    uid: of the campaign; another with its name may just have been deleted. pods: of the Jobs.
    """
    by_job = {str(owner.get("uid")): pod for pod in pods if (owner := controller_of(pod))}
    return {
        key: _seen(job, by_job.get(str(metadata_of(job).get("uid"))))
        for job in jobs
        if (key := _key(job)) is not None and mapping(controller_of(job)).get("uid") == uid
    }


def _key(job: Document) -> tuple[int, int] | None:
    scenario, _, attempt = str(labels_of(job).get(labels.SCENARIO)).partition("-")
    return (int(scenario), int(attempt)) if scenario.isdecimal() and attempt.isdecimal() else None


def _seen(job: Document, pod: Document | None) -> SeenJob:
    status = mapping(job.get("status"))
    conditions = {
        str(each.get("type")): each for each in conditions_in(job) if each.get("status") == "True"
    }
    failed, completed = conditions.get("Failed"), conditions.get("Complete")
    ended = completed or failed or {}
    finished = status.get("completionTime") or ended.get("lastTransitionTime")
    # The first is set before the pod is deleted, the other after it is gone.
    reasons = {str(conditions.get(each, {}).get("reason")) for each in ("FailureTarget", "Failed")}
    started = pod is not None and _has_started(pod)
    why, lacks_room = _why_not_started(job, pod)
    if failed:
        why = str(mapping(failed).get("message") or "")
    return SeenJob(
        pod_uid=None if pod is None else metadata_of(pod).get("uid"),
        started=started,
        goes_on=pod is not None and not _has_ended(pod),
        succeeded=completed is not None,
        failed=failed is not None,
        finished_s=read_time(finished) if ended else None,
        stuck_why=why[:_MOST_WORDS],
        too_long="DeadlineExceeded" in reasons,
        lacks_room=lacks_room and not (started or ended),
    )


def _has_started(pod: Document) -> bool:
    """Say whether a container of the pod itself has started; init containers do not count."""
    return any("running" in state or "terminated" in state for state in _states(pod))


def _has_ended(pod: Document) -> bool:
    """Say whether all its containers have ended: the pod's phase may say so a little later."""
    return all("terminated" in state for state in _states(pod))


def _states(pod: Document) -> list[Mapping[str, Any]]:
    statuses = sequence(mapping(pod.get("status")).get("containerStatuses"))
    return [mapping(mapping(each).get("state")) for each in statuses]


def _why_not_started(job: Document, pod: Document | None) -> tuple[str, bool]:
    """Return why a pod has not started, in the words of what holds it back, and if it lacks room.

    If a quota has no room, the Job has no pod; if nodes have none, the pod stays unscheduled.
    """
    if pod is None:
        name = metadata_of(job).get("name")
        words = f"it has no pod; `kubectl describe job {name}` says what refuses one, maybe a quota"
        return words, True
    for state in _states(pod):
        waiting = mapping(state.get("waiting"))
        reason = waiting.get("reason")
        if reason and reason != "ContainerCreating":
            return f"{reason}: {waiting.get('message') or _image(pod)}", False
    condition = unscheduled(pod)
    if condition:
        return f"no node takes it: {condition.get('message') or condition.get('reason')}", True
    return "its container is still being made", False


def _image(pod: Document) -> str:
    """Return the image of the pod's first container, in words."""
    containers = sequence(spec_of(pod).get("containers"))
    return f"image {mapping(containers[0]).get('image')}" if containers else "no container"
