"""Which times get a tick on a logarithmic axis. Pure."""

from __future__ import annotations

from typing import Final

_ROUND_S: Final = tuple(
    amount * unit_s
    for unit_s, amounts in (
        (0.001, (1, 10, 100)),
        (1, (1, 2, 5, 10, 20, 40)),
        (60, (1.5, 3, 5, 10, 20, 40, 90)),
        (3600, (2, 3, 6, 12, 24)),
        (86_400, (2, 4, 7, 14, 30, 60)),
    )
    for amount in amounts
)


def time_ticks_s(low_s: float, high_s: float, *, most: int) -> list[float]:
    """Round times within the range, rising, at most ``most`` and about evenly apart.

    >>> time_ticks_s(25, 700, most=4)
    [40, 180, 600]
    """
    inside = [each for each in _ROUND_S if low_s <= each <= high_s]
    stride = max(1, -(-len(inside) // most))
    return inside[::stride]
