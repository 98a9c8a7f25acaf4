"""Trainings of whole histories, ordinary and odd."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from plimsoll_predictor.core.decision import Ask, Bounds, Reason
from plimsoll_predictor.core.policy import Mode, Policy
from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.core.units import GIB, MIB
from plimsoll_predictor.deciding.memory import decide
from plimsoll_predictor.knowledge.expert_names import CLASSIFIER
from plimsoll_predictor.knowledge.knowledge import Knowledge
from plimsoll_predictor.model.task_model import Model
from plimsoll_predictor.training.classifier import ClassifierName
from plimsoll_predictor.training.runs import CENSORED_FACTOR
from plimsoll_predictor.training.train import TrainingError, TrainingResult, train
from tests.builders.training.trainings import StepClock, a_history, a_plan, an_attempt, killed

HEAVY = a_history(120, heavy=3)


def _trained(observations: Sequence[Observation], **changes: Any) -> TrainingResult:
    return train("shop/train", observations, a_plan(**changes))


def out_of_time(result: TrainingResult) -> dict[str, float]:
    """Expert -> what it would have cost, in GB·h."""
    return {name: cost.cost_gb_h for name, cost in result.report.out_of_time_costs.items()}


@pytest.fixture(scope="module")
def ordinary() -> TrainingResult:
    return _trained(a_history(120))


@pytest.mark.slow
def test_where_features_carry_the_size_the_classifier_would_have_cost_least(
    ordinary: TrainingResult,
) -> None:
    costs = out_of_time(ordinary)
    assert costs["classifier"] < costs["max-seen"] < costs["request"]


@pytest.mark.slow
def test_the_report_says_what_was_done_and_is_plain_json(ordinary: TrainingResult) -> None:
    report = ordinary.report
    assert (report.runs, report.censored_runs, report.seed) == (120, 0, 7)
    assert report.first_s == 1_700_000_000
    assert report.last_s == 1_700_000_000 + 119 * 60
    assert report.recipe is not None
    assert report.recipe.u_score == min(trial.u_score for trial in report.trials)
    assert ordinary.model.metrics.u_score == report.recipe.u_score
    assert [len(candidate.ceilings_bytes) for candidate in report.candidates] == list(range(1, 9))
    assert not report.cut_by_budget
    assert report.features == ("columns", "region", "rows")
    assert report.ceilings_bytes == ordinary.model.bins.ceilings_bytes
    assert sum(report.bin_runs) == 120
    assert Policy.from_dict(report.policy) == Policy()
    assert json.loads(json.dumps(report.to_dict()))["compared_runs"] == report.compared_runs


@pytest.mark.slow
def test_the_folds_scores_add_up_to_the_recipes(ordinary: TrainingResult) -> None:
    report = ordinary.report
    assert report.recipe is not None
    assert len(report.fold_scores) == report.folds == 3
    trained_on = [fold.training_runs for fold in report.fold_scores]
    assert trained_on == sorted(trained_on), "each fold is trained on more of the past"
    judged = [fold.validation_runs for fold in report.fold_scores]
    assert sum(judged) == sum(map(sum, report.confusion))
    for figure in ("u_score", "accuracy", "u_rate"):
        of_folds = [getattr(fold, figure) for fold in report.fold_scores]
        assert np.average(of_folds, weights=judged) == pytest.approx(getattr(report.recipe, figure))


@pytest.mark.slow
def test_the_model_is_saved_and_loaded_alike(ordinary: TrainingResult) -> None:
    loaded = Model.from_dict(json.loads(json.dumps(ordinary.model.to_dict())))
    for attempt in a_history(20, seed=3):
        np.testing.assert_array_equal(
            loaded.probabilities(attempt.features), ordinary.model.probabilities(attempt.features)
        )


@pytest.mark.slow
def test_the_same_seed_gives_the_same_model_and_order_does_not_matter(
    ordinary: TrainingResult,
) -> None:
    again = _trained(list(reversed(a_history(120))))
    assert again.model.version == ordinary.model.version
    assert replace(again.report, duration_s=0) == replace(ordinary.report, duration_s=0)


@pytest.mark.slow
def test_a_spent_budget_still_gives_a_model_and_says_so() -> None:
    result = _trained(a_history(60), clock=StepClock(1.0), budget_s=1.0)
    assert result.report.cut_by_budget
    assert len(result.report.trials) <= 1
    assert result.model.bins.ceilings_bytes


@pytest.mark.slow
@pytest.mark.parametrize("heavy", [2, 3, 4])
def test_a_few_heavy_runs_are_learned_and_what_is_heavier_still_gets_the_top_bin(
    heavy: int,
) -> None:
    history = a_history(120, heavy=heavy)
    model = _trained(history, iterations=2).model
    largest = max(attempt.peak_bytes or 0 for attempt in history)
    assert model.bins.ceilings_bytes[-1] >= largest * 1.1
    ladder = np.asarray(model.bins.ceilings_bytes)
    knowledge = _knowing(model, largest)
    for attempt in history[-heavy:]:
        decision = decide(
            Ask(features=dict(attempt.features), request_bytes=4 * GIB), knowledge, Bounds()
        )
        assert (decision.allocation_bytes or 0) >= (attempt.peak_bytes or 0)
        assert decision.reason is Reason.PREDICTED
    unseen: dict[str, float | str] = {"rows": "3000000", "columns": 40.0, "region": "asia"}
    decision = decide(Ask(features=unseen, request_bytes=4 * GIB), knowledge, Bounds())
    assert decision.bin == len(ladder) - 1


def _knowing(model: Model, largest: int) -> Knowledge:
    return Knowledge(
        task=HEAVY[0].task,
        policy=Policy(mode=Mode.ENFORCE),
        runs=120,
        max_need_bytes=largest,
        champion=CLASSIFIER,
        model=model,
    )


@pytest.mark.slow
def test_a_killed_run_that_never_succeeded_moves_the_top_ceiling_beyond_what_killed_it() -> None:
    beyond = killed(200, 2 * GIB, features={"rows": "900000", "columns": 40.0, "region": "eu"})
    result = _trained([*a_history(60), beyond], iterations=2)
    assert result.report.censored_runs == 1
    assert result.model.bins.ceilings_bytes[-1] >= CENSORED_FACTOR * 2 * GIB
    assert (
        result.model.bins.labels(np.array([CENSORED_FACTOR * 2 * GIB]))
        == len(result.model.bins) - 1
    )


@pytest.mark.slow
def test_a_leak_that_was_given_up_lays_no_ceiling_out_of_proportion() -> None:
    leaking = {"rows": "290000", "columns": 40.0, "region": "asia"}
    leak = [killed(200, size * GIB, features=leaking) for size in (4, 8, 16, 32)]
    result = _trained([*a_history(60), *leak], iterations=2)
    model = result.model
    assert model.boosted is not None
    assert model.bins.ceilings_bytes[-1] <= 2 * 4 * GIB * Policy().headroom + MIB
    assert model.boosted.most_bytes <= 2 * 4 * GIB


@pytest.mark.slow
def test_features_that_say_nothing_leave_the_classifier_unused() -> None:
    random = np.random.default_rng(1)
    attempts = [
        an_attempt(
            index,
            features={"noise": float(random.normal())},
            peak_bytes=int(random.choice([280, 300, 320]) * MIB),
        )
        for index in range(60)
    ]
    costs = out_of_time(_trained(attempts))
    assert costs["max-seen"] <= costs["classifier"]


@pytest.mark.slow
def test_a_support_vector_machine_can_be_chosen() -> None:
    result = _trained(a_history(100), classifiers=(ClassifierName.SVM,))
    assert result.model.metrics.classifier == "svm"
    assert result.model.probabilities({"rows": "5"}).sum() == pytest.approx(1)


@pytest.mark.parametrize(
    "observations",
    [
        pytest.param([], id="nothing at all"),
        pytest.param([an_attempt(peak_bytes=0), an_attempt(1, peak_bytes=0)], id="zero needs"),
        pytest.param([an_attempt(outcome=Outcome.FAILED)], id="only failures"),
    ],
)
def test_without_a_need_there_is_nothing_to_train(observations: Sequence[Observation]) -> None:
    with pytest.raises(TrainingError, match="task shop/train: none of"):
        _trained(observations)


@pytest.mark.parametrize(
    "observations",
    [
        pytest.param([an_attempt(features={"rows": 5.0})], id="one run"),
        pytest.param([an_attempt(i, features={"rows": i}) for i in range(30)], id="equal needs"),
        pytest.param(
            [an_attempt(i, peak_bytes=(i + 1) * 50 * MIB) for i in range(30)], id="no features"
        ),
        pytest.param(
            [
                an_attempt(i, peak_bytes=(i + 1) * 50 * MIB, features={"rows": 5.0})
                for i in range(30)
            ],
            id="one feature that never changes",
        ),
    ],
)
def test_where_nothing_can_be_told_apart_one_bin_serves(
    observations: Sequence[Observation],
) -> None:
    result = _trained(observations)
    assert len(result.model.bins) == 1
    assert result.model.predictor is None
    assert result.model.metrics.classifier == "none"
    assert result.model.metrics.estimated_improvement == pytest.approx(
        1 - result.model.bins.ceilings_bytes[0] / (4 * GIB)
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "observations",
    [
        pytest.param(
            [killed(i, (i % 5 + 1) * 200 * MIB, features={"rows": i % 5}) for i in range(30)],
            id="all censored",
        ),
        pytest.param(
            [replace(attempt, finished_s=float("nan")) for attempt in HEAVY],
            id="runtimes that are no numbers",
        ),
        pytest.param([replace(attempt, started_s=None) for attempt in HEAVY], id="no runtimes"),
        pytest.param([replace(attempt, request_bytes=None) for attempt in HEAVY], id="no requests"),
        pytest.param(
            [
                replace(attempt, features={**attempt.features, "huge": value, "odd": text})
                for attempt, value, text in zip(
                    HEAVY,
                    [1e308, -1e308, 3e38, float("inf")] * 30,
                    ["1e308", "nan", ""] * 40,
                    strict=True,
                )
            ],
            id="features beyond any float32",
        ),
        pytest.param(
            [replace(attempt, peak_bytes=i % 7 + 1) for i, attempt in enumerate(HEAVY)],
            id="needs of a few bytes",
        ),
        pytest.param(
            [
                replace(attempt, peak_bytes=2 ** (20 + i % 35), request_bytes=2**61)
                for i, attempt in enumerate(HEAVY)
            ],
            id="needs from a mebibyte to exbibytes",
        ),
        pytest.param(HEAVY[:2], id="two runs"),
        pytest.param(HEAVY[:5], id="five runs"),
    ],
)
def test_odd_histories_still_give_a_model_that_answers(observations: Sequence[Observation]) -> None:
    # Up to three bins instead of eight: their number has no influence on the odd cases.
    result = _trained(observations, iterations=2, policy=Policy(max_bins=3))
    for features in ({}, observations[0].features, {"rows": "rubbish", "region": "mars"}):
        proba = result.model.probabilities(features)
        assert proba.shape == (len(result.model.bins),)
        assert proba.sum() == pytest.approx(1, abs=1e-3)


@pytest.mark.slow
def test_of_too_many_runs_the_latest_are_learned_from() -> None:
    observations = [
        an_attempt(index, features={"rows": float(index % 50)}, peak_bytes=(index % 50 + 1) * MIB)
        for index in range(11_000)
    ]
    result = _trained(
        observations, policy=Policy(max_bins=2), iterations=1, clock=StepClock(1.0), budget_s=1.0
    )
    assert result.report.runs == 10_000
    assert result.report.first_s == observations[1_000].submitted_s


@pytest.mark.slow
def test_the_report_says_how_reliable_the_classifiers_chances_were() -> None:
    result = _trained(a_history(80, heavy=20), iterations=2)
    assert result.report.reliability is not None
    counted = sum(bucket.count for bucket in result.report.reliability.buckets)
    # For each replayed run, a chance for each ceiling except the last of its bid's bins.
    assert 0 < counted <= 80 * (len(result.model.bins) - 1)
    assert 0 <= (result.report.reliability.error or 0) <= 1
