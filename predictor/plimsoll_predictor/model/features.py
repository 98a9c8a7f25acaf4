"""Turns what is known before a run into numbers: one code path for training and for serving.

A schema is learned once from a task's history and travels with the model. Whatever comes later
(a feature missing, never seen, of another kind, absurdly large) becomes NaN, never an error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from plimsoll_predictor.core.packing import ModelError
from plimsoll_predictor.core.record import Features, FeatureValue
from plimsoll_predictor.model.columns import (
    DATE_PARTS,
    MAX_TEXT_CHARS,
    Column,
    Part,
    is_number,
    parse_category,
    parse_date,
)

MAX_DATES: Final = 8
"""The most date features that are split; their differences grow with the square."""
MAX_COLUMNS: Final = 1024
MAX_EXPANDED: Final = 2**14
LEAST_NUMBERS: Final = 0.95
"""Share of a feature's values that makes it a number: a few words are missing values."""


@dataclass(frozen=True)
class FeatureSchema:
    """Encoded columns, in order. Made by ``fit``."""

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        if len(self.columns) > MAX_COLUMNS or self.n_expanded > MAX_EXPANDED:
            raise ModelError(
                f"{len(self.columns)} columns ({self.n_expanded} with categories) are too many; "
                f"fit with fewer features (at most {MAX_COLUMNS} and {MAX_EXPANDED})"
            )

    @classmethod
    def fit(
        cls, rows: Sequence[Features], *, max_categories: int = 32, max_features: int = 64
    ) -> FeatureSchema:
        """Learn which columns a task's features make.

        A feature is a number if nearly all its values are, else a date if all are ISO 8601, else a
        category. If there are too many features, those most often present are kept; columns
        that never change are dropped.

        rows: one mapping per run; may be empty, which gives a schema without columns.
        max_categories: known categories per feature, the most frequent first.
        max_features: features looked at, before dates are split.
        """
        candidates = cls(_columns(rows, max_categories=max_categories, max_features=max_features))
        encoded = candidates.encode_rows(rows)
        varies = [_varies(encoded[:, index]) for index in range(len(candidates.columns))]
        return cls(
            tuple(column for column, keep in zip(candidates.columns, varies, strict=True) if keep)
        )

    @property
    def n_expanded(self) -> int:
        """Columns of ``expand``."""
        return sum(len(column.categories) if column.is_category else 1 for column in self.columns)

    @cached_property
    def has_categories(self) -> bool:
        """Whether ``expand`` changes anything; a column without categories vanishes in it."""
        return any(column.is_category for column in self.columns)

    @property
    def categorical_columns(self) -> tuple[int, ...]:
        """Indices of the columns that hold category codes."""
        return tuple(index for index, column in enumerate(self.columns) if column.is_category)

    def encode(self, features: Features) -> NDArray[np.float32]:
        """One run as numbers, (n_columns,): codes for categories, NaN for missing or unseen."""
        return np.array(self.encode_values(features), dtype=np.float32)

    def encode_values(self, features: Features) -> list[float]:
        """The numbers of ``encode`` as a list; each is NaN or within float32."""
        return [column.read(features) for column in self.columns]

    def encode_rows(self, rows: Sequence[Features]) -> NDArray[np.float32]:
        """``encode`` of each, (n, n_columns)."""
        encoded = np.empty((len(rows), len(self.columns)), dtype=np.float32)
        for index, features in enumerate(rows):
            encoded[index] = self.encode(features)
        return encoded

    def expand(self, X: NDArray[np.float32]) -> NDArray[np.float32]:
        """Category codes to one column per category, (n, n_columns) -> (n, n_expanded).

        A missing or unseen category is 0 in all its columns; a missing number stays NaN.
        """
        if not self.has_categories:
            return X
        source, code = self._expansion
        taken = X.take(source, axis=1)
        return np.where(np.isnan(code), taken, taken == code)

    @cached_property
    def _expansion(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The column that each expanded column, (n_expanded,), is made from, and its category.

        The category is NaN where the column is a plain number.
        """
        plan = [
            (index, code)
            for index, column in enumerate(self.columns)
            for code in (range(len(column.categories)) if column.is_category else [np.nan])
        ]
        code = np.array([code for _, code in plan], dtype=np.float32)
        return np.array([at for at, _ in plan], dtype=np.int64), code


def _columns(
    rows: Sequence[Features], *, max_categories: int, max_features: int
) -> tuple[Column, ...]:
    present = Counter(name for row in rows for name in row if len(name) <= MAX_TEXT_CHARS)
    often = sorted(present, key=lambda name: (-present[name], name))[:max_features]
    columns: list[Column] = []
    dates: list[str] = []
    for name in sorted(often):
        values = [row[name] for row in rows if name in row]
        if sum(map(is_number, values)) >= LEAST_NUMBERS * len(values):
            columns.append(Column(name, Part.NUMBER))
        elif len(dates) < MAX_DATES and all(parse_date(value) is not None for value in values):
            dates.append(name)
        else:
            columns.append(Column(name, Part.CATEGORY, categories=_known(values, max_categories)))
    columns += [Column(name, part) for name in dates for part in DATE_PARTS]
    columns += [Column(name, Part.DIFFERENCE, other) for name, other in combinations(dates, 2)]
    return tuple(columns)


def _known(values: Sequence[FeatureValue], max_categories: int) -> tuple[str, ...]:
    """The categories worth knowing, in alphabetical order."""
    texts = (parse_category(value) for value in values)
    counts = Counter(text for text in texts if text is not None)
    if len(counts) > max_categories:
        # If there are more than fit, those seen once are names of runs rather than categories.
        counts = Counter({text: count for text, count in counts.items() if count > 1})
    return tuple(sorted(sorted(counts, key=lambda text: (-counts[text], text))[:max_categories]))


def _varies(column: NDArray[np.float32]) -> bool:
    missing = np.isnan(column)
    present = column[~missing]
    if not present.size:
        return False
    return bool(missing.any() or (present != present[0]).any())
