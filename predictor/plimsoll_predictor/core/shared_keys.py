"""Names executions of a task that have one key, as their engine tells none from another. Pure.

The first one's run is the key itself. Each later one has a UID in its run's name.
"""

from __future__ import annotations

from typing import Final

from plimsoll_predictor.core.bounded_text import MOST_RUN_BYTES, bounded

_MOST_UID_BYTES: Final = 48
"""The most bytes of an attempt's UID, which may have a number behind its pod's."""


def execution_of(key: str, attempt_uid: str) -> str:
    """Return the run of a later execution. attempt_uid: of its first attempt that is known.

    >>> execution_of("gitlab:7:etl:main:abc", "9f3e"), key_of("gitlab:7:etl:main:abc#9f3e", "9f3e")
    ('gitlab:7:etl:main:abc#9f3e', 'gitlab:7:etl:main:abc')
    """
    return bounded(f"{beginning_of(key)}{attempt_uid}", MOST_RUN_BYTES)


def beginning_of(key: str) -> str:
    """Return how the runs of all later executions of a key begin."""
    return f"{bounded(key, MOST_RUN_BYTES - _MOST_UID_BYTES - 1)}#"


def key_of(run: str, attempt_uid: str) -> str:
    """Return the run of those attempts that came to nothing before this one, which succeeded.

    If its own UID is in its run's name, none of them is in its run, and siblings' have the key. A
    key that was too long for a UID is not found again.
    """
    return run.removesuffix(f"#{attempt_uid}")
