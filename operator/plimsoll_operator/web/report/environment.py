"""The templates' environment, shared by the report file and the served page."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import Final

from jinja2 import BaseLoader, Environment, StrictUndefined
from markupsafe import Markup

from plimsoll_operator.names.conditions import cut
from plimsoll_operator.views.groups import NAMED_TASKS
from plimsoll_operator.views.records import Figures
from plimsoll_operator.web.plots.search_plot import search_plot
from plimsoll_operator.wording.figure_words import (
    number_words,
    words_for_gb_h,
    words_for_minute,
    words_for_share,
    words_for_size,
)
from plimsoll_predictor.core.record import Outcome
from plimsoll_predictor.core.savings import Resource, words_for_amount

MAX_TEXT: Final = 512
"""Of any text that came from outside."""
_OUTCOMES = {
    Outcome.SUCCEEDED: "succeeded",
    Outcome.OOM_KILLED: "OOM-killed again",
    Outcome.FAILED: "failed for a reason of its own",
    Outcome.EVICTED: "evicted by its node",
    Outcome.DELETED: "deleted",
}


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
        number=number_words,
        commas=lambda number: f"{number:,}",
        percent=lambda share: f"{100 * share:.1f}%",
        when=words_for_minute,
        ended=words_for_outcome,
        short=lambda text: cut(str(text), MAX_TEXT),
        sentence=lambda text: cut(str(text)[:1].upper() + str(text)[1:], MAX_TEXT),
        saved=_saved,
        share=words_for_share,
        search_plot=search_plot,
        amount=_amount,
    )
    environment.globals.update(named=NAMED_TASKS)
    return environment


def own_text(package: str, *names: str) -> Markup:
    """Style or script of ours: nobody's input, so it reaches the page as it is."""
    folder = files(package).joinpath("templates")
    return Markup("".join(folder.joinpath(name).read_text("utf-8") for name in names))


def content_hash(text: str) -> str:
    """How a Content-Security-Policy names one inline style or script, and allows no other."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _amount(amount: float | None, resource: Resource) -> str:
    return "-" if amount is None else words_for_amount(resource, amount)


def _saved(figures: Figures) -> str:
    return words_for_share(figures.saved_gb_h, figures.requested_gb_h)


def words_for_outcome(outcome: Outcome | None) -> str:
    """How the attempt after a lift ended; None: it has not ended."""
    return "not ended yet" if outcome is None else _OUTCOMES[outcome]
