"""The bars of sizes with constants that only the other traces have chosen.

Pure: results of leaving each trace out in, lines of a table out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import geometric_mean
from typing import Final

from benchmarks.bar import Bar, below
from benchmarks.public_traces import TRACES
from benchmarks.sizes.left_out import LeftOut
from benchmarks.sizes.unseen import (
    FAILED,
    FAILED_WITH_LIVE,
    RULES,
    TO_BEST_RULE,
    WARM_TO_BEST_RULE,
)
from plimsoll_predictor.replay.sizes.engine import DecideAt

BEST: Final = f"the best of {', '.join(RULES)}"


def left_out_bars(lines: Sequence[LeftOut], decide_at: DecideAt) -> Iterator[Bar]:
    """The bars of each trace, and of all together if all were played."""
    for line in lines:
        what = f"{line.trace}, left out: all waste ÷ {BEST}, at {decide_at}"
        yield below(what, line.found.waste_gb_h / line.best_rule_gb_h, TO_BEST_RULE)
    if len(lines) < len(TRACES):
        return
    warm = geometric_mean(line.found.warm_gb_h / line.best_rule_warm_gb_h for line in lines)
    what = f"each left out: warm waste ÷ {BEST}, at {decide_at}, geometric mean"
    yield below(what, warm, WARM_TO_BEST_RULE)
    if decide_at is DecideAt.SUBMIT:
        failed = sum(line.found.failed_attempts for line in lines)
        yield below("each left out: failed attempts over six traces", failed, FAILED, "{:.0f}")
        live = [line.live.failed_attempts for line in lines if line.live is not None]
        if len(live) == len(lines):
            what = "each left out: failed attempts over six traces, with live bounds"
            yield below(what, sum(live), FAILED_WITH_LIVE, "{:.0f}")
