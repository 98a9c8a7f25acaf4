"""The names of experts that code asks for. All experts stand in ``experts.panel``."""

from __future__ import annotations

from typing import Final

REQUEST: Final = "request"
MAX_SEEN: Final = "max-seen"
NEAR_MAX: Final = "near-max"
SAFE: Final = "expected-cost"
"""Serves a task that is no longer young until another one is clearly cheaper."""
YOUNG_SAFE: Final = "young-max"
"""Serves a young task until another one is clearly cheaper."""
CURVES: Final = "curves"
BY_FEATURES: Final = "expected-cost-by-features"
CLASSIFIER: Final = "classifier"
BOOSTING: Final = "boosting"
