"""The templates' environment, shared by the files and the served page."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import Final

from jinja2 import BaseLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from plimsoll_operator.names.conditions import cut
from plimsoll_operator.views.report.records import Figures
from plimsoll_operator.views.report.saving_by_group import NAMED_TASKS
from plimsoll_operator.web.plots.search_plot import search_plot
from plimsoll_operator.wording.budget_words import words_for_spent
from plimsoll_operator.wording.cause_words import words_for_cause
from plimsoll_operator.wording.figure_words import (
    number_words,
    words_for_gb_h,
    words_for_minute,
    words_for_size,
)
from plimsoll_operator.wording.kill_cost_words import words_for_kill_costs
from plimsoll_operator.wording.saving_words import (
    words_for_saved_gb_h,
    words_for_saved_share,
)
from plimsoll_predictor.core.record import Cause, Outcome
from plimsoll_predictor.core.savings import Resource, Saving, words_for_amount

MAX_TEXT: Final = 512
"""The most characters that are shown of a text from outside."""
LEAST_PART: Final = 0.0005
"""Improvements are shown in tenths of a percent; half of a tenth is the least that shows."""
_OUTCOMES: Final = {
    None: "not ended yet",
    Outcome.SUCCEEDED: "succeeded",
    Outcome.OOM_KILLED: "OOM-killed again",
    Outcome.FAILED: "failed for a reason of its own",
    Outcome.EVICTED: "evicted by its node",
    Outcome.DELETED: "deleted",
}


@cache
def file_environment(package: str, own_style: str = "") -> Environment:
    """The environment of a package's pages that are files, each with one style sheet."""
    environment = environment_of(PackageLoader(package))
    style = own_text("plimsoll_operator.web.report", "style.css")
    if own_style:
        style += own_text(package, own_style)
    environment.globals.update(style=style, style_hash=Markup(content_hash(style)))
    return environment


def environment_of(loader: BaseLoader) -> Environment:
    """An environment with the filters that the templates use; everything is escaped."""
    environment = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        size=words_for_size,
        gb_h=words_for_gb_h,
        known_gb_h=lambda gb_h: words_for_gb_h(gb_h) if gb_h else "-",
        number=number_words,
        commas=lambda number: f"{number:,}",
        percent=lambda share: f"{100 * share:.1f}%",
        when=words_for_minute,
        ended=_ended,
        cause=words_for_cause,
        short=lambda text: cut(str(text), MAX_TEXT),
        sentence=lambda text: cut(str(text)[:1].upper() + str(text)[1:], MAX_TEXT),
        kill_costs=words_for_kill_costs,
        spent=lambda experts: words_for_spent(experts.spent, experts.kill_causes, None),
        saved=_saved,
        saved_share=words_for_saved_share,
        saved_gb_h=words_for_saved_gb_h,
        improved=_improved,
        search_plot=search_plot,
        amount=_amount,
        cores=lambda cores: words_for_amount(Resource.CPU, cores),
    )
    environment.globals.update(named=NAMED_TASKS)
    return environment


def own_text(package: str, *names: str) -> Markup:
    """Our own style or script. Only we write it, so it is not escaped."""
    folder = files(package).joinpath("templates")
    return Markup("".join(folder.joinpath(name).read_text("utf-8") for name in names))


def content_hash(text: str) -> str:
    """The name by which a Content-Security-Policy allows just this inline style or script."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _ended(outcome: Outcome | None, cause: Cause | None = None) -> str:
    if cause is None:
        return _OUTCOMES[outcome]
    return f"{words_for_cause(cause)}{' again' if outcome is Outcome.OOM_KILLED else ''}"


def _amount(amount: float | None, resource: Resource) -> str:
    return "-" if amount is None else words_for_amount(resource, amount)


def _improved(row: Saving) -> str:
    """Return the row's improvement; if it improves nothing, the reason."""
    if row.improved > -LEAST_PART:
        return f"{100 * max(row.improved, 0.0):.1f}%"
    return "asks for too little" if row.used is not None and row.used > row.before else "none"


def _saved(figures: Figures) -> str:
    return words_for_saved_share(figures.saved_gb_h, figures.requested_gb_h)
