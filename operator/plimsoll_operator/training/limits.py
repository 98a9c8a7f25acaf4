"""What a trainer may use: memory, processor, time. Set by itself, before it loads anything."""

from __future__ import annotations

import os
import resource
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

NICENESS: Final = 10
_MIB: Final = 2**20


def restrict(memory_mib: int, wall_s: float) -> None:
    """Bind this process and its children.

    memory_mib: cap of writable private memory (RLIMIT_DATA). Measured with XGBoost, scikit-learn
        and scikit-optimize loaded: within 10 MiB of the resident set, where RLIMIT_AS also counts
        170 MiB of program files that are only mapped. Beyond it allocations fail, as MemoryError
        or std::bad_alloc.
    wall_s: the process ends itself by SIGALRM after it, in case nobody is left to end it.
    """
    os.environ.update(ONE_THREAD)
    os.nice(NICENESS - os.nice(0))
    cap = memory_mib * _MIB
    resource.setrlimit(resource.RLIMIT_DATA, (cap, cap))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, wall_s)
