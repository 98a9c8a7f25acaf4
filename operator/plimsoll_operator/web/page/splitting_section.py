"""The part of a task's page about its Jobs over items: pictures, and what they say. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from plimsoll_operator.views.splitting_facts import SplittingFacts
from plimsoll_operator.web.plots.splitting_plots import memory_plot, time_plot
from plimsoll_operator.wording.splitting_words import words_for_splitting


@dataclass(frozen=True, slots=True, kw_only=True)
class SplittingPart:
    """What is shown. words: by name. memory: None where nothing was measured."""

    words: Mapping[str, str]
    time: Markup
    memory: Markup | None


def splitting_part(facts: SplittingFacts | None) -> SplittingPart | None:
    """Draw it; None where no Job over items is known."""
    if facts is None:
        return None
    return SplittingPart(
        words=words_for_splitting(facts.learned, facts.job, facts.cut),
        time=time_plot(facts),
        memory=memory_plot(facts),
    )
