"""``plimsoll campaign report``: what a campaign found out, from the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from rich.console import Group, RenderableType

from plimsoll_operator.commands.printing.output_forms import OutputForm
from plimsoll_operator.commands.printing.printing import complain, print_output
from plimsoll_operator.commands.printing.tables import bar, panel, plain, titled_table
from plimsoll_operator.commands.reaching.stored import existing_store
from plimsoll_operator.views.campaign_facts import (
    CampaignFacts,
    gather_campaign,
    words_for_scenario,
)
from plimsoll_predictor.campaigns.findings import Effect, Findings
from plimsoll_predictor.campaigns.runs import CampaignRun
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import counted, words_for_bytes
from plimsoll_predictor.store import StoreError

_MOST_FAILED: Final = 10


def report_command(named: str, store_url: str, output: OutputForm, *, now_s: float) -> int:
    """Print what the newest campaign of a name found out; the exit status. now_s: Unix seconds."""
    try:
        with existing_store(store_url) as store:
            facts = gather_campaign(store, TaskId.parse(named), now_s)
    except (StoreError, LookupError, ValueError) as error:
        complain(f"plimsoll campaign report: {error}")
        return 1
    print_output(document_of(facts), shown(facts), output)
    return 0


def document_of(facts: CampaignFacts) -> dict[str, Any]:
    """All of it, in plain JSON types."""
    return {
        **asdict(facts.record),
        **asdict(facts.counts),
        **asdict(facts.found),
        "runs": [{**asdict(run), "state": run.state.value} for run in facts.runs],
    }


def shown(facts: CampaignFacts) -> RenderableType:
    """The same for people."""
    parts = [panel(facts.name, facts.told), *(_effect(each) for each in facts.found.effects)]
    if facts.found.uncertain:
        parts.append(_uncertain(facts.found))
    if facts.failed:
        parts.append(_failed(facts.failed))
    return Group(*parts)


def _effect(effect: Effect) -> RenderableType:
    told = "" if effect.correlation is None else f", correlation {effect.correlation:+.2f}"
    columns = ("value", "runs", "least", "mean", "most", "")
    right = ("runs", "least", "mean", "most")
    table = titled_table(f"need by {effect.feature}{told}", columns, right=right)
    most = max((level.most_bytes for level in effect.levels), default=0)
    for level in effect.levels:
        table.add_row(
            plain(level.values[:40]),
            str(level.runs),
            words_for_bytes(level.least_bytes),
            words_for_bytes(level.mean_bytes),
            words_for_bytes(level.most_bytes),
            bar(level.mean_bytes, most),
        )
    return table


def _uncertain(found: Findings) -> RenderableType:
    columns = ("scenario", "expected", "four of five within")
    table = titled_table("what is still uncertain", columns, right=columns[1:])
    for each in found.uncertain:
        width = f"± {words_for_bytes(each.width_bytes / 2)}"
        scenario = plain(words_for_scenario(each.values))
        table.add_row(scenario, words_for_bytes(each.expected_bytes), width)
    return table


def _failed(runs: Sequence[CampaignRun]) -> RenderableType:
    title = f"{counted(len(runs), 'scenario')} without a need"
    table = titled_table(title, ("scenario", "state", "why"), folding=("why",))
    for run in runs[:_MOST_FAILED]:
        table.add_row(plain(words_for_scenario(run.values)), run.state.value, plain(run.note))
    return table
