"""The 18 models of each heavy task: three binnings x two classifiers x three samplers.

The product's own code searches, fits and judges each: ``search`` (Bayesian, against the u-score),
``fit``, ``cheapest_bins``. Each is trained on the first 70% of each bin's rows and judged on the
rest: stratified as in thesis 5.2.2, and in time order within each bin, which the thesis does not
claim for its own split.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.thesis.printed import BINNINGS, PENALTY, SAMPLERS, Ceilings
from benchmarks.thesis.tasks import TaskRows
from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.units import GB
from plimsoll_predictor.deciding.choosing import cheapest_bins
from plimsoll_predictor.model.bins import Bins
from plimsoll_predictor.model.features import FeatureSchema
from plimsoll_predictor.training.classifier import ClassifierName, Layout, TrainingPart, fit
from plimsoll_predictor.training.folds import stratified_folds
from plimsoll_predictor.training.plan import TrainingPlan
from plimsoll_predictor.training.sampling import Sampler
from plimsoll_predictor.training.search import Problem, search
from plimsoll_predictor.training.u_score import Evaluation, confusion_matrix, evaluate

TRAINED_SHARE: Final = 0.7
"""The thesis's own rates are fractions of the other 30%: 1 of about 440 is its 0.2%."""


@dataclass(frozen=True, slots=True)
class ModelJob:
    """One model to be made. n_folds, iterations, budget_s: of its search."""

    task: str
    ceilings_gb: Ceilings
    classifier: str
    sampler: str
    seed: int
    iterations: int
    budget_s: float
    shuffled: bool = False


@dataclass(frozen=True, slots=True)
class ModelFigures:
    """How one model did on rows it was not trained on.

    likeliest: each run gets its likeliest bin, as in the thesis. served: the cheapest ceiling, as
    in the product.
    """

    job: ModelJob
    likeliest: Evaluation
    served: Evaluation
    trials: int
    cut_by_budget: bool
    took_s: float

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types, except tuples that JSON writes as lists."""
        return asdict(self)


def model_jobs(task: str, *, seed: int, iterations: int, budget_s: float) -> list[ModelJob]:
    """The 18 models of one heavy task; they share the budget equally."""
    wanted = [
        (ceilings, classifier, sampler)
        for ceilings in BINNINGS[task]
        for classifier, samplers in SAMPLERS.items()
        for sampler in samplers
    ]
    share_s = budget_s / len(wanted)
    return [ModelJob(task, *which, seed, iterations, share_s) for which in wanted]


def figures_of(job: ModelJob, rows: TaskRows) -> ModelFigures:
    """Make one model and judge it."""
    began_s = time.monotonic()
    place = np.arange(len(rows.features))
    if job.shuffled:
        place = np.random.default_rng(job.seed).permutation(place)
    labels = _bins(job.ceilings_gb, rows, place).labels(rows.need_bytes[place])
    split = stratified_split(labels)
    training, test = place[split], place[~split]
    schema = FeatureSchema.fit([rows.features[row] for row in training])
    layout = Layout(schema.categorical_columns, schema.expand)
    problem = _problem(job, rows, training, schema)
    found = search(problem, _plan(job), began_s + job.budget_s)
    part = TrainingPart(problem.X, problem.y, layout, n_bins=len(problem.bins), seed=job.seed)
    fitted = fit(part, found.best.recipe, threads=1)
    chances = fitted.predict_proba(schema.encode_rows([rows.features[row] for row in test]))
    truth = problem.bins.labels(rows.need_bytes[test])
    served = cheapest_bins(chances, problem.bins, PENALTY)
    return ModelFigures(
        job=job,
        likeliest=_judged(truth, chances.argmax(axis=1), problem.bins),
        served=_judged(truth, served, problem.bins),
        trials=len(found.trials),
        cut_by_budget=found.cut_by_budget,
        took_s=time.monotonic() - began_s,
    )


def stratified_split(labels: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which rows to train on, (n,): of each bin the first ``TRAINED_SHARE``, at least one."""
    trained = np.zeros(labels.size, dtype=np.bool_)
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        trained[members[: max(round(TRAINED_SHARE * members.size), 1)]] = True
    return trained


def described(ceilings_gb: Sequence[float], need_bytes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Label of each need, (n,), below the first ceiling that covers it."""
    return np.searchsorted(np.asarray(ceilings_gb) * GB, need_bytes, side="left").astype(np.int64)


def _bins(ceilings_gb: Ceilings, rows: TaskRows, places: NDArray[np.int64]) -> Bins:
    labels = described(ceilings_gb, rows.need_bytes[places])
    members = [places[labels == label] for label in range(len(ceilings_gb))]
    return Bins(
        ceilings_bytes=tuple(int(ceiling * GB) for ceiling in ceilings_gb),
        counts=tuple(member.size for member in members),
        mean_need_bytes=tuple(float(rows.need_bytes[member].mean()) for member in members),
        mean_runtime_s=tuple(float(rows.runtime_s[member].mean()) for member in members),
    )


def _problem(
    job: ModelJob, rows: TaskRows, training: NDArray[np.int64], schema: FeatureSchema
) -> Problem:
    bins = _bins(job.ceilings_gb, rows, training)
    labels = bins.labels(rows.need_bytes[training])
    return Problem(
        X=schema.encode_rows([rows.features[row] for row in training]),
        y=labels,
        runtimes_s=rows.runtime_s[training],
        reference_bytes=job.ceilings_gb[-1] * GB,
        bins=bins,
        layout=Layout(schema.categorical_columns, schema.expand),
        folds=stratified_folds(labels, 3),
        penalty=PENALTY,
    )


def _plan(job: ModelJob) -> TrainingPlan:
    return TrainingPlan(
        policy=Policy(penalty=PENALTY),
        seed=job.seed,
        budget_s=job.budget_s,
        iterations=job.iterations,
        clock=time.monotonic,
        now_s=time.time(),
        classifiers=(ClassifierName(job.classifier),),
        samplers=(Sampler(job.sampler),),
    )


def _judged(truth: NDArray[np.int64], predicted: NDArray[np.int64], bins: Bins) -> Evaluation:
    return evaluate(confusion_matrix(truth, predicted, len(bins)), PENALTY)
