"""Learns the shapes of runtimes in a process of its own, and stores them."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Final

from plimsoll_operator.processes.capped_learning import Learning

if TYPE_CHECKING:
    from plimsoll_predictor.store import Store

_LIBRARIES: Final = ("scipy.optimize", "sklearn.cluster", "sklearn.ensemble", "xgboost")
_WORK: Final = "plimsoll_operator.training.shapes"


def _learn(store: Store) -> list[str]:
    # Loaded only now: it loads numpy, which then reads its number of threads.
    from plimsoll_operator.training.shapes import learn_and_keep

    return list(learn_and_keep(store, time.time()))


LEARNING: Final = Learning("shapes", (*_LIBRARIES, _WORK), _learn)

if __name__ == "__main__":
    sys.exit(LEARNING.main())
