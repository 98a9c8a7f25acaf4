"""The limits of a trainer: memory, processor, time. It sets them before it loads anything."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from typing import Final

ONE_THREAD: Final[Mapping[str, str]] = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    # Each further arena would set aside address space that the cap counts.
    "MALLOC_ARENA_MAX": "1",
}
"""Numeric libraries read these when they are loaded, not later."""

BUDGET_S: Final = 60.0
MEMORY_MIB: Final = 1024
SEED: Final = 1
"""What a training gets if nobody says otherwise."""
STORE_BUSY_TIMEOUT_S: Final = 30.0
"""The controller writes, too, and a training's result is worth some patience."""
NICENESS: Final = 10
GRACE_S: Final = 60.0
"""The time beyond the search's budget for loading the libraries, reading, the last fit and saving.
It is long, because a trainer gives way to everything else on its node."""
PATIENCE: Final = 3.0
"""The budget is processor time; on a busy node a low-priority trainer takes longer by the clock."""
_MIB: Final = 2**20


def give_way(wall_s: float) -> None:
    """Set one thread, low priority and an end; call it before anything numeric is loaded.

    wall_s: after this time the process ends itself by SIGALRM, in case nobody is left to end it.
    """
    os.environ.update(ONE_THREAD)
    os.nice(NICENESS - os.nice(0))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, wall_s)


def cap_memory(memory_mib: int) -> None:
    """Cap writable private memory (RLIMIT_DATA); beyond it: MemoryError, or std::bad_alloc.

    Measured with XGBoost, scikit-learn and scikit-optimize loaded, on one thread: 213 MiB of it
    while 205 MiB are resident. RLIMIT_AS also counts 170 MiB of program files that are only mapped.
    Set it after the libraries are loaded: OpenBLAS ends the process, without a word to its caller,
    if it gets no memory for its buffers.
    """
    # Windows has no such module, and every command imports these limits.
    import resource

    cap = memory_mib * _MIB
    resource.setrlimit(resource.RLIMIT_DATA, (cap, cap))
