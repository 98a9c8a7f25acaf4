"""Units and their names. Bytes are ints; GB is 1e9; Mi and Gi live only at the Kubernetes edge."""

from __future__ import annotations

from typing import Final

GB: Final = 10**9
KIB: Final = 2**10
MIB: Final = 2**20
GIB: Final = 2**30
HOUR_S: Final = 3600.0
DAY_S: Final = 24 * HOUR_S


def gb_hours(size_bytes: float, runtime_s: float) -> float:
    """Memory held for a time, in GB·h with 1 GB = 1e9 bytes.

    >>> gb_hours(2e9, 1800)
    1.0
    """
    return size_bytes / GB * runtime_s / HOUR_S


def words_for_bytes(size_bytes: float) -> str:
    """Bytes as people read them, in Kubernetes' binary units.

    >>> words_for_bytes(1536 * 2**20)
    '1.5Gi'
    >>> words_for_bytes(300 * 2**20)
    '300Mi'
    >>> words_for_bytes(2**20 - 1), words_for_bytes(2**30 - 1)
    ('1Mi', '1Gi')
    """
    # The printed number decides: the largest number of a unit is 1023.
    if round(abs(size_bytes) / MIB) >= 1024:
        return f"{size_bytes / GIB:.2f}".rstrip("0").rstrip(".") + "Gi"
    if round(abs(size_bytes) / KIB) >= 1024:
        return f"{size_bytes / MIB:.0f}Mi"
    return f"{size_bytes / KIB:.0f}Ki"


def plural(count: int, noun: str) -> str:
    """The word for so many of something, without the number."""
    return noun if count == 1 else f"{noun}s"


def counted(count: int, noun: str) -> str:
    """A number of something, in words.

    >>> counted(1, "run"), counted(1200, "run")
    ('1 run', '1,200 runs')
    """
    return f"{count:,} {plural(count, noun)}"
