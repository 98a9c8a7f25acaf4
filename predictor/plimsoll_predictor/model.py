"""A task's model as it serves: schema, bins and a compiled predictor. Plain data, numpy only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Final, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from plimsoll_predictor.bins import Bins
from plimsoll_predictor.boosted import BoostedNeed
from plimsoll_predictor.features import FeatureSchema
from plimsoll_predictor.packing import Fields, ModelError, digest, finite
from plimsoll_predictor.record import Features
from plimsoll_predictor.svm import CompiledSvm
from plimsoll_predictor.trees import CompiledTrees

__all__ = ["CompiledSvm", "CompiledTrees", "Model", "ModelError", "ModelMetrics", "Predictor"]

FORMAT: Final = "plimsoll-model"
FORMAT_VERSION: Final = 1
MAX_BINS: Final = 64
MAX_BYTES: Final = 2**62
_VERSION_CHARS: Final = 10

Predictor: TypeAlias = CompiledTrees | CompiledSvm
Classifier: TypeAlias = Literal["xgboost", "svm", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelMetrics:
    """How the model did on the folds it was not trained on (thesis 5.2.3 and Table 11).

    u_score: weighted errors per hundred runs; less is better. accuracy, u_rate: 0 to 1.
    optimal_improvement, estimated_improvement: share of the user's memory-time saved.
    confusion: runs by [true bin][predicted bin].
    penalty: what an under-prediction counted.
    """

    u_score: float
    accuracy: float
    u_rate: float
    optimal_improvement: float
    estimated_improvement: float
    confusion: tuple[tuple[int, ...], ...]
    classifier: Classifier
    sampler: str
    penalty: float

    @classmethod
    def from_dict(cls, data: object) -> ModelMetrics:
        """Inverse of ``dataclasses.asdict``; ModelError on anything else."""
        fields = Fields.of(data, "the model's metrics")
        classifier = fields.text("classifier")
        if classifier not in ("xgboost", "svm", "none"):
            raise fields.wrong("classifier", "xgboost, svm or none")
        rows = fields.items("confusion", MAX_BINS)
        if not all(_is_counts(row) for row in rows):
            raise fields.wrong("confusion", "rows of counts")
        return cls(
            u_score=fields.number("u_score"),
            accuracy=fields.number("accuracy"),
            u_rate=fields.number("u_rate"),
            optimal_improvement=fields.number("optimal_improvement"),
            estimated_improvement=fields.number("estimated_improvement"),
            confusion=tuple(tuple(row) for row in rows),
            classifier=cast(Classifier, classifier),
            sampler=fields.text("sampler"),
            penalty=fields.number("penalty"),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Model:
    """What one training of one task gave. Immutable; equal if its dict is.

    task: ``namespace/name``.
    version: short hash of what decides (schema, bins, predictor, boosted); made here, do not
        pass it.
    predictor: None if there is one bin, which is then certain.
    boosted: None where there was too little to fit, and in models of older trainings.
    trained_s: when, Unix seconds. observations: runs it was trained on.
    """

    task: str
    version: str = ""
    schema: FeatureSchema
    bins: Bins
    predictor: Predictor | None
    trained_s: float
    observations: int
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
        version = digest(self._deciding_parts())[:_VERSION_CHARS]
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

    def boosted_need_bytes(self, features: Features) -> float | None:
        """The boosted quantile of this run's need; None if the model has none."""
        if self.boosted is None:
            return None
        encoded = self.schema.encode(features)
        return self.boosted.need_bytes(self.schema.expand(encoded[np.newaxis, :])[0])

    def _deciding_parts(self) -> dict[str, Any]:
        parts = {
            "schema": self.schema.to_dict(),
            "bins": self.bins.to_dict(),
            "predictor": self.predictor.to_dict() if self.predictor else None,
        }
        # Left out where there is none: models of older trainings keep their version and checksum.
        return parts | ({"boosted": self.boosted.to_dict()} if self.boosted else {})

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types with format, version and checksum; ``from_dict`` reads it back."""
        metrics = asdict(self.metrics)
        metrics["confusion"] = [list(row) for row in self.metrics.confusion]
        content = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "task": self.task,
            "version": self.version,
            **self._deciding_parts(),
            "trained_s": self.trained_s,
            "observations": self.observations,
            "metrics": metrics,
        }
        return {**content, "checksum": digest(content)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Model:
        """Inverse of ``to_dict``.

        Raises:
            ModelError: if the data is damaged, foreign, or from a newer Plimsoll.
        """
        fields = Fields.of(data, "the model")
        _check_format(fields)
        predictor = fields.raw("predictor")
        boosted = fields.data.get("boosted")
        return cls(
            task=fields.text("task"),
            version=fields.text("version", _VERSION_CHARS),
            schema=FeatureSchema.from_dict(fields.raw("schema")),
            bins=_bins(Fields.of(fields.raw("bins"), "the model's bins")),
            predictor=None if predictor is None else _predictor(predictor),
            trained_s=fields.number("trained_s"),
            observations=fields.integer("observations", 0, MAX_BYTES),
            metrics=ModelMetrics.from_dict(fields.raw("metrics")),
            boosted=None if boosted is None else BoostedNeed.from_dict(boosted),
        )


def _check_format(fields: Fields) -> None:
    if fields.raw("format") != FORMAT:
        raise fields.wrong("format", f"{FORMAT!r}: this is not a Plimsoll model")
    if fields.integer("format_version", 1, MAX_BYTES) > FORMAT_VERSION:
        raise fields.wrong("format_version", f"at most {FORMAT_VERSION}: update Plimsoll")
    content = {key: value for key, value in fields.data.items() if key != "checksum"}
    if fields.raw("checksum") != digest(content):
        raise ModelError("the model is damaged (its checksum does not match); train the task again")


def _predictor(data: object) -> Predictor:
    fields = Fields.of(data, "the model's predictor")
    kind = fields.text("kind")
    if kind == "trees":
        return CompiledTrees.from_dict(fields.data)
    if kind == "svm":
        return CompiledSvm.from_dict(fields.data)
    raise fields.wrong("kind", "'trees' or 'svm'")


def _bins(fields: Fields) -> Bins:
    for key in ("ceilings_bytes", "counts", "mean_need_bytes", "mean_runtime_s"):
        if any(finite(value) is None for value in fields.items(key, MAX_BINS)):
            raise fields.wrong(key, "a list of finite numbers")
    if not (_is_counts(fields.raw("ceilings_bytes")) and _is_counts(fields.raw("counts"))):
        raise ModelError(f"{fields.where}: ceilings and counts must be whole; train again")
    return Bins.from_dict(fields.data)


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
    if any(finite(value) is None or value < 0 for value in values):
        raise ModelError("a bin's count, need or runtime is not a number >= 0; train again")


def _is_counts(row: object) -> bool:
    return isinstance(row, list | tuple) and all(
        isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= MAX_BYTES
        for count in row
    )
