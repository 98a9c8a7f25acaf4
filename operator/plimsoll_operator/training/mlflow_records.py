"""One training as MLflow's params, metrics, tags and artifacts. Pure.

Names and lengths are such that every MLflow server since 2.0 accepts them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from plimsoll_operator.names.conditions import cut, timestamp
from plimsoll_operator.views.training_facts import ReportFacts, best_so_far, facts_of
from plimsoll_predictor.store import Training

MAX_KEY: Final = 250
MAX_PARAM: Final = 500
MAX_TAG: Final = 5_000
MAX_PARAMS: Final = 100
MAX_METRICS: Final = 1_000
"""The most metrics of one request; a training of about 300 trials has so many."""
IDENTITY: Final = "plimsoll.training"
"""The tag that shows whether a training is already logged."""
_NO_KEY: Final = re.compile(r"[^\w\-. /]", re.ASCII)


@dataclass(frozen=True, slots=True)
class Metric:
    """One number. step: the fold's or trial's number; 0 for a number of the training itself."""

    key: str
    value: float
    step: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackedRun:
    """The log entries of one training. Times are Unix milliseconds."""

    experiment: str
    identity: str
    name: str
    started_ms: int
    ended_ms: int
    succeeded: bool
    params: Mapping[str, str]
    metrics: tuple[Metric, ...]
    tags: Mapping[str, str]
    artifacts: Mapping[str, bytes]


def tracked_run(training: Training, prefix: str) -> TrackedRun:
    """Collect the log entries of a training. Its experiment is ``PREFIX/NAMESPACE/NAME``."""
    facts = facts_of(training.report)
    ended_ms = round(training.at_s * 1000)
    return TrackedRun(
        experiment=f"{prefix}/{training.task}" if prefix else str(training.task),
        identity=_identity(training),
        name=training.version or ("no model" if training.failure is None else "failed"),
        started_ms=ended_ms - round((facts.duration_s or 0.0) * 1000),
        ended_ms=ended_ms,
        succeeded=training.failure is None,
        params=_params(facts),
        metrics=tuple(_metrics(facts))[:MAX_METRICS],
        tags=_tags(training, facts),
        artifacts=_artifacts(training, facts),
    )


def _identity(training: Training) -> str:
    # The time distinguishes stores whose numbering restarted.
    text = f"{training.task}/{training.row}/{training.at_s!r}"
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _params(facts: ReportFacts) -> dict[str, str]:
    values: dict[str, object] = {
        "seed": facts.seed,
        "iterations": facts.iterations,
        "folds": facts.folds,
        "budget_s": facts.budget_s,
        "runs": facts.runs,
        "data_first": None if facts.first_s is None else timestamp(facts.first_s),
        "data_last": None if facts.last_s is None else timestamp(facts.last_s),
        "features": ", ".join(facts.features) or None,
        "bins": len(facts.ceilings_bytes) or None,
        "ceilings_bytes": ", ".join(map(str, facts.ceilings_bytes)) or None,
    }
    if facts.recipe is not None:
        values |= {"classifier": facts.recipe.classifier, "sampler": facts.recipe.sampler}
        values |= {f"classifier.{name}": value for name, value in facts.recipe.parameters.items()}
    values |= {
        f"policy.{name}": value
        for name, value in facts.policy.items()
        if isinstance(value, str | int | float)
    }
    params = [
        (_key(name), cut(str(value), MAX_PARAM))
        for name, value in values.items()
        if value is not None
    ]
    return dict(params[:MAX_PARAMS])


def _metrics(facts: ReportFacts) -> Iterator[Metric]:
    recipe = facts.recipe
    training = {
        "u_score": facts.u_score,
        "accuracy": facts.accuracy,
        "u_rate": recipe.u_rate if recipe else None,
        "runs": facts.runs,
        "censored_runs": facts.censored_runs,
        "duration_s": facts.duration_s,
        "compared_runs": facts.compared_runs,
    }
    yield from (Metric(key, value) for key, value in training.items() if value is not None)
    for name, cost in facts.out_of_time_costs.items():
        yield Metric(_key(f"out_of_time_cost_gb_h.{name}"), cost.cost_gb_h)
        yield Metric(_key(f"out_of_time_failed_attempts.{name}"), cost.failed_attempts)
    for step, fold in enumerate(facts.fold_scores, start=1):
        for name in ("u_score", "accuracy", "u_rate", "validation_runs"):
            yield Metric(f"fold_{name}", getattr(fold, name), step)
    for step, (trial, best) in enumerate(
        zip(facts.trials, best_so_far(facts), strict=True), start=1
    ):
        yield Metric("trial_u_score", trial.u_score, step)
        yield Metric("trial_accuracy", trial.accuracy, step)
        yield Metric("best_u_score", best, step)


def _tags(training: Training, facts: ReportFacts) -> dict[str, str]:
    values = {
        IDENTITY: _identity(training),
        "plimsoll.task": str(training.task),
        "plimsoll.model_version": training.version,
        "plimsoll.seed": None if facts.seed is None else str(facts.seed),
        "plimsoll.plimsoll_version": facts.plimsoll_version,
        "plimsoll.cut_by_budget": None if facts.cut_by_budget is None else str(facts.cut_by_budget),
        "plimsoll.failure": training.failure,
        "plimsoll.confusion": _confusion(facts),
    }
    return {key: cut(value, MAX_TAG) for key, value in values.items() if value}


def _confusion(facts: ReportFacts) -> str | None:
    """Row: bin needed, column: bin predicted. None if there is none, or it is too long."""
    if not facts.confusion:
        return None
    text = json.dumps(facts.confusion, separators=(",", ":"))
    return text if len(text) <= MAX_TAG else None


def _artifacts(training: Training, facts: ReportFacts) -> dict[str, bytes]:
    documents: dict[str, Any] = {"report.json": dict(training.report)}
    if facts.confusion:
        documents["confusion.json"] = {
            "ceilings_bytes": facts.ceilings_bytes,
            "rows_are": "the bin a run needed",
            "columns_are": "the bin that was predicted",
            "runs": facts.confusion,
        }
    return {name: json.dumps(each, indent=1).encode() for name, each in documents.items() if each}


def _key(text: str) -> str:
    return _NO_KEY.sub("_", text)[:MAX_KEY]
