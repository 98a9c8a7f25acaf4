"""When a plan ends, as `plimsoll sla` shows it to programs and people. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from plimsoll_operator.commands.printing.tables import bar, panel, plain, titled_table
from plimsoll_operator.wording.figure_words import words_for_minute
from plimsoll_operator.wording.forecast_words import (
    TOLD_SHARES,
    words_for_chance,
    words_for_odds,
    words_for_quantile,
)
from plimsoll_predictor.core.durations import words_for_duration
from plimsoll_predictor.core.units import counted
from plimsoll_predictor.runtimes.forecasting.deciding_branch import DecidingBranch
from plimsoll_predictor.runtimes.forecasting.grid import KNOWN_TO_S
from plimsoll_predictor.runtimes.forecasting.plan import Plan
from plimsoll_predictor.runtimes.forecasting.plan_finish import Finish, Method

LISTED_OTHERS: Final = 8
_JUMP: Final = 2.0
"""A quantile so many times the one before it is ruled by rare delays."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlanEnd:
    """When a plan has ended, and which of its branches decides that.

    at_s: now, Unix seconds. within_s: the deadline in seconds from now; None without a deadline.
    at_least: the chance that is enough; None if any is. known_runs: task -> runs of its forecast.
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
        """The chance that all is known to have ended by the deadline; None without one."""
        return None if self.within_s is None else self.finish.chance_by(self.within_s)

    @property
    def enough(self) -> bool:
        """Whether the chance is as high as required."""
        return self.chance is None or self.at_least is None or self.chance >= self.at_least

    @property
    def steps_left(self) -> int:
        """Steps that have not ended."""
        return sum(not step.ended for step in self.plan.steps)

    def quantiles_s(self) -> dict[float, float]:
        """Share -> seconds from now by which all has ended with that probability; they rise."""
        return dict(zip(TOLD_SHARES, self.finish.quantiles_s(TOLD_SHARES), strict=True))

    @property
    def longer_than_known(self) -> float:
        """The chance that a step takes longer than all known runs of its task.

        Of k runs known and n to come, if they are alike, the longest is yet to come in n of n + k
        cases.
        """
        coming = Counter(step.task for step in self.plan.steps if not step.ended)
        known = self.known_runs
        return 1 - math.prod(known[task] / (known[task] + n) for task, n in coming.items())

    @property
    def guessed_from(self) -> float | None:
        """The first share whose quantile rests on delays beyond all known runs; None if none."""
        for (_, before_s), (share, seconds) in pairwise(self.quantiles_s().items()):
            if seconds > _JUMP * before_s and 1 - share < self.longer_than_known:
                return share
        return None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        written = self.finish.to_dict(self.within_s)
        # A plan has the same quantiles as a run: p50 to p99.
        del written["quantiles_s"]
        return {
            "at_s": self.at_s,
            "steps": len(self.plan.steps),
            "steps_left": self.steps_left,
            **{f"p{100 * share:.0f}_s": seconds for share, seconds in self.quantiles_s().items()},
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


def sla_table(end: PlanEnd) -> RenderableType:
    """Show when a plan ends."""
    parts: list[RenderableType] = [_head(end)]
    if end.branch.steps:
        parts.append(_branch(end))
    return Group(*parts)


def _head(end: PlanEnd) -> Panel:
    rows = dict([_chance(end)]) if end.within_s is not None else {}
    if not end.steps_left:
        rows["ends"] = plain("all its steps have ended")
        return panel(f"a plan of {counted(len(end.plan.steps), 'step')}, 0 to end", rows)
    known_share = end.finish.known_share
    for share, seconds in end.quantiles_s().items():
        words = f"{words_for_quantile(share, end.finish):<16} {words_for_odds(share):<9}"
        if share <= known_share:
            words += f"  by {words_for_minute(end.at_s + seconds)} UTC"
        rows[f"p{100 * share:.0f}"] = plain(words, style="bold" if share in {0.5, 0.95} else "")
    if known_share <= max(TOLD_SHARES):
        longer = f"takes more than {words_for_duration(KNOWN_TO_S)}"
        words = f"in {words_for_chance(1 - known_share)} a step {longer}: none counts as ended"
        rows["unknown"] = plain(words)
    if end.guessed_from is not None:
        rows["guessed"] = plain(
            f"from p{100 * end.guessed_from:.0f} on: in {words_for_chance(end.longer_than_known)}"
            " a step takes longer than all known runs of its task, nobody knows how much"
        )
    least = min(end.known_runs.values(), default=0)
    rows["from"] = plain(f"{_how(end)}; of each task {least:,} runs or more are known")
    rows["left out"] = plain("attempts that are killed, evicted or fail, and what follows them")
    left, steps = end.steps_left, len(end.plan.steps)
    return panel(f"a plan of {counted(steps, 'step')}, {left:,} to end", rows)


def _chance(end: PlanEnd) -> tuple[str, Text]:
    within_s = end.within_s or 0.0
    least, most = (words_for_chance(each) for each in end.finish.chance_between(within_s))
    by = words_for_minute(end.at_s + within_s)
    words = f"{words_for_chance(end.chance)} [{least}, {most}]"
    words += f" to end within {words_for_duration(within_s)}, by {by} UTC"
    if end.at_least is None:
        return "chance", plain(words, style="bold")
    verdict = "enough" if end.enough else "not enough"
    words += f": {verdict}, {words_for_chance(end.at_least)} was asked for"
    return "chance", plain(words, style="bold green" if end.enough else "bold red")


def _how(end: PlanEnd) -> str:
    if end.finish.method is Method.CONVOLUTION:
        return "the sum of its steps' forecasts"
    return f"{end.finish.samples:,} simulations of its steps' forecasts"


def _branch(end: PlanEnd) -> Table:
    shares = "share: of simulations in which the step holds back the end"
    table = titled_table(
        "the branch that decides, first to last",
        ("step", "task", "usually left", "decides", ""),
        right=("usually left", "decides"),
        folding=("step", "task"),
        caption=None if end.finish.method is Method.CONVOLUTION else shares,
    )
    others = end.branch.others[:LISTED_OTHERS]
    for place, step in enumerate([*end.branch.steps, *others]):
        if place == len(end.branch.steps):
            table.add_section()
        style = "" if place < len(end.branch.steps) else "dim"
        table.add_row(
            plain(step.name, style=style),
            plain(step.task, style=style),
            words_for_duration(step.left_p50_s),
            words_for_chance(step.share) if step.share < 1 else "always",
            Text(bar(step.share, 1.0), style=style or "blue"),
        )
    return table
