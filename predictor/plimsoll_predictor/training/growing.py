"""Grows the trees of one booster. Nothing on the admission path imports this."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def grown(settings: Mapping[str, Any], data: Any, rounds: int) -> Any:
    """Return a booster of ``rounds`` rounds, as ``xgboost.train`` makes it.

    That one ends by writing and reading the booster once, to free what it cached while it grew: a
    fifth of a search's processor time, where boosters are small and are dropped at once.
    """
    import xgboost

    booster = xgboost.Booster(dict(settings), [data])
    for number in range(rounds):
        booster.update(data, number)
    return booster
