"""Draws a campaign as one self-contained HTML file."""

from __future__ import annotations

from jinja2 import ChoiceLoader, PackageLoader

from plimsoll_operator.views.campaign_facts import CampaignFacts
from plimsoll_operator.web.campaign.section import section_of, with_campaign_words
from plimsoll_operator.web.report.environment import content_hash, environment_of, own_text


def render_campaign_file(facts: CampaignFacts) -> str:
    """The whole page."""
    packages = ("plimsoll_operator.web.campaign", "plimsoll_operator.web.report")
    environment = with_campaign_words(
        environment_of(ChoiceLoader(list(map(PackageLoader, packages))))
    )
    style = own_text("plimsoll_operator.web.report", "style.css")
    style += own_text("plimsoll_operator.web.campaign", "campaign.css")
    template = environment.get_template("campaign_file.html.j2")
    return template.render(
        section=section_of(facts), style=style, style_hash=content_hash(style), task_page=None
    )
