"""The bars of sizes, and whether they hold. Pure: figures in, lines of a table out.

A figure is the result of one policy on one trace, as `plimsoll replay --json` writes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.bar import Bar, below
from benchmarks.public_traces import FIVE, TRACES

BASELINES: Final = ("preset", "max-seen", "max-seen-1.1", "last-20", "tovar", "p95-vpa")
OWN: Final = "plimsoll"
OPT_IN: Final = 0.75
"""The opt-in first size of unknown tasks, as a share of their request."""

WARM_MEAN: Final = 0.60
WARM_WORST: Final = 1.00
TOTALS: Final = dict(zip(FIVE, (0.64, 0.82, 1.00, 0.97, 0.99), strict=True))
FAILURES_SHARE: Final = 0.7
CLUSTER_FAILURES: Final = 380
AT_START: Final = dict(zip(FIVE, (1900, 1350, 700, 2300, 2780), strict=True))
OPTED_IN: Final = dict(zip(FIVE, (0.30, 0.42, 0.27, 0.57, 0.60), strict=True))
MS_PER_DECISION: Final = 0.5
REPRODUCED_WITHIN: Final = 0.005

# GB·h and failed attempts, decided at submission: found by an earlier program. It reported three
# policies of the newest trace.
PUBLISHED: Final[Mapping[str, Mapping[str, tuple[float, int]]]] = {
    "nfcore-methylseq": dict(
        zip(
            BASELINES,
            ((34876, 0), (22457, 286), (6032, 220), (6043, 226), (21462, 347), (12187, 1024)),
            strict=True,
        )
    ),
    "nfcore-eager": dict(
        zip(
            BASELINES,
            ((3251, 0), (2675, 292), (2577, 145), (2576, 150), (2491, 539), (2677, 309)),
            strict=True,
        )
    ),
    "nfcore-rnaseq": dict(
        zip(
            BASELINES,
            ((1777, 0), (1646, 123), (1642, 88), (1641, 88), (1641, 145), (1644, 212)),
            strict=True,
        )
    ),
    "nfcore-mag": dict(
        zip(
            BASELINES,
            ((5688, 0), (3393, 240), (3487, 90), (3378, 279), (3379, 1087), (3524, 287)),
            strict=True,
        )
    ),
    "cluster-mag": dict(
        zip(
            BASELINES,
            ((17988, 0), (5181, 238), (5675, 53), (4713, 694), (4208, 2193), (4820, 491)),
            strict=True,
        )
    ),
    "nfcore-chipseq": {"preset": (373, 0), "max-seen-1.1": (358, 345), "last-20": (358, 355)},
}

Figure = Mapping[str, Any]
Figures = Mapping[tuple[str, str, str, float], Figure]
"""Trace, policy, when it was decided, first size -> the figure."""


def by_setting(figures: Sequence[Figure]) -> Figures:
    """Figures by their setting."""
    return {
        (each["trace"], each["policy"], each["decide"], float(each["first_size"])): each
        for each in figures
    }


def bars(figures: Figures) -> list[Bar]:
    """Every bar on sizes with a measurement."""
    traces = [name for name in TRACES if (name, "preset", "submit", 1.0) in figures]
    own = [name for name in traces if (name, OWN, "submit", 1.0) in figures]
    lines = [*_reproduced(figures, traces)]
    if own:
        of_five = [name for name in own if name in FIVE]
        lines += [
            *_warm(figures, own),
            *_totals(figures, of_five),
            *_failures(figures, of_five),
            *_at_start(figures, of_five),
            *_opted_in(figures, of_five),
            *_speed(figures, own),
        ]
    return lines


def best(figures: Figures, trace: str, what: str) -> float:
    """The best baseline's figure, decided at submission."""
    found = (figures.get((trace, name, "submit", 1.0)) for name in BASELINES)
    return min(float(each[what]) for each in found if each is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parity:
    """Plimsoll and the rule that wastes least, both decided at one moment from one first size."""

    trace: str
    decide: str
    first_size: float
    own: Figure
    rival: Figure

    @property
    def ratio(self) -> float:
        """Plimsoll's waste over the rule's; above 1 the rule is better."""
        return float(self.own["waste_gb_h"] / self.rival["waste_gb_h"])


def parity(figures: Figures) -> list[Parity]:
    """One line for each setting that Plimsoll and some rule were replayed in."""
    lines = []
    for (trace, policy, decide, first_size), own in figures.items():
        rivals = [
            figures[trace, name, decide, first_size]
            for name in BASELINES
            if (trace, name, decide, first_size) in figures
        ]
        if policy == OWN and rivals:
            rival = min(rivals, key=lambda each: float(each["waste_gb_h"]))
            lines.append(
                Parity(trace=trace, decide=decide, first_size=first_size, own=own, rival=rival)
            )
    return lines


def _reproduced(figures: Figures, traces: Sequence[str]) -> Iterator[Bar]:
    for trace in traces:
        apart = 0.0
        for name, (waste_gb_h, failed) in PUBLISHED[trace].items():
            found = figures[trace, name, "submit", 1.0]
            apart = max(apart, abs(found["waste_gb_h"] / waste_gb_h - 1))
            apart = max(apart, abs(found["failed_attempts"] - failed) / max(failed, 1))
        what = f"{trace}: baselines' distance from their published figures"
        yield Bar(
            what=what,
            measured=f"{apart:.2%}",
            bar=f"≤ {REPRODUCED_WITHIN:.1%}",
            holds=apart <= REPRODUCED_WITHIN,
        )


def _warm(figures: Figures, traces: Sequence[str]) -> Iterator[Bar]:
    shares = {
        trace: figures[trace, OWN, "submit", 1.0]["warm_gb_h"] / best(figures, trace, "warm_gb_h")
        for trace in traces
    }
    if len(traces) == len(TRACES):
        mean = math.prod(shares.values()) ** (1 / len(shares))
        what = "warm waste ÷ best baseline's, at submit, geometric mean of six traces"
        yield below(what, mean, WARM_MEAN)
    for trace, share in shares.items():
        if trace not in FIVE:
            continue
        yield below(f"{trace}: warm waste ÷ best baseline's, at submit", share, WARM_WORST)


def _totals(figures: Figures, traces: Sequence[str]) -> Iterator[Bar]:
    for trace in traces:
        share = figures[trace, OWN, "submit", 1.0]["waste_gb_h"] / best(
            figures, trace, "waste_gb_h"
        )
        yield below(f"{trace}: all waste ÷ best baseline's, at submit", share, TOTALS[trace])


def _failures(figures: Figures, traces: Sequence[str]) -> Iterator[Bar]:
    for trace in traces:
        failed = figures[trace, OWN, "submit", 1.0]["failed_attempts"]
        seen = figures[trace, "max-seen", "submit", 1.0]["failed_attempts"]
        most = CLUSTER_FAILURES if trace == "cluster-mag" else FAILURES_SHARE * seen
        yield below(f"{trace}: failed attempts, at submit", failed, math.floor(most), "{:.0f}")


def _at_start(figures: Figures, traces: Sequence[str]) -> Iterator[Bar]:
    for trace in traces:
        found = figures.get((trace, OWN, "start", 1.0))
        if found:
            what = f"{trace}: GB·h wasted, decided at start"
            yield below(what, found["waste_gb_h"], AT_START[trace], "{:.1f}")


def _opted_in(figures: Figures, traces: Sequence[str]) -> Iterator[Bar]:
    for trace in traces:
        found = figures.get((trace, OWN, "start", OPT_IN))
        if found:
            share = found["waste_gb_h"] / best(figures, trace, "waste_gb_h")
            # Not at parity: the whole gain of a team that gives up its own requests, all at once.
            what = f"{trace}: at start, first size {OPT_IN:g} ÷ best baseline's at submit, size 1"
            yield below(what, share, OPTED_IN[trace])


def _speed(figures: Figures, traces: Sequence[str]) -> Iterator[Bar]:
    slowest = max(figures[trace, OWN, "submit", 1.0]["ms_per_decision"] for trace in traces)
    yield below("ms a decision, median, slowest trace", slowest, MS_PER_DECISION)
