"""What a campaign found out: bins, the estimated improvement, how needs depend on features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Final

import numpy as np

from plimsoll_predictor.campaigns.needs import (
    LIKELY,
    MOST_FITTED,
    Array,
    axes_of,
    day_of,
    fit,
    needs_of,
)
from plimsoll_predictor.campaigns.runs import CampaignRun, RunState, latest_of
from plimsoll_predictor.campaigns.saving import (
    LEAST_FOR_ESTIMATE,
    best_bins,
    held_s_of,
    learned_of,
    saving_of,
)
from plimsoll_predictor.campaigns.scenarios import number_of
from plimsoll_predictor.core.units import gb_hours

MOST_UNCERTAIN: Final = 5
MOST_LEVELS: Final = 8
"""The most groups in which a feature's values are shown."""
_WHOLE: Final = 1e15
"""Below it, a number without a fraction is written as a whole one."""


class ValueKind(StrEnum):
    """The kind that all values of a feature have."""

    NUMBER = "number"
    DATE = "date"
    CATEGORY = "category"

    def place(self, text: str) -> float | None:
        """A value's place on an axis: its number or its day; None for a category."""
        read = {ValueKind.NUMBER: number_of, ValueKind.DATE: day_of}.get(self)
        return None if read is None else read(text)

    def words(self, place: float) -> str:
        """A place on the axis as people read it.

        >>> ValueKind.NUMBER.words(2_100_000.0), ValueKind.DATE.words(739_000.0)
        ('2100000', '2024-04-24')
        """
        if self is ValueKind.DATE:
            return date.fromordinal(round(place)).isoformat()
        whole = place.is_integer() and abs(place) < _WHOLE
        return str(int(place)) if whole else f"{place:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """The needs, in bytes, of the runs with one value of a feature, or with values in a range."""

    values: str
    runs: int
    least_bytes: int
    mean_bytes: int
    most_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """How the need depends on one feature.

    distinct: how many values there are. If there are more categories than MOST_LEVELS, the levels
    are those with the most runs.
    correlation: Spearman's, of need and value; None for a category, or if either is constant.
    """

    feature: str
    kind: ValueKind
    distinct: int
    correlation: float | None
    levels: tuple[Level, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncertain:
    """A scenario whose need is least certain. expected, width: bytes; see ``needs.Fitted``."""

    values: Mapping[str, str]
    expected_bytes: int
    width_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """All that a campaign found out. Bytes; ceilings ascending.

    improvement: estimated share of today's requested memory-time that sizing would save on all
    scenarios. optimal: the same with a perfect choice of bins (``saving.Saving``). Both are None if
    too little is known. needed: the share of it that the runs needed; None if no need is known.
    requested_gb_h: the request of the measured runs. within: four of five needs differ by at most
    this factor from what the other runs predict; None like improvement. All shares count a run as
    often as its weight says; ``counts`` and ``effects`` count it once.
    """

    ceilings_bytes: tuple[int, ...]
    counts: tuple[int, ...]
    optimal: float | None
    improvement: float | None
    needed: float | None
    requested_gb_h: float
    within: float | None
    effects: tuple[Effect, ...]
    uncertain: tuple[Uncertain, ...]


def findings_of(runs: Sequence[CampaignRun], reference_bytes: int) -> Findings:
    """Return what is known by now. reference_bytes: today's request."""
    learned = learned_of(runs)
    option, saving = best_bins(learned, reference_bytes), saving_of(runs, reference_bytes)
    return Findings(
        ceilings_bytes=option.bins.ceilings_bytes if option else (),
        counts=option.bins.counts if option else (),
        optimal=saving.optimal if saving else None,
        improvement=saving.expected if saving else None,
        needed=_needed(learned, reference_bytes),
        requested_gb_h=gb_hours(reference_bytes, float(held_s_of(learned).sum())),
        within=_within(runs, learned),
        effects=effects_of(learned),
        uncertain=uncertain_of(runs),
    )


def effects_of(learned: Sequence[CampaignRun]) -> tuple[Effect, ...]:
    """How the need depends on each feature."""
    names = sorted({name for run in learned for name in run.values})
    return tuple(_effect(name, [run for run in learned if name in run.values]) for name in names)


