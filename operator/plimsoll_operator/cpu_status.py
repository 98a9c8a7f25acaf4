"""What a TaskProfile's status says of CPU. Pure."""

from __future__ import annotations

from typing import Any

from plimsoll_operator.quantity import format_millicores
from plimsoll_predictor.cpu import CpuAsk, CpuBounds, decide_cpu
from plimsoll_predictor.knowledge import Knowledge
from plimsoll_predictor.policy import Mode

_FIELDS = ("runs", "used", "peak", "request", "why")


def cpu_status_of(known: Knowledge) -> dict[str, Any]:
    """``status.cpu``: a field that does not hold is None, which deletes it.

    The request is what a pod would get that asks for nothing, bounds aside.
    """
    mode = known.policy.cpu.mode if known.policy.mode is not Mode.OFF else Mode.OFF
    use = known.cpu
    if use is None or mode is Mode.OFF:
        return {"mode": mode.value, **dict.fromkeys(_FIELDS)}
    decision = decide_cpu(CpuAsk(None), use, known.policy, CpuBounds())
    return {
        "mode": mode.value,
        "runs": use.runs,
        "used": _quantity(use.high_cores),
        "peak": None if use.peak_cores is None else _quantity(use.peak_cores),
        "request": None
        if decision.request_millicores is None
        else format_millicores(decision.request_millicores),
        "why": decision.why,
    }


def _quantity(cores: float) -> str:
    return format_millicores(round(cores * 1000))
