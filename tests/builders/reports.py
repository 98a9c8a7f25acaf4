"""Observations, models and reports of a made-up task, for tests of the report and the status."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from plimsoll_operator.profile.phases import Phase
from plimsoll_operator.views.report.counting import figures_of, lifts_of, needs_used, points_of
from plimsoll_operator.views.report.records import (
    ModelFigures,
    ReportData,
    TaskDetail,
    TaskReport,
)
from plimsoll_operator.views.training_facts import past_trainings
from plimsoll_predictor.core.record import Cause, Observation, Outcome, PeakSource
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.knowledge.expert_names import CLASSIFIER
from plimsoll_predictor.model.bins import Bins
from plimsoll_predictor.model.features import FeatureSchema
from plimsoll_predictor.model.task_model import Model, ModelMetrics
from plimsoll_predictor.store import DecisionRecord, Training
from plimsoll_predictor.training.out_of_time import OutOfTimeCost

TASK = TaskId("shop", "train-demand")
START_S = 1_790_000_000.0


def an_attempt(run: str = "r1", attempt: int = 1) -> Observation:
    """One that succeeded: 300Mi needed, 512Mi given, 4Gi asked for, 10 minutes."""
    return Observation(
        attempt_uid=f"{run}-{attempt}",
        task=TASK,
        run=run,
        attempt=attempt,
        outcome=Outcome.SUCCEEDED,
        request_bytes=4 * GIB,
        allocation_bytes=512 * MIB,
        peak_bytes=300 * MIB,
        peak_source=PeakSource.AGENT,
        started_s=START_S,
        finished_s=START_S + 600,
    )


def killed(attempt: Observation) -> Observation:
    """The same, OOM-killed at its allocation."""
    return replace(
        attempt,
        outcome=Outcome.OOM_KILLED,
        cause=Cause.OWN_LIMIT,
        peak_bytes=attempt.allocation_bytes,
    )


def a_life(seed: int, imported: int = 60, runs: int = 60) -> list[Observation]:
    """History at the request, then sized runs; now and then one is killed, lifted, and succeeds."""
    dice = random.Random(seed)
    attempts = [_past(dice, place) for place in range(imported)]
    for place in range(runs):
        run, need = f"run-{place}", _need_bytes(dice)
        foreseen = need * dice.choice([0.6] + [1.0] * 14)
        allocation = min(ceiling for ceiling in (320, 700, 1800) if ceiling * MIB > foreseen)
        at_s = START_S + 86_400 * 30 + 90 * place
        base = replace(
            an_attempt(run),
            allocation_bytes=allocation * MIB,
            peak_bytes=need,
            started_s=at_s,
            finished_s=at_s + 60,
        )
        if allocation * MIB >= need:
            attempts.append(base)
        else:
            attempts.append(killed(base))
            attempts.append(
                replace(
                    base,
                    attempt_uid=f"{run}-2",
                    attempt=2,
                    allocation_bytes=1800 * MIB,
                    started_s=at_s + 60,
                    finished_s=at_s + 120,
                )
            )
    return attempts


def _past(dice: random.Random, place: int) -> Observation:
    at_s = START_S + 3600 * place
    return replace(
        an_attempt(f"past-{place}"),
        allocation_bytes=4 * GIB,
        peak_bytes=_need_bytes(dice),
        peak_source=PeakSource.IMPORTED,
        started_s=at_s,
        finished_s=at_s + 60,
    )


def _need_bytes(dice: random.Random) -> int:
    middle = dice.choice([220] * 6 + [520] * 3 + [1400])
    return int(min(1700.0, dice.gauss(middle, middle * 0.1)) * MIB)


def model_figures() -> ModelFigures:
    """Three bins, one under-prediction and two over."""
    ceilings_bytes = (320 * MIB, 700 * MIB, 1800 * MIB)
    return ModelFigures(
        version="3fa9c1d2e0",
        trained_s=START_S,
        observations=118,
        metrics=ModelMetrics(
            classifier="xgboost",
            sampler="smote",
            penalty=10.0,
            u_score=10.2,
            accuracy=0.975,
            u_rate=0.0085,
            optimal_improvement=0.871,
            estimated_improvement=0.8407,
            confusion=((70, 1, 0), (0, 34, 1), (0, 1, 11)),
        ),
        bins=Bins(ceilings_bytes, (71, 35, 12), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
    )


def a_model(task: TaskId = TASK) -> Model:
    """A model of one bin; needs nothing trained."""
    metrics = ModelMetrics(
        u_score=0.25,
        accuracy=0.9975,
        u_rate=0.0,
        optimal_improvement=0.8,
        estimated_improvement=0.798,
        confusion=((40,),),
        classifier="none",
        sampler="none",
        penalty=10.0,
    )
    return Model(
        task=str(task),
        schema=FeatureSchema.fit([]),
        bins=Bins((512 * MIB,), (40,), (300.0 * MIB,), (600.0,)),
        predictor=None,
        trained_s=START_S,
        observations=40,
        metrics=metrics,
    )


def a_decision(at_s: float, words: str) -> DecisionRecord:
    """A decision with words only."""
    return DecisionRecord(
        task=TASK,
        attempt_uid=f"at-{at_s:g}",
        at_s=at_s,
        words=words,
        allocation_bytes=None,
        request_bytes=None,
        reason="predicted",
    )


def a_task_report(observations: list[Observation], name: str = "train-demand") -> TaskReport:
    """A sized task with everything to show."""
    points = points_of(observations)
    detail = TaskDetail(
        points=points,
        lifts=lifts_of(points, limit=200),
        decisions=(
            a_decision(
                START_S, "bin 1 of 3 (up to 320Mi): 97% of its probability lies at or below"
            ),
            a_decision(START_S - 60, "too little is known: 4 of 5 runs; the request 4Gi is kept"),
        ),
        model=model_figures(),
        out_of_time_costs={
            "request": OutOfTimeCost(cost_gb_h=51.2, failed_attempts=0),
            "max-seen": OutOfTimeCost(cost_gb_h=17.9, failed_attempts=0),
            "classifier": OutOfTimeCost(cost_gb_h=4.03, failed_attempts=0),
        },
        trainings=past_trainings(some_trainings()),
        needs_bytes=needs_used(observations),
    )
    return TaskReport(
        task=TaskId("shop", name),
        figures=figures_of(observations),
        kept=figures_of(observations),
        phase=Phase.SIZING,
        champion=CLASSIFIER,
        detail=detail,
    )


def a_report(*reports: TaskReport) -> ReportData:
    """Several tasks on one page."""
    return ReportData(tasks=reports)


def some_trainings() -> list[Training]:
    """Trainings, newest first: one that serves, one that failed, older ones."""
    report = a_training_report()
    common: dict[str, Any] = {"task": TASK, "runs": 118}
    newest = Training(row=9, at_s=START_S, version="3fa9c1d2e0", report=report, **common)
    words = "killed by signal 9 (memory cap?)"
    failed = Training(row=8, task=TASK, at_s=START_S - 3600, failure=words, runs=117, report={})
    return [newest, failed, *(replace(newest, row=row, version=f"v{row}") for row in range(3))]


def a_training_report() -> dict[str, Any]:
    """A training's report, as the store gives it back."""
    smote = {
        "classifier": "xgboost",
        "sampler": "smote",
        "parameters": {"learning_rate": 0.1, "max_depth": 6.0},
        "u_score": 10.2,
        "accuracy": 0.975,
        "u_rate": 0.0085,
    }
    plain = {**smote, "sampler": "none", "u_score": 31.0, "accuracy": 0.9, "u_rate": 0.03}
    fold = {"training_runs": 48, "validation_runs": 24, "accuracy": 0.96, "u_rate": 0.01}
    return {
        "runs": 118,
        "censored_runs": 3,
        "first_s": START_S,
        "last_s": START_S + 86_400 * 30,
        "seed": 7,
        "budget_s": 60.0,
        "duration_s": 14.7,
        "cut_by_budget": True,
        "folds": 3,
        "fold_scores": [{**fold, "u_score": 8.0 + step} for step in range(3)],
        "iterations": 32,
        "policy": {"penalty": 10.0, "mode": "enforce"},
        "features": ["rows", "region"],
        "ceilings_bytes": [320 * MIB, 700 * MIB, 1800 * MIB],
        "bin_runs": [71, 35, 12],
        "recipe": smote,
        "confusion": [[70, 1, 0], [0, 34, 1], [0, 1, 11]],
        "trials": [plain, smote, plain],
        "compared_runs": 100,
        "out_of_time_costs": {
            "classifier": {"cost_gb_h": 4.03, "failed_attempts": 1},
            "max-seen": {"cost_gb_h": 17.9, "failed_attempts": 2},
        },
        "plimsoll_version": "0.1.0",
    }