def uncertain_of(runs: Sequence[CampaignRun]) -> tuple[Uncertain, ...]:
    """The scenarios whose unknown needs are least certain, the least certain first."""
    learned = learned_of(runs)[-MOST_FITTED:]
    open_ = [run for run in latest_of(runs).values() if run.state is not RunState.LEARNED]
    if not learned or not open_:
        return ()
    axes = axes_of([run.values for run in runs])
    fitted = fit(axes, learned)
    needs, widths = fitted.predict(axes.of([run.values for run in open_]))
    first = np.argsort(-widths, kind="stable")[:MOST_UNCERTAIN]
    return tuple(
        Uncertain(
            values=open_[place].values,
            expected_bytes=int(needs[place]),
            width_bytes=int(widths[place]),
        )
        for place in first
    )


def _within(runs: Sequence[CampaignRun], learned: Sequence[CampaignRun]) -> float | None:
    if len(learned) < LEAST_FOR_ESTIMATE:
        return None
    # The axes of all runs, because their fit is cached.
    axes = axes_of([run.values for run in runs])
    _, errors = fit(axes, learned[-MOST_FITTED:]).left_out()
    return float(np.exp(LIKELY * np.median(errors)))


def _needed(learned: Sequence[CampaignRun], reference_bytes: int) -> float | None:
    held_s = held_s_of(learned)
    requested = float(reference_bytes) * float(held_s.sum())
    return float((needs_of(learned) * held_s).sum()) / requested if requested else None


def _effect(name: str, runs: Sequence[CampaignRun]) -> Effect:
    kind = _kind([run.values[name] for run in runs])
    if kind is ValueKind.CATEGORY:
        return _effect_of_category(name, runs)
    values = np.asarray([kind.place(run.values[name]) for run in runs], dtype=np.float64)
    order = np.argsort(values, kind="stable")
    distinct = len(set(values.tolist()))
    parts = np.array_split(order, min(MOST_LEVELS, distinct))
    if distinct <= MOST_LEVELS:
        parts = [np.flatnonzero(values == each) for each in sorted(set(values.tolist()))]
    levels = [
        _level(_range(values[part], kind), [runs[place] for place in part])
        for part in parts
        if len(part)
    ]
    return Effect(
        feature=name,
        kind=kind,
        distinct=distinct,
        correlation=_spearman(values, needs_of(runs)),
        levels=tuple(levels),
    )


def _kind(texts: Sequence[str]) -> ValueKind:
    ordered = (ValueKind.NUMBER, ValueKind.DATE)
    every = (kind for kind in ordered if all(kind.place(text) is not None for text in texts))
    return next(every, ValueKind.CATEGORY)


def _effect_of_category(name: str, runs: Sequence[CampaignRun]) -> Effect:
    by_kind: dict[str, list[CampaignRun]] = {}
    for run in runs:
        by_kind.setdefault(run.values[name], []).append(run)
    commonest = sorted(by_kind, key=lambda kind: (-len(by_kind[kind]), kind))[:MOST_LEVELS]
    levels = [_level(kind, by_kind[kind]) for kind in sorted(commonest)]
    return Effect(
        feature=name,
        kind=ValueKind.CATEGORY,
        distinct=len(by_kind),
        correlation=None,
        levels=tuple(levels),
    )


def _level(values: str, runs: Sequence[CampaignRun]) -> Level:
    needs = needs_of(runs)
    return Level(
        values=values,
        runs=len(runs),
        least_bytes=int(needs.min()),
        mean_bytes=int(needs.mean()),
        most_bytes=int(needs.max()),
    )


def _range(values: Array, kind: ValueKind) -> str:
    low, high = float(values.min()), float(values.max())
    return kind.words(low) if low == high else f"{kind.words(low)} to {kind.words(high)}"


def _spearman(values: Array, needs: Array) -> float | None:
    one, other = _ranks(values), _ranks(needs)
    if one.std() == 0 or other.std() == 0:
        return None
    return float(np.corrcoef(one, other)[0, 1])


def _ranks(values: Array) -> Array:
    """Ranks; equal values share their mean rank."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks: Array = (ends - (counts - 1) / 2.0)[places]
    return ranks
