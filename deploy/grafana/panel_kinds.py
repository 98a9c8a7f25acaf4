"""The parts of a panel, and the queries that many panels use."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

WHERE: Final = 'namespace=~"$namespace"'
"""Selects the scraped pods; the dashboard's variable."""
RATE: Final = "$__rate_interval"


class Kind(StrEnum):
    """Grafana's panel types."""

    STAT = "stat"
    SERIES = "timeseries"
    TABLE = "table"


@dataclass(frozen=True, slots=True)
class Query:
    """One query. legend: with {{label}} as Grafana fills it in."""

    promql: str
    legend: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One panel. bad_from, bad_below: where a single figure turns red. unit: Grafana's id."""

    title: str
    words: str
    queries: tuple[Query, ...]
    kind: Kind = Kind.SERIES
    unit: str = "short"
    stacked: bool = False
    bad_from: float | None = None
    bad_below: float | None = None


def rate_of(metric: str, by: str = "", more: str = "") -> str:
    """A counter's increase a second, added up. by: labels that stay; more: matchers."""
    grouped = f" by ({by})" if by else ""
    matchers = f"{WHERE}, {more}" if more else WHERE
    return f"sum{grouped} (rate({metric}{{{matchers}}}[{RATE}]))"


def raised(metric: str, over: str, more: str = "") -> str:
    """A counter's increase over a time."""
    matchers = f"{WHERE}, {more}" if more else WHERE
    return f"sum(increase({metric}{{{matchers}}}[{over}]))"


def stat(title: str, words: str, promql: str, **how: object) -> Panel:
    """A panel of a single figure."""
    return Panel(
        title=title,
        words=words,
        queries=(Query(promql),),
        kind=Kind.STAT,
        **how,  # type: ignore[arg-type]
    )


def quantiles(metric: str) -> tuple[Query, ...]:
    """A histogram's median, 90% and 99%."""
    return tuple(
        Query(f"histogram_quantile({share}, {rate_of(f'{metric}_bucket', 'le')})", f"p{share[2:]}")
        for share in ("0.50", "0.90", "0.99")
    )
