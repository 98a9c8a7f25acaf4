"""Scenarios of a recording: what real runs worked on, each once, with how many runs it stands for.

If there are more than a campaign is to run, some are chosen that resemble all: the smallest and the
largest of every number, then others at even steps along the ordered runs. A scenario that is not
chosen counts for the nearest one that is.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from plimsoll_predictor.campaigns.scenarios import (
    MOST_VALUE_CHARS,
    BadScenarios,
    Feature,
    Scenarios,
    Values,
    number_of,
)
from plimsoll_predictor.core.record import Features, FeatureValue
from plimsoll_predictor.core.units import counted

DAYS: Final = 30
MOST: Final = 200
MOST_RUNS: Final = 10_000
"""The most runs that are read: the newest."""
_WHOLE: Final = 1e15
"""Below it, a number without a fraction is written as a whole one."""

_Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Recording:
    """The part of a task's real runs to take. days: how far back. most: scenarios at most."""

    days: int = DAYS
    most: int = MOST


def of_recorded(
    runs: Sequence[Features], features: Sequence[Feature], recording: Recording
) -> Scenarios:
    """Return the scenarios of real runs, the one that stands for most runs first.

    runs: the features of each. A run that lacks one, or has a text where a number must be, is left
    out.

    Raises:
        BadScenarios: if no run is left.
    """
    seen = Counter(key for run in runs if (key := _key(run, features)) is not None)
    if not seen:
        raise BadScenarios(_none_left(runs, features, recording))
    kinds = [_is_number(place, seen) for place in range(len(features))]
    ordered = sorted(seen, key=lambda key: _order(key, kinds))
    weights = [seen[key] for key in ordered]
    chosen = sorted(_chosen(ordered, weights, kinds, recording.most))
    stands_for = _shared(weights, chosen)
    by_weight = sorted(chosen, key=lambda place: -stands_for[place])
    names = [feature.name for feature in features]
    return Scenarios(
        rows=tuple(dict(zip(names, ordered[place], strict=True)) for place in by_weight),
        weights=tuple(stands_for[place] for place in by_weight),
    )


def text_of(value: FeatureValue) -> str:
    """A stored feature as a program gets it.

    >>> text_of(434300.0), text_of(0.25), text_of("coast")
    ('434300', '0.25', 'coast')
    """
    if isinstance(value, str):
        return value.strip()
    number = float(value)
    return str(int(number)) if number.is_integer() and abs(number) < _WHOLE else repr(number)


def _key(run: Features, features: Sequence[Feature]) -> _Key | None:
    texts = []
    for feature in features:
        text = text_of(run[feature.name]) if feature.name in run else ""
        if not text or len(text) > MOST_VALUE_CHARS:
            return None
        if feature.numeric and number_of(text) is None:
            return None
        texts.append(text)
    return tuple(texts)


def _none_left(runs: Sequence[Features], features: Sequence[Feature], recording: Recording) -> str:
    days = f"the last {counted(recording.days, 'day')}"
    if not runs:
        return (
            f"recorded: no run of the task is known of {days}, but for runs of campaigns; write the"
            " scenarios in another form, or give Plimsoll past runs with `plimsoll import`"
        )
    lacking = next(
        (each.name for each in features if not any(each.name in run for run in runs)), None
    )
    whole = f"recorded: none of {counted(len(runs), 'run')} of {days}"
    if lacking is not None:
        return (
            f"{whole} has the feature {lacking!r}; write it on production pods as the annotation"
            f" features.plimsoll.dev/{lacking}"
        )
    names = ", ".join(each.name for each in features)
    return f"{whole} has a value that can be used of each of {names}"


def _is_number(place: int, keys: Mapping[_Key, int]) -> bool:
    return all(number_of(key[place]) is not None for key in keys)


def _order(key: _Key, kinds: Sequence[bool]) -> tuple[object, ...]:
    """Categories come first, so that the steps go through the numbers of each."""
    texts = [text for text, number in zip(key, kinds, strict=True) if not number]
    numbers = [number_of(text) for text, number in zip(key, kinds, strict=True) if number]
    return *texts, *numbers


def _chosen(
    ordered: Sequence[_Key], weights: Sequence[int], kinds: Sequence[bool], most: int
) -> set[int]:
    """Return the places of the scenarios to run, at most ``most``."""
    places = range(len(ordered))
    if len(ordered) <= most:
        return set(places)
    ends: list[int] = []
    for feature in (place for place, number in enumerate(kinds) if number):
        values = [number_of(key[feature]) or 0.0 for key in ordered]
        ends += [max(places, key=values.__getitem__), min(places, key=values.__getitem__)]
    chosen = set(ends[:most])
    summed, left = list(accumulate(weights)), most - len(chosen)
    for step in range(left):
        chosen.add(bisect_right(summed, (step + 0.5) * summed[-1] / left))
    # A scenario of many runs takes several steps; free places go to those with most runs.
    for place in sorted(places, key=lambda place: -weights[place]):
        if len(chosen) >= most:
            break
        chosen.add(place)
    return chosen


def _shared(weights: Sequence[int], chosen: Sequence[int]) -> dict[int, int]:
    """Return how many runs each chosen one stands for: its own, and those nearest to it."""
    stands_for = dict.fromkeys(chosen, 0)
    for place, weight in enumerate(weights):
        after = bisect_right(chosen, place)
        around = chosen[max(0, after - 1) : after + 1]
        nearest = min(around, key=lambda each: abs(each - place))
        stands_for[nearest] += weight
    return stands_for


def rows_with_weights(found: Scenarios) -> Sequence[tuple[Values, int]]:
    """Return each scenario with how many runs it stands for; one, unless it was recorded."""
    weights = found.weights or (1,) * len(found.rows)
    return list(zip(found.rows, weights, strict=True))
