"""Jobs whose memory grows with the chunk: in shares, and leased in half of the memory."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.table import Table

from benchmarks.real_node.jobs import ran
from benchmarks.real_node.stand import Stand
from tests.split.leased_work import Work

WORKERS: Final = 2
ITEMS: Final = 120
ITEM_S: Final = 0.2
BASE_MIB: Final = 36
"""The memory of Python, with room over what a share holds."""
ITEM_KIB: Final = (1024, 2048, 3072)
MOST_SHARE: Final = 0.75
"""The aim: memory times time, over that of the Job in shares."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InHalf:
    """One Job. failed: how many of the leased pods did not succeed."""

    item_kib: int
    share_mib: int
    share_s: float
    leased_mib: int
    leased_s: float
    failed: int

    @property
    def share(self) -> float:
        """Memory times time of the leased Job, over that of the Job in shares."""
        return self.leased_mib * self.leased_s / (self.share_mib * self.share_s)


async def in_half(stand: Stand) -> list[InHalf]:
    """Run each Job in shares, with a share's need, and leased with half of that."""
    return [await _in_half(stand, item_kib) for item_kib in ITEM_KIB]


async def _in_half(stand: Stand, item_kib: int) -> InHalf:
    share_mib = BASE_MIB + ITEMS // WORKERS * item_kib // 1024
    share_s, failed = await _run(stand, item_kib, share_mib, leased=False)
    assert not failed, f"a share fits {share_mib} MiB"
    leased_s, failed = await _run(stand, item_kib, share_mib // 2, leased=True)
    found = InHalf(
        item_kib=item_kib,
        share_mib=share_mib,
        share_s=share_s,
        leased_mib=share_mib // 2,
        leased_s=leased_s,
        failed=failed,
    )
    print(found, file=sys.stderr)
    return found


async def _run(stand: Stand, item_kib: int, mib: int, *, leased: bool) -> tuple[float, int]:
    with tempfile.TemporaryDirectory(prefix="plimsoll-leased-") as folder:
        name = f"holds-{item_kib}kib-{'leased' if leased else 'shares'}"
        work = Work(
            name=name,
            task=name,
            folder=Path(folder),
            items=ITEMS,
            workers=WORKERS,
            times_us=(int(ITEM_S * 1e6),),
            memory=f"{mib}Mi",
            kib=item_kib,
            leased=leased,
        )
        took_s, pods = await ran(stand, work.manifest())
        assert set(work.done()) == set(range(ITEMS))
    return took_s, len(pods) - WORKERS


def shown_memory(found: Sequence[InHalf]) -> Table:
    """The table for people."""
    title = "Shares in what they need, and leased in half of it"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    for name in ("an item, KiB", "share, MiB", "s", "leased, MiB", "s", "failed", "MiB × s"):
        table.add_column(name, justify="right")
    for each in found:
        table.add_row(
            *(f"{each.item_kib:,}", str(each.share_mib), f"{each.share_s:.1f}"),
            *(str(each.leased_mib), f"{each.leased_s:.1f}", str(each.failed), f"{each.share:.2f}"),
        )
    return table
