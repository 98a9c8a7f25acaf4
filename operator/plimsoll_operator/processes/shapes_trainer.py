"""A process that learns the shapes of runtimes from the store, and keeps them in it.

Prints one JSON line, as training/worker.py does: ``{"ok": true, "words": [...]}``, or
``{"ok": false, "message": ...}`` with an exit status that is not 0.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final

from plimsoll_operator.training.limits import STORE_BUSY_TIMEOUT_S, cap_memory, give_way
from plimsoll_operator.training.spawning import STORE_URL

ENDS_ITSELF_S: Final = 1800.0
"""Longer than a controller waits for it: for when there is none left."""
_LIBRARIES: Final = ("scipy.optimize", "sklearn.cluster", "sklearn.ensemble", "xgboost")


def run(store_url: str, memory_mib: int) -> int:
    """Learn, print the result's line, return the exit status. Binds the calling process."""
    give_way(ENDS_ITSELF_S)
    # What libraries print goes to the log: stdout holds the result and nothing else.
    with contextlib.redirect_stdout(sys.stderr):
        result = _result(store_url, memory_mib)
    print(json.dumps(result), flush=True)
    return 0 if result["ok"] else 1


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
