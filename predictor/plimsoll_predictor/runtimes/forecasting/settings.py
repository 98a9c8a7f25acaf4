"""The forecaster's constants: one configuration for every task, owner and cluster.

They were chosen on public logs (docs/adr/0016-forecasting.md says how, and what else was tried).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from plimsoll_predictor.core.units import DAY_S


@dataclass(frozen=True, slots=True)
class Settings:
    """The constants of the mixture. Half-lives are in runs.

    None forgets nothing before ``MOST_COUNTED`` runs.
    """

    # A task's experts: each is a histogram of its runtimes, with its own half-life.
    task_half_lives: tuple[float | None, ...] = (1.0, 4.0, 25.0, None)
    task_spread: float = 0.1
    # How many runs' worth of the parent (the owner's forecast) is in each of them.
    parent_runs: tuple[float, ...] = (0.45, 0.45, 0.45, 0.9)
    # A run of a burst counts less, the more open runs its task has: 1/(1 + those) to this power.
    burst_power: float = 1.0
    owner_half_lives: tuple[float, ...] = (1.0, 3.0, 10.0, 50.0, 500.0)
    owner_spread: float = 0.2
    owner_parent_runs: float = 0.3
    global_half_life: float = 5000.0
    global_spread: float = 0.4
    # One more run of a task with many runs teaches its owner little: (1 + runs) to this power.
    pooled_power: float = -0.75
    # How fast the experts' weights follow their success, and what each keeps at least.
    weight_rate: float = 0.01
    owner_weight_rate: float = 0.03
    weight_floor: float = 0.005
    # A task's own weights count as many runs as it has; its context's weights count this many.
    context_runs: float = 10.0
    owner_context_runs: float = 20.0
    credit_half_life: float = 50.0
    owner_credit_half_life: float = 20.0
    # Runs that have started and not ended change the experts from this one on. They count as their
    # number to this power: those of one burst have much in common.
    first_slow: int = 1
    survivor_power: float = 0.75
    # The calibration over runs with as many known runs, over those of them with a forecast as wide,
    # and over those of these in the same context. Priors are in runs.
    calibration_half_life: float = 500.0
    calibration_prior: float = 400.0
    calibration_width_prior: float = 300.0
    calibration_context_prior: float = 300.0
    calibration_burst_power: float = 0.5
    # The expert that knows features, against all the others together: how fast its weight follows
    # its success. A task's own weight counts for as many runs as it has, as above.
    feature_weight_rate: float = 0.01
    feature_context_runs: float = 20.0
    feature_credit_half_life: float = 50.0


SETTINGS: Final = Settings()

# Bounds on what is kept. An open run was submitted and has not ended.
MAX_TASKS: Final = 200_000
MAX_OWNERS: Final = 20_000
MAX_OPEN_RUNS: Final = 20_000
# While they run, this many runs of one task are looked at, the longest running.
MAX_SURVIVORS: Final = 64
# A run that has not ended after this time never will: its end was missed.
MAX_OPEN_S: Final = 60 * DAY_S
MAX_NAME: Final = 1024
