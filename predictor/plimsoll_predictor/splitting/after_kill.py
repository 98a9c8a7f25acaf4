"""Chooses what a worker killed for memory gets next: smaller chunks, or more memory. Pure.

It takes whichever costs less. Smaller chunks cost waits: the rest is taken in more leases. More
memory costs for all the time that is left. Chunks are halved once at one size. If a half was killed
too, single items are too large, and only memory helps.
"""

from __future__ import annotations

from typing import Final

from plimsoll_predictor.splitting.costs import Costs
from plimsoll_predictor.splitting.peaks import KilledChunk, Peaks

MORE_MEMORY: Final = 1.0
"""What a lift adds, as a share of the memory before: a ladder's step mostly doubles it at most."""


def smaller_is_cheaper(
    killed: KilledChunk,
    before: KilledChunk | None,
    peaks: Peaks | None,
    costs: Costs | None,
    wait_s: float,
) -> bool:
    """Say whether half of a killed chunk's items, in as much memory, cost less than more memory.

    before: the smallest chunk that was killed in as much memory before. wait_s: what one more
    lease costs a worker. peaks, costs: None if no chunk was measured.
    """
    half = killed.items // 2
    if half < 1:
        return False
    if (
        before is not None
        and killed.container_bytes <= before.container_bytes
        and killed.items <= before.items // 2
    ):
        return False  # halved already, and killed again
    if peaks is not None and peaks.apart and peaks.mean_bytes(1) >= killed.container_bytes:
        return False
    if costs is None or costs.item_s <= 0:
        return True
    # Twice the leases: each of the old ones waits once more.
    return (wait_s + costs.chunk_s) / (half * costs.item_s) / 2 <= MORE_MEMORY
