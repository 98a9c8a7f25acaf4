"""Says that a task asks for less than it needs: its author should know, whatever was saved.

Without Plimsoll, a run of such a task uses its node's spare memory, or is killed at its own limit.
Plimsoll gives it more than it asks for, so nothing is saved on it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from plimsoll_operator.names.quantity import format_millicores
from plimsoll_predictor.core.record import Observation
from plimsoll_predictor.core.units import words_for_bytes

LEAST_EXCESS: Final = 1.02
"""A measured need must exceed the request by this factor: pods differ by some pages."""
CPU_EXCESS: Final = 1.2
"""CPU use must exceed the request by this factor before it is reported: idle cores are free."""


_RAISE: Final = "raise the request"


@dataclass(frozen=True, slots=True)
class TooLittle:
    """A memory request below the need.

    asked_bytes: the latest request. needed_bytes: the largest need of runs that asked for no more.
    censored: whether the run with that need was killed there, and needs more.
    """

    asked_bytes: int
    needed_bytes: int
    censored: bool = False

    @property
    def words(self) -> str:
        """Return it for a narrow column, such as ``too little: 100Mi, needs 210Mi``."""
        return f"too little: {words_for_bytes(self.asked_bytes)}, needs {self._needed}"

    @property
    def sentence(self) -> str:
        """Return it as a sentence, with what to do."""
        asked = words_for_bytes(self.asked_bytes)
        return f"its pods request {asked} of memory, but the task needs {self._needed}; {_RAISE}"

    @property
    def _needed(self) -> str:
        needed = words_for_bytes(self.needed_bytes)
        return f"more than {needed}" if self.censored else needed


def too_little(attempts: Iterable[Observation]) -> TooLittle | None:
    """Find out whether the task asks for too little memory now; None if it does not.

    attempts: oldest first; only those with a request and a need count.
    """
    known = [
        (each.request_bytes, need)
        for each in attempts
        if each.request_bytes and (need := each.need) is not None
    ]
    if not known:
        return None
    # The latest request counts, so runs that asked for more say nothing about it.
    asked_bytes = known[-1][0]
    needs = [need for request_bytes, need in known if request_bytes <= asked_bytes]
    most = max(needs, key=lambda need: (need.size_bytes, need.censored))
    if most.size_bytes < asked_bytes * (1.0 if most.censored else LEAST_EXCESS):
        return None
    return TooLittle(asked_bytes, most.size_bytes, most.censored)


def too_little_cpu_words(asked_cores: float | None, used_cores: float | None) -> str | None:
    """Return words for a CPU request far below the use; None if it is enough or unknown.

    >>> too_little_cpu_words(0.1, 0.2575)
    'too little CPU: 100m, uses 258m'
    >>> too_little_cpu_words(1, 1.1), too_little_cpu_words(1, None)
    (None, None)
    """
    below = _below_use(asked_cores, used_cores)
    if below is None:
        return None
    asked, used = below
    return f"too little CPU: {asked}, uses {used}"


def too_little_cpu_sentence(asked_cores: float | None, used_cores: float | None) -> str | None:
    """Return the same as a sentence, with what to do.

    >>> too_little_cpu_sentence(0.1, 0.2575)
    'its pods request 100m of CPU, but use 258m; raise the request'
    """
    below = _below_use(asked_cores, used_cores)
    if below is None:
        return None
    asked, used = below
    return f"its pods request {asked} of CPU, but use {used}; {_RAISE}"


def _below_use(asked_cores: float | None, used_cores: float | None) -> tuple[str, str] | None:
    """Return a request far below the use, and the use; None if it is enough or unknown."""
    if not asked_cores or used_cores is None or used_cores <= asked_cores * CPU_EXCESS:
        return None
    asked, used = (format_millicores(round(cores * 1000)) for cores in (asked_cores, used_cores))
    return asked, used


def asks_words(memory: TooLittle | None, cpu: str | None = None) -> str | None:
    """Return the text of the column ASKS; None if the task asks for enough.

    >>> asks_words(TooLittle(100 << 20, 210 << 20), "too little CPU: 100m, uses 258m")
    'too little: 100Mi, needs 210Mi; too little CPU: 100m, uses 258m'
    >>> asks_words(None)
    """
    parts = [words for words in (memory.words if memory else None, cpu) if words]
    return "; ".join(parts) or None
