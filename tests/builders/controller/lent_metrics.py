"""Metrics of a controller whose pods lend."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, cast

from plimsoll_operator.metrics.controller import ControllerMetrics, metrics_route
from plimsoll_predictor.core.units import GIB


async def scraped(*, on: bool = True) -> bytes:
    """Metrics of a leading controller: four pods on two nodes lend 3 GiB."""
    metrics = ControllerMetrics()
    lending = metrics.lending
    lending.on.set(on)
    for gauge, value in ((lending.lent, 3 * GIB), (lending.lenders, 4), (lending.nodes, 2)):
        gauge.set(value)
    lending.waiting.set(1)
    lending.taken_back.labels("grew").inc(4)
    lending.taken_back.labels("sibling").inc()
    answer = await cast(Awaitable[Any], metrics_route(metrics).handler(cast(Any, None)))
    return bytes(answer.body)
