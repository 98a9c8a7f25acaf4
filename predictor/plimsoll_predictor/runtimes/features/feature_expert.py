"""The feature expert as it serves: how far features move the mixture's forecast.

It answers with masses over shares of the mixture's own forecast. A mass of .05 between the shares
.9 and .95 means that it agrees with the mixture there; .2 means that such a runtime is four times
as likely as the mixture says. The forecast stays a distribution with the mixture's modes.
"""

from __future__ import annotations

import zlib
from typing import Any, Final

import numpy as np
import orjson
from msgspec import Struct
from numpy.typing import NDArray

from plimsoll_predictor.core.documents import (
    Count,
    Finite,
    check_format,
    from_document,
    to_document,
)
from plimsoll_predictor.core.packing import ModelError
from plimsoll_predictor.runtimes.features.row import N_FEATURES, NAMES
from plimsoll_predictor.runtimes.features.trees import VectorTrees

SHARES: Final = np.array(
    [0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0]
)
SHARES.setflags(write=False)
WIDTHS: Final = np.diff(SHARES)
WIDTHS.setflags(write=False)
N_SHARES: Final = len(WIDTHS)
"""Classes of the trees: the runtime lies between two of SHARES."""
MOST_BYTES: Final = 4 << 20
"""The largest written expert, before compression."""
FORMAT: Final = 1
_BASE: Final = 0.02
"""The mixture's share in each answer: no runtime becomes impossible."""
_LEAST: Final = _BASE * WIDTHS

FloatArray = NDArray[np.float64]


class FeatureExpert(Struct, frozen=True, eq=False):
    """Trees over the rows of ``row.NAMES``, and their explanation for people.

    made_s: when it was fitted. runs: how many it was fitted on.
    """

    trees: VectorTrees
    made_s: Finite
    runs: Count
    names: tuple[str, ...] = NAMES

    def __post_init__(self) -> None:
        """Check that the trees read such rows and answer over SHARES; ModelError if not."""
        if self.trees.n_features != N_FEATURES or self.names != NAMES:
            raise ModelError("the trees read other features than this version has; fit them again")
        if self.trees.n_classes != N_SHARES:
            raise ModelError("the trees answer over other shares; fit them again")

    def masses(self, row: list[float]) -> FloatArray:
        """(N_SHARES,) above 0, sum 1, for one row (N_FEATURES,)."""
        masses = self.trees.margins_of(row)
        masses -= np.maximum.reduce(masses)
        np.exp(masses, out=masses)
        masses *= (1.0 - _BASE) / np.add.reduce(masses)
        masses += _LEAST
        return masses

    def masses_of_rows(self, rows: NDArray[np.float32]) -> FloatArray:
        """(n_rows, N_FEATURES) to (n_rows, N_SHARES)."""
        return _softmax(self.trees.margins_of_rows(rows))

    def to_bytes(self) -> bytes:
        """Compressed JSON; ``from_bytes`` reads it."""
        document = {"format": FORMAT, **to_document(self)}
        return zlib.compress(orjson.dumps(document), 6)

    @classmethod
    def from_bytes(cls, written: bytes) -> FeatureExpert:
        """Read what ``to_bytes`` wrote. ModelError for bytes of another version or origin."""
        inflating = zlib.decompressobj()
        try:
            plain = inflating.decompress(written, MOST_BYTES)
            document: Any = orjson.loads(plain) if inflating.eof else None
        except (zlib.error, ValueError) as error:
            raise ModelError(f"a feature expert that cannot be read: {error}") from error
        check_format(document, FORMAT, "a feature expert", ModelError)
        return from_document(cls, document, "a feature expert", ModelError)


def _softmax(margins: FloatArray) -> FloatArray:
    masses: FloatArray = np.exp(margins - margins.max(axis=-1, keepdims=True))
    masses /= masses.sum(axis=-1, keepdims=True)
    masses *= 1.0 - _BASE
    masses += _LEAST
    return masses


def place_of(share: float) -> int:
    """The class of a share of the mixture's forecast."""
    return min(max(int(SHARES.searchsorted(share, "right")) - 1, 0), N_SHARES - 1)


def moved(masses: NDArray[np.floating], weight: float) -> FloatArray:
    """(N_SHARES + 1,) rising from 0 to 1: the share below each of SHARES, by both together.

    masses: the expert's. weight: 0 leaves the mixture as it is.
    """
    both = weight * masses
    both += (1.0 - weight) * WIDTHS
    below = np.zeros(N_SHARES + 1)
    both.cumsum(out=below[1:])
    below /= below[-1]
    return below
