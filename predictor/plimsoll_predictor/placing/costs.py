"""What one more task of a kind costs on a node, for each task that is there already.

It is what admission knows of a matrix: rounded, bounded, and read with numpy alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

import msgspec
import numpy as np

from plimsoll_predictor.core.documents import from_document
from plimsoll_predictor.placing.kinds import MOST_KINDS, OTHERS
from plimsoll_predictor.placing.matrix import Array

MOST_PLACES: Final = MOST_KINDS + 1
"""All kinds that are told apart, and OTHERS."""
MOST_HUNDREDTHS: Final = 100_00
"""The largest cost: what both of a pair lose is bounded by what one run may teach."""
MOST_KIND_CHARS: Final = 512


class _Document(msgspec.Struct):
    kinds: list[Annotated[str, msgspec.Meta(max_length=MOST_KIND_CHARS)]]
    hundredths: list[list[Annotated[int, msgspec.Meta(ge=-MOST_HUNDREDTHS, le=MOST_HUNDREDTHS)]]]
    known: list[str]


@dataclass(frozen=True, slots=True)
class Costs:
    """Costs of K kinds. Arrays have K rows and columns.

    rows: what a task of the row's kind costs for each neighbour of the column's, in slowdowns: what
        both lose (0.5 is half the time that one of them takes alone), less the neighbourhood's
        worth to others. known: 1 where both slowdowns of the pair are known, else 0.
    """

    kinds: tuple[str, ...]
    rows: Array
    known: Array
    _places: Mapping[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Raise ValueError where the arrays do not belong together, or are too large."""
        size = len(self.kinds)
        if self.rows.shape != (size, size) or self.known.shape != (size, size):
            message = f"{size} kinds, but arrays of {self.rows.shape} and {self.known.shape}"
            raise ValueError(message)
        if size > MOST_PLACES:
            message = f"{size} kinds are more than {MOST_PLACES}"
            raise ValueError(message)
        object.__setattr__(self, "_places", {kind: n for n, kind in enumerate(self.kinds)})

    def place(self, kind: str) -> int | None:
        """The row and column of a kind; None if it is not told apart."""
        return None if kind == OTHERS else self._places.get(kind)

    def to_document(self) -> dict[str, Any]:
        """Plain JSON types; costs in whole hundredths. 12 kB with short names, for 51 kinds."""
        most = MOST_HUNDREDTHS / 100
        hundredths = np.rint(np.clip(self.rows, -most, most) * 100).astype(int)
        return {
            "kinds": [kind[:MOST_KIND_CHARS] for kind in self.kinds],
            "hundredths": hundredths.tolist(),
            "known": ["".join("1" if each else "0" for each in row) for row in self.known],
        }

    @classmethod
    def from_document(cls, document: object) -> Costs:
        """Inverse of ``to_document``, except for its rounding; ValueError on anything else."""
        read = from_document(_Document, document, "the costs of pairs")
        size = len(read.kinds)
        if any(len(row) != size for row in (*read.hundredths, *read.known)):
            message = f"{size} kinds, but rows of another length"
            raise ValueError(message)
        rows = np.array(read.hundredths, dtype=float).reshape(-1, size) / 100
        known = [[1.0 if each == "1" else 0.0 for each in row] for row in read.known]
        return cls(tuple(read.kinds), rows, np.array(known, dtype=float).reshape(-1, size))
