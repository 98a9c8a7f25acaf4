"""All policies, by the names that people give."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from plimsoll_predictor.placing.policies.bandit import Bandit
from plimsoll_predictor.placing.policies.getting_along import GettingAlong
from plimsoll_predictor.placing.policies.policy import Policy
from plimsoll_predictor.placing.policies.simple import Greedy, LeastLoaded

OWN: Final = "plimsoll"

POLICIES: Final[Mapping[str, Callable[[], Policy]]] = MappingProxyType(
    {
        OWN: GettingAlong,
        "greedy": Greedy,
        "hugo-0.01": lambda: Bandit(0.01),
        "hugo-1": lambda: Bandit(1.0),
        "least-loaded": LeastLoaded,
    }
)
