"""The suite's output: a table for people, and harm.json for programs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from deploy.local.layout import CHECKOUT

from plimsoll_predictor.core.units import MIB
from tests.harm.rehearsal import Pair
from tests.harm.watching import Seen

FILE: Final = CHECKOUT / "harm.json"
HEADINGS: Final = ("scenario", "without", "with", "kills", "allocated ÷ peak")
LEGEND: Final = (
    "without, with: how the run ended without Plimsoll and with it; ! it ended worse with it",
    "kills: attempts with Plimsoll that ended because their memory was too small",
    "allocated ÷ peak: of the attempts that succeeded with Plimsoll; - where none was measured",
    "",
)


def write(pairs: Sequence[Pair], target: Path = FILE) -> None:
    """Write harm.json: one object for each scenario."""
    rows = [
        {
            "scenario": pair.scenario.name,
            "without": str(pair.without),
            "with": str(pair.with_plimsoll),
            "kills": pair.kills,
            "allocated_over_peak": _rounded(pair.allocated_over_peak),
        }
        for pair in pairs
    ]
    target.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")


def _rounded(ratio: float | None) -> float | None:
    return None if ratio is None else round(ratio, 2)


def lines(pairs: Sequence[Pair]) -> list[str]:
    """The table, and the sentence that sums it up."""
    rows = [HEADINGS, *(_row(pair) for pair in pairs)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    table = [
        "  ".join(
            cell.rjust(width) if column > 2 else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    harmed = sum(harm(pair) is not None for pair in pairs)
    said = f"{harmed} of {len(pairs)} runs end worse" if harmed else "no run ends worse"
    return [*table, "", *LEGEND, f"{len(pairs)} scenarios: {said} with Plimsoll than without"]


def _row(pair: Pair) -> tuple[str, ...]:
    ratio = pair.allocated_over_peak
    ended = f"{pair.with_plimsoll}{' !' if harm(pair) else ''}"
    shown = "-" if ratio is None else f"{ratio:.2f}"
    return (pair.scenario.name, str(pair.without), ended, str(pair.kills), shown)


def harm(pair: Pair) -> str | None:
    """How Plimsoll harmed a run that ends well without it, in a sentence; None if it did not."""
    if pair.with_plimsoll.rank >= pair.without.rank:
        return None
    attempts = Counter(map(_attempt, pair.pods))
    told = "; ".join(f"{count} × {words}" for words, count in attempts.items())
    return (
        f"{pair.scenario.name}: {pair.without} without Plimsoll, {pair.with_plimsoll} with it; "
        f"its pods: {told or 'none'}"
    )


def _attempt(seen: Seen) -> str:
    given = f"{seen.given_bytes / MIB:.0f}Mi" if seen.given_bytes is not None else "no request"
    ends = ", ".join(f"{end.get('reason')} {end['exitCode']}" for end in seen.ends.values())
    gone = ", deleted" if seen.gone else ""
    why = seen.decision.get("why", "not decided")
    return f"{given} ({why}): {ends or seen.phase}{gone}"
