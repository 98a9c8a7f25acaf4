"""A Gaussian process over the logarithm of even chunks' size, with a lower-confidence bound.

It sees makespans only, and tries one size per run, the share first. It uses scikit-optimize.
"""

from __future__ import annotations

import math
import warnings
from typing import Final

from skopt import Optimizer
from skopt.learning import GaussianProcessRegressor
from skopt.learning.gaussian_process.kernels import Matern
from skopt.space import Real

from plimsoll_predictor.splitting.jobs import Job
from plimsoll_predictor.splitting.strategies.strategy import Chunk, Cut

SMALLEST: Final = 256
"""The most chunks per worker that are tried: nobody expects a gain far beyond that."""
KAPPA: Final = 1.0
DRAWN: Final = 200


class Gaussian:
    """Chooses an even size once per run. seed: decides where it looks."""

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self._optimizer: Optimizer | None = None
        self._job = Job(1, 1, 0.0, 0.0)
        self._depth = 0.0
        """How much smaller than the share, as a part (0 to 1) of SMALLEST's logarithm."""

    def begin(self, job: Job, cut: Cut) -> None:  # noqa: ARG002 (of the interface)
        """Ask for a size; the first run has the share."""
        self._job = job
        if self._optimizer is None:
            self._optimizer = Optimizer(
                [Real(0.0, 1.0)],
                base_estimator=GaussianProcessRegressor(
                    kernel=1.0 * Matern(0.5, (0.1, 2.0), nu=2.5),
                    noise="gaussian",
                    normalize_y=True,
                    n_restarts_optimizer=0,
                    random_state=self._seed,
                ),
                n_initial_points=1,
                initial_point_generator="sobol",
                acq_func="LCB",
                acq_optimizer="sampling",
                acq_func_kwargs={"kappa": KAPPA},
                acq_optimizer_kwargs={"n_points": DRAWN},
                random_state=self._seed,
            )
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._depth = float(self._optimizer.ask()[0])

    def next_items(self, left: int) -> int:
        """Return the size, or the rest if it is smaller."""
        items = self._job.share / math.exp(self._depth * math.log(SMALLEST))
        return max(1, min(left, math.ceil(items)))

    def done(self, chunk: Chunk) -> None:
        """Learn nothing: only makespans count."""

    def ended(self, makespan_s: float) -> None:
        """Learn the makespan per item of this size."""
        if self._optimizer is None:
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._optimizer.tell([self._depth], math.log(max(makespan_s, 1e-9) / self._job.items))
