"""Learns the shapes of runtimes in a process of its own, and stores them.

Prints one JSON line, as training/worker.py does: ``{"ok": true, "words": [...]}``, or
``{"ok": false, "message": ...}`` with an exit status that is not 0.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final

from plimsoll_operator.processes.trainer import print_result
from plimsoll_operator.training.limits import STORE_BUSY_TIMEOUT_S, cap_memory, give_way
from plimsoll_operator.training.spawning import STORE_URL

ENDS_ITSELF_S: Final = 1800.0
"""This is longer than a controller waits; it is for when the controller is gone."""
_LIBRARIES: Final = ("scipy.optimize", "sklearn.cluster", "sklearn.ensemble", "xgboost")


def run(store_url: str, memory_mib: int) -> int:
    """Learn in the calling process, which stays capped; print the result, return the status."""
    give_way(ENDS_ITSELF_S)
    return print_result(lambda: _result(store_url, memory_mib))


def _result(store_url: str, memory_mib: int) -> dict[str, Any]:
    # Loaded only now: numpy reads its number of threads as it loads.
    from plimsoll_operator.training.shapes import learn_and_keep
    from plimsoll_predictor.store import Store, StoreError

    try:
        with contextlib.closing(
            Store.open(store_url, busy_timeout_s=STORE_BUSY_TIMEOUT_S)
        ) as store:
            for library in _LIBRARIES:
                import_module(library)
            cap_memory(memory_mib)
            words = learn_and_keep(store, time.time())
    except MemoryError:
        return {"ok": False, "message": f"shapes need more than their cap of {memory_mib} MiB"}
    except (StoreError, ValueError) as error:
        return {"ok": False, "message": str(error)}
    return {"ok": True, "words": list(words)}


def main(arguments: Sequence[str] | None = None) -> int:
    """The command, as the controller starts it; the store's address is in the environment."""
    parser = argparse.ArgumentParser(prog="plimsoll shapes --learn")
    parser.add_argument("--memory-mib", type=int, default=1024)
    given = parser.parse_args(arguments)
    return run(os.environ[STORE_URL], given.memory_mib)


if __name__ == "__main__":
    sys.exit(main())
