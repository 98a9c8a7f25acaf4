"""A task's model as it serves: schema, bins and a compiled predictor. Plain data, numpy only."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, Final, Literal, TypeAlias

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from plimsoll_predictor.core.documents import Count, Finite, from_document, to_document
from plimsoll_predictor.core.packing import ModelError, digest
from plimsoll_predictor.core.record import Features
from plimsoll_predictor.model.bins import Bins
from plimsoll_predictor.model.boosted import MARGIN, BoostedNeed
from plimsoll_predictor.model.features import FeatureSchema
from plimsoll_predictor.model.svm import CompiledSvm
from plimsoll_predictor.model.trees import MAX_CLASSES, CompiledTrees

__all__ = ["CompiledSvm", "CompiledTrees", "Model", "ModelError", "ModelMetrics", "Predictor"]

FORMAT: Final = "plimsoll-model"
FORMAT_VERSION: Final = 1
MAX_BINS: Final = MAX_CLASSES
MAX_BYTES: Final = 2**62
_VERSION_CHARS: Final = 10

Predictor: TypeAlias = CompiledTrees | CompiledSvm
Classifier: TypeAlias = Literal["xgboost", "svm", "none"]
Text: TypeAlias = Annotated[str, Meta(max_length=1024)]


_DECIDING: Final[tuple[str, ...]] = ("schema", "bins", "predictor", "boosted")
"""The parts that a version is made of."""


@dataclass(frozen=True, slots=True)
class _Written:
    """The fields that say whether a document is a model that can be read."""

    format: Literal["plimsoll-model"]
    format_version: Annotated[int, Meta(ge=1, le=MAX_BYTES)]
    checksum: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelMetrics:
    """The figures of the model on the folds it was not trained on (thesis 5.2.3 and Table 11).

    u_score: weighted errors per hundred runs; less is better. accuracy, u_rate: 0 to 1.
    optimal_improvement, estimated_improvement: share of the user's memory-time saved.
    confusion: runs by [true bin][predicted bin].
    penalty: what an under-prediction counted.
    """

    u_score: Finite
    accuracy: Finite
    u_rate: Finite
    optimal_improvement: Finite
    estimated_improvement: Finite
    confusion: Annotated[tuple[tuple[Count, ...], ...], Meta(max_length=MAX_BINS)]
    classifier: Classifier
    sampler: Text
    penalty: Finite


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Model:
    """The model that one training of one task made. Immutable; equal if its dict is.

    task: ``namespace/name``.
    version: short hash of what decides (schema, bins, predictor, boosted); made here, do not
        pass it.
    predictor: None if there is one bin, which is then certain.
    boosted: None where there was too little to fit, and in models of older trainings.
    trained_s: when, Unix seconds. observations: runs it was trained on.
    """

    task: Text
    version: Annotated[str, Meta(max_length=_VERSION_CHARS)] = ""
    schema: FeatureSchema
    bins: Bins
    predictor: Predictor | None
    trained_s: Finite
    observations: Count
    metrics: ModelMetrics
    boosted: BoostedNeed | None = None

    def __post_init__(self) -> None:
        """Check that the parts fit each other; ModelError if not."""
        _check_bins(self.bins)
        n_bins = len(self.bins)
        n_classes = self.predictor.n_classes if self.predictor else 1
        if n_classes != n_bins:
            raise ModelError(f"a predictor of {n_classes} classes for {n_bins} bins; train again")
        if self.predictor and self.predictor.n_features != self.schema.n_expanded:
            raise ModelError(
                f"a predictor of {self.predictor.n_features} columns for a schema of "
                f"{self.schema.n_expanded}; train again"
            )
        if self.boosted and self.boosted.trees.n_features != self.schema.n_expanded:
            raise ModelError(
                f"boosted needs of {self.boosted.trees.n_features} columns for a schema of "
                f"{self.schema.n_expanded}; train again"
            )
        content = self._content()
        deciding = {part: content[part] for part in _DECIDING if part in content}
        version = digest(deciding)[:_VERSION_CHARS]
        if self.version not in ("", version):
            raise ModelError(f"version {self.version!r} does not match the content; train again")
        object.__setattr__(self, "version", version)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.task, self.version, self.trained_s))

    def probabilities(self, features: Features) -> NDArray[np.float64]:
        """P(bin), (n_bins,), for a run with these features; missing and unseen ones are handled."""
        if self.predictor is None:
            return np.ones(1)
        values = self.schema.encode_values(features)
        if isinstance(self.predictor, CompiledTrees) and not self.schema.has_categories:
            return self.predictor.probabilities_of_values(values)
        encoded = np.array(values, dtype=np.float32)
        return self.predictor.probabilities(self.schema.expand(encoded[np.newaxis, :])[0])

    def boosted_bid_bytes(self, features: Features) -> float | None:
        """Boosting's bid for a run with these features, above zero; None if the model has none."""
        if self.boosted is None:
            return None
        encoded = self.schema.encode(features)
        return self.boosted.need_bytes(self.schema.expand(encoded[np.newaxis, :])[0]) * MARGIN

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types with format, version and checksum; ``from_dict`` reads it back."""
        content = {"format": FORMAT, "format_version": FORMAT_VERSION, **self._content()}
        return {**content, "checksum": digest(content)}

    def _content(self) -> dict[str, Any]:
        content: dict[str, Any] = to_document(self)
        if self.boosted is None:
            # Models of older trainings, which have none, keep their version and checksum.
            del content["boosted"]
        return content

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Model:
        """Inverse of ``to_dict``.

        Raises:
            ModelError: if the data is damaged, foreign, or from a newer Plimsoll.
        """
        _check_format(data)
        return from_document(cls, data, "the model", _unreadable)


def _unreadable(words: str) -> ModelError:
    return ModelError(f"{words}; train the task again")


def _check_format(data: Mapping[str, Any]) -> None:
    written = from_document(_Written, data, "the model", _unreadable)
    if written.format_version > FORMAT_VERSION:
        raise ModelError(f"the model has format {written.format_version}; update Plimsoll")
    content = {key: value for key, value in data.items() if key != "checksum"}
    if written.checksum != digest(content):
        raise ModelError("the model is damaged (its checksum does not match); train the task again")


def _check_bins(bins: Bins) -> None:
    n_bins = len(bins.ceilings_bytes)
    columns = (bins.counts, bins.mean_need_bytes, bins.mean_runtime_s)
    if not 1 <= n_bins <= MAX_BINS or any(len(column) != n_bins for column in columns):
        raise ModelError(f"{n_bins} bins whose columns differ or are out of range; train again")
    ceilings = bins.ceilings_bytes
    rising = all(low < high for low, high in pairwise(ceilings))
    if not rising or ceilings[0] <= 0 or ceilings[-1] > MAX_BYTES:
        raise ModelError(f"ceilings {ceilings[:8]} do not rise from above 0; train again")
    values = (*bins.counts, *bins.mean_need_bytes, *bins.mean_runtime_s)
    if not all(0 <= value < math.inf for value in values):
        raise ModelError("a bin's count, need or runtime is not a number >= 0; train again")
