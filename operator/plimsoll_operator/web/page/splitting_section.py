"""The part of a task's page about its Jobs over items: pictures, and their meaning. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from plimsoll_operator.views.splitting_facts import LeasedFacts, SplittingFacts
from plimsoll_operator.web.plots.lease_plots import lease_memory_plot, lease_time_plot
from plimsoll_operator.web.plots.splitting_plots import memory_plot, time_plot


@dataclass(frozen=True, slots=True, kw_only=True)
class SplittingPart:
    """What is shown. words: by name. memory: None if nothing was measured.

    killed: whether a pod was killed for memory. memory_weight: see ``Aim``.
    """

    words: Mapping[str, str]
    time: Markup
    memory: Markup | None
    killed: bool
    memory_weight: float


def splitting_part(facts: SplittingFacts | None) -> SplittingPart | None:
    """Draw it; None if no Job over items is known."""
    if facts is None:
        return None
    return SplittingPart(
        words=facts.words,
        time=time_plot(facts),
        memory=memory_plot(facts),
        killed=any(each.killed_bytes is not None for each in facts.chunks),
        memory_weight=facts.memory_weight,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LeasedPart:
    """What is shown about leases. words: by name, as ``plimsoll split`` prints them.

    memory: None if nothing was measured. first, killed, limit: whether the pictures show one.
    memory_weight: see ``Aim``.
    """

    words: Mapping[str, str]
    time: Markup
    memory: Markup | None
    first: bool
    killed: bool
    limit: bool
    memory_weight: float


def leased_part(facts: LeasedFacts | None) -> LeasedPart | None:
    """Draw it; None if no leased Job has ended."""
    if facts is None:
        return None
    peaks, found = facts.learned.peaks, facts.next
    return LeasedPart(
        words=facts.words,
        time=lease_time_plot(facts),
        memory=lease_memory_plot(facts),
        first=found is not None,
        killed=peaks is not None and peaks.killed_items is not None,
        limit=peaks is not None and found is not None and found.limit_bytes is not None,
        memory_weight=facts.memory_weight,
    )
