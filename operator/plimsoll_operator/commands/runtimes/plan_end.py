"""What `plimsoll sla` tells of a plan. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from plimsoll_operator.wording.forecast_words import TOLD_SHARES
from plimsoll_predictor.runtimes.forecasting.chain import Finish
from plimsoll_predictor.runtimes.forecasting.deciding_branch import DecidingBranch
from plimsoll_predictor.runtimes.forecasting.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlanEnd:
    """When all of a plan has ended, and what decides it.

    at_s: now, Unix seconds. within_s: the deadline in seconds from then; None if none was named.
    at_least: the chance that is enough; None if any is. known_runs: behind each task's forecast.
    """

    plan: Plan
    at_s: float
    within_s: float | None
    at_least: float | None
    finish: Finish
    branch: DecidingBranch
    known_runs: Mapping[str, int]

    @property
    def chance(self) -> float | None:
        """That all has ended by the deadline; None without one."""
        return None if self.within_s is None else self.finish.chance_by(self.within_s)

    @property
    def enough(self) -> bool:
        """Whether that is as likely as was asked for."""
        return self.chance is None or self.at_least is None or self.chance >= self.at_least

    @property
    def steps_left(self) -> int:
        """Steps that have not ended."""
        return sum(not step.ended for step in self.plan.steps)

    def quantiles_s(self) -> dict[float, float]:
        """Share -> seconds from now by which all has ended with that probability."""
        return {share: self.finish.quantile_s(share) for share in TOLD_SHARES}

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        written = self.finish.to_dict(self.within_s)
        # Of what is told of a run, so of a plan: p50 to p99.
        del written["quantiles_s"]
        return {
            "at_s": self.at_s,
            "steps": len(self.plan.steps),
            "steps_left": self.steps_left,
            **{f"p{100 * share:.0f}_s": found for share, found in self.quantiles_s().items()},
            "by_s": None if self.within_s is None else self.at_s + self.within_s,
            "within_s": None,
            "chance": None,
            **written,
            "at_least": self.at_least,
            "enough": self.enough,
            "deciding_branch": [asdict(step) for step in self.branch.steps],
            "other_steps": [asdict(step) for step in self.branch.others],
            "known_runs": dict(self.known_runs),
        }
