"""The experts' names, and what each does in words for people."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

REQUEST: Final = "request"
NEAR_MAX: Final = "near-max"
MAX_SEEN: Final = "max-seen"
TOWARD_REQUEST: Final = "toward-request"
TOWARD_REQUEST_SLOWLY: Final = "toward-request-slowly"
MAX_AND_SPREAD: Final = "max-and-spread"
LATEST_MAX: Final = "latest-max"
SAFE: Final = "expected-cost"
"""Serves a task that is no longer young until another one is clearly cheaper."""
BY_FEATURES: Final = "expected-cost-by-features"
FEATURES_97: Final = "features-97"
YOUNG_SAFE: Final = "young-max"
"""Serves a young task until another one is clearly cheaper."""
CLASSIFIER: Final = "classifier"
"""Bids through the task's model, not by a rule."""
BOOSTING: Final = "boosting"
"""Likewise: a quantile of the need by boosted trees."""

WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        REQUEST: "what the user asks for",
        NEAR_MAX: "a hundredth over the largest need seen",
        MAX_SEEN: "a tenth over the largest need seen",
        TOWARD_REQUEST: "the largest need seen, and part of the way to the request while young",
        TOWARD_REQUEST_SLOWLY: "the largest need seen, and part of the way to the request",
        MAX_AND_SPREAD: "over the largest need seen by a quarter of its distance from the median",
        LATEST_MAX: "a little over the largest need of the last 20 runs",
        SAFE: "the size with the least expected cost over its runs",
        BY_FEATURES: "the least expected cost around what its best feature predicts",
        FEATURES_97: "what its best feature predicts, so that 97% of the runs lay below",
        YOUNG_SAFE: "the largest need seen, with room while few runs are known",
        CLASSIFIER: "the bin classifier",
        BOOSTING: "boosted quantiles of the need",
    }
)


def words_for_expert(name: str) -> str:
    """What an expert does, in words; its name if it is another version's."""
    return WORDS.get(name, name)
