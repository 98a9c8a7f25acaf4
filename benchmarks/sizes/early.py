"""How early a feature rules sizes: the runs decided when five to eight have ended.

    PYTHONPATH=. .venv/bin/python -P -m benchmarks.sizes.early

Prints, for synthetic tasks, the waste of these runs over their need, next to the best rule's. Part
of `make bench-sizes`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.sizes.bars import OWN
from benchmarks.sizes.unseen import RULES
from plimsoll_predictor.core.units import gb_hours
from plimsoll_predictor.replay.sizes.engine import replay
from plimsoll_predictor.replay.sizes.figures import ReplayedRow
from plimsoll_predictor.replay.sizes.policies import POLICIES
from plimsoll_predictor.replay.sizes.sizer import Knobs
from plimsoll_predictor.replay.synthetic.worlds import (
    RUNTIMES_S,
    Family,
    names_of,
    one_after_another,
)

ENDED: Final = (5, 8)
"""The least and most runs that have ended when the judged runs are decided."""
DRAWS: Final = 24
FAMILIES: Final = (Family.FEATURE, Family.UNINFLUENCED)
RUNTIMES: Final = ("20 s", "1 h")


@dataclass(frozen=True, slots=True)
class Early:
    """One policy's runs of that time. waste: over their need. failed_per_100: attempts."""

    waste: float
    failed_per_100: float


def early(family: Family, name: str, runtime_s: float) -> dict[str, Early]:
    """Policy -> its figures over all draws."""
    return {policy: _sums(list(_rows(family, name, runtime_s, policy))) for policy in (OWN, *RULES)}


def _rows(family: Family, name: str, runtime_s: float, policy: str) -> Iterator[ReplayedRow]:
    for seed in range(DRAWS):
        drawn = one_after_another(family, name, runtime_s, seed=seed, runs=ENDED[1] + 1)
        played = replay(drawn.rows, POLICIES[policy].make(Knobs())).rows
        yield from sorted(played, key=lambda each: each.row.submit_s)[ENDED[0] :]


def _sums(rows: Sequence[ReplayedRow]) -> Early:
    need_gb_h = sum(gb_hours(each.row.peak_bytes, each.row.runtime_s) for each in rows)
    failed = sum(each.failed_attempts for each in rows)
    return Early(sum(each.waste_gb_h for each in rows) / need_gb_h, 100 * failed / len(rows))


def table() -> Table:
    """Draw, replay, and show each task."""
    made = Table(
        title=f"Synthetic tasks after {ENDED[0]} to {ENDED[1]} runs: waste ÷ need, and failed "
        f"attempts per 100 runs ({DRAWS} draws)",
        title_justify="left",
        box=SIMPLE_HEAD,
    )
    made.add_column("task", no_wrap=True)
    for heading in ("a run", "Plimsoll", "failed", "best rule", "failed", "÷"):
        made.add_column(heading, justify="right", no_wrap=True)
    for family in FAMILIES:
        for name in names_of(family):
            for runtime in RUNTIMES:
                found = early(family, name, RUNTIMES_S[runtime])
                made.add_row(name, runtime, *_cells(found))
    return made


def _cells(found: dict[str, Early]) -> Iterator[str]:
    rule = min((found[name] for name in RULES), key=lambda each: each.waste)
    for each in (found[OWN], rule):
        yield f"{each.waste:.2f}"
        yield f"{each.failed_per_100:.1f}"
    yield f"{found[OWN].waste / rule.waste:.2f}"


def main() -> int:
    """Print the table."""
    Console(width=None if sys.stdout.isatty() else 120).print(table())
    return 0


if __name__ == "__main__":
    sys.exit(main())
