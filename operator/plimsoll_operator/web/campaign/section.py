"""Draws the results of a campaign, for its file and for the served page. Reads nothing itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from jinja2 import Environment
from markupsafe import Markup

from plimsoll_operator.campaigns.status import words_for_ending, words_for_saving
from plimsoll_operator.views.campaign_facts import CampaignFacts, words_for_scenario
from plimsoll_operator.web.plots.campaign_plots import effect_plot
from plimsoll_operator.web.plots.size_plots import histogram
from plimsoll_predictor.campaigns.findings import Effect
from plimsoll_predictor.campaigns.runs import CampaignRun
from plimsoll_predictor.campaigns.saving import learned_of
from plimsoll_predictor.core.durations import words_for_duration

TABLED_RUNS: Final = 100
MOST_FAILED: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignSection:
    """A campaign with its plots. effects: by feature. tabled: the newest attempts, newest first."""

    facts: CampaignFacts
    effects: tuple[tuple[Effect, Markup], ...]
    bins: Markup
    tabled: tuple[CampaignRun, ...]

    @property
    def bars(self) -> Sequence[tuple[str, str, float]]:
        """Shares of today's requested memory-time: words, class and share of each bar."""
        found = self.facts.found
        shares = (
            ("requested today", "asked", 1.0),
            ("sized, estimated", "allocated", _left(found.improvement)),
            ("sized perfectly", "allocated", _left(found.optimal)),
            ("needed", "peaked", found.needed),
        )
        return [(words, class_, share) for words, class_, share in shares if share is not None]


def section_of(facts: CampaignFacts) -> CampaignSection:
    """Draw it."""
    needs = [run.peak_bytes for run in learned_of(facts.runs) if run.peak_bytes]
    tried = [run for run in facts.runs if run.created_s is not None]
    tried.sort(key=lambda run: (run.ended_s or facts.now_s, run.key), reverse=True)
    return CampaignSection(
        facts=facts,
        effects=tuple((effect, effect_plot(facts, effect)) for effect in facts.found.effects),
        bins=histogram(needs, facts.found.ceilings_bytes),
        tabled=tuple(tried[:TABLED_RUNS]),
    )


def with_campaign_words(environment: Environment) -> Environment:
    """Add the words and filters that the templates of this folder use."""
    environment.filters.update(
        scenario=words_for_scenario,
        ending=words_for_ending,
        saving=words_for_saving,
        duration=words_for_duration,
    )
    environment.globals.update(most_failed=MOST_FAILED)
    return environment


def _left(saved: float | None) -> float | None:
    return None if saved is None else 1.0 - max(0.0, saved)
