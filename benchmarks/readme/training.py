"""One large training in a process of its own: seconds and peak memory, imports included."""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time

from plimsoll_predictor.core.policy import Policy
from plimsoll_predictor.core.record import Observation, Outcome
from plimsoll_predictor.core.task import TaskId
from plimsoll_predictor.core.units import MIB

ROWS, FEATURES, BINS, ITERATIONS = 1460, 20, 3, 32
TASK = TaskId("bench", "heavy")


def observations(seed: int) -> list[Observation]:
    """A heavy task: most runs small, some dozens large, driven by a few of its features."""
    import numpy as np

    draw = np.random.default_rng(seed)
    values = draw.uniform(0, 1, (ROWS, FEATURES))
    load = values[:, 0] * values[:, 1]
    need_mib = 300 + 1500 * load + 9000 * (load > 0.85) + draw.normal(0, 30, ROWS).clip(-200, 200)
    return [
        Observation(
            attempt_uid=f"run-{number}",
            task=TASK,
            run=f"run-{number}",
            features={f"f{column}": float(value) for column, value in enumerate(row)},
            outcome=Outcome.SUCCEEDED,
            request_bytes=16_384 * MIB,
            allocation_bytes=16_384 * MIB,
            peak_bytes=int(need * MIB),
            started_s=number * 600.0,
            finished_s=number * 600.0 + 60.0 + 300.0 * float(weight),
        )
        for number, (row, need, weight) in enumerate(zip(values, need_mib, load, strict=True))
    ]


def main() -> None:
    """Train once and print its cost, as one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=float, default=60.0)
    chosen = parser.parse_args()
    began_s = time.monotonic()
    from plimsoll_predictor.training.train import TrainingPlan, train

    result = train(
        str(TASK),
        observations(seed=1),
        TrainingPlan(
            policy=Policy(max_bins=BINS),
            seed=1,
            budget_s=chosen.budget,
            iterations=ITERATIONS,
            clock=time.monotonic,
            now_s=0.0,
        ),
    )
    took_s = time.monotonic() - began_s
    rss_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    json.dump(
        {
            "training_s": took_s,
            "training_rss_mb": rss_mb,
            "cut_by_budget": result.report.cut_by_budget,
            "bins": len(result.model.bins.ceilings_bytes) if result.model else 0,
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main()
