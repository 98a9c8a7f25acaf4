"""Fits the forecasts' expert that uses features, in a process of its own, and stores it."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Final

from plimsoll_operator.processes.capped_learning import Learning

if TYPE_CHECKING:
    from plimsoll_predictor.store import Store

_WORK: Final = "plimsoll_operator.training.features"


def _fit(store: Store) -> str:
    # Loaded only now: it loads numpy, which then reads its number of threads.
    from plimsoll_operator.training.features import fit_and_keep

    return fit_and_keep(store, time.time())


LEARNING: Final = Learning("features", ("xgboost", _WORK), _fit)

if __name__ == "__main__":
    sys.exit(LEARNING.main())
