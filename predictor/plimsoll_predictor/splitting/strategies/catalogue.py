"""All strategies, by the names that people give."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from plimsoll_predictor.splitting.strategies.gaussian import Gaussian
from plimsoll_predictor.splitting.strategies.guided import Guided
from plimsoll_predictor.splitting.strategies.libra import Libra
from plimsoll_predictor.splitting.strategies.planned import Planned
from plimsoll_predictor.splitting.strategies.share import Share
from plimsoll_predictor.splitting.strategies.strategy import Cut, Strategy

STRATEGIES: Final[Mapping[str, Callable[[], Strategy]]] = MappingProxyType(
    {
        "share": Share,
        "guided": Guided,
        "planned": Planned,
        "libra": Libra,
        "gaussian": Gaussian,
    }
)
SERVES: Final[Mapping[Cut, str]] = MappingProxyType({Cut.LEASED: "guided", Cut.BEFORE: "planned"})
"""The strategy in use for each way of cutting: the simplest that is not beaten (docs/adr/0038)."""
