"""Words for why an attempt ended, wherever a kill is shown."""

from __future__ import annotations

from collections.abc import Mapping
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
    """A few words, which read well after "because"; of no cause they are empty.

    >>> words_for_cause(Cause.CUDA)
    "the GPU's memory was full"
    """
    return CAUSES[cause] if cause is not None else ""
