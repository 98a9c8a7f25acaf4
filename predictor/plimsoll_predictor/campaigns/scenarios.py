"""The scenarios of a campaign, from a table or a grid; ``sampling`` draws them from a space."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from plimsoll_predictor.core.units import counted

MOST_SCENARIOS: Final = 5_000
MOST_VALUE_CHARS: Final = 256
"""The same bound as for a feature on a pod."""
NAMED_PROBLEMS: Final = 3

Values = Mapping[str, str]


class BadScenarios(ValueError):
    """Scenarios that make no campaign; the message says where, what, and what to write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """A feature of the scenarios. numeric: every value must be a number."""

    name: str
    numeric: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenarios:
    """What is registered. duplicates: rows left out because an earlier one is the same.

    weights: how many real runs each row stands for; empty where nobody counted.
    """

    rows: tuple[Values, ...]
    duplicates: int = 0
    weights: tuple[int, ...] = ()


def number_of(text: str) -> float | None:
    """The finite number in a text; None if there is none.

    >>> number_of("1e3"), number_of("north"), number_of("nan")
    (1000.0, None, None)
    """
    if not text.isascii() or "_" in text:
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def checked(rows: Sequence[Mapping[str, object]], features: Sequence[Feature]) -> Scenarios:
    """Return rows with all features, each once; rows are counted from 1 in messages.

    Raises:
        BadScenarios: if there are none or too many, or a value is missing or no number.
    """
    if not rows:
        raise BadScenarios("there is no scenario; write at least one row, or a grid")
    check_count(len(rows))
    problems: list[str] = []
    kept: dict[tuple[str, ...], Values] = {}
    for number, row in enumerate(rows, start=1):
        values = {each.name: _value(row, each, f"scenario {number}", problems) for each in features}
        problems += _unknown(row, values, f"scenario {number}")
        kept.setdefault(tuple(values.values()), values)
    if problems:
        more = len(problems) - NAMED_PROBLEMS
        words = "; ".join(problems[:NAMED_PROBLEMS]) + (f"; and {more} more" if more > 0 else "")
        raise BadScenarios(words)
    return Scenarios(rows=tuple(kept.values()), duplicates=len(rows) - len(kept))


def of_csv(text: str, where: str) -> list[dict[str, object]]:
    """Return the rows of a CSV whose first line names the features.

    Raises:
        BadScenarios: if it cannot be read, names a feature twice, or has too many rows.
    """
    # Spreadsheets begin a file with a mark of its encoding.
    lines = io.StringIO(text.removeprefix("\ufeff"))
    reader = csv.DictReader(lines, strict=True, skipinitialspace=True)
    rows: list[dict[str, object]] = []
    try:
        names = Counter(name.strip() for name in reader.fieldnames or ())
        twice = next((name for name, count in names.items() if count > 1), None)
        if twice is not None:
            raise BadScenarios(f"{where}: its first line names {twice[:60]!r} twice")
        for row in reader:
            if None in row:
                raise BadScenarios(f"{where}: row {len(rows) + 1} has more cells than the header")
            rows.append({name.strip(): cell for name, cell in row.items() if cell is not None})
            if len(rows) > MOST_SCENARIOS:
                check_count(len(rows) + sum(1 for _ in reader))
    except csv.Error as error:
        raise BadScenarios(f"{where}: row {len(rows) + 1} is no CSV: {error}") from error
    return rows


def of_grid(axes: Mapping[str, Sequence[object]]) -> list[dict[str, object]]:
    """Return all combinations of the axes' values.

    Raises:
        BadScenarios: if there are too many.
    """
    check_count(math.prod(len(values) for values in axes.values()))
    return [dict(zip(axes, row, strict=True)) for row in product(*axes.values())]


def check_count(count: int) -> None:
    """Return if a campaign takes so many scenarios.

    Raises:
        BadScenarios: if there are too many.
    """
    if count > MOST_SCENARIOS:
        raise BadScenarios(
            f"there are {counted(count, 'scenario')}, and a campaign takes {MOST_SCENARIOS:,} at"
            " most; draw some of them with spec.scenarios.sample"
        )


def _value(row: Mapping[str, object], feature: Feature, where: str, problems: list[str]) -> str:
    given = row.get(feature.name)
    text = "" if given is None else str(given).strip()
    if not text:
        problems.append(f"{where} has no {feature.name!r}")
    elif len(text) > MOST_VALUE_CHARS:
        problems.append(f"{where}: {feature.name!r} is longer than {MOST_VALUE_CHARS} characters")
    elif "\0" in text:
        problems.append(f"{where}: {feature.name!r} has a zero byte, which no program can be given")
    elif feature.numeric and number_of(text) is None:
        problems.append(f"{where}: {feature.name!r} is {text[:40]!r}, which is no number")
    return text


def _unknown(row: Mapping[str, object], known: Mapping[str, str], where: str) -> list[str]:
    names = sorted(str(name) for name in row if name not in known)
    return [f"{where} has {names[0][:60]!r}, which spec.features does not list"] if names else []
