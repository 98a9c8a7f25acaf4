"""Reads what each expert would have cost out of a training's report. Pure.

Reports outlive the version that wrote them: what cannot be read is absent, never an error.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from plimsoll_predictor.knowledge import Expert

_KEY: Final = "experts"
"""Of plimsoll_predictor.report.TrainingReport."""


def expert_costs_gb_h(report: Mapping[str, Any] | None) -> dict[str, float]:
    """Expert -> GB·h on the task's own history, penalties included; only finite ones."""
    costs = (report or {}).get(_KEY)
    if not isinstance(costs, Mapping):
        return {}
    found = {expert.value: _cost_gb_h(costs.get(expert.value)) for expert in Expert}
    return {expert: cost for expert, cost in found.items() if cost is not None}


def _cost_gb_h(entry: object) -> float | None:
    value = entry.get("cost_gb_h") if isinstance(entry, Mapping) else entry
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)
