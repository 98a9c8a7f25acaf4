"""Draws the served pages from gathered data; it reads nothing itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final
from urllib.parse import quote

from jinja2 import ChoiceLoader, Environment, PackageLoader

from plimsoll_operator.views.campaign_facts import CampaignFacts
from plimsoll_operator.web.campaign.section import section_of, with_campaign_words
from plimsoll_operator.web.page.columns import COLUMNS
from plimsoll_operator.web.page.listing import Listing
from plimsoll_operator.web.page.placing_section import NeighboursPart, PlacingPart
from plimsoll_operator.web.page.query import MODES, PHASES, Query
from plimsoll_operator.web.page.splitting_section import LeasedPart, SplittingPart
from plimsoll_operator.web.page.task_page import TaskPage
from plimsoll_operator.web.plots.runtime_plots import NARROW_RUNS
from plimsoll_operator.web.report.environment import content_hash, environment_of, own_text
from plimsoll_operator.wording.figure_words import number_words
from plimsoll_operator.wording.forecast_words import words_for_chance, words_for_odds
from plimsoll_operator.wording.lending_words import LendingNow
from plimsoll_operator.wording.training_words import TrainingsNow
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.store import CampaignRecord, CampaignTally

_NO_WORD: Final = re.compile(r"\W+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why there is no page. words: without a full stop; home: the index, relative."""

    heading: str
    words: str
    advice: str
    home: str = "./"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexBeside:
    """What the index shows beside its tasks.

    paused: whether the whole cluster is paused. lending: None if no pod may lend. trainings: None
    if the controller trains by itself. placing: which tasks slow which; None if nothing is known,
    or if the reader searches. campaigns: the newest; none if the reader searches.
    """

    paused: bool = False
    lending: LendingNow | None = None
    trainings: TrainingsNow | None = None
    placing: PlacingPart | None = None
    campaigns: Sequence[CampaignTally] = ()


def render_index(listing: Listing, beside: IndexBeside) -> str:
    """The index."""
    template = _environment().get_template("index.html.j2")
    shown = {
        key: each
        for key, each in COLUMNS.items()
        if (listing.would or not each.would) and (listing.asks or not each.asks)
    }
    return template.render(
        listing=listing,
        shown=shown,
        paused=beside.paused,
        lending=beside.lending,
        trainings=beside.trainings,
        placing=beside.placing,
        campaigns=beside.campaigns,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskBeside:
    """What a task's page shows beside its attempts. None: nothing is known."""

    paused: bool = False
    neighbours: NeighboursPart | None = None
    leases: LeasedPart | None = None
    splitting: SplittingPart | None = None


def render_task(page: TaskPage, beside: TaskBeside) -> str:
    """One task's page, two folders below the index."""
    namespace = Query(q=f"{page.row.summary.task.namespace}/").address
    template = _environment().get_template("served_task.html.j2")
    return template.render(
        page=page,
        namespace=namespace,
        paused=beside.paused,
        neighbours=beside.neighbours,
        leases=beside.leases,
        splitting=beside.splitting,
    )


def render_campaign(facts: CampaignFacts) -> str:
    """One campaign's page, two folders below the index."""
    namespace = Query(q=f"{facts.record.namespace}/").address
    template = _environment().get_template("served_campaign.html.j2")
    task_page = _task_page(facts.record.task)
    section = section_of(facts)
    return template.render(section=section, namespace=namespace, task_page=task_page)


def render_trouble(trouble: Trouble) -> str:
    """The page that shows a trouble instead of the requested page."""
    return _environment().get_template("trouble.html.j2").render(trouble=trouble)


def make_ready() -> None:
    """Compile the templates; the first time this takes a tenth of a second."""
    environment = _environment()
    for name in environment.list_templates(extensions=["j2"]):
        environment.get_template(name)


@cache
def content_policy() -> str:
    """The policy that allows only our one sheet and our one script, no other origin, no frame."""
    style, script = _inlined()
    return (
        f"default-src 'none'; style-src {content_hash(style)}; script-src {content_hash(script)};"
        " connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none';"
        " frame-ancestors 'none'"
    )


def task_address(task: TaskId) -> str:
    """A task's page, relative to the index."""
    return f"tasks/{quote(task.namespace, safe='')}/{quote(task.name, safe='')}"


def campaign_address(record: CampaignRecord) -> str:
    """A campaign's page, relative to the index."""
    return f"campaigns/{quote(record.namespace, safe='')}/{quote(record.name, safe='')}"


def _task_page(named: str) -> str | None:
    try:
        return f"../../{task_address(TaskId.parse(named))}"
    except ValueError:
        return None


def _inlined() -> tuple[str, str]:
    style = own_text("plimsoll_operator.web.report", "style.css")
    style += own_text("plimsoll_operator.web.page", "page.css")
    style += own_text("plimsoll_operator.web.campaign", "campaign.css")
    return style, own_text("plimsoll_operator.web.page", "page.js")


@cache
def _environment() -> Environment:
    loaders = [
        PackageLoader("plimsoll_operator.web.page"),
        PackageLoader("plimsoll_operator.web.report"),
        PackageLoader("plimsoll_operator.web.campaign"),
    ]
    environment = with_campaign_words(environment_of(ChoiceLoader(loaders)))
    style, script = _inlined()
    environment.filters.update(
        plain_gb_h=lambda gb_h: number_words(gb_h) if gb_h else "-",
        odds=words_for_odds,
        chance=words_for_chance,
        task_address=task_address,
        campaign_address=campaign_address,
        # Anybody may have written the status; a class name must be one word.
        word=lambda text: _NO_WORD.sub("", text)[:40],
    )
    environment.globals.update(
        style=style,
        script=script,
        columns=COLUMNS,
        modes=MODES,
        phases=PHASES,
        narrow_runs=NARROW_RUNS,
    )
    return environment
