"""The trainers of shapes and of features: each is one capped piece of learning from the store.

Each prints one JSON line, as trainer.py does: ``{"ok": true, "words": ...}``, or
``{"ok": false, "message": ...}`` with an exit status that is not 0.
"""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from plimsoll_operator.processes.trainer import print_result
from plimsoll_operator.training.limits import MEMORY_MIB, STORE_BUSY_TIMEOUT_S, cap_memory, give_way
from plimsoll_operator.training.spawning import STORE_URL

if TYPE_CHECKING:
    from plimsoll_predictor.store import Store

ENDS_ITSELF_S: Final = 1800.0
"""It is longer than a controller waits: it is for the case that the controller is gone."""


@dataclass(frozen=True, slots=True)
class Learning:
    """What one trainer learns.

    what: its name in messages. libraries: loaded before memory is capped. learn: learns from the
    store into the store; returns words for the log.
    """

    what: str
    libraries: tuple[str, ...]
    learn: Callable[[Store], Any]

    def main(self, arguments: Sequence[str] | None = None) -> int:
        """The command, as the controller starts it; the store's address is in the environment."""
        parser = argparse.ArgumentParser(prog=f"{self.what}_trainer")
        parser.add_argument("--memory-mib", type=int, default=MEMORY_MIB)
        given = parser.parse_args(arguments)
        give_way(ENDS_ITSELF_S)
        return print_result(lambda: self.result(os.environ[STORE_URL], given.memory_mib))

    def result(self, store_url: str, memory_mib: int) -> dict[str, Any]:
        """Learn in the calling process, which stays capped, and return its result's line."""
        # Loaded only now: numpy reads its number of threads as it loads.
        from plimsoll_predictor.store import Store, StoreError

        try:
            with contextlib.closing(
                Store.open(store_url, busy_timeout_s=STORE_BUSY_TIMEOUT_S)
            ) as store:
                for library in self.libraries:
                    import_module(library)
                cap_memory(memory_mib)
                words = self.learn(store)
        except MemoryError:
            words = f"{self.what} need more than their cap of {memory_mib} MiB"
            return {"ok": False, "message": words}
        except (StoreError, ValueError) as error:
            return {"ok": False, "message": str(error)}
        return {"ok": True, "words": words}
