"""How long to pause between two looks at what comes at some time.

A look costs processor time here and at whoever is asked. Looks at what comes soon are close to each
other; who has waited long is told a tenth later at most.
"""

from __future__ import annotations

from typing import Final

LEAST_S: Final = 0.1
MOST_S: Final = 0.5


def pause_s(waited_s: float) -> float:
    """Seconds until the next look. waited_s: since the first one."""
    return min(max(LEAST_S, waited_s / 10), MOST_S)
