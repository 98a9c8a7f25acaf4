"""The part of a cluster that the Kubernetes API shows, and the part that it hides. Plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from plimsoll_operator.wording.lending_words import LendingNow
from plimsoll_operator.wording.training_words import TrainingsNow

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Unseen:
    """A part that could not be read. what: in words; why: as the API server said."""

    what: str
    why: str


@dataclass(frozen=True, slots=True)
class Outside:
    """Admission that is no Service of the cluster, as by `plimsoll run`.

    address: as ``https://host:port``. answers: None if that cannot be known from here.
    """

    address: str
    answers: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterState:
    """Everything that `plimsoll status` reads.

    Objects are as the API gives them; None stands for what may not be read.

    installed_in: the namespace that Plimsoll runs in; None if none was found.
    ahead_s: how far the API server's clock is ahead of this machine's. The cluster's times are
        judged by the API server's, as laptops' clocks drift.
    lease: an empty mapping if there is none.
    claims: the PersistentVolumeClaims that the controller mounts; one that is not there has no
        status.
    feed_ages_s: admission pod -> seconds since it heard the controller; None if it never did.
    certificates_end_s: admission pod -> Unix seconds until which its certificate is valid; None if
        it does not say.
    lowering: admission pod -> 1.0 if it may lower sizes, 0.0 if it raises them only; None if it
        does not say.
    lending: what running pods lend; None if no policy lets them, or nothing reports it.
    idle_since_s: Unix seconds since when all admission pods are ready and none was asked about a
        pod; None if one was, or if it is not known.
    pods_of_tasks: their metadata; read only if no admission pod was asked.
    outside: admission beside the cluster; None if it is in the cluster, or not there.
    """

    installed_in: str | None
    deployments: Sequence[Object] | None
    agents: Sequence[Object] | None
    lease: Object | None
    webhooks: Sequence[Object] | None
    feed_ages_s: Mapping[str, float | None] | None
    certificates_end_s: Mapping[str, float | None] | None
    policies: Sequence[Object] | None
    profiles: Sequence[Object] | None
    claims: Sequence[Object] | None = ()
    unseen: tuple[Unseen, ...] = ()
    lowering: Mapping[str, float | None] | None = None
    lending: LendingNow | None = None
    trainings: TrainingsNow | None = None
    idle_since_s: float | None = None
    ahead_s: float = 0.0
    pods_of_tasks: Sequence[Object] = ()
    outside: Outside | None = None


def part(value: object, *keys: str) -> Any:
    """The value at the end of a path of keys; None if the path ends early.

    >>> part({"spec": {"replicas": 2}}, "spec", "replicas"), part({}, "spec", "replicas")
    (2, None)
    """
    for key in keys:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def label(workload: Object, name: str) -> str:
    """A label's value; empty without it."""
    return str(part(workload, "metadata", "labels", name) or "")
