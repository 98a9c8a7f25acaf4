"""Reads a reader's query of the index from an address, and writes it into one. Pure.

An address is text from outside: a parameter that makes no sense counts as the default.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Final
from urllib.parse import urlencode

from plimsoll_operator.profile.phases import Phase
from plimsoll_operator.web.page.columns import COLUMNS
from plimsoll_predictor.core.policy import Mode

MAX_SEARCH: Final = 200
MAX_WORDS: Final = 10
MAX_PAGE: Final = 1_000_000
MODES: Final = tuple(mode.value for mode in Mode)
PHASES: Final = tuple(phase.value for phase in Phase)
ORDERS: Final = ("asc", "desc")
DEFAULT_SORT: Final = "asked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """The tasks to list, and their order. q: words that must all be in the name. page: from 1.

    order: of ``sort``'s column; empty for the column's own. mode, phase: empty for all.
    """

    q: str = ""
    mode: str = ""
    phase: str = ""
    sort: str = DEFAULT_SORT
    order: str = ""
    page: int = 1

    @property
    def words(self) -> tuple[str, ...]:
        """The words to search for, in lower case."""
        return tuple(self.q.casefold().split()[:MAX_WORDS])

    @property
    def descending(self) -> bool:
        """Whether the largest comes first."""
        return (self.order or COLUMNS[self.sort].order) == "desc"

    @property
    def narrowed(self) -> bool:
        """Whether not all tasks are asked for."""
        return bool(self.words or self.mode or self.phase)

    def sorted_by(self, column: str) -> Query:
        """The query sorted by a column; in the other order if it is already sorted by it."""
        turned = {True: "asc", False: "desc"}[self.descending] if column == self.sort else ""
        return replace(self, sort=column, order=turned, page=1)

    def at(self, page: int) -> Query:
        """The same query with another page."""
        return replace(self, page=page)

    @property
    def address(self) -> str:
        """The address, relative to the index, so that it works behind any proxy."""
        own = {key: value for key, value in asdict(self).items() if value != _DEFAULTS[key]}
        return f"?{urlencode(own)}" if own else "./"


_DEFAULTS: Final = asdict(Query())


def query_of(given: Mapping[str, str]) -> Query:
    """The query of an address' parameters."""
    return Query(
        q=" ".join(given.get("q", "")[:MAX_SEARCH].split()),
        mode=_one_of(MODES, given.get("mode"), ""),
        phase=_one_of(PHASES, given.get("phase"), ""),
        sort=_one_of(COLUMNS, given.get("sort"), DEFAULT_SORT),
        order=_one_of(ORDERS, given.get("order"), ""),
        page=_page(given.get("page", "")),
    )


def _one_of(words: Collection[str], given: str | None, default: str) -> str:
    return given if given is not None and given in words else default


def _page(given: str) -> int:
    if not (given.isascii() and given.isdigit() and len(given) < 10):
        return 1
    return min(max(1, int(given)), MAX_PAGE)
