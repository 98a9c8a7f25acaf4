"""The bars of sizes on every trace, and on all together: on work that nobody tuned for.

Pure: figures in, lines of a table out; see bars.py for what a figure is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import Final

from benchmarks.bar import Bar, below
from benchmarks.public_traces import TRACES
from benchmarks.sizes.bars import OWN, Figures
from plimsoll_predictor.replay.sizes.policies import LIVE as LIVE_POLICY
from plimsoll_predictor.replay.sizes.policies import LIVE_LATE

RULES: Final = ("preset", "max-seen-1.1", "last-20")
"""The rules that anybody would use: the request, and two on the largest need."""
MOMENTS: Final = ("submit", "start")
TO_BEST_RULE: Final = 1.03
WARM_TO_BEST_RULE: Final = 0.60
"""The geometric mean over the traces."""
BURSTS: Final = "nfcore-chipseq"
"""The trace of bursts: most of its failed attempts are of runs submitted when few had ended."""
BURST_FAILURES: Final = 0.70
"""Failed attempts with live bounds, over those without."""
FAILED: Final = 950
FAILED_WITH_LIVE: Final = 800
LIVE: Final = "plimsoll-live"
"""The beginning of the names of policies that see what running attempts show."""
SEES_NOTHING: Final = (OWN, LIVE_LATE.name)
"""Policies that see nothing until runs end: they need not fail less."""
LOST_H: Final = MappingProxyType({"submit": 492.1, "start": 499.9})
"""Hours that failed attempts ran over the six traces, before sizes took bursts into account."""
LOST_SHARE: Final = 0.65


def unseen_bars(figures: Figures) -> list[Bar]:
    """The bars of the traces that were played."""
    traces = [name for name in TRACES if (name, OWN, "submit", 1.0) in figures]
    return [
        *_beside_rules(figures, traces),
        *_warm(figures, traces),
        *_bursts(figures),
        *_over_all(figures, traces),
    ]


def _beside_rules(figures: Figures, traces: Sequence[str]) -> Iterator[Bar]:
    for trace in traces:
        for moment in MOMENTS:
            own = figures.get((trace, OWN, moment, 1.0))
            found = [figures.get((trace, rule, moment, 1.0)) for rule in RULES]
            rules = [each["waste_gb_h"] for each in found if each is not None]
            if own is not None and len(rules) == len(RULES):
                what = f"{trace}: all waste ÷ the best of {', '.join(RULES)}, at {moment}"
                yield below(what, own["waste_gb_h"] / min(rules), TO_BEST_RULE)


def _warm(figures: Figures, traces: Sequence[str]) -> Iterator[Bar]:
    if len(traces) < len(TRACES):
        return
    for moment in MOMENTS:
        found = [
            [figures.get((trace, policy, moment, 1.0)) for policy in (OWN, *RULES)]
            for trace in traces
        ]
        warm = [[each["warm_gb_h"] for each in of if each is not None] for of in found]
        if all(len(of) == 1 + len(RULES) for of in warm):
            mean = math.prod(of[0] / min(of[1:]) for of in warm) ** (1 / len(warm))
            what = f"warm waste ÷ the best of {', '.join(RULES)}, at {moment}, geometric mean"
            yield below(what, mean, WARM_TO_BEST_RULE)


def _bursts(figures: Figures) -> Iterator[Bar]:
    found = [figures.get((BURSTS, policy, "submit", 1.0)) for policy in (OWN, LIVE_POLICY.name)]
    failed = [each["failed_attempts"] for each in found if each is not None]
    if len(failed) == len(found):
        what = f"{BURSTS}: failed attempts with what running ones show ÷ without"
        yield below(what, failed[1] / max(1, failed[0]), BURST_FAILURES)


def _over_all(figures: Figures, traces: Sequence[str]) -> Iterator[Bar]:
    if len(traces) < len(TRACES):
        return
    policies = dict.fromkeys(policy for _, policy, _, _ in figures if policy.startswith(LIVE))
    for policy in (OWN, *policies):
        found = [figures.get((trace, policy, "submit", 1.0)) for trace in traces]
        whole = [each for each in found if each is not None]
        if len(whole) == len(traces):
            most = FAILED if policy in SEES_NOTHING else FAILED_WITH_LIVE
            failed = sum(each["failed_attempts"] for each in whole)
            yield below(f"{policy}: failed attempts over six traces", failed, most, "{:.0f}")
    for moment in MOMENTS:
        found = [figures.get((trace, OWN, moment, 1.0)) for trace in traces]
        lost_h = [each["lost_h"] for each in found if each is not None]
        if len(lost_h) == len(traces):
            before_h = LOST_H[moment]
            what = f"six traces: hours failed attempts ran ÷ {before_h:g} of before, at {moment}"
            yield below(what, sum(lost_h) / before_h, LOST_SHARE)
