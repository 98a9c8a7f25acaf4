"""The start of the search for recipes, its bounds, and the proposal of the next recipe."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

from plimsoll_predictor.training.classifier import ClassifierName, Recipe
from plimsoll_predictor.training.plan import TrainingPlan
from plimsoll_predictor.training.sampling import Sampler

RANDOM_TRIALS: Final = 8
"""Trials before the search trusts what it has seen; the first is always the known-good recipe."""

STARTING_RECIPES: Final[Mapping[ClassifierName, Recipe]] = {
    ClassifierName.XGBOOST: Recipe(
        classifier=ClassifierName.XGBOOST,
        sampler=Sampler.SMOTE,
        parameters={
            "rounds": 40,
            "max_depth": 4,
            "eta": 0.3,
            "min_child_weight": 0.3,
            "subsample": 0.9,
            "colsample_bytree": 0.9,
            "reg_lambda": 1.0,
        },
    ),
    ClassifierName.SVM: Recipe(
        classifier=ClassifierName.SVM,
        sampler=Sampler.WEIGHTS,
        parameters={"C": 10.0, "gamma": 0.1},
    ),
}
"""The recipes known to do well enough on most tasks; every search tries its own first."""

# By parameter: lowest, highest, and whether values spread evenly, by ratio, or in whole steps.
_SPACES: Final[Mapping[ClassifierName, Mapping[str, tuple[float, float, str]]]] = {
    ClassifierName.XGBOOST: {
        # Each round is a tree per bin: eight bins make 640, still walked well within admission.
        "rounds": (20, 80, "whole"),
        "max_depth": (2, 6, "whole"),
        "eta": (0.1, 0.5, "log"),
        # Low: two runs of a rare heavy class must be able to form a leaf.
        "min_child_weight": (0.05, 1.0, "log"),
        "subsample": (0.7, 1.0, "flat"),
        "colsample_bytree": (0.6, 1.0, "flat"),
        "reg_lambda": (0.1, 5.0, "log"),
    },
    ClassifierName.SVM: {"C": (0.1, 1000.0, "log"), "gamma": (1e-3, 2.0, "log")},
}


def quick_recipe(classifier: ClassifierName) -> Recipe:
    """A cheap recipe, good enough to compare numbers of bins by; makes no rows."""
    start = STARTING_RECIPES[classifier]
    if classifier is ClassifierName.SVM:
        return start
    quick = {"rounds": 25, "max_depth": 3, "eta": 0.4}
    return replace(start, sampler=Sampler.NONE, parameters={**start.parameters, **quick})


class RecipeAsker:
    """One classifier's search space, asked and told by scikit-optimize."""

    def __init__(self, classifier: ClassifierName, plan: TrainingPlan) -> None:
        self._classifier = classifier
        self._ranges = _SPACES[classifier]
        self._samplers = plan.samplers
        self._asked: list[Any] | None = None
        self._optimizer = self._new_optimizer(plan)

    def _new_optimizer(self, plan: TrainingPlan) -> Any:
        from skopt import Optimizer
        from skopt.learning import GaussianProcessRegressor
        from skopt.learning.gaussian_process.kernels import ConstantKernel, Matern
        from skopt.space import Categorical, Integer, Real

        dimensions: list[Any] = []
        for low, high, kind in self._ranges.values():
            if kind == "whole":
                dimensions.append(Integer(int(low), int(high)))
            else:
                prior = "log-uniform" if kind == "log" else "uniform"
                dimensions.append(Real(low, high, prior=prior))
        # A dimension with one category breaks scikit-optimize's transforms.
        if len(self._samplers) > 1:
            dimensions.append(Categorical([sampler.value for sampler in self._samplers]))
        # One length scale for all dimensions and no restarts: a few dozen trials cannot tell ten
        # scales apart, and fitting them would take longer than the trials.
        surface = GaussianProcessRegressor(
            kernel=ConstantKernel(1.0, (0.01, 1000.0)) * Matern(1.0, (0.01, 100.0), nu=2.5),
            normalize_y=True,
            noise="gaussian",
            n_restarts_optimizer=0,
            random_state=plan.seed,
        )
        return Optimizer(
            dimensions,
            base_estimator=surface,
            n_initial_points=min(RANDOM_TRIALS, max(plan.iterations // 2, 1)),
            acq_optimizer="sampling",
            acq_optimizer_kwargs={"n_points": 1000},
            acq_func="EI",
            random_state=plan.seed,
        )

    def ask(self) -> Recipe:
        """The next recipe to try: at first the known-good one."""
        if self._asked is None:
            start = STARTING_RECIPES[self._classifier]
            sampler = start.sampler if start.sampler in self._samplers else self._samplers[0]
            self._asked = [start.parameters[name] for name in self._ranges]
            if len(self._samplers) > 1:
                self._asked.append(sampler.value)
            return replace(start, sampler=sampler)
        with _quiet():
            self._asked = self._optimizer.ask()
        values = [float(value) for value in self._asked[: len(self._ranges)]]
        several = len(self._samplers) > 1
        return Recipe(
            classifier=self._classifier,
            sampler=Sampler(str(self._asked[-1])) if several else self._samplers[0],
            parameters=dict(zip(self._ranges, values, strict=True)),
        )

    def tell(self, u_score: float) -> None:
        """Learn the score of the recipe that was asked for last."""
        with _quiet():
            self._optimizer.tell(self._asked, u_score)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence two harmless warnings that would alarm readers of the log.

    A small space asks the same twice, and the Gaussian process may find no differences.
    """
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The objective has been evaluated")
        warnings.simplefilter("ignore", category=ConvergenceWarning)
        yield
