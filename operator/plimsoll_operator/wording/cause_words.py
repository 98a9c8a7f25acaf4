"""Words for why an attempt ended, wherever a kill is shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from plimsoll_predictor.core.record import Cause

CAUSES: Final[Mapping[Cause, str]] = {
    Cause.OWN_LIMIT: "killed at its limit",
    Cause.CHILD: "a child process was killed at the limit",
    Cause.NEAR_LIMIT: "SIGKILL near its limit",
    Cause.JVM: "the JVM's heap was full",
    Cause.SPARK: "Spark's executor was out of memory",
    Cause.DOTNET: ".NET's heap was full",
    Cause.NODEJS: "Node.js' heap was full",
    Cause.PYTHON: "Python's MemoryError",
    Cause.ALLOCATION: "it was refused memory",
    Cause.CUDA: "the GPU's memory was full",
    Cause.KILLED: "SIGKILL from outside",
    Cause.OWN_MISTAKE: "failed by itself",
    Cause.NEVER_STARTED: "never started",
    Cause.DEADLINE: "its deadline was over",
    Cause.NODE_PRESSURE: "its node ran out of memory",
    Cause.EVICTED: "evicted",
    Cause.PREEMPTED: "preempted",
    Cause.NODE_LOST: "its node was lost",
    Cause.DELETED: "deleted before it ended",
}


def words_for_cause(cause: Cause | None) -> str:
    """A few words; empty without a cause.

    >>> words_for_cause(Cause.CUDA)
    "the GPU's memory was full"
    """
    return CAUSES[cause] if cause is not None else ""


def words_for_causes(causes: Iterable[Cause]) -> str:
    """Each cause and how often it occurred, the commonest first; empty without any.

    >>> words_for_causes([Cause.CUDA, Cause.OWN_LIMIT, Cause.OWN_LIMIT])
    "killed at its limit (2), the GPU's memory was full (1)"
    """
    return ", ".join(f"{CAUSES[cause]} ({count})" for cause, count in Counter(causes).most_common())


def words_for_kill(cause: Cause | None) -> str:
    """What to say about a kill after its size: nothing more if the cause is the usual one."""
    return "" if cause in (None, Cause.OWN_LIMIT) else f" ({words_for_cause(cause)})"
