"""Permissions that the controller gives an agent in advance: to raise certain pods by itself.

The agent reports what it did with them. Only agents that the chart lets raise pods
(``rescue.byAgent``) get any; all others only send alarms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final, TypeAlias

from msgspec import Meta

from plimsoll_operator.attempts.alarms import Alarm
from plimsoll_operator.attempts.peaks import Id, Memory

GRANTS_PATH: Final = "/v1/rescue-grants"
"""The path on which the controller takes an ``AskedGrants``. It answers with a ``Granted``.

A controller of an older version answers 404: then its agents send alarms.
"""
GRANTED_S: Final = 15.0
"""A grant is valid this long: a policy, a node or a quota may allow something else later."""
MOST_ASKED: Final = 32
MOST_TOLD: Final = 64
MOST_NEEDS: Final = 40

Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=253, pattern=r"\A[a-z0-9.-]+\Z")]
Count: TypeAlias = Annotated[int, Meta(ge=0, le=1_000_000)]
Probability: TypeAlias = Annotated[float, Meta(ge=0, le=1)]
Signed: TypeAlias = Annotated[int, Meta(ge=-(2**50), le=2**50)]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnRaise:
    """A raise that the agent has asked the API server for, with a grant.

    limit_bytes: what it asked for. raises: how often the pod was raised by then, with this one.
    """

    alarm: Alarm
    limit_bytes: Memory
    probability: Probability
    raises: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedGrants:
    """What an agent reports first, and then asks for.

    pods: the UIDs of pods whose memory grows, or soon may, for which it asks for grants.
    """

    node: Annotated[str, Meta(min_length=1, max_length=253)]
    raised: Annotated[tuple[OwnRaise, ...], Meta(max_length=MOST_TOLD)] = ()
    pods: Annotated[tuple[Id, ...], Meta(max_length=MOST_ASKED)] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """One pod may be raised once, by the decision that the controller would make.

    container, request_bytes, limit_bytes: in its spec now. first_bytes: its limit before the first
        raise. raises: how many there were. needs_bytes: of its task's newest runs.
    most_bytes: the largest limit that policy, LimitRanges and quotas allow; None: no bound.
    free_bytes: what its node may allocate, less what raises are about to take; the agent knows what
        its pods use.
    added_bytes, in_namespace_bytes: what rescues have added so far on its node, to all pods and to
        those of its namespace.
    """

    pod_uid: Id
    container_id: Id
    namespace: Name
    name: Name
    container: Name
    request_bytes: Memory
    limit_bytes: Memory
    first_bytes: Memory
    raises: Count
    needs_bytes: Annotated[tuple[float, ...], Meta(max_length=MOST_NEEDS)]
    most_bytes: Memory | None
    free_bytes: Signed
    allocatable_bytes: Memory
    added_bytes: Memory
    in_namespace_bytes: Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """The controller's answer. It replaces all earlier grants."""

    grants: Annotated[tuple[Grant, ...], Meta(max_length=MOST_ASKED)] = ()
