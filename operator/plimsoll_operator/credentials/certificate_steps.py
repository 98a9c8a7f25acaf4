"""Decides the next step about admission's certificate, from a state and a clock. Pure.

A certificate is served only after the API server was told to trust its authority:

    nothing ──► prepared (in memory) ──► published (caBundle: new + old) ──► settled ──► served
       ▲            a pair is made        the webhook configuration is        some         the
       │                                  patched                             seconds      Secret
       └────────────────────────────────────────────────────────────────────────────────────┘

A crash anywhere loses no more than the prepared pair: the old certificate still serves, its
authority is still trusted, and the next leader prepares another pair. The Secret's ca.crt names
the authority in use and those before it, whose certificates a replica may still show.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from plimsoll_operator.credentials.certificate_reading import Served
from plimsoll_operator.credentials.issuing import SKEW, Pair

KEPT: Final = 3
"""The most authorities that a Secret names: the one in use and two before it. A Secret that is
broken twice is renewed twice before a slow kubelet has brought it to the replicas once."""
SETTLE_S: Final = 10.0
"""How long all API servers may take to see that an authority is to be trusted."""
RENEWED_AT: Final = 2 / 3
"""Part of a certificate's lifetime after which it is renewed."""


class Step(Enum):
    """One thing to do; afterwards the state is looked at again."""

    REST = "rest"
    WAIT = "wait"
    PREPARE = "prepare"
    DISCARD = "discard"
    PUBLISH = "publish"
    SERVE = "serve"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A pair that is not served yet.

    published_s: monotonic seconds when its authority was first seen published; None before.
    """

    pair: Pair
    published_s: float | None = None


@dataclass(frozen=True, slots=True)
class State:
    """The facts that the next step depends on.

    served: what the Secret holds; None if nothing usable. broken: why that is; None where there
        is no Secret at all.
    published: the authorities of the webhook configuration; None if there is no configuration.
    """

    served: Served | None
    broken: str | None
    published: tuple[bytes, ...] | None
    prepared: Prepared | None


@dataclass(frozen=True, slots=True)
class Clocks:
    """now_s: Unix seconds, which may jump. monotonic_s: seconds on a clock that cannot jump."""

    now_s: float
    monotonic_s: float


@dataclass(frozen=True, slots=True)
class NextStep:
    """The next step, and why. trusted: the authorities to publish, or to name in the Secret."""

    step: Step
    why: str = ""
    trusted: tuple[bytes, ...] = ()


def decide(state: State, clocks: Clocks, lifetime_s: float) -> NextStep:
    """The next step. lifetime_s: of a new certificate."""
    due = _why_renew(state, clocks.now_s, lifetime_s)
    if due is not None and state.prepared is None:
        return NextStep(Step.PREPARE, due)
    if due is None and state.prepared is not None:
        return NextStep(Step.DISCARD, "another certificate is served meanwhile")
    trusted = _trusted(state)
    # While any authority is trusted, replicas may show what they read before the Secret vanished.
    nobody_serves = state.served is None and state.broken is None and not state.published
    # Without a configuration nobody asks admission, so nothing must trust the authority first.
    if state.prepared is not None and (nobody_serves or state.published is None):
        return NextStep(Step.SERVE, due or "", trusted[:KEPT])
    if state.published is not None and state.published != trusted:
        why = "the webhook configuration does not trust exactly what is served"
        if state.prepared is not None:
            why = "a new authority is to be trusted before its certificate is shown"
        return NextStep(Step.PUBLISH, why, trusted)
    if state.prepared is None:
        return NextStep(Step.REST)
    published_s = state.prepared.published_s
    if published_s is None or clocks.monotonic_s - published_s < SETTLE_S:
        return NextStep(Step.WAIT)
    return NextStep(Step.SERVE, due or "", trusted[:KEPT])


def _why_renew(state: State, now_s: float, lifetime_s: float) -> str | None:
    if state.served is None:
        return f"it cannot be used: {state.broken}" if state.broken else "there is none"
    if now_s >= state.served.not_after_s:
        return "it has expired"
    if now_s < state.served.not_before_s - SKEW.total_seconds():
        return "it is not valid yet: a clock was set back"
    if state.served.not_after_s - now_s < (1 - RENEWED_AT) * lifetime_s:
        return "its time is nearly over"
    return None


def _trusted(state: State) -> tuple[bytes, ...]:
    """The new authority, then those whose certificates may be shown.

    Each is named once, at its first place.
    """
    new = () if state.prepared is None else (state.prepared.pair.authority,)
    # If the Secret cannot be read, replicas still show what they read before it broke.
    old = state.published or () if state.served is None else state.served.authorities[:KEPT]
    return tuple(dict.fromkeys((*new, *old)))[: KEPT + 1]
