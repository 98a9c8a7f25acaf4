"""How long to pause between two looks for something that will come.

A look costs processor time on both sides. The first looks are close to each other; after a long
wait the answer comes at most a tenth later.
"""

from __future__ import annotations

from typing import Final

LEAST_S: Final = 0.1
MOST_S: Final = 0.5


def pause_s(waited_s: float) -> float:
    """Seconds until the next look. waited_s: since the first one."""
    return min(max(LEAST_S, waited_s / 10), MOST_S)
