"""Reads who owns a pod, and whether its owner makes a deleted pod again under the same name.

A run is found again by its key. If a pod's owner is no Job and no workflow engine, the key is the
owner's UID and the pod's name, unless that name is generated: ``bert-worker-0`` of a PyTorchJob,
the ordinal of a StatefulSet's pod.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from plimsoll_operator.pods.spec import Pod, mapping, metadata_of, sequence

_REMAKERS: Final = frozenset(
    {
        ("apps", "StatefulSet"),
        *(
            ("kubeflow.org", kind)
            for kind in ("JAXJob", "MPIJob", "PaddleJob", "PyTorchJob", "TFJob", "XGBoostJob")
        ),
    }
)
"""Group and kind of the controllers known to make a missing pod again, with the same name."""

_SERVICES: Final = frozenset(
    {
        *(("apps", kind) for kind in ("ReplicaSet", "StatefulSet", "DaemonSet")),
        ("", "ReplicationController"),
        ("", "Node"),  # of a static pod
    }
)
"""Group and kind of the controllers whose pods run until somebody deletes them."""
SERVICE_KINDS: Final = frozenset(kind for _, kind in _SERVICES)

_EARLIEST_MINUTE: Final = 25_000_000
"""In 2017. A date such as 20261120 has eight digits as well, and is a smaller number."""
_CRONJOBS_JOB: Final = re.compile(r"(.+)-([0-9]{8})")
"""A CronJob names its Jobs by its own name and the minutes since 1970."""

LONGEST_PREFIX: Final = 58
"""The API server cuts a longer ``generateName``, so that the name is a valid hostname."""
_RANDOM: Final = re.compile(r"[bcdfghjklmnpqrstvwxz2456789]{5}")


def controller_of(pod: Pod) -> Mapping[str, Any] | None:
    """Return the owner reference of the pod's controller; None for a bare pod."""
    for reference in sequence(metadata_of(pod).get("ownerReferences")):
        if mapping(reference).get("controller") is True:
            return mapping(reference)
    return None


def is_job(owner: Mapping[str, Any] | None) -> bool:
    """Say whether the owner is Kubernetes' own Job; Volcano has a kind of that name, too.

    A Prometheus' past knows no API group; there a Job counts as Kubernetes' own.
    """
    if owner is None or owner.get("kind") != "Job":
        return False
    return _group_of(owner) in ("batch", None)


def cronjob_of(job: Mapping[str, Any]) -> str | None:
    """Return the CronJob that made a Job, by the Job's name; None if none did.

    >>> cronjob_of({"name": "report-29391234"}), cronjob_of({"name": "report-20261120"})
    ('report', None)
    """
    match = _CRONJOBS_JOB.fullmatch(str(job.get("name", "")))
    return match[1] if match and int(match[2]) >= _EARLIEST_MINUTE else None


def is_service(owner: Mapping[str, Any] | None) -> bool:
    """Say whether the owner keeps its pods running; by its kind if no group is known."""
    if owner is None:
        return False
    group, kind = _group_of(owner), str(owner.get("kind"))
    return kind in SERVICE_KINDS if group is None else (group, kind) in _SERVICES


def remakes_by_name(owner: Mapping[str, Any] | None) -> bool:
    """Say whether the owner is known to make a missing pod again, with the same name."""
    return owner is not None and (_group_of(owner), str(owner.get("kind"))) in _REMAKERS


def given_name(pod: Pod) -> str | None:
    """Return the pod's name if its owner gave it; None if the API server generated it.

    A StatefulSet's pods have both a prefix for generated names and a name with an ordinal. At
    admission, a name that will be generated is not there yet.
    """
    metadata = metadata_of(pod)
    name, prefix = metadata.get("name"), metadata.get("generateName")
    if not isinstance(name, str) or not name:
        return None
    if not isinstance(prefix, str) or not prefix:
        return name
    cut = prefix[:LONGEST_PREFIX]
    generated = name.startswith(cut) and _RANDOM.fullmatch(name, len(cut))
    return None if generated else name


def _group_of(owner: Mapping[str, Any]) -> str | None:
    """Return the API group; "" for the core, None if it is unknown."""
    version = owner.get("apiVersion")
    return version.rpartition("/")[0] if isinstance(version, str) and version else None
